import { Worker } from "node:worker_threads";
import { systemClock, type Cancel, type Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { readPlan, type PlanReading } from "../plan-file.ts";
import type { PlanTasks } from "./plan-tasks.ts";
import type { READY, ThreadAnswer, ThreadQuestion } from "./plan-thread.ts";

/** Bounds of the work on plans beside the main thread. */
export interface PlanThreadLimits {
  /** Threads that work at the same time. Each is one core. */
  readonly threads: number;
  /** Tasks that may wait for a thread. */
  readonly waiting: number;
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
  waiting: 16,
  taskMs: 10_000,
  waitMs: 20_000,
  memoryMb: 768,
  idleMs: 30_000,
};

/** Longest time for a thread to read its code, milliseconds; 200 on a machine that is idle. */
const START_MS = 30_000;
/**
 * Characters of a plan that is read without a thread: in the worst case 30 ms, and a thread takes
 * 200 ms to start.
 */
const SHORT = 8_000;

type Task = keyof PlanTasks;
type Given<Name extends Task> = Parameters<PlanTasks[Name]>;
type Result<Name extends Task> = ReturnType<PlanTasks[Name]>;

/**
 * Threads for work whose time grows with what a stranger sent. The main thread stays free; a task
 * that takes too long or too much memory ends with its thread, and the next task gets a new one.
 */
export class PlanThreads {
  readonly #limits: PlanThreadLimits;
  readonly #clock: Clock;
  readonly #idle: PlanThread[] = [];
  readonly #all = new Set<PlanThread>();
  readonly #waiting: Waiting[] = [];
  #stopped = false;

  constructor({
    limits = {},
    clock = systemClock,
  }: { limits?: Partial<PlanThreadLimits>; clock?: Clock } = {}) {
    this.#limits = { ...PLAN_THREAD_LIMITS, ...limits };
    this.#clock = clock;
  }

  /** As `readPlan`; what is short is read at once, on this thread. Throws as `run`. */
  async read(
    file: string,
    text: string,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<PlanReading> {
    return text.length <= SHORT ? readPlan(file, text) : this.run("read", [file, text], options);
  }

  /**
   * Throws `PLAN_TOO_EXPENSIVE`, `PLAN_THREADS_BUSY`, and the abort of `signal`, after which the
   * thread is ended.
   */
  async run<Name extends Task>(
    task: Name,
    given: Given<Name>,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<Result<Name>> {
    signal?.throwIfAborted();
    const thread = await this.#thread(signal);
    try {
      signal?.throwIfAborted();
      return (await thread.ask(
        { task, arguments: given },
        { ms: this.#limits.taskMs, signal },
      )) as Result<Name>;
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

  #thread(signal: AbortSignal | undefined): Promise<PlanThread> {
    if (this.#stopped) throw threadsBusy("They are closing.");
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle);
    if (this.#all.size < this.#limits.threads) return Promise.resolve(this.#start());
    if (this.#waiting.length >= this.#limits.waiting) {
      throw threadsBusy(`${this.#limits.waiting} others wait already.`);
    }
    return this.#wait(signal);
  }

  #wait(signal: AbortSignal | undefined): Promise<PlanThread> {
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
    const waiting: Waiting = { take: resolve, refuse: leave };
    this.#waiting.push(waiting);
    signal?.addEventListener("abort", onAbort, { once: true });
    return promise.finally(() => {
      cancel();
      signal?.removeEventListener("abort", onAbort);
    });
  }

  #start(): PlanThread {
    const thread = new PlanThread(this.#clock, this.#limits);
    this.#all.add(thread);
    return thread;
  }

  #release(thread: PlanThread): void {
    if (thread.isOver) this.#all.delete(thread);
    if (this.#stopped) return;
    const next = this.#waiting.shift();
    if (next) return next.take(thread.isOver ? this.#start() : thread);
    if (thread.isOver) return;
    this.#idle.push(thread);
    thread.endWhenIdle(() => {
      this.#idle.splice(this.#idle.indexOf(thread), 1);
      this.#all.delete(thread);
    });
  }
}

interface Waiting {
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
      throw new DureError(answer.code ?? "INTERNAL", answer.message);
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
    return tooExpensive(`It needs more than ${this.#limits.memoryMb} MiB of memory.`, error);
  }
}

function tooExpensive(why: string, cause?: Error): DureError {
  return new DureError("PLAN_TOO_EXPENSIVE", `The plan cannot be looked at. ${why}`, {
    class: "input",
    hint: "Split it into smaller plans, and let fewer patterns begin with **.",
    // An error's `cause` that is undefined would be shown as one.
    ...(cause ? { cause, details: { because: messageOf(cause) } } : {}),
  });
}

function threadsBusy(why: string): DureError {
  return new DureError("PLAN_THREADS_BUSY", `No thread is free for this plan. ${why}`, {
    class: "unavailable",
    hint: "Try again in some seconds.",
    details: { retryAfterMs: 5_000 },
  });
}
