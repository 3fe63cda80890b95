import type { Transaction } from "../../durable/database.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { Because } from "../../wire/plans.ts";
import type { RunReport } from "../../wire/runs.ts";

/**
 * What the work on a port came to. `stopped`: the run was cancelled. `spentMs`: time that is not
 * stored yet.
 */
export type PortOutcome = { readonly spentMs?: number | undefined } & (
  | { readonly status: "succeeded"; readonly commit: string | undefined }
  /** Accepted; a person is asked. `because`: they asked for a change, and there was none. */
  | {
      readonly status: "held";
      readonly commit: string;
      readonly because?: Because | undefined;
      readonly escalation: NewEscalation;
    }
  | { readonly status: "failed"; readonly because: Because; readonly escalation?: NewEscalation }
  | { readonly status: "stopped" }
);

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

/** What one port has changed, against what it started from. */
export interface PortResult {
  readonly port: string;
  readonly commit: string;
  readonly base: string;
}

/** Where a run puts its questions. */
export interface RunInbox {
  raise(tx: Transaction, escalations: readonly NewEscalation[]): Promise<unknown>;
  settle(tx: Transaction, subject: string, how: { by: string }): Promise<unknown>;
  announce(): void;
}

/** An error, as it stands in rows. Pure. */
export function becauseOf(error: unknown): Because {
  return {
    code: codeOf(error) ?? "INTERNAL",
    message: messageOf(error),
    hint: (error instanceof DureError ? error.hint : undefined) ?? "See the log of the server.",
  };
}
