/** A run of a plan and its ports, as they are stored. */

import type { Because, RunMode } from "../../wire/plans.ts";
import type { PathGrant, RunReport, StepWaiting, TestFeedback } from "../../wire/runs.ts";
import type { Promises } from "../sandbox/proof.ts";
import type { Plan } from "../plan.ts";
import type { RunNode } from "./tree.ts";
import type {
  PortStatus,
  Member,
  PlanRunStatus,
  RunPhase,
  StepKind,
  StepStatus,
} from "../../kernel/plans.ts";

/** One execution of a plan. */
export interface PlanRun {
  readonly id: string;
  readonly tenant: string;
  /** Its plan as it was read when the run began; later changes of the file are another run's. */
  readonly plan: Plan;
  readonly file: string | null;
  /** The user's repository, absolute. */
  readonly repository: string;
  /** Where the run keeps its own repository and its trees, on the machine `host`. */
  readonly folder: string;
  readonly host: string;
  readonly baseCommit: string;
  /** What ports start from: the base with the contracts. Null until they are written. */
  readonly startCommit: string | null;
  readonly status: PlanRunStatus;
  /** While it waits for its machine: how it stood before. */
  readonly statusBefore: PlanRunStatus | null;
  readonly phase: RunPhase;
  /** Which of the machine's ranges of TCP ports its workers have; null while no process leads it. */
  readonly listenSlot: number | null;
  readonly isolation: string | null;
  /** What holds for the processes of its workers; null until a trial process has shown it. */
  readonly promises: Promises | null;
  readonly mode: RunMode | null;
  readonly report: RunReport | null;
  /** A later run of the same plan that has succeeded with its ports. */
  readonly supersededBy: string | null;
  readonly because: Because | null;
  readonly tokensIn: number;
  /** Of the input what came from a provider's cache. */
  readonly tokensCached: number;
  readonly tokensOut: number;
  /** Of the whole run; null: no bound but the team's. */
  readonly tokensMost: number | null;
  /** Of models by its workers; each start of a worker counts as one. */
  readonly calls: number;
  /** Null: no bound, as of runs that are older than this count. */
  readonly callsMost: number | null;
  readonly startedBy: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly finishedAt: number | null;
  /** Its files and refs were removed, or are being removed: only its history is left. */
  readonly cleanedAt: number | null;
}

/** A port of a run. */
export interface PlanPort {
  readonly position: number;
  readonly id: string;
  readonly status: PortStatus;
  /** Starts by the scheduler, not tries; those after a crash included. */
  readonly attempt: number;
  readonly because: Because | null;
  /**
   * Tries that its pair may make: 3, one more when bisection blames it, more when a person gives
   * them.
   */
  readonly triesPair: number;
  /** Tries that the orchestrator may make after that: 2, or 0 where there is none. */
  readonly triesOrchestrator: number;
  /** Time that its tries have taken, milliseconds. */
  readonly spentMs: number;
  readonly timeMs: number;
  readonly tokensIn: number;
  /** Of the input what came from a provider's cache. */
  readonly tokensCached: number;
  readonly tokensOut: number;
  readonly tokensMost: number | null;
  readonly hint: string | null;
  readonly grants: readonly PathGrant[];
  /** A person has said that its tests may say less. */
  readonly weakerTestsAccepted: boolean;
  readonly startCommit: string | null;
  readonly resultCommit: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
}

/**
 * A step of a port. Done: it is never made again, and its output is what the next one goes on from.
 */
export interface PlanStep<Output = unknown> {
  readonly id: number;
  readonly node: RunNode;
  readonly port: string;
  /** 1-based over all tries of the port; 0 before the first. */
  readonly try: number;
  readonly kind: StepKind;
  readonly member: Member | null;
  readonly worker: string | null;
  readonly status: StepStatus;
  /** Its port has failed since it ended: the operator was asked about its outcome. */
  readonly told: boolean;
  readonly starts: number;
  /** 0 to 1. */
  readonly progress: number;
  readonly task: string;
  readonly tokensIn: number;
  /** Of the input what came from a provider's cache. */
  readonly tokensCached: number;
  readonly tokensOut: number;
  readonly output: Output | null;
  /** The end of what was printed and said. */
  readonly log: string;
  readonly startedAt: number;
  /** When it last gave a sign. */
  readonly seenAt: number;
  readonly finishedAt: number | null;
  /** While the provider of its worker takes no calls. */
  readonly waiting: StepWaiting | null;
  /** The conversation of its agent, which another try can go on with. */
  readonly session?: string | undefined;
  /**
   * Secret of the step for `dure hook`. Only the leader that began the step has it; its hash is
   * stored.
   */
  readonly hookToken?: string | undefined;
}

/** Orders to a run: from people, and from answers to its escalations. */
export type RunOrder =
  | { readonly type: "pause" | "resume" | "cancel" }
  /**
   * A run that has ended without success is merged and tried again; one that ended before its ports
   * could begin begins them.
   */
  | { readonly type: "again" }
  /**
   * `tries` more for the pair, or with `by` for the orchestrator, who has the port from then on
   * (`pairTries`: those that the pair has made, which is all that it gets); `tokens` and `timeMs`
   * on top of what it had, what a person says to the next try, paths it may use. A port that still
   * works gets them for its next step.
   */
  | {
      readonly type: "retry";
      readonly port: string;
      readonly tries?: number | undefined;
      /** Its tests may say less than before: the try that was asked about counts as made. */
      readonly acceptsWeakerTests?: true | undefined;
      readonly by?: "orchestrator" | undefined;
      readonly pairTries?: number | undefined;
      readonly hint?: string | undefined;
      readonly tokens?: number | undefined;
      /** For the whole run. */
      readonly calls?: number | undefined;
      readonly timeMs?: number | undefined;
      readonly grant?: GrantedPath | undefined;
      readonly grants?: readonly GrantedPath[] | undefined;
    }
  /** A person has approved the work of a port that waits for one. */
  | { readonly type: "approve"; readonly port: string }
  /**
   * A person wants something else of a port that was accepted, or has failed: another try, which is
   * told it. `comments`: the rows that are told with it.
   */
  | {
      readonly type: "review";
      readonly port: string;
      readonly feedback: TestFeedback;
      readonly comments: readonly number[];
    }
  /** The port is left out, and what needs it too; one that works is stopped. */
  | { readonly type: "skip"; readonly port: string }
  /** More for the run; ports that had stopped for want of it go on. */
  | {
      readonly type: "extend";
      readonly tokens?: number | undefined;
      readonly calls?: number | undefined;
    };

export type GrantedPath = Omit<PathGrant, "by">;

/** Steps of the orchestrator belong to this name, which no port may have. */
export const ORCHESTRATOR = "orchestrator";

/** The operator decided to go on without a port. */
export const LEFT_OUT: Because = {
  code: "PORT_SKIPPED",
  message: "It was left out on request.",
  hint: "Retry it to have it after all.",
};

/** Why a port failed when the run has no tokens left. */
export const RUN_TOKENS_EXHAUSTED = "RUN_TOKENS_EXHAUSTED";
/** The same for calls of models. */
export const RUN_CALLS_EXHAUSTED = "RUN_CALLS_EXHAUSTED";

/** What is used of one bound, as it is stored. */
export interface Stored {
  readonly used: number;
  /** Null: no bound. */
  readonly most: number | null;
}

/** Both bounds, as they are stored. */
export interface StoredUse {
  readonly tokens: Stored;
  /** Only a run bounds them. */
  readonly calls?: Stored | undefined;
}

/** What a worker has used; `calls` of its model, its start among them. */
export interface Used {
  readonly input: number;
  /** Of the input what came from a provider's cache. */
  readonly cached: number;
  readonly output: number;
  readonly calls: number;
}

/**
 * Failures that stand as the end of a step: the try in which it was made is over, and going on
 * takes another one.
 */
export const TRY_ENDING: ReadonlySet<string> = new Set([
  "OWNERSHIP_VIOLATED",
  "TOKENS_EXHAUSTED",
  RUN_TOKENS_EXHAUSTED,
  RUN_CALLS_EXHAUSTED,
  "TESTS_WEAKENED",
  "ACCEPTANCE_NOT_RUN",
  "WORKER_LOGIN",
  "WORKER_RATE_LIMITED",
  "WORKER_NOT_STARTED",
]);
