import type { Member } from "../../kernel/plans.ts";
import type { WorkerSpec } from "../plan.ts";
import type { Confinement, Sandbox } from "../sandbox/sandbox.ts";
import type { Scope } from "../scope.ts";
import type { Assignment, WorkerChannel } from "../workers/worker.ts";
import type { PlanRun } from "../rows/run.ts";
import { limitsOf, STOP_AT_VIOLATION } from "../rows/step-log.ts";

/** What one worker is to do in one step, and where. */
export interface Commission {
  /** The same after a crash for the same step. */
  readonly id: string;
  readonly run: PlanRun;
  readonly port: string;
  readonly member: Member;
  readonly spec: WorkerSpec;
  /** 1-based over all tries of the port. */
  readonly try: number;
  readonly prompt: string;
  /** The conversation that it goes on with where it can. */
  readonly session?: string | undefined;
  readonly scope: Scope;
  readonly tree: string;
  readonly scratch: string;
  readonly sandbox: Sandbox;
  readonly confinement: Confinement;
  readonly env: Readonly<Record<string, string>>;
  readonly timeMs: number;
  /** Of this step; undefined: no bound but the kind's own. */
  readonly tokens?: number | undefined;
}

/** What a worker can reach while it works. */
export type Contacts = Pick<Assignment, "onStart" | "channel" | "requestAccess">;

/** The assignment of a worker: the one place where its bounds are put together. Pure. */
export function assignmentOf(
  { run, spec, timeMs, tokens, ...same }: Commission,
  contacts: Contacts,
): Assignment {
  const limits = { ...limitsOf(spec), timeMs: Math.max(1_000, timeMs) };
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
  return { query: async () => answer, inbox: async function* () {} };
}

/** Refuses more paths, with the reason. */
export function noMorePaths(note: string): Assignment["requestAccess"] {
  return async () => ({ granted: false, note });
}
