import type { Clock } from "../../kernel/clock.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { TraceAgent } from "../../kernel/turn-events.ts";
import type { Llm } from "../../models/card.ts";
import type { FailureClass } from "../../models/failures.ts";
import type { ReadFile } from "../../models/file-parts.ts";
import type { ModelCall, ModelCallRecord, ModelRequest } from "../../models/model.ts";
import type { ModelOutages } from "../../models/outages.ts";
import type { KeepFiles, OnceCall } from "../effects/effects.ts";
import type { TurnJournal } from "../turn/journal.ts";
import type { ResultPlace } from "./kept-result.ts";
import type { HistoryRoom } from "./history-room.ts";
import type { Memory } from "./memory.ts";
import type { AnyTool } from "./tool.ts";
import type { Step } from "../turn/step.ts";
import type { EffectOutcome, TurnFacts } from "../turn/turn-context.ts";
import type { StepWork } from "../turn/turn-steps.ts";

/** What running an agent needs from its turn. */
export interface AgentRunEnvironment {
  readonly facts: TurnFacts;
  readonly journal: TurnJournal;
  readonly clock: Clock;
  readonly memory: Memory;
  /** What the session's history may have beside the rest of a request. */
  readonly room: HistoryRoom;
  readonly state: () => JsonObject;
  /** Aborts on a stop and when the turn is lost. */
  readonly signal: AbortSignal;
  /** The bytes of a file of this session. */
  readonly readFile: ReadFile;
  /** Stores what a tool has made. */
  readonly keepFiles: KeepFiles;
  /** What a call has made goes to the person with the answer. */
  notesFiles(outcome: EffectOutcome<unknown>): void;
  readonly defaultLlm: Llm;
  readonly everyLlm: Llm | undefined;
  /** Go before the policy of every card. */
  readonly attemptRules: AttemptRules | undefined;
  resolve(llm: Llm | Llm["fallbacks"][number]): ModelCall;
  readonly outages: ModelOutages;
  /** How long the agent waits for a model that is away, milliseconds. */
  readonly patienceMs: number;
  /** Before each model call: resolves when the agent is not paused. Absent: it never is. */
  readonly untilUnpaused: (() => Promise<void>) | undefined;
  /** Directly before it, without waiting. */
  isPaused(): boolean;
  /** Throws `BUDGET_EXCEEDED`; called before each model call. Absent: nothing is limited. */
  readonly reserve:
    | ((request: ModelRequest, model: ModelCall, place: string) => Promise<void>)
    | undefined;
  /**
   * Before each model call; the end of the turn waits until the returned function is called, so
   * that no record comes too late.
   */
  callBegins(): () => void;
  noteCall(agent: string, record: ModelCallRecord, place: string): void;
  noteAgent(trace: TraceAgent): void;
  /** Before each call that is not recorded, but for `once`; throws after a stop was asked for. */
  beginsWork(): void;
  /** Directly before a model call, a tool or a step; throws where another process has the turn. */
  goesOutside(): Promise<void>;
  /** Does the work of a step, unless it is recorded. */
  doWork(step: Step, work: StepWork): Promise<unknown>;
  once(call: OnceCall): Promise<EffectOutcome<unknown>>;
  /** The key under which an earlier life of the turn has begun a call as a _once_ effect. */
  keyBegunBefore(call: Pick<OnceCall, "key" | "name" | "input">): Promise<string | undefined>;
  /** What a call of this session gave, as its turn recorded it. */
  resultAt(at: ResultPlace): Promise<EffectOutcome<unknown> | undefined>;
  /**
   * The approval for exactly these arguments, or a turn that ends by asking for it; undefined: the
   * call was allowed for the rest of the session.
   */
  approvalFor(call: {
    readonly name: string;
    readonly tool: AnyTool;
    readonly input: unknown;
    readonly key: string;
  }): Promise<{ id: string } | undefined>;
}

/**
 * How often the model calls of a session are made, whatever the cards say: of a job, whose own
 * rules count attempts.
 */
export interface AttemptRules {
  readonly maxAttempts: number;
  /** The pause after the n-th failed attempt, milliseconds. */
  readonly pauseMs: (attempt: number) => number;
  /** Used where a card has no `idleTimeoutSec`. */
  readonly idleTimeoutSec: number;
  /**
   * Whether a call is made again although text of it was shown; the text is voided by `AGENT_START`
   * with `restart`.
   */
  readonly repeatsShown: boolean;
  /** Failures that are not repeated although they pass. */
  readonly finals: readonly FailureClass[];
}
