import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Transaction } from "../../durable/database.ts";
import type { RunRecords } from "./records.ts";
import type { PlanPort, PlanRun } from "./run.ts";
import type { Because } from "../../wire/plans.ts";
import type { RunReport } from "../../wire/runs.ts";

/** What the work on a port came to. `stopped`: the run was cancelled. */
export type PortOutcome =
  | { readonly status: "succeeded"; readonly commit: string | undefined }
  | { readonly status: "failed"; readonly because: Because; readonly escalation?: NewEscalation }
  | { readonly status: "stopped" };

/** What the merge of a run came to. */
export type MergeVerdict =
  /**
   * `dropped`: succeeded, and left out all the same. `because`: the tree as a whole did not pass.
   */
  | {
      readonly report: RunReport;
      readonly dropped: readonly { readonly port: string; readonly because: Because }[];
      readonly because?: Because | undefined;
    }
  /**
   * The port is given back to its pair: one more try, which is told what the merged tree failed
   * with.
   */
  | { readonly recalled: { readonly port: string; readonly feedback: unknown } }
  /** The port had its extra try and still breaks the merge: the merge begins again without it. */
  | {
      readonly without: {
        readonly port: string;
        readonly because: Because;
        readonly feedback: unknown;
      };
    };

/** What a leader leads with. */
export interface LeaderParts {
  readonly records: RunRecords;
  readonly inbox: {
    raise(tx: Transaction, escalations: readonly NewEscalation[]): Promise<unknown>;
    settle(tx: Transaction, subject: string, how: { by: string }): Promise<unknown>;
    announce(): void;
  };
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

/** Faults of our own in one port, or in the merge, with which it is given up. */
export const FAULTS = { most: 3, backOff: { firstMs: 500, maxMs: 5_000 } } as const;

/** An error, as it stands in rows. Pure. */
export function becauseOf(error: unknown): Because {
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: messageOf(error),
    hint: (error instanceof DureError ? error.hint : undefined) ?? "See the log of the server.",
  };
}

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
