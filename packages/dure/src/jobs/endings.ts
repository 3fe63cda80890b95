import { backOffMs } from "../kernel/back-off.ts";
import type { AttemptRules } from "../engine/agent/agent-environment.ts";
import { concludes, isBlank } from "./conclusion.ts";
import { FAILURES } from "../models/failures.ts";
import {
  jobOfSession,
  OUTCOMES,
  type CompletedOutcome,
  type FailedOutcome,
  type JobError,
} from "./job.ts";
import type { JobEnd, JobOutcome } from "../kernel/jobs.ts";

/** An agent that writes this leaves the exchange. Source: docs/spec/jobs §3. */
const REPLY_SKIP = "REPLY_SKIP";
/**
 * In the last words of an exchange: the place of origin is told nothing. Source: docs/spec/jobs §3.
 */
const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";
/** Shorter replies that ask nothing end an exchange, in code points. Source: docs/spec/jobs §3. */
const CHARACTERS_LEAST = 20;
/** Retries of a turn that failed for a reason that passes. Source: docs/spec/jobs §3. */
const MAX_RETRIES = 3;
/**
 * First and longest pause before a retry, in milliseconds: `min(60 s, 2 s·2ⁿ)`. Source:
 * docs/spec/jobs §3.
 */
const BACK_OFF = { firstMs: 2_000, maxMs: 60_000 } as const;

/**
 * A call that gives no sign for this long is aborted and counts as an attempt, in seconds. Source:
 * docs/spec/jobs §4.
 */
const MAX_SILENCE_SEC = 30;

/**
 * How an exchange ends; COMPLETED is said of nothing else than what the agents themselves brought
 * to an end.
 */
export interface ExchangeEnd {
  readonly status: JobEnd;
  readonly outcome: JobOutcome;
  readonly error?: JobError | undefined;
  /** The place of origin is not told. */
  readonly quiet?: boolean | undefined;
}

export function endOf(outcome: CompletedOutcome, options?: { quiet?: boolean }): ExchangeEnd;
export function endOf(outcome: FailedOutcome, options: { error: JobError }): ExchangeEnd;
export function endOf(
  outcome: JobOutcome,
  { error, quiet }: { error?: JobError; quiet?: boolean } = {},
): ExchangeEnd {
  return { status: OUTCOMES[outcome], outcome, error, quiet: quiet || undefined };
}

/** What an agent said, without the marks that are meant for the exchange. */
export interface EndingReply {
  readonly text: string;
  readonly leaves: boolean;
  readonly quiet: boolean;
}

/** A mark counts as the whole text or as its last line, never in the middle of a sentence. Pure. */
export function readReply(said: string): EndingReply {
  const marks = new Set<string>();
  let text = said.trim();
  for (;;) {
    const mark = [REPLY_SKIP, ANNOUNCE_SKIP].find(
      (word) => text === word || new RegExp(`\\n\\s*${word}$`).test(text),
    );
    if (!mark) return { text, leaves: marks.has(REPLY_SKIP), quiet: marks.has(ANNOUNCE_SKIP) };
    marks.add(mark);
    text = text.slice(0, -mark.length).trimEnd();
  }
}

/**
 * Whether a finished exchange turn is the last one, and why. Pure; the first rule that applies
 * wins. Source: docs/spec/jobs §3.5.
 */
export function decideEnd(facts: {
  readonly reply: EndingReply;
  /** `end_conversation` was called. */
  readonly endAsked: boolean;
  readonly number: number;
  readonly maxTurns: number;
  /** The same speaker's last text, and what this one answers. */
  readonly previousOwn: string | undefined;
  readonly previousOther: string | undefined;
}): CompletedOutcome | undefined {
  const { reply, number, maxTurns } = facts;
  if (facts.endAsked || reply.leaves) return "explicit_skip";
  if (isBlank(reply.text)) return "empty_reply";
  if (number >= maxTurns) return "max_turns";
  const conclusion = concludes(facts.previousOwn, facts.previousOther, reply.text, {
    minCharacters: CHARACTERS_LEAST,
  });
  return conclusion === "acknowledgement" ? "conclusion" : conclusion;
}

/** What follows from a conversation turn that brought an error instead of an answer. */
export type FailureStep =
  | { readonly next: "retry"; readonly waitMs: number }
  /** A person is asked; the answer starts a turn that goes on. */
  | { readonly next: "wait" }
  /** The model gave nothing: an empty reply. */
  | { readonly next: "empty" }
  | { readonly next: "fail"; readonly outcome: FailedOutcome };

/**
 * Pure; the first rule that applies wins. @param attempt of this exchange turn, 1 for the first.
 * @param random in [0, 1).
 */
export function decideFailure(code: string, attempt: number, random: number): FailureStep {
  if (WAITS_FOR_A_PERSON.has(code)) return { next: "wait" };
  if (code === FAILURES.empty.code) return { next: "empty" };
  if (code === "BUDGET_EXCEEDED") return { next: "fail", outcome: "budget" };
  if (AGENT_GONE.has(code)) return { next: "fail", outcome: "agent_removed" };
  if (PASSING.has(code) && attempt <= MAX_RETRIES) {
    return { next: "retry", waitMs: backoffMs(attempt, random) };
  }
  return { next: "fail", outcome: "agent_error" };
}

/**
 * How often a model is asked in the turns of a job: here and nowhere else, in the model call
 * itself. So what the turn has done already is not done again, and the attempts are neither
 * multiplied by a card nor by the exchange. Sources: docs/spec/jobs §3, §4.
 */
export function jobAttemptRules(
  options: { random?: () => number } = {},
): (session: string) => AttemptRules | undefined {
  const { random = Math.random } = options;
  const rules: AttemptRules = {
    maxAttempts: 1 + MAX_RETRIES,
    pauseMs: (attempt) => backoffMs(attempt, random()),
    idleTimeoutSec: MAX_SILENCE_SEC,
    repeatsShown: true,
    finals: ["empty"], // an empty reply ends the exchange
  };
  return (session) => (jobOfSession(session) === undefined ? undefined : rules);
}

/** Before retry `n` (from 1), with up to a fifth of jitter. Pure. */
export function backoffMs(n: number, random: number): number {
  return Math.round(backOffMs(n, BACK_OFF) * (0.8 + 0.2 * random));
}

/** Whether a turn ended because a person has to answer first. Pure. */
export function waitsForPerson(error: { readonly code: string } | undefined): boolean {
  return error !== undefined && WAITS_FOR_A_PERSON.has(error.code);
}

const WAITS_FOR_A_PERSON: ReadonlySet<string> = new Set(["APPROVAL_PENDING", "EFFECT_UNKNOWN"]);
const AGENT_GONE: ReadonlySet<string> = new Set(["SERVICE_UNKNOWN", "AGENT_UNKNOWN"]);
/**
 * Model failures that the same call may survive (401, 403, a context that is too long and a refusal
 * are none), and a turn that a newer release could not go on with.
 */
const PASSING: ReadonlySet<string> = new Set([
  "TURN_DIVERGED_UNDONE",
  ...Object.values(FAILURES).flatMap((row) => (row.retryable ? [row.code] : [])),
]);
