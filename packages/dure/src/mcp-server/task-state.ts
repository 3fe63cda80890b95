import type { PlanRunStatus } from "../kernel/plans.ts";
import type { JobStatus } from "../kernel/jobs.ts";
import type { Escalation } from "../wire/escalations.ts";
import type { JobDetail } from "../wire/jobs.ts";
import type { RunDetail } from "../wire/runs.ts";

/** Milliseconds after which a client should ask again. */
const POLL_INTERVAL = 2_000;

type TaskStatus = "working" | "completed" | "cancelled";

/** A job or a run as the Tasks extension of MCP tells it. Source: docs/spec/interop §2. */
export interface McpTaskState {
  /** Names the kind too: `job-…`, `run-…`. */
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** Null: kept as long as the job or the run. */
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
}

/** Its end, in the words of the tool that began it. */
export interface TaskOutcome {
  readonly value: object;
  readonly isError: boolean;
}

export interface ToldTask {
  readonly state: McpTaskState;
  /** Of a task that is completed. */
  readonly outcome: TaskOutcome | undefined;
}

/** What a task id names. */
export interface TaskRef {
  readonly kind: "job" | "run";
  readonly id: string;
}

/** Pure. */
export function readTaskId(taskId: string): TaskRef | undefined {
  const [, kind, id] = /^(job|run)-(.{1,100})$/u.exec(taskId) ?? [];
  return kind === undefined || id === undefined ? undefined : { kind: kind as TaskRef["kind"], id };
}

const OF_JOB = {
  PENDING: "working",
  RUNNING: "working",
  COMPLETED: "completed",
  FAILED: "completed", // `failed` is for errors of JSON-RPC alone
  ABANDONED: "completed",
  CANCELLED: "cancelled",
} as const satisfies Record<JobStatus, TaskStatus>;

/** Pure. */
export function taskOfJob(job: JobDetail): ToldTask {
  const status = OF_JOB[job.status];
  const state = {
    taskId: `job-${job.jobId}`,
    status,
    statusMessage: toldOfJob(job),
    ...times(job),
  };
  return { state, outcome: status === "completed" ? outcomeOfJob(job) : undefined };
}

function toldOfJob({ status, waiting, turnsDone, maxTurns }: JobDetail): string {
  if (status === "PENDING") return "It waits in line.";
  if (waiting === "person") return "It waits for a person's decision.";
  if (waiting === "pause") return "Its agent is paused.";
  if (status === "RUNNING") return `Turn ${turnsDone + 1} of at most ${maxTurns}.`;
  return `It ended as ${status} after ${turnsDone} turns.`;
}

/** What `delegate` answers when it has waited. */
function outcomeOfJob({ status, outcome, answer, lastError, jobId }: JobDetail): TaskOutcome {
  if (status === "COMPLETED") {
    const { text: reply = "", how, by = null } = answer ?? {};
    return { value: { status: "ok", reply, how, by, jobId }, isError: false };
  }
  const code = lastError?.code ?? `JOB_${status}`;
  const hint = lastError?.message ?? `The job ended as ${outcome}.`;

  return { value: { status: "error", code, hint, jobId }, isError: true };
}

const OF_RUN = {
  running: "working",
  paused: "working",
  cancelling: "working",
  waiting_host: "working",
  success: "completed",
  partial: "completed",
  failed: "completed",
  cancelled: "cancelled",
} as const satisfies Record<PlanRunStatus, TaskStatus>;

/** Pure. */
export function taskOfRun(run: RunDetail): ToldTask {
  const status = OF_RUN[run.status];
  const state = {
    taskId: `run-${run.id}`,
    status,
    statusMessage: `${run.status}, ${run.phase}: ${toldOfPorts(run)}.`,
    ...times(run),
  };
  const outcome = { value: run, isError: run.status === "failed" };

  return { state, outcome: status === "completed" ? outcome : undefined };
}

function toldOfPorts({ ports }: RunDetail): string {
  const done = ports.filter((port) => port.status === "succeeded").length;
  return `${done} of ${ports.length} ports are done`;
}

function times(work: { readonly createdAt: number; readonly updatedAt: number }) {
  return {
    createdAt: new Date(work.createdAt).toISOString(),
    lastUpdatedAt: new Date(work.updatedAt).toISOString(),
    ttlMs: null,
    pollIntervalMs: POLL_INTERVAL,
  };
}

/** A question of a task to its client's person: the answers that there are. Pure. */
export function askedOfPerson({ title, description, suggestedActions }: Escalation): object {
  const values = suggestedActions.map(({ value }) => value);
  return {
    method: "elicitation/create",
    params: {
      mode: "form",
      message: [title, description].filter(Boolean).join("\n\n"),
      requestedSchema: {
        type: "object",
        properties: {
          decision: { type: "string", title: "Decision", enum: values },
          note: { type: "string", title: "Note", maxLength: 2_000 },
        },
        required: ["decision"],
      },
    },
  };
}
