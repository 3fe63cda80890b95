import type { Confinement, WorkerIdentity, Sandbox, SandboxCommand } from "../sandbox/sandbox.ts";
import type { CallPay, CallGate, ModelCalls } from "../calls/model-desk.ts";
import type { ProviderTrouble } from "../calls/provider-trouble.ts";
import type { WorkerScope, ScopeReason } from "../scope.ts";
import type { WorkerSpec } from "../plan.ts";
import type { TestFeedback } from "../../wire/runs.ts";
import type { Hold } from "../../kernel/clock.ts";
import type { Member, TranscriptKind, WorkerStatus } from "../../kernel/plans.ts";

/**
 * What works on a port: a model, an agent of another maker, a program. The same interface for all.
 *
 * `run` never throws for what an agent does wrong (dies, floods, hangs, lies): that is a `failed`
 * result with a code of {@link WORKER_FAILURES}. It throws the signal's reason on an abort, and
 * what says nothing of the work: a defect of dure, an outage of its database. Every process of the
 * worker is gone then. Source: docs/spec/plans §6.
 */
export interface Worker {
  readonly kind: WorkerSpec["kind"];
  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent>;
}

/** One try of one member of a pair. */
export interface Assignment {
  /** The same after a crash for the same step. */
  readonly id: string;
  readonly run: string;
  readonly plan: string;
  readonly port: string;
  readonly member: Member;
  /** 1-based, over all tries of the port. */
  readonly try: number;
  /** Complete, from context/. */
  readonly prompt: string;
  /** The conversation of the member's last try: gone on with where the agent can. */
  readonly session?: string | undefined;
  /** Said in the place of the prompt where that conversation goes on: it knows the rest. */
  readonly promptResumed?: string | undefined;
  readonly scope: WorkerScope;
  /** Absolute real path of the files. */
  readonly tree: string;
  /**
   * Absolute real path, writable by the processes. In a run `env` names HOME and TMPDIR below it;
   * without them both are this folder.
   */
  readonly scratch: string;
  readonly sandbox: Sandbox;
  readonly confinement: Confinement;
  /** Complete: a process of the worker gets this, and the few variables that its kind adds. */
  readonly env: Readonly<Record<string, string>>;
  /**
   * `tokens`: of this try, input and output together; absent: no bound but the kind's own.
   * `shared`: what it uses together with the workers beside it.
   */
  readonly limits: SandboxCommand["limits"] & {
    readonly tokens?: number;
    readonly shared?: SharedTokens | undefined;
  };
  /**
   * Calls of its models that pass dure's door: they are counted there, whatever it says of them.
   * Absent: what it says counts.
   */
  readonly calls?: ModelCalls | undefined;
  /** Who pays for calls that pass the door. */
  readonly pay?: CallPay | undefined;
  /**
   * Its port waits rightly from now on, which takes nothing of the port's time. Absent: it waits for
   * no model that is away, because another worker waits for its answer.
   */
  readonly hold?: Hold | undefined;
  /** Told when a child process is there; stored, so that it can be ended after a crash. */
  readonly onStart: (identity: WorkerIdentity) => Promise<void>;
  readonly channel: WorkerChannel;
  /** Asks the operator for one more path; below a folder, for all of it. */
  readonly requestAccess: (
    request: AccessRequest,
    options: { signal: AbortSignal },
  ) => Promise<{ readonly granted: boolean; readonly note: string }>;
  /**
   * The refused write with this number ends the worker, unless its scope says that it goes on. Source:
   * docs/spec/plans §5: 2.
   */
  readonly stopAtViolation: number;
}

/** What several workers use together: tokens of models, and calls of them. */
export interface SharedTokens extends Partial<CallGate> {
  /** Tokens for all of them; below zero where the last call took more. 0: no call is left. */
  readonly left: number;
  /** Counts calls of models that were made, or starts of workers. */
  add(tokens: number, calls: number): void;
  /** Calls `stop` when more is used than there was. Gives what ends that. */
  onUsedUp(stop: (of: "tokens" | "calls") => void): () => void;
}

export interface WorkerChannel {
  /** Asks the other member or the operator; answered while the worker works. */
  query(text: string, options: { signal: AbortSignal }): Promise<string>;
  /**
   * What was said to it by now and it has not read, oldest first, at most 50. A worker that does not
   * read it hears it in its next prompt.
   */
  letters(options: { signal: AbortSignal }): Promise<readonly Letter[]>;
}

/** Words for a worker. */
export interface Letter {
  readonly from: string;
  readonly text: string;
  /** Stores that the worker has read them. */
  readonly read: () => Promise<void>;
}

export interface AccessRequest {
  readonly path: string;
  readonly wants: "read" | "own";
  readonly why: string;
}

/** What a worker says of its work while it lasts. */
export type WorkerEvent =
  /**
   * At least every {@link STALLED_AFTER_MS} while there is life; a worker without it is stalled.
   * `progress`: 0–1.
   */
  | {
      readonly type: "progress";
      readonly progress: number;
      readonly currentTask: string;
      readonly tokensUsed: number;
      /** The same by kind. Absent: all counts as input. */
      readonly tokens?: WorkerTokens | undefined;
      /** Of its model; its start counts as one. */
      readonly callsMade: number;
      /** Calls of its models whose answer is not there yet, where that is known. */
      readonly callsUnderWay?: number | undefined;
    }
  /** What keeps its provider from it; undefined: its provider serves it again. */
  | { readonly type: "provider"; readonly trouble: ProviderTrouble | undefined }
  /** What its calls have cost so far, as its agent tells it. `tokens`: those of them. */
  | {
      readonly type: "cost";
      readonly cost: WorkerCost;
      readonly tokens: WorkerTokens;
    }
  /** The conversation that its agent has. `isResumed`: it goes on with an earlier one. */
  | { readonly type: "session"; readonly id: string; readonly isResumed: boolean }
  /** For the transcript; at most {@link MAX_ENTRY} characters. */
  | { readonly type: "entry"; readonly entry: TranscriptEntry }
  /** For the log; at most {@link MAX_SAID} characters. */
  | { readonly type: "said"; readonly text: string }
  /** Refused before it happened. `detail` says how it was tried. */
  | {
      readonly type: "violation";
      readonly path: string;
      readonly wanted: "read" | "write";
      readonly because: ScopeReason;
      readonly detail?: string | undefined;
    }
  | {
      readonly type: "access";
      readonly path: string;
      readonly wants: "read" | "own";
      readonly granted: boolean;
    }
  /** Exactly once, last. */
  | { readonly type: "result"; readonly result: WorkerResult };

/** One thing that a worker thought, said, did or read. */
export interface TranscriptEntry {
  readonly kind: TranscriptKind;
  /** A tool's name, a path, a command; in one line. */
  readonly title?: string | undefined;
  readonly text: string;
  /** How a tool's call ended. */
  readonly status?: string | undefined;
}

/** How a try of a worker ended. */
export interface WorkerResult {
  readonly status: WorkerStatus;
  /** At most {@link MAX_SUMMARY} characters. */
  readonly summary: string;
  /** What the worker says it changed; what it did change is for git to say. */
  readonly claimedFiles: readonly string[];
  readonly tokens: WorkerTokens & {
    /** It was not told for all calls. Absent: it was. */
    readonly isEstimate?: boolean | undefined;
  };
  /** Of its model; its start counts as one. Absent: none was counted. */
  readonly calls?: number | undefined;
  /** What its conversation has cost so far, as its agent or its price list says. */
  readonly cost?: WorkerCost | undefined;
  readonly error?: WorkerError | undefined;
  /** What a tester found, in its own words; the acceptance command decides. */
  readonly feedback?: TestFeedback | undefined;
}

/** What calls of models have used. */
export interface WorkerTokens {
  readonly input: number;
  /** Of the input what came from the provider's cache, where that is known. */
  readonly cached?: number | undefined;
  readonly output: number;
}

export interface WorkerCost {
  readonly amount: number;
  /** Such as USD. */
  readonly currency: string;
}

export interface WorkerError {
  readonly code: WorkerFailure;
  readonly message: string;
  readonly hint?: string | undefined;
  /** With `WORKER_RATE_LIMITED`: when the next call may be made, milliseconds since 1970. */
  readonly until?: number | undefined;
}

/** Why a try failed, and what to do about it. */
export const WORKER_FAILURES = {
  WORKER_LOGIN: "Sign in with the agent's own program, or pass its key on with env in the plan.",
  WORKER_RATE_LIMITED: "Wait, or raise the limit at the provider.",
  WORKER_IDLE: "Look at what it wrote; it ended without a call of its model.",
  WORKER_NOT_STARTED: "Check the command of the worker in the plan, and that it is installed.",
  WORKER_DIED: "Look at the last lines that it wrote; the next try starts a new process.",
  WORKER_TIMEOUT: "Give the port more time, or a smaller goal.",
  WORKER_MEMORY:
    "Let it do less at once, or raise plans.memoryBytes; the next try starts a new process.",
  WORKER_DISK:
    "Look at what it wrote, or raise plans.diskBytes; the next try starts from a clean tree.",
  WORKER_FLOODED: "Look at what it wrote; a program that prints without end has lost its way.",
  WORKER_PROTOCOL:
    "Check that the command speaks the Agent Client Protocol on its standard output and nothing else.",
  WORKER_REFUSED: "The agent refused the task; word the goal differently, or take another worker.",
  WORKER_STOPPED_VIOLATIONS: "Give the port the paths that it needs, or make them a contract.",
  WORKER_TOKENS: "Extend the budget of the port, or make its goal smaller.",
  WORKER_BUDGET: "Raise the budget of money, or wait until tomorrow.",
  WORKER_STEPS: "Make the goal of the port smaller.",
  WORKER_ASKED_TOO_MUCH: "Take another mode of the agent, in which it asks less.",
  WORKER_MODEL: "See the model's error; the port can be given another try.",
  WORKER_SCRIPT: "Mend the script of the offline worker.",
  WORKER_FAILED: "This is a fault of dure or of the machine; see the log.",
} as const;

export type WorkerFailure = keyof typeof WORKER_FAILURES;

/** Characters of one entry of a transcript. */
export const MAX_ENTRY = 16_000;
/** Characters; both texts are stored and shown. */
export const MAX_SAID = 2_000;
export const MAX_SUMMARY = 4_000;
