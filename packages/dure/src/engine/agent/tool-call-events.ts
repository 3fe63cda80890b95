import { codeOf } from "../../kernel/errors.ts";
import { compacted, jsonCopy, type Json } from "../../kernel/json.ts";
import type { Clock } from "../../kernel/clock.ts";
import { toldText, toldValue } from "../../kernel/told-tool.ts";
import type { AboutTool, ToolCallView, ToolDone, TurnEvent } from "../../kernel/turn-events.ts";
import type { EffectOutcome } from "../turn/turn-context.ts";
import type { Step } from "../turn/step.ts";
import type { AnyTool } from "./tool.ts";

interface ToldCallsOptions {
  readonly turnId: string;
  readonly clock: Clock;
  /** Absent: the handler calls. */
  readonly agent?: string | undefined;
  readonly view: ToolCallView | undefined;
  /** Whether arguments and results are told at all: of an agent that is not shown they are not. */
  readonly isShown: boolean;
  /** What earlier lives have told. */
  readonly told: readonly TurnEvent[];
  readonly emit: (event: TurnEvent) => void;
}

/** One call, as it is told. */
export interface CalledTool {
  readonly name: string;
  readonly tool: AnyTool;
  readonly input: unknown;
}

/** Tells the readers of a turn which tools are called. A call is told once, in whichever life. */
export class ToolCallEvents {
  readonly #options: ToldCallsOptions;
  readonly #told: ReadonlySet<string>;

  constructor(options: ToldCallsOptions) {
    this.#options = options;
    this.#told = new Set(options.told.map(markOf).filter((mark) => mark !== undefined));
  }

  /** Tells a call at its place, and how it ends. The error of `work` passes through. */
  async around<Value>(
    { path, past }: Step,
    called: CalledTool,
    work: () => Promise<EffectOutcome<Value>>,
  ): Promise<EffectOutcome<Value>> {
    const { clock } = this.#options;
    const about = this.#about(path, called.name);
    const startedAt = clock.monotonic();
    this.#start(about, called);
    try {
      const outcome = await work();
      const isMade = past.is !== "recorded";
      const elapsedMs = isMade ? Math.round(clock.monotonic() - startedAt) : undefined;
      this.#tell("TOOL_DONE", { ...about, ...this.#endOf(outcome), elapsedMs });
      return outcome;
    } catch (error) {
      const code = codeOf(error);
      if (code !== undefined && ASKS.has(code)) {
        this.#tell("TOOL_DONE", { ...about, status: "asks", error: { code } });
      }
      throw error;
    }
  }

  #about(path: string, tool: string): AboutTool {
    const { turnId, agent, view } = this.#options;
    return { callId: `${turnId}-${path}`, tool, agent, view: view === "names" ? undefined : view };
  }

  #start(about: AboutTool, { tool, input, name }: CalledTool): void {
    const args = this.#options.isShown ? told(input, name) : undefined;
    this.#tell("TOOL_START", { ...about, effect: tool.effect, args });
  }

  #endOf(outcome: EffectOutcome<unknown>): Pick<ToolDone, "status" | "result" | "error"> {
    const { isShown } = this.#options;
    const { status } = outcome;
    if (status === "done") {
      return { status, result: isShown ? told(outcome.result, "result") : undefined };
    }
    const { code, message } = outcome.error;
    return { status, error: isShown ? { code, message: toldText(message) } : { code } };
  }

  #tell(type: "TOOL_START" | "TOOL_DONE", data: object): void {
    const event = { type, data: compacted(data) } as TurnEvent;
    if (!this.#told.has(markOf(event)!)) this.#options.emit(event);
  }
}

/** Errors that end the turn because a person has to be asked about the call. */
const ASKS: ReadonlySet<string> = new Set(["APPROVAL_PENDING", "EFFECT_UNKNOWN"]);

/** What makes an event about a call the same one in a later life. */
function markOf(event: TurnEvent): string | undefined {
  if (event.type === "TOOL_START") return `start ${event.data.callId}`;
  if (event.type === "TOOL_DONE") return `${event.data.status} ${event.data.callId}`;
  return undefined;
}

/** A value that is no JSON is not told; the call itself says what is wrong with it. */
function told(value: unknown, what: string): Json | undefined {
  try {
    return toldValue(jsonCopy(value ?? null, what));
  } catch {
    return undefined;
  }
}
