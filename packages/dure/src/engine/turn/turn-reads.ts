import { withTimeout } from "../../kernel/clock.ts";
import { ownTroubleOf } from "../../durable/passing.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { jsonCopy } from "../../kernel/json.ts";
import { inToolSpan } from "../../models/telemetry.ts";
import type { ToolContext } from "../agent/tool.ts";
import { logFailure } from "../log-failure.ts";
import type { EffectOutcome, TurnFacts } from "./turn-context.ts";
import type { TurnEnvironment } from "./turn-environment.ts";
import type { TurnFiles } from "./turn-files.ts";
import type { TurnSteps } from "./turn-steps.ts";
import { toldAt, type HandlersCall } from "./turn-told.ts";

interface TurnReadsOptions {
  readonly facts: TurnFacts;
  readonly environment: TurnEnvironment;
  readonly steps: TurnSteps;
  readonly files: TurnFiles;
}

/**
 * What a handler reads from the outside: recorded, told, over after the tool's timeout, and cut off
 * by a stop. A read that fails fails no turn. Source: docs/spec/conversation §4.
 */
export class TurnReads {
  readonly #options: TurnReadsOptions;

  constructor(options: TurnReadsOptions) {
    this.#options = options;
  }

  async read(call: HandlersCall): Promise<EffectOutcome<unknown>> {
    assertReads(call);
    const { steps } = this.#options;
    const step = steps.next(`read:${call.name}`);
    const told = toldAt(step, call.view, this.#options);
    const work = (signal: AbortSignal) => this.#inSpan(call, step.path, signal);
    const outcome = await told.around(
      step,
      call,
      () => steps.doWork(step, work) as Promise<EffectOutcome<unknown>>,
    );
    this.#options.files.note(outcome);
    return outcome;
  }

  #inSpan(call: HandlersCall, path: string, signal: AbortSignal): Promise<EffectOutcome<unknown>> {
    return inToolSpan(
      call.name,
      () => this.#execute(call, path, signal),
      (ended) => (ended.status === "failed" ? ended.error.code : undefined),
    );
  }

  async #execute(
    { tool, name, input }: HandlersCall,
    path: string,
    signal: AbortSignal,
  ): Promise<EffectOutcome<unknown>> {
    const { clock, logger } = this.#options.environment;
    const { turnId: turn, session, effects } = this.#options.facts;
    const context: Omit<ToolContext, "signal"> = {
      session,
      turn,
      agent: name,
      key: `${effects}/${turn}/${path}`,
      attempt: 1,
    };
    const late = (): DureError =>
      new DureError("TOOL_TIMEOUT", `${name} did not answer within ${tool.timeoutMs} ms.`, {
        class: "unavailable",
      });
    try {
      const parsed: unknown = tool.inputSchema.parse(input);
      const patience = { ms: tool.timeoutMs, signal };
      const result: unknown = await withTimeout(clock, patience, late, async (callSignal) =>
        tool.execute(parsed, { ...context, signal: callSignal }, { signal: callSignal }),
      );
      const kept = jsonCopy(result, `What the tool "${name}" gave`);
      const files = await this.#options.files.keep(name, result, { signal });
      return { status: "done", result: kept, files };
    } catch (error) {
      signal.throwIfAborted();
      if (ownTroubleOf(error)) throw error;
      logFailure(logger, "a read of a handler failed", { error, facts: { turn, session, name } });
      const code = codeOf(error) ?? "TOOL_FAILED";
      return { status: "failed", error: { code, message: messageOf(error) } };
    }
  }
}

/** What has an effect is in the ledger, and a read is not. */
function assertReads({ tool, name }: HandlersCall): void {
  if (tool.effect === "none") return;
  throw new DureError("TOOL_INVALID", `${name} is read, and its tool has an effect.`, {
    class: "input",
    hint: `Call it with turn.call("${name}", tool, input, { key }), or declare effect: "none".`,
  });
}
