import type { Locale } from "../kernel/locales.ts";
import { jsonCopy } from "../kernel/json.ts";
import { askerIn } from "../kernel/rooms.ts";
import { toldValue } from "../kernel/told-tool.ts";
import { speakerName } from "../kernel/quoted-words.ts";
import type { ApprovalNeeds, SuggestedAction } from "../kernel/escalation.ts";
import { inLocale } from "../escalations/action-words.ts";
import type { MessageButton } from "./room-store.ts";
import { cutText } from "./text.ts";
import { roomTexts } from "./texts.ts";

/** An escalation as its room shows it. */
export interface RoomQuestion {
  readonly id: string;
  readonly subject: string;
  readonly title: string;
  readonly description: string;
  readonly context: Readonly<Record<string, unknown>>;
  readonly actions: readonly SuggestedAction[];
  readonly status: "open" | "resolved" | "dismissed";
  readonly resolution: { readonly value: string } | null;
  readonly resolvedBy: string | null;
}

/** What a room shows of a question. */
export interface QuestionText {
  /** The whole question in a message of its own, where it does not fit beside its buttons. */
  readonly whole: string | undefined;
  /** One message of its platform. */
  readonly text: string;
}

/** Characters of the line that says who answers, or how it ended. */
const LAST_LINE = 300;
const LONGEST_NAME = 60;

/** The question, exactly what a yes would do, and who answers or how it ended. Pure. */
export function questionText(
  question: RoomQuestion,
  { locale, length }: { readonly locale: Locale; readonly length: number },
): QuestionText {
  const words = harmless(question.description === "" ? question.title : question.description);
  const body = `${words}${argumentsOf(question)}`;
  const last = lastLine(question, locale);
  const end = last === "" ? "" : `\n\n${cutText(last, LAST_LINE)}`;
  const room = length - LAST_LINE;
  if (body.length <= room) return { whole: undefined, text: `${body}${end}` };

  const above = roomTexts(locale).wholeAbove();
  const kept = cutText(words, Math.max(1, room - above.length - 1));
  return { whole: body, text: `${kept}\n${above}${end}` };
}

/** Undefined: it is not open any more. Pure. */
export function questionButtons(
  { id, context, actions, status }: RoomQuestion,
  locale: Locale,
): readonly MessageButton[] | undefined {
  if (status !== "open") return undefined;
  const asker = isForAsker({ context }) ? askerIn(context)?.id : undefined;
  const offered = asker === undefined ? actions : [APPROVE, ...actions];
  return offered.map((action) => {
    const { value, code, label } = inLocale(action, locale);
    return { value: `${id}:${value}`, code, label, for: asker };
  });
}

/** Of the person's own question; the inbox does not offer it. */
export const APPROVE: SuggestedAction = { value: "approve", code: "approve", label: "Approve" };

/** Whether the person who asked answers, and no one else. Pure. */
export function isForAsker({ context }: Pick<RoomQuestion, "context">): boolean {
  return context["by"] === "person" && askerIn(context) !== undefined;
}

/** Whose yes a call needs besides an operator's. Pure. */
export function needsOf({ context }: Pick<RoomQuestion, "context">): ApprovalNeeds {
  return context["needs"] ?? {};
}

/** The arguments below the words, where the one who talks answers. Secrets are left out. */
function argumentsOf(question: RoomQuestion): string {
  if (!isForAsker(question)) return "";
  const input = toldValue(jsonCopy(question.context["input"] ?? null, "input"));
  if (input === null) return "";
  return `\n\`\`\`\n${visible(JSON.stringify(input, null, 2))}\n\`\`\``;
}

/** The same JSON, without signs that end its block, or that people cannot see. */
function visible(json: string): string {
  return json.replaceAll(
    /[`\p{Cf}\p{Zl}\p{Zp}]/gu,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Words of a tool hold values that others chose: they open no block, and hide no address. */
function harmless(words: string): string {
  return words
    .replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, "")
    .replaceAll("`", "'")
    .replaceAll("](", "] (");
}

function lastLine(question: RoomQuestion, locale: Locale): string {
  const texts = roomTexts(locale);
  const { context, status } = question;
  if (status !== "open") return endOf(question, locale);
  const asker = isForAsker(question) ? askerIn(context) : undefined;
  if (asker) return texts.asksPerson(shortName(asker.name));
  if (typeof context["tool"] !== "string" || !question.actions.some(isApproval)) return "";
  const { role, two } = needsOf(question);
  if (two) return texts.asksTwo();
  return role === undefined ? texts.asksOperator() : texts.asksRole(role);
}

function isApproval({ value }: SuggestedAction): boolean {
  return value === "approve";
}

/** What was decided, and by whom. */
function endOf(question: RoomQuestion, locale: Locale): string {
  const texts = roomTexts(locale);
  const { resolution, actions } = question;
  const value = resolution?.value ?? "settled";
  const who = whoAnswered(question, locale);
  const known: Readonly<Record<string, string>> = {
    approve: texts.approvedBy(who),
    reject: texts.rejectedBy(who),
    left: texts.leftBy(who),
    dismissed: texts.dismissedBy(who),
    time: texts.timedOut(),
    settled: texts.notNeeded(),
  };
  const action = actions.find((one) => one.value === value);
  return known[value] ?? texts.answeredBy(who, action ? inLocale(action, locale).label : value);
}

/** A person by the name that the room knows; an operator's token has none here. */
function whoAnswered({ context, resolvedBy }: RoomQuestion, locale: Locale): string {
  const name = /^(.+) \([a-z]+:[^()]*\)$/u.exec(resolvedBy ?? "")?.[1];
  const asker = askerIn(context);
  if (name !== undefined) return shortName(name);
  return resolvedBy === "person" && asker ? shortName(asker.name) : roomTexts(locale).operator();
}

function shortName(name: string): string {
  return cutText(harmless(speakerName(name)), LONGEST_NAME);
}
