import type { WorkerSpec } from "../plan.ts";
import type { Assignment, WorkerChannel } from "../workers/worker.ts";
import type { PlanRun } from "../rows/run.ts";
import type { TokenMeter } from "./token-meter.ts";
import { limitsOf, STOP_AT_VIOLATION } from "../rows/step-log.ts";

/** What stands in the worker's own assignment as it is here. */
type Kept =
  | "id"
  | "port"
  | "member"
  | "try"
  | "prompt"
  | "promptResumed"
  | "session"
  | "scope"
  | "tree"
  | "scratch"
  | "sandbox"
  | "confinement"
  | "env";

/** What one worker is to do in one step, and where. */
export interface Commission extends Pick<Assignment, Kept> {
  readonly run: PlanRun;
  readonly spec: WorkerSpec;
  readonly timeMs: number;
  /** What it shares with the workers beside it; what is left of that bounds it. */
  readonly meter: TokenMeter;
}

/** What a worker can reach while it works. */
export type Contacts = Pick<Assignment, "onStart" | "channel" | "requestAccess" | "hold">;

/** The assignment of a worker: the one place where its bounds are put together. Pure. */
export function assignmentOf(
  { run, spec, timeMs, meter, ...same }: Commission,
  contacts: Contacts,
): Assignment {
  const limits = { ...limitsOf(spec), timeMs: Math.max(1_000, timeMs), shared: meter };
  const tokens = meter.bound("tokens")?.left;
  return {
    ...same,
    ...contacts,
    run: run.id,
    plan: run.plan.name,
    limits: tokens === undefined ? limits : { ...limits, tokens: Math.max(1, tokens) },
    stopAtViolation: STOP_AT_VIOLATION,
  };
}

/** The channel of a worker without a partner. */
export function aloneWith(answer: string): WorkerChannel {
  return { query: async () => answer, letters: async () => [] };
}

/** Refuses more paths, with the reason. */
export function noMorePaths(note: string): Assignment["requestAccess"] {
  return async () => ({ granted: false, note });
}
