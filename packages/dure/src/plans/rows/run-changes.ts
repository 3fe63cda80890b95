import type { EscalationType } from "../../kernel/escalation.ts";
import type { Member, PlanRunStatus, PortStatus, RunPhase, StepKind } from "../../kernel/plans.ts";
import type { Because, RunMode } from "../../wire/plans.ts";
import type { PathGrant, PlanViolation, RunReport } from "../../wire/runs.ts";
import type { Plan } from "../plan.ts";
import type { Promises } from "../sandbox/proof.ts";
import type { RunOrder } from "./run.ts";

/**
 * Change of a port; what is absent stays. `add…` is added to what the row has, so that two writers
 * do not lose each other's.
 */
export interface PortChange {
  readonly position: number;
  readonly status?: PortStatus | undefined;
  readonly attempt?: number | undefined;
  readonly because?: Because | null | undefined;
  readonly triesPair?: number | undefined;
  readonly triesOrchestrator?: number | undefined;
  readonly addSpentMs?: number | undefined;
  readonly timeMs?: number | undefined;
  readonly addTokensIn?: number | undefined;
  readonly addTokensCached?: number | undefined;
  readonly addTokensOut?: number | undefined;
  readonly tokensMost?: number | null | undefined;
  readonly hint?: string | null | undefined;
  readonly grants?: readonly PathGrant[] | undefined;
  readonly weakerTestsAccepted?: boolean | undefined;
  readonly startCommit?: string | null | undefined;
  readonly resultCommit?: string | null | undefined;
}

export interface RunChange {
  readonly status?: PlanRunStatus | undefined;
  readonly phase?: RunPhase | undefined;
  readonly startCommit?: string | undefined;
  readonly isolation?: string | undefined;
  readonly promises?: Promises | undefined;
  readonly mode?: RunMode | undefined;
  readonly report?: RunReport | undefined;
  readonly because?: Because | null | undefined;
  readonly tokensMost?: number | undefined;
  readonly callsMost?: number | undefined;
}

export interface NewRun {
  readonly id: string;
  readonly tenant: string;
  readonly plan: Plan;
  readonly file: string | null;
  readonly repository: string;
  readonly folder: string;
  readonly host: string;
  readonly baseCommit: string;
  readonly startedBy: string;
  readonly key: string | null;
  readonly bodyHash: string;
  readonly triesOrchestrator: number;
}

export interface NewStep {
  readonly run: string;
  readonly port: string;
  readonly try: number;
  readonly kind: StepKind;
  readonly member?: Member | undefined;
  readonly worker?: string | undefined;
  readonly manifest?: unknown;
}

export interface OpenOrder {
  readonly id: number;
  readonly order: RunOrder;
  readonly by: string;
}

export type OrderOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** Which open questions of a run: every member that is given must fit. */
export interface Settling {
  /** `""`: those of no port. */
  readonly ports?: readonly string[];
  readonly types?: readonly EscalationType[];
  readonly except?: readonly EscalationType[];
}

export type NewViolation = Omit<PlanViolation, "at" | "detail"> & {
  readonly detail?: string | undefined;
};
