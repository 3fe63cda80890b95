/** What people are asked at the end of a turn, in words. */

import { createHash } from "node:crypto";
import { DureError } from "../../kernel/errors.ts";
import {
  APPROVE_SESSION,
  titled,
  type ApprovalNeeds,
  type NewEscalation,
  type SuggestedAction,
} from "../../kernel/escalation.ts";
import { newId } from "../../kernel/ids.ts";
import { canonicalJson, isObject, jsonCopy } from "../../kernel/json.ts";
import type { ClaimedTurn, TurnEffect } from "../../durable/turns.ts";
import type { EffectUnknownError } from "../effects/effects.ts";
import type { DivergedError } from "./journal.ts";
import { toldText, toldValue } from "../../kernel/told-tool.ts";
import type { RoomAsker } from "../../kernel/rooms.ts";
import { isOwnSession } from "../../kernel/tenant.ts";
import type { DoneApproval } from "../../kernel/turn-events.ts";
import { localeOf, troubleText } from "../texts.ts";
import type { AnyTool } from "../agent/tool.ts";
import { standingCalls, type StandingCalls } from "../effects/standing.ts";
import type { EscalationAnswer } from "./turn-context.ts";

/**
 * What a turn asks people, in the language of the team: they are not the one who wrote. Each ends
 * the turn; the answer starts a turn of its own.
 */

/** Of a turn; its id is known before it is stored, for the turn that needs it may be told. */
export type TurnEscalation = NewEscalation & {
  readonly id: string;
  /** The one that is open about it already; this one is then not stored. */
  readonly openId?: string | undefined;
};

/** Ends a turn that needs a person's yes first. */
export class ApprovalPendingError extends DureError {
  readonly escalation: TurnEscalation;

  constructor(tool: string, escalation: TurnEscalation) {
    super("APPROVAL_PENDING", `${tool} needs a person's yes.`, {
      class: "conflict",
      hint: "Answer the escalation.",
    });
    this.escalation = escalation;
  }
}

/**
 * An approval is bound to the session, the tool, exactly these arguments, and to who had to say yes:
 * one that was given under other terms is none.
 */
export function approvalSubject(
  session: string,
  { name, tool, input }: Pick<AskedCall, "name" | "tool" | "input">,
): string {
  const hash = createHash("sha256").update(canonicalJson(input)).digest("hex").slice(0, 32);
  const { role, two } = tool.approval?.needs ?? {};
  const terms = [role === undefined ? "" : `/role=${role}`, two ? "/two" : ""].join("");
  return `approval/${session}/${name}/${hash}${terms}`;
}

/** Whether a yes was given by all whom the tool asks for now, as a release may ask for more. Pure. */
export function isUnderTerms(tool: AnyTool, context: EscalationAnswer["context"]): boolean {
  const { needs: given = {} } = context as { readonly needs?: ApprovalNeeds };
  const { role, two } = tool.approval?.needs ?? {};
  return (role === undefined || role === given.role) && (!two || given.two === true);
}

/** A call that needs a yes. */
interface AskedCall {
  readonly name: string;
  readonly tool: AnyTool;
  readonly input: unknown;
}

/** Where in its service a turn asks: the answer goes on there, wherever the person is by then. */
export interface AskingPlace {
  /** Of several behind one name, the one that asks. */
  readonly service: string;
  readonly flow: string;
}

/** Languages of who may be asked. */
export interface AskingLocales {
  /** Of the team, whose people answer the inbox. */
  readonly team: string;
  /** Of the one who talks. */
  readonly person: string;
}

interface AskedOfPeople extends AskedCall {
  /** In a room: the person whose words led to it. Absent there: an operator is asked. */
  readonly asker: RoomAsker | undefined;
}

export function approvalEscalation(
  turn: ClaimedTurn,
  locales: AskingLocales,
  place: AskingPlace,
  call: AskedOfPeople,
): TurnEscalation {
  const { name, tool, input, asker } = call;
  const { needs } = tool.approval ?? {};
  const isByPerson = isAskedOfPerson(turn, call);
  const locale = isByPerson ? locales.person : locales.team;
  const words = tool.approval?.question?.(input, { locale });
  const standing = standingCalls(tool, input);
  const byPerson = {
    severity: "low" as const, // the inbox calls no people for it
    description: undefined,
    // A room shows the arguments below the question.
    ...titled(words ?? personQuestion(locale, name, asker ? undefined : input)),
    context: { tool: name, input: input ?? null, ...place, by: "person", asker },
  };
  return {
    ...escalationOf(turn),
    type: "decision",
    severity: "medium",
    subject: approvalSubject(turn.session, call),
    ...titled(words ?? `${name}: ${JSON.stringify(input)}`),
    context: { tool: name, input: input ?? null, ...place, standing, needs, asker },
    ...(isByPerson ? byPerson : undefined),
    suggestedActions: actions(
      locales.team,
      isByPerson ? [REJECT] : approvingActions(call, standing),
    ),
    expiresMs: tool.approval?.expiresMs,
  };
}

/** Two people say yes to the same arguments, so neither changes them. */
function approvingActions(
  { input, tool }: AskedCall,
  standing: StandingCalls | undefined,
): readonly OwnAction[] {
  const mayChange = isObject(input) && tool.approval?.needs?.two === undefined;
  const approve = mayChange ? APPROVE_CHANGED : APPROVE;
  return standing === undefined ? [approve, REJECT] : [approve, APPROVE_ALWAYS, REJECT];
}

/**
 * A yes counts for what was shown: of arguments too long to show the inbox is asked. A room shows them
 * beside the words of the tool.
 */
function isAskedOfPerson({ session }: ClaimedTurn, { tool, input, asker }: AskedOfPeople): boolean {
  if (tool.approval?.by !== "person") return false;
  const isRoom = isOwnSession(session);
  if (isRoom && !asker) return false;
  const args = JSON.stringify(input ?? null);
  const isSaid = tool.approval.question !== undefined && !isRoom;
  return isSaid || toldText(args) === args;
}

function personQuestion(locale: string, tool: string, input: unknown): string {
  const args = input === undefined ? "" : ` ${JSON.stringify(toldValue(jsonCopy(input, "input")))}`;
  return localeOf(locale) === "en"
    ? `Shall I go ahead with “${tool}”?${args}`
    : `“${tool}” 작업을 진행할까요?${args}`;
}

/** The calls among `asked` that wait for a yes, as `DONE` lists them. Pure. */
export function approvalsIn(
  asked: readonly TurnEscalation[],
  now: number,
): readonly (DoneApproval & Pick<TurnEscalation, "subject">)[] {
  return asked.filter(isApproval).map(({ subject, context, expiresMs = 0, ...shown }) => {
    const { tool, input, by, needs } = context as unknown as AskedContext;
    const id = shown.openId ?? shown.id;
    const about = { id, subject, tool, expiresAt: now + expiresMs };
    if (by !== "person") return { ...about, by: "operator", ...needs };
    const args = toldValue(jsonCopy(input, "input"));
    return { ...about, by, args, question: shown.description ?? shown.title };
  });
}

/** What the context of an approval holds. */
interface AskedContext {
  readonly tool: string;
  readonly input: unknown;
  readonly by?: "person" | undefined;
  readonly needs?: ApprovalNeeds | undefined;
}

/**
 * Whether all that is asked is for the person who talks, or at least a part, and no effect is. A room
 * asks by a message of its own. Pure.
 */
export function asksThePerson(asked: readonly TurnEscalation[], session: string): boolean {
  if (isOwnSession(session)) return false;
  return asked.every(isApproval) && asked.some(({ context }) => context?.["by"] === "person");
}

/** What a turn says that asks the one who talks for a yes. Pure. */
export function askingPerson(
  asked: readonly TurnEscalation[],
  locale: string,
): { readonly message: string; readonly nextAction: "CONFIRM" } {
  const questions = asked
    .filter(({ context }) => context?.["by"] === "person")
    .map(({ title, description }) => description ?? title);
  const isInboxAsked = questions.length < asked.length;
  const others = isInboxAsked ? [troubleText({ code: "APPROVAL_PENDING" }, locale)] : [];
  return { message: [...questions, ...others].join("\n"), nextAction: "CONFIRM" };
}

function isApproval({ type, context }: TurnEscalation): boolean {
  return type === "decision" && typeof context?.["tool"] === "string";
}

export function effectEscalation(
  turn: ClaimedTurn,
  locale: string,
  place: AskingPlace,
  error: EffectUnknownError,
): TurnEscalation {
  const isEnglish = localeOf(locale) === "en";
  return {
    ...escalationOf(turn),
    type: "effect_unknown",
    severity: "critical",
    subject: `effect/${error.key}`,
    ...titled(
      isEnglish
        ? `${error.message} Did it happen on the other side?`
        : `“${error.tool}”의 처리 결과를 확인하지 못했어요. 상대 시스템에서 실제로 처리되었나요?`,
    ),
    context: {
      because: isEnglish ? error.message : error.because.ko,
      tool: error.tool,
      key: error.key,
      input: error.input ?? null,
      failure: error.failure,
      ...place,
    },
    suggestedActions: actions(locale, [
      { value: "happened", en: "It happened", ko: "처리되었음" },
      { value: "not_happened", en: "It did not happen", ko: "처리되지 않았음" },
    ]),
  };
}

/**
 * An approval whose call was not made: the turn that it began failed before, or none of the agents
 * that ran has the tool.
 */
export function unusedEscalation(
  turn: ClaimedTurn,
  locale: string,
  answer: EscalationAnswer,
): TurnEscalation {
  // Only a question about a tool has an answer that can be unused.
  const tool = answer.context["tool"] as string;

  return {
    ...escalationOf(turn),
    type: "blocked",
    severity: "high",
    subject: `unused/${answer.id}`,
    ...titled(
      localeOf(locale) === "en"
        ? `${tool} was approved, but the call was not made.`
        : `“${tool}”이(가) 승인되었지만 실행되지 않았어요. 직접 확인해 주세요.`,
    ),
    context: { ...answer.context, approval: answer.id },
    suggestedActions: actions(locale, [SEEN]),
  };
}

/** Names what the turn had done to the outside before its handler went another way. */
export function divergedEscalation(
  turn: ClaimedTurn,
  locale: string,
  error: DivergedError,
  effects: readonly TurnEffect[],
): TurnEscalation {
  return {
    ...escalationOf(turn),
    type: "turn_diverged",
    severity: "high",
    subject: `diverged/${turn.turn}`,
    ...titled(
      localeOf(locale) === "en"
        ? error.message
        : "처리하던 중에 서비스의 순서가 바뀌어서 턴을 끝내지 못했어요. 이미 처리된 일이 있는지 확인해 주세요.",
    ),
    context: {
      because: error.message,
      message: turn.messages.map(({ text }) => text).join("\n"),
      effects,
    },
    suggestedActions: actions(locale, [SEEN]),
  };
}

/** Names what the turn had done to the outside, for its own record of it could not be stored. */
export function unwrittenEscalation(
  turn: ClaimedTurn,
  locale: string,
  because: string,
  effects: readonly TurnEffect[],
): TurnEscalation {
  return {
    ...escalationOf(turn),
    type: "blocked",
    severity: "high",
    subject: `unwritten/${turn.turn}`,
    ...titled(
      localeOf(locale) === "en"
        ? "What a turn had done could not be stored, so it ended with an error."
        : "처리한 내용을 저장하지 못해 오류로 끝냈어요. 이미 처리된 일이 있는지 확인해 주세요.",
    ),
    context: { because, message: turn.messages.map(({ text }) => text).join("\n"), effects },
    suggestedActions: actions(locale, [SEEN]),
  };
}

function escalationOf(turn: ClaimedTurn): Pick<TurnEscalation, "id" | "tenant" | "source"> {
  return {
    id: newId("escalation"),
    tenant: turn.tenant,
    source: { session: turn.session, turn: turn.turn, service: turn.service },
  };
}

/** One of dure's own answers: its code is its value. */
interface OwnAction {
  readonly value: string;
  readonly en: string;
  readonly ko: string;
  readonly style?: SuggestedAction["style"];
  readonly asks?: SuggestedAction["asks"];
}

const APPROVE: OwnAction = { value: "approve", en: "Approve", ko: "승인", style: "primary" };
/** Also with other arguments. */
const APPROVE_CHANGED: OwnAction = { ...APPROVE, asks: "input" };
/** This call, and those that `standing` covers. */
const APPROVE_ALWAYS: OwnAction = {
  value: APPROVE_SESSION,
  en: "Approve for this conversation",
  ko: "이 대화에서 계속 승인",
};
const REJECT: OwnAction = { value: "reject", en: "Reject", ko: "거절" };
const SEEN: OwnAction = { value: "seen", en: "Seen", ko: "확인함" };

function actions(locale: string, own: readonly OwnAction[]): readonly SuggestedAction[] {
  const isEnglish = localeOf(locale) === "en";
  return own.map(({ value, en, ko, ...look }) => ({
    value,
    code: value.replaceAll("_", "-"),
    label: isEnglish ? en : ko,
    ...look,
  }));
}
