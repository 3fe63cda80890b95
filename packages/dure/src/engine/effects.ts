import type { Clock } from "../kernel/clock.ts";
import { withTimeout } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { canonicalJson } from "../kernel/json.ts";
import type { EffectStatus, IntentAnswer } from "../durable/turns.ts";
import type { AnyTool, ProbeAnswer, ToolContext } from "./tool.ts";
import type { EffectOutcome } from "./turn-context.ts";

/** A turn asks the outside this long before it leaves the question to a person, milliseconds. Source: docs/spec/conversation §4. */
const PROBE_MOST_MS = 60_000;
const PROBE_FIRST_WAIT_MS = 100;
const PROBE_MOST_WAIT_MS = 2_000;
/** A single question to the outside, milliseconds. Source: our choice. */
const PROBE_TIMEOUT_MS = 10_000;

/** The ledger's side of one effect. Each method is one committed statement under the turn's epoch. */
export interface EffectLedger {
  intent(effect: { key: string; tool: string; input: unknown; approval?: string }): Promise<IntentAnswer>;
  settle(key: string, status: EffectStatus, outcome: { result?: unknown; error?: unknown }): Promise<void>;
}

/** Thrown when only a person can say what became of an effect. The turn ends with `EFFECT_UNKNOWN`. */
export class EffectUnknownError extends DureError {
  readonly key: string;
  readonly tool: string;
  readonly input: unknown;

  constructor(tool: string, key: string, input: unknown, because: string) {
    super("EFFECT_UNKNOWN", `Whether ${tool} happened is not known: ${because}.`, {
      class: "conflict",
      hint: "Look at the other side and answer the escalation with what you find.",
      details: { key, tool },
    });
    this.key = key;
    this.tool = tool;
    this.input = input;
  }
}

/** What a failed call tells about the outside. */
export type Fate = "failed" | "unknown";

/**
 * Whether a call that threw can have had an effect. Pure. Refused before it was sent, or refused with a definite answer,
 * is `failed`; a cut, a timeout, a 5xx and everything else is `unknown`. Source: docs/spec/conversation §4.
 */
export function fateOf(error: unknown): Fate {
  if (typeof error === "object" && error !== null) {
    if ("sent" in error && error.sent === false) return "failed";
    const codes = [codeOf(error), codeOf((error as { cause?: unknown }).cause)];
    if (codes.some((code) => code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN")) return "failed";
  }
  return "unknown";
}

export interface OnceCall {
  readonly tool: AnyTool;
  readonly name: string;
  readonly input: unknown;
  readonly key: string;
  readonly approval?: string | undefined;
  readonly context: Omit<ToolContext, "key" | "attempt" | "signal">;
}

/**
 * Does an effect at most once for its key: intent → call → done | failed | unknown, and for what is unknown the tool's rule.
 * `signal` is the process's hold on the turn: a stop by a person does not cut an effect whose intent is recorded.
 */
export class OnceRunner {
  readonly #ledger: EffectLedger;
  readonly #clock: Clock;

  constructor(options: { ledger: EffectLedger; clock: Clock }) {
    this.#ledger = options.ledger;
    this.#clock = options.clock;
  }

  async run(call: OnceCall, { signal }: { signal: AbortSignal }): Promise<EffectOutcome<unknown> | { status: "stopped" } | { status: "approval_used" }> {
    const { key, name, input, approval } = call;
    const askedAt = this.#clock.monotonic();
    const intent = await this.#ledger.intent({ key, tool: name, input, ...(approval !== undefined && { approval }) });
    if (intent.outcome === "stop") return { status: "stopped" };
    if (intent.outcome === "approval_used") return { status: "approval_used" };
    if (intent.outcome === "new") {
      await this.#freshen(call, askedAt, signal);
      return this.#send(call, 1, signal);
    }

    if (canonicalJson(intent.input) !== canonicalJson(JSON.parse(JSON.stringify(input ?? null)))) {
      throw new DureError("EFFECT_KEY_REUSED", `${name} was asked for under the key ${key} with other arguments.`, {
        hint: "The key must name the thing decided: put what may change into it.",
        details: { key },
      });
    }
    if (intent.status === "done") return { status: "done", result: intent.result };
    if (intent.status === "failed") return { status: "failed", error: failureOf(intent.error) };
    return this.#recover(call, intent.attempts, this.#clock.monotonic() - intent.sent_ago_ms, signal);
  }

  /** Records that one more call is about to leave. */
  async #recordAgain(call: OnceCall, signal: AbortSignal): Promise<void> {
    const askedAt = this.#clock.monotonic();
    await this.#ledger.settle(call.key, "intent", {});
    await this.#freshen(call, askedAt, signal);
  }

  /**
   * A record whose answer took long allows nothing: while this process stood still or could not reach the database, another may
   * have taken the turn over, and its rule counts from the time of the record. So it is made again, under the turn's epoch.
   */
  async #freshen(call: OnceCall, askedAt: number, signal: AbortSignal): Promise<void> {
    const fresh = Math.min(Math.max(call.tool.settleMs / 2, FRESH_LEAST_MS), FRESH_MOST_MS);
    while (this.#clock.monotonic() - askedAt > fresh) {
      signal.throwIfAborted();
      askedAt = this.#clock.monotonic();
      await this.#ledger.settle(call.key, "intent", {});
    }
  }

  async #send(call: OnceCall, attempt: number, signal: AbortSignal): Promise<EffectOutcome<unknown>> {
    const { tool, key, name, input } = call;
    const sentAt = this.#clock.monotonic();
    try {
      const result = await withTimeout(
        this.#clock,
        tool.timeoutMs,
        () => new DureError("TOOL_TIMEOUT", `${name} did not answer within ${tool.timeoutMs} ms.`, { class: "unavailable" }),
        async (callSignal) => tool.execute(input, { ...call.context, key, attempt, signal: callSignal }, { signal: callSignal }),
        { signal },
      );
      await this.#ledger.settle(key, "done", { result: result ?? null });
      return { status: "done", result: result ?? null };
    } catch (error) {
      signal.throwIfAborted();
      if (codeOf(error) === "TURN_FENCED" || codeOf(error) === "DATABASE_UNAVAILABLE") throw error;
      const failure = { code: codeOf(error) ?? "TOOL_FAILED", message: messageOf(error) };
      if (fateOf(error) === "failed") {
        await this.#ledger.settle(key, "failed", { error: failure });
        return { status: "failed", error: failure };
      }
      await this.#ledger.settle(key, "unknown", { error: failure });
      return this.#recover(call, attempt, sentAt, signal);
    }
  }

  /** What is unknown becomes known by the tool's rule, or the question goes to a person. */
  async #recover(call: OnceCall, attempts: number, sentAt: number, signal: AbortSignal): Promise<EffectOutcome<unknown>> {
    const { tool, key, name, input } = call;
    if (tool.recover === "ask") throw new EffectUnknownError(name, key, input, "the tool's rule is to ask");
    if (tool.recover === "replay") {
      if (attempts >= REPLAYS_MOST) throw new EffectUnknownError(name, key, input, `${attempts} calls gave no answer`);
      await this.#recordAgain(call, signal);
      return this.#send(call, attempts + 1, signal);
    }
    const deadline = this.#clock.monotonic() + Math.max(PROBE_MOST_MS, tool.timeoutMs + tool.settleMs);
    const settledAt = sentAt + tool.timeoutMs + tool.settleMs;
    for (let wait = PROBE_FIRST_WAIT_MS; ; wait = Math.min(wait * 2, PROBE_MOST_WAIT_MS)) {
      const askedAt = this.#clock.monotonic();
      const answer = await this.#probe(call, attempts, signal);
      if (typeof answer === "object" || answer === "happened") {
        const result = typeof answer === "object" ? answer.result : null;
        await this.#ledger.settle(key, "done", { result: result ?? null });
        return { status: "done", result: result ?? null };
      }
      // Only a "no" that was asked for after the request can no longer be travelling is a no.
      if (answer === "not_happened" && askedAt >= settledAt) {
        await this.#recordAgain(call, signal);
        return this.#send(call, attempts + 1, signal);
      }
      const now = this.#clock.monotonic();
      if (now >= deadline) throw new EffectUnknownError(name, key, input, "the outside could not say");
      const pause = answer === "not_happened" ? Math.max(settledAt - now, 1) : wait;
      await this.#clock.sleep(Math.min(pause, PROBE_MOST_WAIT_MS), { signal });
    }
  }

  async #probe(call: OnceCall, attempt: number, signal: AbortSignal): Promise<ProbeAnswer> {
    try {
      return await withTimeout(
        this.#clock,
        PROBE_TIMEOUT_MS,
        () => new DureError("PROBE_TIMEOUT", `The probe of ${call.name} did not answer.`),
        async (probeSignal) => call.tool.probe!({ key: call.key, attempt, input: call.input }, { signal: probeSignal }),
        { signal },
      );
    } catch {
      signal.throwIfAborted();
      return "unknown";
    }
  }
}

/**
 * How old the record of an intent may be when its call leaves, milliseconds: half of the tool's `settle`, within these bounds.
 * Below the 6 s after which another process may take over. Source: our choice.
 */
const FRESH_LEAST_MS = 500;
const FRESH_MOST_MS = 3_000;

/** Calls of one effect under the rule `replay` before a person is asked. Source: our choice. */
const REPLAYS_MOST = 5;

function failureOf(error: { readonly code?: string; readonly message: string } | null): { code: string; message: string } {
  return { code: error?.code ?? "TOOL_FAILED", message: error?.message ?? "The call failed." };
}
