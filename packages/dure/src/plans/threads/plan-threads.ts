import { Worker } from "node:worker_threads";
import { systemClock, type Cancel, type Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { DraftChange, DraftPort } from "../../wire/drafts.ts";
import type { RunMode } from "../../wire/plans.ts";
import { editPlan, portsIn } from "../drafts/edit-plan.ts";
import { modeOfRun } from "../mode.ts";
import type { Plan } from "../plan.ts";
import { modulesOfPlan, type PlanModules } from "../plan-modules.ts";
import { QUICK_EFFORT, tooExpensive } from "../plan-effort.ts";
import { readPlan, type PlanReading } from "../plan-file.ts";
import type { PlanTasks } from "./plan-tasks.ts";
import type { READY, ThreadAnswer, ThreadQuestion } from "./plan-thread.ts";

/** Bounds of the work on plans beside the main thread. */
export interface PlanThreadLimits {
  /** Threads that work at the same time. Each is one core. */
  readonly threads: number;
  /** Tasks that may wait for a thread. */
  readonly waiting: number;
  /** Of these, tasks of one share. */
  readonly shareWaiting: number;
  /**
   * Longest time of one task, milliseconds. The slowest of honest plans (10,000 ports, 3.4 MB)
   * takes 2 s; one in which all own the same, 6 s.
   */
  readonly taskMs: number;
  /** Longest wait for a thread, milliseconds. */
  readonly waitMs: number;
  /** Memory of one thread, MiB. The largest honest plan takes 300. */
  readonly memoryMb: number;
  /** A thread that had nothing to do for this long ends, milliseconds. */
  readonly idleMs: number;
}

const PLAN_THREAD_LIMITS: PlanThreadLimits = {
  threads: 1,
  waiting: 32,
  shareWaiting: 4,
  taskMs: 10_000,
  waitMs: 20_000,
  memoryMb: 768,
  idleMs: 30_000,
};

/** Longest time for a thread to read its code, milliseconds; 200 on a machine that is idle. */
const START_MS = 30_000;
/**
 * Characters of a plan that is worked on without a thread, where aliases and braces make no more of
 * it: in the worst case 40 ms, and a thread takes 200 ms to start.
 */
const SHORT = 8_000;
/** A run of so few ports over so few files is looked at without a thread, within 20 ms. */
const FEW_PORTS = 20;
const FEW_FILES = 2_000;
/** The share of work that no caller asked for by name. */
const TEAM = "";

/** Whose work it is, and until when. */
export interface PlanWork {
  /** A tenant, else a caller: the others do not wait for more of it than their turn. */
  readonly share?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Shares whose last turn is remembered. */
const MAX_SHARES = 1_000;

type ThreadTask = keyof PlanTasks;
type TaskArguments<Name extends ThreadTask> = Parameters<PlanTasks[Name]>;
type TaskResult<Name extends ThreadTask> = ReturnType<PlanTasks[Name]>;

/**
 * Threads for work whose time grows with what a stranger sent. The main thread stays free; a task
 * that takes too long or too much memory ends with its thread, and the next task gets a new one.
 */
export class PlanThreads {
  readonly #limits: PlanThreadLimits;
  readonly #clock: Clock;
  readonly #idle: PlanThread[] = [];
  readonly #all = new Set<PlanThread>();
  readonly #waiting: WaitingTask[] = [];
  /** When a share had its last thread: who waits longest for theirs is next. */
  readonly #served = new Map<string, number>();
  #turn = 0;
  #stopped = false;

  constructor({
    limits = {},
    clock = systemClock,
  }: { limits?: Partial<PlanThreadLimits>; clock?: Clock } = {}) {
    this.#limits = { ...PLAN_THREAD_LIMITS, ...limits };
    this.#clock = clock;
  }

  /** As `readPlan`; what is little work is done at once, on this thread. Throws as `run`. */
  async read(file: string, text: string, work: PlanWork = {}): Promise<PlanReading> {
    const quick = text.length <= SHORT ? readQuickly(file, text) : undefined;
    return quick ?? this.run("read", [file, text], work);
  }

  /** As `editPlan`. Throws as `run`. */
  async edit(text: string, change: DraftChange, work: PlanWork = {}): Promise<string> {
    return text.length <= SHORT ? editPlan(text, change) : this.run("edit", [text, change], work);
  }

  /** As `portsIn`. Throws as `run`. */
  async ports(text: string, work: PlanWork = {}): Promise<readonly DraftPort[]> {
    return text.length <= SHORT ? portsIn(text) : this.run("ports", [text], work);
  }

  /** As `modeOfRun`. Throws as `run`. */
  async mode(plan: Plan, files: readonly string[], work: PlanWork = {}): Promise<RunMode> {
    return isSmall(plan, files) ? modeOfRun(plan, files) : this.run("mode", [plan, files], work);
  }

  /** As `modulesOfPlan`. Throws as `run`. */
  async modules(plan: Plan, files: readonly string[], work: PlanWork = {}): Promise<PlanModules> {
    if (isSmall(plan, files)) return modulesOfPlan(plan, files);
    return this.run("modules", [plan, files], work);
  }

  /**
   * Throws `PLAN_TOO_EXPENSIVE`, `PLAN_THREADS_BUSY`, and the abort of `signal`, after which the
   * thread is ended.
   */
  async run<Name extends ThreadTask>(
    task: Name,
    given: TaskArguments<Name>,
    { share = TEAM, signal }: PlanWork = {},
  ): Promise<TaskResult<Name>> {
    signal?.throwIfAborted();
    const thread = await this.#thread({ share, signal });
    try {
      signal?.throwIfAborted();
      return (await thread.ask(
        { task, arguments: given },
        { ms: this.#limits.taskMs, signal },
      )) as TaskResult<Name>;
    } finally {
      this.#release(thread);
    }
  }

  /** Ends all threads; what waits is refused. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { refuse } of this.#waiting.splice(0)) refuse(threadsBusy("They are closing."));
    await Promise.all([...this.#all].map((thread) => thread.end()));
  }

  #thread(work: ThreadWork): Promise<PlanThread> {
    if (this.#stopped) throw threadsBusy("They are closing.");
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(this.#given(idle, work));
    if (this.#all.size < this.#limits.threads) {
      return Promise.resolve(this.#given(this.#start(), work));
    }
    const { waiting, shareWaiting } = this.#limits;
    if (this.#waiting.length >= waiting) throw threadsBusy(`${waiting} others wait already.`);
    const own = this.#waiting.filter(({ share }) => share === work.share);
    if (own.length >= shareWaiting) throw threadsBusy(`${own.length} of yours wait already.`);

    return this.#wait(work);
  }

  #given(thread: PlanThread, { share }: Pick<ThreadWork, "share">): PlanThread {
    this.#served.delete(share);
    this.#served.set(share, ++this.#turn);
    if (this.#served.size > MAX_SHARES) this.#served.delete(this.#served.keys().next().value!);

    return thread;
  }

  #wait({ share, signal }: ThreadWork): Promise<PlanThread> {
    const { promise, resolve, reject } = Promise.withResolvers<PlanThread>();
    const leave = (error: unknown): void => {
      const index = this.#waiting.indexOf(waiting);
      if (index >= 0) this.#waiting.splice(index, 1);
      reject(error);
    };
    const onAbort = (): void => leave(signal?.reason);
    const cancel = this.#clock.after(this.#limits.waitMs, () =>
      leave(threadsBusy(`None was free within ${this.#limits.waitMs} ms.`)),
    );
    const waiting: WaitingTask = { share, take: resolve, refuse: leave };
    this.#waiting.push(waiting);
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise.finally(() => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
    });
  }

  /** The oldest task of the share whose last turn is longest ago. */
  #next(): WaitingTask | undefined {
    const turnOf = ({ share }: WaitingTask): number => this.#served.get(share) ?? 0;
    const [next] = this.#waiting.toSorted((a, b) => turnOf(a) - turnOf(b));
    if (next) this.#waiting.splice(this.#waiting.indexOf(next), 1);

    return next;
  }

  #start(): PlanThread {
    const thread = new PlanThread(this.#clock, this.#limits);
    this.#all.add(thread);
    return thread;
  }

  #release(thread: PlanThread): void {
    if (thread.isOver) this.#all.delete(thread);
    if (this.#stopped) return;
    const next = this.#next();
    if (next) return next.take(this.#given(thread.isOver ? this.#start() : thread, next));
    if (thread.isOver) return;
    this.#idle.push(thread);
    thread.endWhenIdle(() => {
      this.#idle.splice(this.#idle.indexOf(thread), 1);
      this.#all.delete(thread);
    });
  }
}

interface ThreadWork {
  readonly share: string;
  readonly signal: AbortSignal | undefined;
}

interface WaitingTask {
  readonly share: string;
  readonly take: (thread: PlanThread) => void;
  readonly refuse: (error: unknown) => void;
}

/** As this module is: TypeScript from the sources, JavaScript from `dist`. */
const ENDING = import.meta.url.endsWith(".ts") ? "ts" : "js";

/** One thread with one task at a time. */
class PlanThread {
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #limits: PlanThreadLimits;
  #isOver = false;
  readonly #ready = Promise.withResolvers<void>();
  #cancelIdle: Cancel | undefined;
  #settle: (answer: ThreadAnswer | Error) => void = () => {};

  constructor(clock: Clock, limits: PlanThreadLimits) {
    this.#clock = clock;
    this.#limits = limits;
    this.#worker = new Worker(new URL(`./plan-thread.${ENDING}`, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb, maxYoungGenerationSizeMb: 64 },
      env: {}, // it reads plans; it needs none of the team's secrets
    });
    this.#worker.unref();
    this.#worker.on("message", (said: ThreadAnswer | typeof READY) =>
      said === "ready" ? this.#ready.resolve() : this.#settle(said),
    );
    this.#worker.on("error", (error: Error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new Error("the thread ended")));
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  async ask(
    question: ThreadQuestion,
    { ms, signal }: { ms: number; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    this.#cancelIdle?.();
    const { promise, resolve } = Promise.withResolvers<ThreadAnswer | Error>();
    this.#settle = resolve;
    const onAbort = (): void => this.#fail(signal?.reason as Error);
    signal?.addEventListener("abort", onAbort, { once: true });
    let cancel = this.#clock.after(START_MS, () =>
      this.#fail(threadsBusy(`It did not start within ${START_MS} ms.`)),
    );
    this.#worker.ref();
    this.#worker.postMessage(question, []);
    void this.#ready.promise.then(() => {
      cancel();
      if (!this.#isOver) {
        cancel = this.#clock.after(ms, () =>
          this.#fail(tooExpensive(`It took longer than ${ms} ms.`)),
        );
      }
    });
    try {
      const answer = await promise;
      if (answer instanceof Error) throw this.#inWords(answer);
      if (answer.ok) return answer.value;
      const { code = "INTERNAL", message, class: errorClass, hint } = answer;
      throw new DureError(code, message, { class: errorClass, hint });
    } finally {
      cancel();
      signal?.removeEventListener("abort", onAbort);
      this.#worker.unref();
    }
  }

  endWhenIdle(onEnd: () => void): void {
    this.#cancelIdle = this.#clock.after(this.#limits.idleMs, () => {
      onEnd();
      void this.end();
    });
  }

  async end(): Promise<void> {
    this.#cancelIdle?.();
    this.#fail(new Error("the thread was ended"));
    await this.#worker.terminate();
  }

  #fail(error: Error): void {
    if (!this.#isOver) void this.#worker.terminate();
    this.#isOver = true;
    this.#settle(error);
  }

  #inWords(error: Error): Error {
    if (codeOf(error) !== "ERR_WORKER_OUT_OF_MEMORY") return error;
    const why = `It needs more than ${this.#limits.memoryMb} MiB of memory.`;
    return tooExpensive(why, { because: messageOf(error) });
  }
}

/** Pure. */
function isSmall({ ports, whole = ports }: Plan, files: readonly string[]): boolean {
  return whole.length <= FEW_PORTS && files.length <= FEW_FILES;
}

/** Undefined: it is more work than this thread does, and a thread of its own says what comes of it. */
function readQuickly(file: string, text: string): PlanReading | undefined {
  try {
    return readPlan(file, text, QUICK_EFFORT);
  } catch (error) {
    if (codeOf(error) === "PLAN_TOO_EXPENSIVE") return undefined;
    throw error;
  }
}

function threadsBusy(why: string): DureError {
  return new DureError("PLAN_THREADS_BUSY", `No thread is free for this plan. ${why}`, {
    class: "unavailable",
    hint: "Try again in some seconds.",
    details: { retryAfterMs: 5_000 },
  });
}
