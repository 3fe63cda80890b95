import type { FileRef } from "./files.ts";
import type { Json, JsonObject } from "./json.ts";

/**
 * What a turn says while it runs. Source: docs/spec/conversation §6.
 * In TypeScript names are camelCase; `wire.ts` maps them for HTTP, SSE and the CLI's `--json`.
 */
export type TurnEvent =
  | { readonly type: "AGENT_START"; readonly data: AgentStart }
  | { readonly type: "LLM_TOKEN"; readonly data: string }
  | { readonly type: "LLM_DONE"; readonly data: LlmDone }
  | { readonly type: "AGENT_DONE"; readonly data: AgentDone }
  | { readonly type: "TOOL_START"; readonly data: ToolStart }
  | { readonly type: "TOOL_DONE"; readonly data: ToolDone }
  | { readonly type: "TASK_PROGRESS"; readonly data: TaskProgress }
  | { readonly type: "DONE"; readonly data: Done };

/** `done` also after an error, which its `DONE` tells. */
export const TURN_STATUSES = ["queued", "running", "done"] as const;
export type TurnStatus = (typeof TURN_STATUSES)[number];

/** One of `TURN_EVENT_TYPES`. */
export type TurnEventType = TurnEvent["type"];

/** The types of the events of a turn. `DONE` is the last one. */
export const TURN_EVENT_TYPES = [
  "AGENT_START",
  "LLM_TOKEN",
  "LLM_DONE",
  "AGENT_DONE",
  "TOOL_START",
  "TOOL_DONE",
  "TASK_PROGRESS",
  "DONE",
] as const satisfies readonly TurnEventType[];

/**
 * An agent begins. `restart`: its text so far is void, for a process died or the text was taken back.
 */
export interface AgentStart {
  readonly agent: string;
  /** Words for the person, such as `답변 작성 중`. */
  readonly label: string;
  /** 1 for the first attempt; absent means 1. */
  readonly attempt?: number | undefined;
  /** Set when a crash cut this agent off: the text of its earlier attempt is void. */
  readonly restart?: true | undefined;
  /** Its model cannot be reached: it waits, and begins again when the model is back. */
  readonly waits?: "model" | undefined;
}

/** A call of a model has ended. */
export interface LlmDone {
  readonly message: string;
  /** What a conversational agent decided; absent for plain chat. */
  readonly action?: string | undefined;
  readonly [key: string]: unknown;
}

/** An agent has ended. */
export interface AgentDone {
  readonly agent: string;
  readonly label: string;
  readonly success: boolean;
  readonly stage?: string | undefined;
  readonly result?: unknown;
  readonly error?: string | undefined;
  /** Attempts after the first. */
  readonly retryCount: number;
  readonly elapsedMs: number;
}

export const TOOL_CALL_VIEWS = ["none", "names", "full"] as const;
/** What readers of a stream see of calls of tools: see `ServiceOptions.toolCalls`. */
export type ToolCallView = (typeof TOOL_CALL_VIEWS)[number];

/** Which call of which tool. */
export interface AboutTool {
  /** The same in every life of the turn. */
  readonly callId: string;
  readonly tool: string;
  /** Who calls it; absent: the handler. */
  readonly agent?: string | undefined;
  /** As the service says; absent: `names`. It is not told to readers. */
  readonly view?: ToolCallView | undefined;
}

/** A tool is called. */
export interface ToolStart extends AboutTool {
  readonly effect: "none" | "idempotent" | "once";
  /** Bounded and without secrets. Absent for readers that may not know it. */
  readonly args?: Json | undefined;
}

/** A call of a tool has ended, or a person is asked about it. The last one of a call counts. */
export interface ToolDone extends AboutTool {
  /** `asks`: for an approval, or for what came of it. */
  readonly status: "done" | "failed" | "asks";
  /** Bounded and without secrets. Absent for readers that may not know it. */
  readonly result?: Json | undefined;
  readonly error?: { readonly code: string; readonly message?: string | undefined } | undefined;
  /** Absent where it ended in an earlier life. */
  readonly elapsedMs?: number | undefined;
}

/** How far a batch of tasks is. */
export interface TaskProgress {
  /** 1-based position of the current task. */
  readonly index: number;
  readonly total: number;
  readonly slots: JsonObject;
}

export const NEXT_ACTIONS = ["ASK", "CONFIRM", "DONE", "ASK_CONTINUE"] as const;
/** What the service expects of the person next. `CONFIRM`: a yes or no to what was shown. */
export type NextAction = (typeof NEXT_ACTIONS)[number];

/** What a page may offer beside the answer. */
export interface UiHint {
  /** Labels of the buttons to offer, in order. */
  readonly buttons?: readonly string[] | undefined;
  /** Binds the buttons to what was shown: one that is pressed sends it back as `confirm_id`. */
  readonly confirmId?: string | undefined;
  readonly [key: string]: unknown;
}

/** Something to do after the turn; delivered when `DONE` is stored. */
export interface HookRecord {
  readonly type: string;
  readonly data: unknown;
}

/** Why a turn ended without its answer; `message` is a fixed sentence that people may read. */
export interface TurnError {
  /** UPPER_SNAKE_CASE, e.g. `TURN_STOPPED`, `TURN_DIVERGED`, `BUDGET_EXCEEDED`. */
  readonly code: string;
  readonly message: string;
  /** Its model was away: the turn can be opened again, and goes on from its journal. */
  readonly retry?: boolean | undefined;
  /** Only in dev mode. */
  readonly details?: unknown;
}

/** One run of an agent in a turn. */
export interface TraceAgent {
  readonly agent: string;
  readonly elapsedMs: number;
  readonly success: boolean;
  readonly retries: number;
  readonly error: string | null;
  readonly tokensIn: number;
  readonly tokensOut: number;
}

/** What a turn did and how long it took. */
export interface Trace {
  readonly turnId: string;
  readonly totalElapsedMs: number;
  readonly agents: readonly TraceAgent[];
}

/** A call of a tool of the caller. */
export interface DoneCall {
  readonly callId: string;
  readonly tool: string;
  /** As the model wrote them. */
  readonly args: Json;
}

/** A call that waits for a yes. */
export interface DoneApproval {
  /** Of the escalation in the inbox. */
  readonly id: string;
  readonly tool: string;
  /** Who says the yes: the person who talks, or who answers the inbox. */
  readonly by: "person" | "operator";
  /** Of those who answer the inbox: who have this role. */
  readonly role?: string | undefined;
  /** Two people say yes. */
  readonly two?: true | undefined;
  /** The service on another server that asks: there the inbox has it, not here. */
  readonly at?: string | undefined;
  /** Exactly what a yes of the person counts for, bounded. Absent where the operator is asked. */
  readonly args?: Json | undefined;
  /** As the person reads it. Absent where the operator is asked. */
  readonly question?: string | undefined;
  /** Until when it can be said, milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** The last event of every turn, exactly once. */
export interface Done {
  readonly message: string;
  readonly nextAction: NextAction;
  readonly uiHint?: UiHint | undefined;
  /**
   * The service's state as stored with this turn; `{}` for a service without state. With `scenario`
   * where one is known, and `missing_required` where the state declares slots: the names of the
   * required ones without a value.
   */
  readonly stateSnapshot: JsonObject;
  readonly hooks: readonly HookRecord[];
  readonly trace: Trace;
  readonly error?: TurnError | undefined;
  /** Calls of tools of the caller, with which the turn ends: their results begin the next one. */
  readonly calls?: readonly DoneCall[] | undefined;
  /** Calls that are made when their yes comes. A yes of the person is bound by `confirmId`. */
  readonly approvals?: readonly DoneApproval[] | undefined;
  /** What tools have made, at most 10, the newest last; the session keeps them. */
  readonly files?: readonly FileRef[] | undefined;
  /** Structured slots for an editable card. */
  readonly slotsCard?: unknown;
  readonly receipt?: unknown;
  readonly receipts?: readonly unknown[] | undefined;
}
