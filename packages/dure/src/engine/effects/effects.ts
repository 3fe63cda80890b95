/** A once effect: written down, done, and its outcome written down. */

import type { Clock } from "../../kernel/clock.ts";
import { withTimeout } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { canonicalJson, jsonCopy, type Json } from "../../kernel/json.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import type { EffectStatus, IntentAnswer } from "../../durable/turns.ts";
import type { MadeFiles } from "../../kernel/files.ts";
import type { AnyTool, ProbeAnswer, ToolContext } from "../agent/tool.ts";
import type { EffectOutcome } from "../turn/turn-context.ts";

/**
 * A turn asks the outside this long before it leaves the question to a person, milliseconds,
 * however many calls it makes meanwhile. Source: docs/spec/conversation §4.
 */
const MAX_PROBE_MS = 60_000;
const PROBE_FIRST_WAIT_MS = 100;
const MAX_PROBE_WAIT_MS = 2_000;
/** A single question to the outside, milliseconds. */
const PROBE_TIMEOUT_MS = 10_000;

/**
 * The ledger's side of one effect. Each method is one committed statement under the turn's epoch.
 */
export interface EffectLedger {
  intent(effect: {
    key: string;
    tool: string;
    input: unknown;
    approval?: string | undefined;
  }): Promise<IntentAnswer>;
  settle(
    key: string,
    status: EffectStatus,
    outcome: { result?: unknown; error?: unknown; files?: MadeFiles | undefined },
  ): Promise<void>;
}

/**
 * Thrown when only a person can tell whether an effect happened. The turn ends with
 * `EFFECT_UNKNOWN`.
 */
export class EffectUnknownError extends DureError {
  readonly key: string;
  readonly tool: string;
  readonly input: unknown;
  readonly because: WhyUnknown;
  /** How the last call failed; for the person who is asked, not for who wrote. */
  readonly failure: EffectFailure | undefined;

  constructor(
    { tool, key, input }: { readonly tool: string; readonly key: string; readonly input: unknown },
    because: WhyUnknown,
    failure?: EffectFailure,
  ) {
    super("EFFECT_UNKNOWN", `Whether ${tool} happened is not known: ${because.en}.`, {
      class: "conflict",
      hint: "Look at the other side and answer the escalation with what you find.",
      details: { key, tool },
    });
    this.key = key;
    this.tool = tool;
    this.input = input;
    this.because = because;
    this.failure = failure;
  }
}

/** Why only a person can tell: as a part of a sentence in English, a whole one in Korean. */
export interface WhyUnknown {
  readonly en: string;
  readonly ko: string;
}

export const WHY_UNKNOWN = {
  rule: {
    en: "the tool's rule is to ask",
    ko: "결과를 모를 때는 사람에게 묻도록 정해 둔 도구예요.",
  },
  silent: {
    en: "the outside could not say",
    ko: "상대 시스템에서도 처리됐는지 알 수 없었어요.",
  },
  open: {
    en: "it was called before, and until that is known it is not called again",
    ko: "전에 부른 결과를 아직 몰라서 다시 부르지 않았어요.",
  },
  lost: {
    en: "its turn ended before it could be asked for",
    ko: "결과를 알아보기 전에 턴이 끝났어요.",
  },
} as const satisfies Record<string, WhyUnknown>;

/** A call that threw. */
export interface EffectFailure {
  readonly code: string;
  /** The words of the tool, or of what it called. */
  readonly message: string;
}

/** What a failed call tells about the outside. */
export type Fate = "failed" | "unknown";

/**
 * Whether a call that threw can have had an effect. Pure; the first rule that applies wins. Refused
 * before it was sent, or refused with a definite answer, is `failed`; a cut, a timeout, a 5xx and
 * everything else is `unknown`. Where an earlier call under the key may have arrived, a call that
 * was not sent says nothing about that one. Source: docs/spec/conversation §4.
 */
export function fateOf(
  error: unknown,
  { mayHaveHappened = false }: { mayHaveHappened?: boolean } = {},
): Fate {
  if (typeof error !== "object" || error === null) return "unknown";
  const { sent, definite, cause } = error as {
    sent?: unknown;
    definite?: unknown;
    cause?: unknown;
  };
  if (sent === true) return "unknown";
  if (definite === true) return "failed";
  if (mayHaveHappened) return "unknown";
  if (sent === false) return "failed";
  return [codeOf(error), codeOf(cause)].some(
    (code) => code !== undefined && NOT_CONNECTED.has(code),
  )
    ? "failed"
    : "unknown";
}

/** Node's words for a connection that did not come about. */
const NOT_CONNECTED: ReadonlySet<string> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]);

export interface OnceCall {
  readonly tool: AnyTool;
  readonly name: string;
  readonly input: unknown;
  readonly key: string;
  readonly approval?: string | undefined;
  /**
   * Whether one that has failed under this key may be called again: nothing happened, and the key
   * names the thing, not the try. Default false.
   */
  readonly repeatsFailed?: boolean;
  /** Told as soon as it is known, also where the turn is cut off then. */
  readonly onOutcome?: ((outcome: EffectOutcome<unknown>) => void) | undefined;
  readonly context: Omit<ToolContext, "key" | "attempt" | "signal">;
}

/** What one life of a turn has done for one effect. */
interface Round {
  /** The process's hold on the turn. */
  readonly signal: AbortSignal;
  /** Calls that left in this life. */
  calls: number;
  /** Calls that left in all lives. */
  attempts: number;
  /** When the last of them left, on the monotonic clock. */
  sentAt: number;
  /** From then on the outside is not waited for any longer, on the monotonic clock. */
  readonly deadline: number;
  /** Whether a call under the key may have arrived, in this life or an earlier one. */
  mayHaveHappened: boolean;
  /** How the last call of this life failed. */
  failure?: EffectFailure | undefined;
  /** Whether a probe that threw has been told; it is asked many times. */
  isProbeTold: boolean;
}

/** What threw: `call`, or the `probe` after it. */
export type FailedPart = "call" | "probe";

/** Stores the files of a result of the tool of this name. */
export type KeepFiles = (
  tool: string,
  result: unknown,
  options: { signal: AbortSignal },
) => Promise<MadeFiles | undefined>;

interface OnceRunnerOptions {
  readonly ledger: EffectLedger;
  readonly clock: Clock;
  /** Whether the end of the turn was asked for. */
  readonly isStopped?: () => boolean;
  /** Stores the files of a result. See `TurnFiles.keep`. */
  readonly keepFiles?: KeepFiles | undefined;
  /** Hears of each call that threw, and of the first probe of a life that did. */
  readonly onFailed?: (part: FailedPart, call: OnceCall, error: unknown) => void;
}

/**
 * Does an effect at most once for its key: intent → call → done | failed | unknown, and for what is
 * unknown the tool's rule. `signal` is the process's hold on the turn: a stop by a person does not
 * cut an effect whose intent is recorded. It is settled first, and what the outside says did not
 * happen is not called again then.
 */
export class OnceRunner {
  readonly #ledger: EffectLedger;
  readonly #clock: Clock;
  readonly #isStopped: () => boolean;
  readonly #onFailed: OnceRunnerOptions["onFailed"];
  readonly #keepFiles: OnceRunnerOptions["keepFiles"];

  constructor(options: OnceRunnerOptions) {
    this.#ledger = options.ledger;
    this.#clock = options.clock;
    this.#isStopped = options.isStopped ?? (() => false);
    this.#onFailed = options.onFailed;
    this.#keepFiles = options.keepFiles;
  }

  async run(
    call: OnceCall,
    { signal }: { signal: AbortSignal },
  ): Promise<EffectOutcome<unknown> | { status: "stopped" } | { status: "approval_used" }> {
    const { key, name, input, approval } = call;
    const askedAt = this.#clock.monotonic();
    const round = roundOf(call, askedAt, signal);
    const intent = await this.#ledger.intent({ key, tool: name, input, approval });
    if (intent.outcome === "stop") return { status: "stopped" };
    if (intent.outcome === "approval_used") return { status: "approval_used" };
    if (intent.outcome === "open") {
      const { key: openKey, input: openInput } = intent;
      throw new EffectUnknownError(
        { tool: name, key: openKey, input: openInput },
        WHY_UNKNOWN.open,
      );
    }
    if (intent.outcome === "new") {
      await this.#freshen(call, askedAt, signal);
      return this.#send(call, round);
    }

    if (canonicalJson(intent.input) !== canonicalJson(JSON.parse(JSON.stringify(input ?? null)))) {
      throw new DureError(
        "EFFECT_KEY_REUSED",
        `${name} was asked for under the key ${key} with other arguments.`,
        {
          hint: "The key must name the thing decided: put what may change into it.",
          details: { key },
        },
      );
    }
    round.attempts = intent.attempts;
    if (intent.status === "done") {
      return { status: "done", result: intent.result, files: intent.files ?? undefined };
    }
    if (intent.status === "failed") {
      if (!call.repeatsFailed) return { status: "failed", error: failureOf(intent.error) };
      if (this.#isStopped()) return { status: "stopped" };
      return this.#sendAgain(call, round);
    }
    round.mayHaveHappened = true;
    round.sentAt = this.#clock.monotonic() - intent.sent_ago_ms;
    return this.#recover(call, round);
  }

  /** Records that one more call is about to leave, and makes it. */
  async #sendAgain(call: OnceCall, round: Round): Promise<EffectOutcome<unknown>> {
    const askedAt = this.#clock.monotonic();
    await this.#ledger.settle(call.key, "intent", {});
    await this.#freshen(call, askedAt, round.signal);
    return this.#send(call, round);
  }

  /**
   * A record with a slow answer allows nothing. While this process was frozen or could not reach
   * the database, another may have taken the turn over, and its rule counts from the time of the
   * record. So it is made again, under the turn's epoch.
   */
  async #freshen(call: OnceCall, askedAt: number, signal: AbortSignal): Promise<void> {
    const fresh = Math.min(Math.max(call.tool.settleMs / 2, FRESH_LEAST_MS), MAX_FRESH_MS);
    while (this.#clock.monotonic() - askedAt > fresh) {
      signal.throwIfAborted();
      askedAt = this.#clock.monotonic();
      await this.#ledger.settle(call.key, "intent", {});
    }
  }

  async #send(call: OnceCall, round: Round): Promise<EffectOutcome<unknown>> {
    const { key, name } = call;
    round.calls += 1;
    round.attempts += 1;
    round.sentAt = this.#clock.monotonic();
    try {
      const result = await this.#execute(call, round);
      const files = await this.#keepFiles?.(name, result, { signal: round.signal });
      const kept = storedResult(name, result);
      await this.#ledger.settle(key, "done", { result: kept, files });
      return { status: "done", result: kept, files };
    } catch (error) {
      round.signal.throwIfAborted();
      if (ownTroubleOf(error)) throw error;
      const failure = { code: codeOf(error) ?? "TOOL_FAILED", message: messageOf(error) };
      round.failure = failure;
      this.#onFailed?.("call", call, error);
      if (fateOf(error, round) === "failed") return this.#fail(call, failure);
      await this.#ledger.settle(key, "unknown", { error: failure });
      round.mayHaveHappened = true;
      return this.#recover(call, round);
    }
  }

  #execute({ tool, key, name, input, context }: OnceCall, round: Round): Promise<unknown> {
    const attempt = round.attempts;
    const late = (): DureError =>
      new DureError("TOOL_TIMEOUT", `${name} did not answer within ${tool.timeoutMs} ms.`, {
        class: "unavailable",
      });
    return withTimeout(
      this.#clock,
      { ms: tool.timeoutMs, signal: round.signal },
      late,
      async (signal) => tool.execute(input, { ...context, key, attempt, signal }, { signal }),
    );
  }

  async #fail(
    { key }: OnceCall,
    error: { code: string; message: string },
  ): Promise<EffectOutcome<unknown>> {
    await this.#ledger.settle(key, "failed", { error });
    return { status: "failed", error };
  }

  /** What is unknown becomes known by the tool's rule, or the question goes to a person. */
  async #recover(call: OnceCall, round: Round): Promise<EffectOutcome<unknown>> {
    const { recover } = call.tool;
    if (recover === "ask") throw unknownEffect(call, round, WHY_UNKNOWN.rule);
    return recover === "replay" ? this.#replay(call, round) : this.#probeUntilKnown(call, round);
  }

  async #replay(call: OnceCall, round: Round): Promise<EffectOutcome<unknown>> {
    if (round.calls >= MAX_CALLS) {
      throw unknownEffect(call, round, {
        en: `${round.calls} calls gave no answer`,
        ko: `${round.calls}번 불렀지만 답이 없었어요.`,
      });
    }
    const { signal } = round;
    if (round.calls > 0) await this.#clock.sleep(replayPauseMs(round.calls), { signal });
    return this.#sendAgain(call, round);
  }

  async #probeUntilKnown(call: OnceCall, round: Round): Promise<EffectOutcome<unknown>> {
    const { tool, key } = call;
    const { signal } = round;
    const settledAt = round.sentAt + tool.timeoutMs + tool.settleMs;
    for (let wait = PROBE_FIRST_WAIT_MS; ; wait = Math.min(wait * 2, MAX_PROBE_WAIT_MS)) {
      const askedAt = this.#clock.monotonic();
      const answer = await this.#probe(call, round);
      if (typeof answer === "object" || answer === "happened") {
        const result = typeof answer === "object" ? (answer.result ?? null) : null;
        await this.#ledger.settle(key, "done", { result });
        return { status: "done", result };
      }
      const now = this.#clock.monotonic();
      // "Not done" counts only if it was asked for when the request can no longer be under way.
      if (answer === "not_happened" && askedAt >= settledAt) {
        return this.#afterNo(call, round, now);
      }
      if (answer === "unknown" && now >= round.deadline) {
        throw unknownEffect(call, round, WHY_UNKNOWN.silent);
      }
      const pause = answer === "not_happened" ? Math.max(settledAt - now, 1) : wait;
      await this.#clock.sleep(Math.min(pause, MAX_PROBE_WAIT_MS), { signal });
    }
  }

  /** The effect is known not to have happened: it is called again, unless its turn was stopped. */
  async #afterNo(call: OnceCall, round: Round, now: number): Promise<EffectOutcome<unknown>> {
    round.mayHaveHappened = false;
    if (this.#isStopped()) {
      return this.#fail(call, {
        code: "NOT_HAPPENED",
        message: `${call.name} did not happen, and after the stop it is not tried again.`,
      });
    }
    // One call more is due to every effect, however long its requests travel.
    if (round.calls >= MAX_CALLS || (round.calls > 1 && now >= round.deadline)) {
      throw unknownEffect(call, round, {
        en: `${round.calls} calls gave no answer, and the outside knows of none`,
        ko: `${round.calls}번 불렀지만 답이 없었고, 상대 시스템에는 처리한 기록이 없어요.`,
      });
    }
    return this.#sendAgain(call, round);
  }

  async #probe(call: OnceCall, round: Round): Promise<ProbeAnswer> {
    const { tool, name, key, input } = call;
    const { attempts: attempt, signal } = round;
    const late = (): DureError =>
      new DureError("PROBE_TIMEOUT", `The probe of ${name} did not answer.`);
    try {
      return await withTimeout(
        this.#clock,
        { ms: PROBE_TIMEOUT_MS, signal },
        late,
        async (probeSignal) => tool.probe!({ key, attempt, input }, { signal: probeSignal }),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (!round.isProbeTold) this.#onFailed?.("probe", call, error);
      round.isProbeTold = true;
      return "unknown";
    }
  }
}

/** The round of a life that begins now. */
function roundOf({ tool }: OnceCall, now: number, signal: AbortSignal): Round {
  return {
    signal,
    calls: 0,
    attempts: 0,
    sentAt: now,
    deadline: now + Math.max(MAX_PROBE_MS, tool.timeoutMs + tool.settleMs),
    mayHaveHappened: false,
    isProbeTold: false,
  };
}

/**
 * How old the record of an intent may be when its call leaves, milliseconds: half of the tool's
 * `settle`, within these bounds. Below the 6 s after which another process may take over.
 */
const FRESH_LEAST_MS = 500;
const MAX_FRESH_MS = 3_000;

/** Calls of one effect in one life of a turn before a person is asked. */
const MAX_CALLS = 5;

/**
 * Before the next call under the rule `replay`, milliseconds: what is down may come up again.
 * Doubling, under 4 s in all.
 */
function replayPauseMs(calls: number): number {
  return 250 * 2 ** (calls - 1);
}

/**
 * The effect has happened. A result that cannot be stored is reported as such and does not repeat
 * it.
 */
function storedResult(name: string, result: unknown): Json {
  try {
    return jsonCopy(result, `What "${name}" gave`);
  } catch (error) {
    return { error: { code: codeOf(error) ?? "VALUE_NOT_JSON", message: messageOf(error) } };
  }
}

function unknownEffect(
  { name: tool, key, input }: OnceCall,
  { failure }: Round,
  because: WhyUnknown,
): EffectUnknownError {
  return new EffectUnknownError({ tool, key, input }, because, failure);
}

function failureOf(error: { readonly code?: string; readonly message: string } | null): {
  code: string;
  message: string;
} {
  return { code: error?.code ?? "TOOL_FAILED", message: error?.message ?? "The call failed." };
}
