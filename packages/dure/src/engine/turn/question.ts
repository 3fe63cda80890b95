import { z } from "zod";
import { canonicalJson, isObject, type JsonObject } from "../../kernel/json.ts";
import type { NextAction } from "../../kernel/turn-events.ts";
import type { DonePayload } from "../service/service.ts";

/**
 * What a session was asked last, as it was shown. Stored with the `DONE` that asks, in the same
 * commit, and taken back by every later `DONE` of the session. A yes counts for it alone.
 */
export interface Question {
  /** Sent back by its buttons as `confirm_id`; part of the effect's key. */
  readonly id: string;
  /** The turn that asked. */
  readonly turn: string;
  readonly service: string;
  readonly asks: AskingAction | "APPROVAL";
  /** Of `APPROVAL`: the subjects of the calls that were shown. */
  readonly approvals?: readonly string[] | undefined;
  /** The words that were shown. */
  readonly text: string;
  /** What a yes is about, as it was shown. */
  readonly slots: JsonObject;
  /** Sums that a yes would move, by name. */
  readonly amounts: Readonly<Record<string, number>>;
  /** Of the effect that a yes leads to. Absent where a yes leads to none. */
  readonly key?: string | undefined;
  /** A server of dure asked; it has its own record of the question, under the same id. */
  readonly isElsewhere?: true | undefined;
  /** For so long after `shownAt` a yes counts. */
  readonly holdsMs: number;
  /** Set by the database, milliseconds: the clock that dates messages too. */
  readonly shownAt?: number | undefined;
  /** The message that led to it, if it is as short as a yes. */
  readonly after?: AskedAfter | undefined;
  /** The effect of a yes is in the ledger, and its turn could not store what came of it. */
  readonly begun?: boolean | undefined;
}

/** A short message, and when it was accepted by the database's clock, milliseconds. */
export interface AskedAfter {
  readonly text: string;
  readonly at: number;
}

/**
 * The same words again within this time, milliseconds, were sent twice and not said twice: a person
 * who has read the next question takes longer. Source: docs/spec/conversation §3.
 */
const TWICE_MS = 1_000;

/** Characters of a message that can be a yes. */
const MAX_YES = 40;

/** The ways of asking that a yes answers. */
export type AskingAction = Extract<NextAction, "CONFIRM" | "ASK_CONTINUE">;

/** How long a yes counts, milliseconds. Source: docs/spec/conversation §3. */
export const QUESTION_HOLDS_MS = 600_000;

/** What a handler says of its question besides the words, which are those of `DONE`. */
export interface QuestionDetails {
  /** Default: the state's `slots`. */
  readonly slots?: JsonObject | undefined;
  readonly amounts?: Readonly<Record<string, number>> | undefined;
  /**
   * The name of the `turn.call` that a yes leads to. Its key is `[question.id]`, so one question
   * leads to one effect.
   */
  readonly call?: string | undefined;
}

/** The question that a turn ends with. Pure; absent where its answer asks for no yes. */
export function questionAsked(
  payload: DonePayload,
  turn: {
    readonly id: string;
    readonly service: string;
    /** How keys of the session's effects begin. */
    readonly effects: string;
    readonly state: JsonObject;
    readonly holdsMs: number;
    readonly isElsewhere?: true | undefined;
    readonly after?: AskedAfter | undefined;
    /** Subjects of calls that wait for a yes. */
    readonly approvals: readonly string[];
  },
): Question | undefined {
  const { question = {}, message: text } = payload;
  const approvals = turn.approvals.length > 0 ? turn.approvals : undefined;
  const asks = approvals === undefined ? askingOf(payload) : "APPROVAL";
  if (asks === undefined) return undefined;
  const id = payload.uiHint?.confirmId ?? turn.id;
  const { call, amounts = {}, slots = slotsOf(turn.state) } = question;
  const key = call === undefined ? undefined : [turn.effects, call, id].join("/");
  const { service, isElsewhere, holdsMs } = turn;
  const after = turn.after && turn.after.text.length <= MAX_YES ? turn.after : undefined;

  return {
    ...{ id, turn: turn.id, service, asks, approvals, text, slots, amounts },
    ...{ key, isElsewhere, holdsMs, after },
  };
}

function askingOf({ error, nextAction }: DonePayload): AskingAction | undefined {
  if (error) return undefined;
  return nextAction === "CONFIRM" || nextAction === "ASK_CONTINUE" ? nextAction : undefined;
}

function slotsOf({ slots }: JsonObject): JsonObject {
  return isObject(slots) ? slots : {};
}

/** The question that a message can answer, or the reason why it can answer none. */
export type Answering =
  | { readonly question: Question }
  | { readonly question?: undefined; readonly because: UnansweredBecause };

/**
 * Why a message is no answer to the session's question. `nothing-shown`: nothing was asked.
 * `other-service`: another service asked. `not-shown-last`: another server showed something else
 * last. `expired`: it came too late. `other-button`: the button of an earlier question.
 * `written-before-shown`: the words were accepted before the question was stored. `said-twice`: the
 * words that led to the question, again within a second.
 */
export type UnansweredBecause =
  | "nothing-shown"
  | "other-service"
  | "not-shown-last"
  | "expired"
  | "other-button"
  | "written-before-shown"
  | "said-twice";

/** What is known of a message that may be an answer. */
export interface Answer {
  readonly service: string;
  /** What the pressed button was bound to. */
  readonly confirmId: string | undefined;
  /** From another server that stands between: what it showed last; `null` is none of ours. */
  readonly lastQuestion: string | null | undefined;
  readonly sawPrevious: boolean;
  readonly acceptedAt: number;
  /** The words. */
  readonly message: string;
}

/**
 * Whether a message can answer the session's question. Pure; the first rule that applies wins. A
 * button proves by its id what its reader saw. Words count only when they were accepted after the
 * question was stored. Source: docs/spec/conversation §3.
 */
export function answeringOf(question: Question | undefined, answer: Answer): Answering {
  if (!question) return { because: isPressed(answer) ? "other-button" : "nothing-shown" };
  if (question.service !== answer.service) return { because: "other-service" };
  if (question.begun) return { question };

  const { lastQuestion, confirmId } = answer;
  if (lastQuestion !== undefined && lastQuestion !== question.id) {
    return { because: "not-shown-last" };
  }
  if (isPressed(answer) && confirmId !== question.id) return { because: "other-button" };
  if (hasExpired(question, answer.acceptedAt)) return { because: "expired" };
  if (isPressed(answer)) return { question };
  if (!answer.sawPrevious) return { because: "written-before-shown" };
  return isSaidTwice(question, answer) ? { because: "said-twice" } : { question };
}

function isPressed({ confirmId }: Answer): boolean {
  return confirmId !== undefined;
}

function isSaidTwice({ after }: Question, { message, acceptedAt }: Answer): boolean {
  if (after === undefined || after.text !== message) return false;
  return acceptedAt - after.at < TWICE_MS;
}

/**
 * What another server is told that the person was shown last: its question, or `null` for anything
 * else, also where the words came too early. Which button was pressed is its own to judge.
 */
export function lastQuestionFor(
  question: Question | undefined,
  { confirmId, sawPrevious, ...answer }: Answer,
): string | null {
  const saw = sawPrevious || confirmId !== undefined;
  const { question: shown } = answeringOf(question, {
    ...answer,
    confirmId: undefined,
    sawPrevious: saw,
  });
  return shown?.id ?? null;
}

function hasExpired({ shownAt, holdsMs }: Question, acceptedAt: number): boolean {
  return shownAt === undefined || acceptedAt - shownAt > holdsMs;
}

/** Whether these are the slots that were shown with the question. */
export function isAbout(question: Question, slots: JsonObject): boolean {
  return canonicalJson(question.slots) === canonicalJson(JSON.parse(JSON.stringify(slots)));
}

/** The stored question. One that cannot be read is none: a yes is then answered by asking. */
export function readQuestion(stored: unknown): Question | undefined {
  if (stored === undefined) return undefined;
  const read = questionSchema.safeParse(stored);
  return read.success ? read.data : undefined;
}

const questionSchema: z.ZodType<Question> = z.object({
  id: z.string(),
  turn: z.string(),
  service: z.string(),
  asks: z.enum(["CONFIRM", "ASK_CONTINUE", "APPROVAL"]),
  approvals: z.array(z.string()).optional(),
  text: z.string(),
  slots: z.record(z.string(), z.json()) as z.ZodType<JsonObject>,
  amounts: z.record(z.string(), z.number()),
  key: z.string().optional(),
  isElsewhere: z.literal(true).optional(),
  holdsMs: z.number(),
  after: z.object({ text: z.string(), at: z.number() }).optional(),
  shownAt: z.number().optional(),
  begun: z.boolean().optional(),
});
