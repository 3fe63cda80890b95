import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { WorkerScope, ScopeReason } from "../scope.ts";
import type { CallListener, SeenCall } from "../calls/model-desk.ts";
import type { ProviderTrouble } from "../calls/provider-trouble.ts";
import { headOf } from "./bounded-text.ts";
import { isForGood, troubleEnd, withTrouble } from "./provider-end.ts";
import { asFailure, endsTry, workerError } from "./worker-error.ts";
import {
  MAX_SAID,
  MAX_SUMMARY,
  type AccessRequest,
  type Assignment,
  type TranscriptEntry,
  type WorkerCost,
  type WorkerEvent,
  type WorkerResult,
  type WorkerTokens,
} from "./worker.ts";

/** Between two signs of life, milliseconds. Source: docs/spec/plans §6: at least every 10 s. */
const BEAT_MS = 4_000;
/**
 * What is waited for rightly (a model's answer, a command) stands for life so long, milliseconds;
 * what says nothing for longer looks stalled until it is heard again, although its own time limit
 * is not over. Most builds and model calls are shorter.
 */
const SILENT_MS = 120_000;
/**
 * Events that wait for a reader; beyond it the oldest words are left out, never a violation or a
 * result.
 */
const MAX_WAITING = 200;
const LEFT_OUT_FIRST: ReadonlySet<WorkerEvent["type"]> = new Set(["said", "progress", "entry"]);
/** Files that a worker may claim. */
const MAX_CLAIMED = 1_000;

/**
 * The frame of every worker: `work` does it and tells the report; what comes out is the stream of
 * events with its signs of life, its one result at the end and its bound on violations. On an abort
 * the stream throws the signal's reason, after `work` has settled: work that starts a process waits
 * for its end. It throws what is no end of a try too. A reader that stops reading aborts the work.
 */
export async function* runWorker(
  assignment: WatchedAssignment,
  work: (report: WorkerReport) => Promise<WorkerRunEnd>,
  options: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<WorkerEvent> {
  const { clock, signal } = options;
  signal.throwIfAborted();
  const report = new WorkerReport(assignment, { clock });
  const pass = (): void => report.stop(signal.reason);
  signal.addEventListener("abort", pass, { once: true });
  const stopBeating = clock.every(BEAT_MS, () => report.beat());
  const { shared } = assignment.limits;
  const stopListening = assignment.calls?.listen(report);
  const stopWatching = shared?.onUsedUp((of) => report.stop(nothingLeft(of)));
  const working = shared !== undefined && shared.left <= 0 ? refused() : begun(report, work);
  const idle = async (): Promise<void> => assignment.calls?.idle();
  const settled = working.then(
    (result) => idle().then(() => report.end(result)),
    (error: unknown) => idle().then(() => report.fail(error)),
  );
  try {
    yield* report.events();
    signal.throwIfAborted();
    if (report.fault) throw report.fault.error;
    yield { type: "result", result: report.result! };
  } finally {
    stopBeating();
    stopWatching?.();
    stopListening?.();
    signal.removeEventListener("abort", pass);
    if (!report.result) {
      report.stop(new DureError("WORKER_FAILED", "The worker has no reader any more."));
    }
    await settled;
  }
}

/** A result whose tokens are those that were counted on the way, unless it tells the sum. */
export type WorkerRunEnd = Omit<WorkerResult, "tokens"> & {
  readonly tokens?: WorkerResult["tokens"] | undefined;
};

/** What the frame needs to know of an assignment. */
type WatchedAssignment = Pick<
  Assignment,
  "stopAtViolation" | "requestAccess" | "limits" | "calls"
> & {
  readonly scope?: Pick<WorkerScope, "onViolation">;
};

/** What a worker says of what it does. */
export class WorkerReport implements CallListener {
  /**
   * Aborts on an abort from outside, at the last violation, when tokens are used up. Its reason
   * says which.
   */
  readonly signal: AbortSignal;
  #tokens: TokenCounts = { input: 0, cached: 0, output: 0 };
  #isEstimate = false;
  #calls = 0;
  /** Calls that have passed dure's door count, and nothing that the worker says of its calls. */
  #isSeen = false;
  #served = 0;
  #trouble: ProviderTrouble | undefined;
  result: WorkerResult | undefined;
  /** What ended the work and says nothing of it: see `endsTry`. */
  fault: { readonly error: unknown } | undefined;
  readonly #assignment: WatchedAssignment;
  readonly #controller = new AbortController();
  readonly #waiting: WorkerEvent[] = [];
  readonly #clock: Clock;
  #wake: () => void = () => {};
  #progress: Extract<WorkerEvent, { type: "progress" }> = {
    type: "progress",
    progress: 0,
    currentTask: "starting",
    tokensUsed: 0,
    tokens: this.#tokens,
    callsMade: 0,
  };
  #cost: WorkerCost | undefined;
  #violations = 0;
  /** Something was heard of the worker since the last beat. */
  #alive = true;
  /** Things in flight that are waited for rightly, each with a time limit of its own. */
  #pending = 0;
  /** When something was last heard, on the clock that never jumps. */
  #heardAt: number;

  constructor(assignment: WatchedAssignment, options: { clock: Clock }) {
    this.#assignment = assignment;
    this.#clock = options.clock;
    this.#heardAt = options.clock.monotonic();
    this.signal = this.#controller.signal;
    this.#put(this.#progress);
  }

  /** Tells what is done now; only differences are sent at once. */
  progress(now: {
    readonly progress?: number | undefined;
    readonly currentTask?: string | undefined;
  }): void {
    this.#alive = true;
    const told = Number.isFinite(now.progress) ? now.progress! : this.#progress.progress;
    const progress = Math.max(0, Math.min(1, told));
    const currentTask = headOf(now.currentTask ?? this.#progress.currentTask, 200);
    if (progress === this.#progress.progress && currentTask === this.#progress.currentTask) return;
    this.#progress = { type: "progress", progress, currentTask, ...this.#use };
    this.#put(this.#progress);
  }

  /** Heard of the worker, nothing to tell. */
  alive(): void {
    this.#alive = true;
  }

  /**
   * While `promise` is pending its worker counts as alive, for some time without a word: a model
   * call, a command, a question to a person.
   */
  async during<T>(promise: Promise<T>): Promise<T> {
    this.#pending += 1;
    this.#heardAt = this.#clock.monotonic();
    try {
      return await promise;
    } finally {
      this.#pending -= 1;
      this.#alive = true;
    }
  }

  /** For the transcript: what it thought, said, did or read. */
  note(entry: TranscriptEntry): void {
    this.#alive = true;
    this.#put({ type: "entry", entry });
  }

  /** The conversation that its agent has. */
  session(id: string, isResumed: boolean): void {
    this.#put({ type: "session", id: headOf(id, 500), isResumed });
  }

  say(text: string): void {
    this.#alive = true;
    if (text.trim() !== "") this.#put({ type: "said", text: headOf(text, MAX_SAID) });
  }

  /** Tokens of one model call, as its worker tells it. */
  used(tokens: WorkerTokens): void {
    if (!this.#isSeen) this.#count(tokens, 1);
  }

  /** More tokens of the call that was told last. */
  usedMore(tokens: WorkerTokens): void {
    if (!this.#isSeen) this.#count(tokens, 0);
  }

  // What passes dure's door.

  began(): void {
    this.#isSeen = true;
    this.#alive = true;
  }

  seen({ tokens, isEstimate }: SeenCall): void {
    this.#isSeen = true;
    this.#served += 1;
    this.#isEstimate ||= isEstimate;
    this.#count(tokens, 1);
  }

  trouble(trouble: ProviderTrouble | undefined): void {
    this.#trouble = trouble;
    this.#put({ type: "provider", trouble });
    const isAgent = this.#assignment.calls?.isAgent === true;
    if (trouble && isAgent && isForGood(trouble)) this.stop(troubleEnd(trouble));
  }

  usedUp(): void {
    this.stop(nothingLeft());
  }

  /** Stops the worker when it has used more than it may. */
  #count(tokens: WorkerTokens, calls: number): void {
    this.#tokens = {
      input: this.#tokens.input + tokens.input,
      cached: this.#tokens.cached + (tokens.cached ?? 0),
      output: this.#tokens.output + tokens.output,
    };
    this.#calls += calls;
    this.#progress = { ...this.#progress, ...this.#use };
    // Told at once: when this process dies, nothing else knows what was paid.
    this.#put(this.#progress);
    const { tokens: bound, shared } = this.#assignment.limits;
    shared?.add(tokens.input + tokens.output, calls);
    if (bound !== undefined && this.tokensUsed > bound) {
      this.stop(
        workerError("WORKER_TOKENS", `The worker used ${this.tokensUsed} tokens of ${bound}.`),
      );
    }
  }

  /** What was told last. */
  get cost(): WorkerCost | undefined {
    return this.#cost;
  }

  /** What its calls have cost in all, as far as is known now. */
  costs(cost: WorkerCost | undefined): void {
    this.#cost = cost;
    if (cost) this.#put({ type: "cost", cost, tokens: this.#tokens });
  }

  get tokensUsed(): number {
    return this.#tokens.input + this.#tokens.output;
  }

  get #use() {
    return {
      tokensUsed: this.tokensUsed,
      tokens: this.#tokens,
      callsMade: this.#calls,
      callsUnderWay: this.#assignment.calls?.underWay,
    };
  }

  get #counted(): WorkerResult["tokens"] {
    return this.#isEstimate ? { ...this.#tokens, isEstimate: true } : this.#tokens;
  }

  /**
   * A refusal that is recorded. The write with the number `stopAtViolation` stops the worker, unless
   * its scope says that it goes on.
   */
  violation(violation: {
    readonly path: string;
    readonly wanted: "read" | "write";
    readonly because: ScopeReason;
    readonly detail?: string | undefined;
    /** It was held by the sandbox, and found in what the worker wrote: it ends nothing. */
    readonly isHeld?: boolean | undefined;
  }): void {
    this.#alive = true;
    const { isHeld = false, ...told } = violation;
    // A refused look harms nothing and costs no try; a write is an attempt on another's files.
    const counts = violation.wanted === "write" && !isHeld;
    if (counts) this.#violations += 1;
    this.#put({
      type: "violation",
      ...told,
      path: headOf(violation.path, 1_024),
      detail: violation.detail === undefined ? undefined : headOf(violation.detail, 500),
    });
    const { scope, stopAtViolation } = this.#assignment;
    const stops = (scope?.onViolation ?? "stop") === "stop";
    if (!counts || !stops || this.#violations < stopAtViolation) return;
    const wanted = `${violation.wanted} ${headOf(violation.path, 200)}`;
    this.stop(
      workerError(
        "WORKER_STOPPED_VIOLATIONS",
        `The worker was stopped at violation ${this.#violations}: it wanted to ${wanted}.`,
      ),
    );
  }

  async requestAccess(
    request: AccessRequest,
  ): Promise<{ readonly granted: boolean; readonly note: string }> {
    const asked = this.#assignment.requestAccess(request, { signal: this.signal });
    const answer = await this.during(asked);
    this.#put({
      type: "access",
      path: headOf(request.path, 1_024),
      wants: request.wants,
      granted: answer.granted,
    });

    return answer;
  }

  // The rest is for `runWorker`.

  /** A worker is there, whatever it does: that counts like a call. */
  begin(): void {
    this.#calls += 1;
    this.#progress = { ...this.#progress, ...this.#use };
    this.#assignment.limits.shared?.add(0, 1);
  }

  stop(reason: unknown): void {
    this.#controller.abort(reason);
  }

  beat(): void {
    const now = this.#clock.monotonic();
    if (this.#alive) this.#heardAt = now;
    else if (this.#pending === 0 || now - this.#heardAt > SILENT_MS) return;
    this.#alive = false;
    this.#progress = { ...this.#progress, ...this.#use };
    this.#put(this.#progress);
  }

  end(result: WorkerRunEnd): void {
    // Work that ended although it was stopped, at its last violation for instance, has failed.
    if (this.signal.aborted) return this.fail(this.signal.reason);
    const isAgent = this.#assignment.calls?.isAgent === true;
    if (this.#trouble && isAgent && this.#served === 0) {
      return this.fail(troubleEnd(this.#trouble));
    }
    const told = this.#isSeen ? undefined : result.tokens;
    this.#finish({ ...result, tokens: told ?? this.#counted, cost: this.cost });
  }

  fail(error: unknown): void {
    const reason: unknown = this.signal.aborted ? this.signal.reason : error;
    if (!endsTry(reason)) {
      this.fault = { error: reason };
      return this.#wake();
    }
    const isStopped = this.signal.aborted;
    const failure = asFailure(reason);
    const { code, message, hint, until } = isStopped
      ? failure
      : withTrouble(failure, this.#trouble);
    this.#finish({
      status: "failed",
      summary: message,
      claimedFiles: [],
      tokens: this.#counted,
      cost: this.cost,
      error: { code, message: headOf(message, MAX_SAID), hint, until },
    });
  }

  async *events(): AsyncGenerator<WorkerEvent> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) yield next;
      else if (this.result || this.fault) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #finish(result: WorkerResult): void {
    const { input, output } = result.tokens;
    this.#assignment.limits.shared?.add(input + output - this.tokensUsed, 0);
    this.result = {
      ...result,
      summary: headOf(result.summary, MAX_SUMMARY),
      claimedFiles: result.claimedFiles.slice(0, MAX_CLAIMED).map((path) => headOf(path, 1_024)),
      tokens: { ...result.tokens },
      calls: this.#calls,
    };
    this.#wake();
  }

  #put(event: WorkerEvent): void {
    if (this.result) return;
    if (this.#waiting.length >= MAX_WAITING) {
      const oldest = this.#waiting.findIndex(({ type }) => LEFT_OUT_FIRST.has(type));
      if (oldest >= 0) this.#waiting.splice(oldest, 1);
    }
    this.#waiting.push(event);
    this.#wake();
  }

  get clock(): Clock {
    return this.#clock;
  }
}

interface TokenCounts {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
}

function nothingLeft(of: "tokens" | "calls" = "tokens"): DureError {
  return workerError("WORKER_TOKENS", `The workers have used up the ${of} that they had together.`);
}

function begun(
  report: WorkerReport,
  work: (report: WorkerReport) => Promise<WorkerRunEnd>,
): Promise<WorkerRunEnd> {
  report.begin();
  return work(report);
}

/** Nothing is begun where nothing is left for a call. */
async function refused(): Promise<never> {
  throw nothingLeft();
}
