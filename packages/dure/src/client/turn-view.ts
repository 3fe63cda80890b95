import type {
  AgentDone,
  AgentStart,
  Done,
  LlmDone,
  TaskProgress,
  ToolDone,
  ToolStart,
} from "../kernel/turn-events.ts";
import type { TurnFrame } from "./turn-cursor.ts";

/** One run of an agent within a turn, as a page shows it. */
export interface AgentRun {
  readonly agent: string;
  readonly label: string;
  /** `stopped`: the turn ended before the agent did. */
  readonly status: "running" | "done" | "failed" | "stopped";
  /** 1 for the first; it rises with every announced retry. */
  readonly attempt: number;
  /** Attempts after the first, as far as known. */
  readonly retries: number;
  /** A crash cut it off and it began again. */
  readonly restarted: boolean;
  /** When this reader saw it start, milliseconds since the epoch. */
  readonly startedAt: number;
  /** By the server's clock, milliseconds; known when it has ended. */
  readonly elapsedMs?: number;
  /** What it has said so far; after `LLM_DONE` what it really said. */
  readonly text: string;
  readonly outcome?: LlmDone;
  readonly stage?: string | undefined;
  readonly error?: string | undefined;
}

/**
 * One call of a tool within a turn, as a page shows it. `asks`: a person is asked about it;
 * `stopped`: the turn ended before the call did.
 */
export interface ToolRun extends ToolStart {
  readonly status: "running" | "stopped" | ToolDone["status"];
  /** When this reader saw it start, milliseconds since the epoch. */
  readonly startedAt: number;
  readonly elapsedMs?: number | undefined;
  readonly result?: ToolDone["result"];
  readonly error?: ToolDone["error"];
}

/** Everything a page shows of one turn. */
export interface TurnView {
  readonly runs: readonly AgentRun[];
  /** In the order in which they began. */
  readonly tools: readonly ToolRun[];
  readonly progress: readonly TaskProgress[];
  readonly done?: Done;
}

/** The view of a turn before its first event. */
export const EMPTY_TURN_VIEW: TurnView = { runs: [], tools: [], progress: [] };

/**
 * What the page shows after one more frame. Pure.
 *
 * @param now milliseconds since the epoch, for the running clock of an agent
 */
export function turnView(view: TurnView, frame: TurnFrame, now: number): TurnView {
  switch (frame.type) {
    case "AGENT_START":
      return withStart(view, frame.data, now);
    case "LLM_TOKEN":
      return withSpeaker(view, (run) => ({ ...run, text: run.text + frame.data }));
    case "LLM_DONE":
      return withSpeaker(view, (run) => ({
        ...run,
        text: frame.data.message,
        outcome: frame.data,
      }));
    case "AGENT_DONE":
      return withEnd(view, frame.data, now);
    case "TOOL_START":
      return withToolStart(view, frame.data, now);
    case "TOOL_DONE":
      return withToolEnd(view, frame.data);
    case "TASK_PROGRESS": {
      const others = view.progress.filter((task) => task.index !== frame.data.index);
      return { ...view, progress: [...others, frame.data] };
    }
    case "DONE":
      return {
        ...view,
        runs: view.runs.map(stoppedIfRunning),
        tools: view.tools.map(stoppedIfRunning),
        done: frame.data,
      };
    default:
      frame satisfies never;
      return view;
  }
}

/** An agent starts, or starts again in the place of its earlier attempt. */
function withStart(view: TurnView, start: AgentStart, now: number): TurnView {
  const { agent, label, attempt = 1, restart = false, waits } = start;
  const begun = {
    agent,
    label,
    status: "running",
    attempt,
    retries: attempt - 1,
    restarted: restart,
    startedAt: now,
    text: "",
  } as const;

  const isAgain = restart || attempt > 1 || waits !== undefined;
  const again = isAgain ? runningIndex(view, (run) => run.agent === agent) : -1;
  if (again < 0) return { ...view, runs: [...view.runs, begun] };

  // The text of the earlier attempt is void; its place in the log stays.
  const earlier = view.runs[again]!;

  return withRun(view, again, {
    ...begun,
    startedAt: earlier.startedAt,
    restarted: restart || earlier.restarted,
  });
}

/** An agent ends; one whose start this reader has not seen is added. */
function withEnd(view: TurnView, end: AgentDone, now: number): TurnView {
  const { agent, label, success, stage, error, retryCount, elapsedMs } = end;
  const ended = {
    status: success ? ("done" as const) : ("failed" as const),
    label,
    retries: retryCount,
    elapsedMs,
    stage,
    error,
  };

  const index = runningIndex(view, (run) => run.agent === agent);
  if (index >= 0) return changeRun(view, index, (run) => ({ ...run, ...ended }));

  const unseen = {
    agent,
    attempt: retryCount + 1,
    restarted: false,
    startedAt: now - elapsedMs,
    text: "",
  };

  return { ...view, runs: [...view.runs, { ...unseen, ...ended }] };
}

/** Changes the run that speaks; without one nothing changes. */
function withSpeaker(view: TurnView, change: (run: AgentRun) => AgentRun): TurnView {
  const speaking = runningIndex(view, () => true);
  return speaking < 0 ? view : changeRun(view, speaking, change);
}

/** A call of a tool begins; one that is known stays as it is. */
function withToolStart(view: TurnView, start: ToolStart, now: number): TurnView {
  if (view.tools.some(({ callId }) => callId === start.callId)) return view;
  const begun: ToolRun = { ...start, status: "running", startedAt: now };

  return { ...view, tools: [...view.tools, begun] };
}

/** A call ends, or asks a person; the last word counts. */
function withToolEnd(view: TurnView, { callId, ...end }: ToolDone): TurnView {
  const tools = view.tools.map((tool) => (tool.callId === callId ? { ...tool, ...end } : tool));
  return { ...view, tools };
}

function stoppedIfRunning<Run extends AgentRun | ToolRun>(run: Run): Run {
  return run.status === "running" ? { ...run, status: "stopped" } : run;
}

/** The words for the person: the answer, or what is being said right now. */
export function shownText(view: TurnView): string {
  return view.done?.message ?? view.runs.findLast((run) => run.text !== "")?.text ?? "";
}

function runningIndex(view: TurnView, fits: (run: AgentRun) => boolean): number {
  return view.runs.findLastIndex((run) => run.status === "running" && fits(run));
}

function changeRun(view: TurnView, index: number, change: (run: AgentRun) => AgentRun): TurnView {
  return withRun(view, index, change(view.runs[index]!));
}

function withRun(view: TurnView, index: number, run: AgentRun): TurnView {
  return { ...view, runs: view.runs.with(index, run) };
}
