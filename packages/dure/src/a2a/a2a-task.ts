import type { Done, TurnStatus } from "../kernel/turn-events.ts";
import type { StageMachine } from "../wire/turns.ts";

/** What came of one turn of a task, as it is stored. */
export interface TaskTurn {
  readonly id: string;
  readonly status: TurnStatus;
  readonly done: Done | null;
  /** Milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly finishedAt: number | null;
  /** Messages of the client, oldest first; none where a person's decision began it. */
  readonly said: readonly { readonly id: string; readonly text: string }[];
  /** A decision that people are asked for, while it is open. */
  readonly decision: OpenDecision | null;
}

export interface OpenDecision {
  readonly id: string;
  readonly title: string;
  readonly answers: readonly { readonly value: string; readonly label: string }[];
}

/** A task: the turn that it began with, and those that went on with it. */
export interface StoredTask {
  readonly id: string;
  /** The session, as its tenant knows it. */
  readonly context: string;
  /** As it is stored. */
  readonly sessionKey: string;
  readonly service: string;
  /** Oldest first, at least one. */
  readonly turns: readonly TaskTurn[];
  /** What the session is asked now. */
  readonly openQuestion: string | null;
  /** Whether its last turn is the session's last one. */
  readonly isLatest: boolean;
}

export const TASK_STATES = [
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** States that do not change any more. Source: A2A 1.0 §4.1.3. */
const TERMINAL: ReadonlySet<TaskState> = new Set([
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
] as const);

export function isTerminal(state: TaskState): boolean {
  return TERMINAL.has(state);
}

/** Stages of the service that was spoken to; undefined where it has none. */
export type Stages = StageMachine | undefined;

/** The state of a task. Pure; the first rule that applies wins. Source: docs/spec/interop §7. */
export function stateOf(task: StoredTask, stages: Stages): TaskState {
  const { status, done, decision } = lastOf(task);

  if (status === "queued") return "TASK_STATE_SUBMITTED";
  if (status === "running" || !done) return "TASK_STATE_WORKING";
  if (decision) return "TASK_STATE_INPUT_REQUIRED";
  if (done.error?.code === "TURN_STOPPED") return "TASK_STATE_CANCELED";
  if (done.error) return "TASK_STATE_FAILED";
  const question = questionOf(done);
  if (question !== null) {
    return question === task.openQuestion ? "TASK_STATE_INPUT_REQUIRED" : "TASK_STATE_CANCELED";
  }
  if (task.isLatest && isMidway(done, stages)) return "TASK_STATE_INPUT_REQUIRED";

  return "TASK_STATE_COMPLETED";
}

export function lastOf({ turns }: StoredTask): TaskTurn {
  return turns.at(-1)!;
}

/** The question that a yes would answer; null where there is none. */
export function questionOf(done: Done | null): string | null {
  if (done?.nextAction !== "CONFIRM" && done?.nextAction !== "ASK_CONTINUE") return null;
  return done.uiHint?.confirmId ?? null;
}

function isMidway({ nextAction, stateSnapshot: { stage } }: Done, stages: Stages): boolean {
  if (nextAction !== "ASK" || typeof stage !== "string" || !stages) return false;
  return stage !== stages.initial && !stages.terminal.includes(stage);
}

// --- as A2A tells it

export interface PartJson {
  readonly text: string;
}
/** A file at this server: read with the token of the task. */
export interface FilePartJson {
  readonly url: string;
  readonly filename: string;
  readonly mediaType: string;
}
export interface MessageJson {
  readonly messageId: string;
  readonly contextId: string;
  readonly taskId: string;
  readonly role: "ROLE_USER" | "ROLE_AGENT";
  readonly parts: readonly PartJson[];
  readonly metadata?: object | undefined;
}
export interface StatusJson {
  readonly state: TaskState;
  readonly timestamp: string;
  readonly message?: MessageJson | undefined;
}
export interface TaskJson {
  readonly id: string;
  readonly contextId: string;
  readonly status: StatusJson;
  readonly artifacts?: readonly ArtifactJson[] | undefined;
  readonly history?: readonly MessageJson[] | undefined;
}
export interface ArtifactJson {
  readonly artifactId: string;
  readonly parts: readonly (PartJson | FilePartJson)[];
}

/** Messages of a task that are told at most. */
const MAX_HISTORY = 100;

export interface TaskView {
  readonly stages: Stages;
  /** The server's address as its client knows it. Absent: files are not told. */
  readonly origin?: string | undefined;
  /** Messages of the history; undefined: all of the last ones. */
  readonly historyLength?: number | undefined;
  /** Default true. */
  readonly withArtifacts?: boolean | undefined;
}

/** Pure. */
export function taskJson(task: StoredTask, view: TaskView): TaskJson {
  const { historyLength = MAX_HISTORY, withArtifacts = true } = view;
  const status = statusOf(task, view.stages);
  const wanted = Math.min(historyLength, MAX_HISTORY);
  const history = wanted === 0 ? undefined : historyOf(task).slice(-wanted);
  const artifacts = withArtifacts ? artifactsOf(task, status.state, view.origin) : undefined;

  return { id: task.id, contextId: task.context, status, artifacts, history };
}

/** An answer is the artifact of the task, what tools made another; a question is said with its state. */
function artifactsOf(
  task: StoredTask,
  state: TaskState,
  origin: string | undefined,
): readonly ArtifactJson[] {
  const { id, done } = lastOf(task);
  if (state !== "TASK_STATE_COMPLETED" || !done) return [];

  const answer = { artifactId: id, parts: [{ text: done.message }] };
  const made = origin === undefined ? [] : (done.files ?? []);
  const files = made.map(({ id: file, name: filename, type: mediaType }) => ({
    url: `${origin}/v1/agent/files/${encodeURIComponent(file)}`,
    filename,
    mediaType,
  }));

  return files.length === 0 ? [answer] : [answer, { artifactId: `${id}-files`, parts: files }];
}

function statusOf(task: StoredTask, stages: Stages): StatusJson {
  const state = stateOf(task, stages);
  const last = lastOf(task);
  const timestamp = new Date(last.finishedAt ?? last.acceptedAt).toISOString();
  const words = wordsOf(last, state);
  if (words === undefined) return { state, timestamp };

  return { state, timestamp, message: agentMessage(task, last, words) };
}

/** What is said beside a state. */
function wordsOf({ done, decision }: TaskTurn, state: TaskState): string | undefined {
  if (!done || state === "TASK_STATE_COMPLETED") return undefined;
  if (decision) return [done.message, decision.title].filter(Boolean).join("\n\n");

  return done.error?.message ?? done.message;
}

function agentMessage(task: StoredTask, turn: TaskTurn, text: string): MessageJson {
  const { done, decision } = turn;
  const facts = {
    turn_id: turn.id,
    code: done?.error?.code,
    buttons: done?.uiHint?.buttons,
    decision: decision ?? undefined,
  };

  return {
    messageId: `${turn.id}-answer`,
    contextId: task.context,
    taskId: task.id,
    role: "ROLE_AGENT",
    parts: [{ text }],
    metadata: facts,
  };
}

/** Messages of the client, and what was asked between them. */
function historyOf(task: StoredTask): readonly MessageJson[] {
  const last = lastOf(task);
  return task.turns.flatMap((turn) => {
    const said = turn.said.map(({ id, text }) => userMessage(task, id, text));
    if (turn === last || !turn.done) return said;
    return [...said, agentMessage(task, turn, turn.done.message)];
  });
}

function userMessage(task: StoredTask, messageId: string, text: string): MessageJson {
  const { context: contextId, id: taskId } = task;
  return { messageId, contextId, taskId, role: "ROLE_USER", parts: [{ text }] };
}
