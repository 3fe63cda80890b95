/** Questions to people, as their room shows them, and how they are answered there. */

import type { Queryable, Transaction } from "../../durable/database.ts";
import type { TransactionalHandler } from "../../durable/outbox-handler.ts";
import type { HandlingRow, TurnOutcome } from "./handling.ts";
import { askerIn } from "../../kernel/rooms.ts";
import { partLength, sayAnew } from "../out/notices.ts";
import type { OpenPlace } from "../place.ts";
import type { StoredMessage, MessageButton } from "../room-store.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";
import type { Locale } from "../../kernel/locales.ts";
import { jsonCopy } from "../../kernel/json.ts";
import { toldValue } from "../../kernel/told-tool.ts";
import { speakerName } from "../../kernel/quoted-words.ts";
import type { ApprovalNeeds, SuggestedAction } from "../../kernel/escalation.ts";
import { inLocale } from "../../escalations/action-words.ts";
import { cutText } from "../text.ts";

/** What ends is told its room under it, in the transaction that closes (`dure.close_escalation`). */
export const QUESTION_TOPIC = "room.question";

/** A question, and where it stands. */
export interface AskedQuestion extends RoomQuestion {
  readonly tenant: string;
  /** The message that asks it, and where. Null: it stands in no room. */
  readonly message: string | null;
  readonly place: string | null;
}

/**
 * Questions of turns as messages of their rooms: each stands there once with its buttons, counts from
 * when its platform has it, and says its end when it is closed, wherever that happened.
 */
export class Questions {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
  }

  /**
   * The turn waits for people: what it asks stands in the place, with its answers as buttons. What is
   * asked there already is waited for.
   */
  async show(
    tx: Transaction,
    { turn, agent }: HandlingRow,
    place: OpenPlace,
    { said, replyTo }: { said: TurnOutcome; replyTo: string | undefined },
  ): Promise<void> {
    const asked = await tx.query<AskedQuestion>(ASKED, [turn, said.asked ?? []]);
    for (const question of asked) {
      const message = { author: agent, mark: "notice" as const, replyTo };
      if (question.message !== null) {
        const texts = roomTexts(this.#setting.locale);
        const asker = isForAsker(question) ? askerIn(question.context) : undefined;
        const text = asker ? texts.waitsForPerson(asker.name) : texts.waitsForOperator();
        await this.#talk.say(tx, place, { ...message, text });
        continue;
      }
      const { whole, text } = this.#textOf(question, place);
      if (whole !== undefined) await this.#talk.say(tx, place, { ...message, text: whole });
      const buttons = questionButtons(question, this.#setting.locale);
      const { messageId } = await this.#talk.say(tx, place, { ...message, text, buttons });
      await tx.query(SHOWN_IN, [question.id, messageId]);
    }
  }

  /**
   * The platform has a question: from here on words count for it. One that was closed while it left
   * says so.
   */
  async posted(tx: Transaction, { id, mark }: StoredMessage, place: OpenPlace): Promise<void> {
    if (mark !== "notice") return;
    const [shown] = await tx.query<{ escalation: string }>(SHOWN, [id, place.id]);
    const question = shown && (await this.find(shown.escalation, tx));
    if (question && question.status !== "open") await this.#end(tx, question);
  }

  /** For `QUESTION_TOPIC`: the buttons go, and the message says what was decided and by whom. */
  handler(): TransactionalHandler {
    return {
      transactional: true,
      run: async (payload, { tx }) => {
        const { escalation } = payload as { escalation: string };
        const closed = await this.find(escalation, tx);
        if (closed) await this.#end(tx, closed);
        this.#setting.clock.after(0, () => this.#talk.announce());
      },
    };
  }

  async find(
    id: string,
    tx: Queryable = this.#setting.database,
  ): Promise<AskedQuestion | undefined> {
    const [row] = await tx.query<AskedQuestion>(QUESTION, [id]);
    return row;
  }

  async #end(tx: Transaction, question: AskedQuestion): Promise<void> {
    const { store } = this.#setting;
    const place = question.place === null ? undefined : await store.open(tx, question.place);
    if (!place || question.message === null) return;
    const { text } = this.#textOf(question, place);
    await tx.query(END, [question.message, text]);
    await store.emitEdited(tx, place.id, question.message);
    if (place.state !== "closed") await sayAnew(tx, this.#setting, question.message, place);
  }

  #textOf(question: RoomQuestion, { adapter }: OpenPlace): QuestionText {
    const { adapters, locale } = this.#setting;
    const length = partLength(adapters.get(adapter)?.limits.messageLength ?? DEFAULT_LENGTH);
    return questionText(question, { locale, length });
  }
}

/** Of a platform that is gone; nothing is posted there. */
const DEFAULT_LENGTH = 2_000;

const QUESTIONS = `
    select e.id, e.tenant, e.subject, e.title, e.description, e.context, e.actions, e.status,
      e.resolution,
      coalesce(t.name || ' (token:' || t.id || ')', e.resolved_by) as "resolvedBy",
      q.message, m.place
    from dure.escalations e
    left join dure.room_questions q on q.escalation = e.id
    left join dure.room_messages m on m.id = q.message
    left join dure.tokens t on t.id = e.resolved_by`;
const ASKED = {
  name: "question.asked",
  text: `${QUESTIONS}
    where (e.turn_id = $1 or e.id = any($2::text[])) and e.status = 'open'
    order by e.created_at, e.id`,
};
const QUESTION = {
  name: "question.read",
  text: `${QUESTIONS}
    where e.id = $1`,
};
const SHOWN_IN = {
  name: "question.shown_in",
  text: `
    insert into dure.room_questions (escalation, message)
    values ($1, $2)
    on conflict do nothing`,
};
/** Under the lock of the place: what is said later has a greater position. */
const SHOWN = {
  name: "question.shown",
  text: `
    update dure.room_questions
    set shown_at = clock_timestamp(),
      shown_seq = (select max(seq) from dure.room_messages where place = $2)
    where message = $1
    returning escalation`,
};
const END = {
  name: "question.end",
  text: `
    update dure.room_messages
    set text = $2, buttons = null, edited_at = clock_timestamp()
    where id = $1`,
};

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
interface QuestionText {
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
