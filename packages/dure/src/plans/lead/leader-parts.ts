import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { RunRecords } from "../rows/records.ts";
import type { PlanPort, PlanRun, PlanStep } from "../rows/run.ts";
import type { MergeVerdict, PortOutcome, RunInbox } from "../rows/outcomes.ts";
import type { Tried } from "../merge/integration.ts";
import type { MovedConflict, MovedSolution } from "../merge/moved-conflict.ts";
import type { Because } from "../../wire/plans.ts";
import type { RunReport } from "../../wire/runs.ts";

/** What a leader leads with. */
export interface LeaderParts {
  readonly records: RunRecords;
  readonly inbox: RunInbox;
  /** Wakes readers of events. */
  readonly announce: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Before the first port: contracts, mode. Gives how many ports may work at once. */
  readonly prepare: (
    run: PlanRun,
    options: { signal: AbortSignal },
  ) => Promise<{ maxConcurrency: number } | { failed: Because }>;
  /**
   * Works on a port until it has an outcome. Never rejects but for the abort of the signal and for
   * faults of our own.
   */
  readonly build: (
    run: PlanRun,
    port: PlanPort,
    options: { attempt: number; signal: AbortSignal },
  ) => Promise<PortOutcome>;
  /**
   * Under `merge: as_ready`: what has succeeded so far becomes one tree that can be looked at.
   * Never rejects.
   */
  readonly mergeReady: (
    run: PlanRun,
    ports: readonly PlanPort[],
    options: { signal: AbortSignal },
  ) => Promise<void>;
  /** Removes what the run needs no more, after proof that nothing goes with it. Never rejects. */
  readonly tidy: (
    run: PlanRun,
    ports: readonly PlanPort[],
    options: { signal: AbortSignal },
  ) => Promise<void>;
  /**
   * Makes one tree of what was kept, and tries it; with `untried`, which says why, it is not tried.
   */
  readonly merge: (
    run: PlanRun,
    ports: readonly PlanPort[],
    options: { signal: AbortSignal; untried?: Because | undefined },
  ) => Promise<MergeVerdict>;
}

/** What a run does with files and workers; made once per leader. */
export type RunWork = Pick<LeaderParts, "prepare" | "build" | "merge" | "mergeReady" | "tidy"> & {
  /** Ends processes that a dead leader of the run has left. */
  readonly clear: (run: PlanRun, options: { signal: AbortSignal }) => Promise<void>;
  /** Why the files of an ended run are worth keeping; undefined: they are not. */
  readonly whyKept: (
    run: PlanRun,
    ports: readonly PlanPort[],
    steps: readonly PlanStep[],
    options: { signal: AbortSignal },
  ) => Promise<Because | undefined>;
  /** Tries a merge commit of an ended run's result and a branch that moved. */
  readonly tryMerged: (
    run: PlanRun,
    commit: string,
    options: { signal: AbortSignal },
  ) => Promise<Tried>;
  /** Lets conflicts of an ended run's result and a branch that moved be solved. */
  readonly solveMoved: (
    run: PlanRun,
    conflict: MovedConflict,
    options: { signal: AbortSignal },
  ) => Promise<MovedSolution>;
  /** Removes the folder and the refs of a run with all content. Idempotent. */
  readonly remove: (run: PlanRun, options: { signal: AbortSignal }) => Promise<void>;
};

/** Faults of our own in one port, or in the merge, with which it is given up. */
export const FAULTS = { most: 3, backOff: { firstMs: 500, maxMs: 5_000 } } as const;

const MISSING: Readonly<Record<string, Because>> = {
  cancelled: { code: "RUN_CANCELLED", message: "The run was cancelled." },
  waiting: { code: "NOT_STARTED", message: "It was not started." },
  ready: { code: "NOT_STARTED", message: "It was not started." },
};

/**
 * What was kept and what is missing, as the ports stand. Pure. `because`: why those that could not
 * begin did not.
 */
export function reportOf(ports: readonly PlanPort[], because?: Because): RunReport {
  const kept = ports.filter(({ status }) => status === "succeeded");
  const missing = ports.filter(({ status }) => status !== "succeeded");
  return {
    kept: kept.map(({ id }) => id),
    missing: missing.map((port) => ({
      port: port.id,
      because: port.because ?? because ?? MISSING[port.status] ?? statusAsReason(port.status),
    })),
    conflicts: [],
  };
}

function statusAsReason(status: string): Because {
  return { code: status.toUpperCase(), message: `It is ${status}.` };
}
