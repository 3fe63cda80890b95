import { systemClock, type Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import { ulid } from "../kernel/ids.ts";
import { isJobOver } from "../kernel/jobs.ts";
import { canonicalJson } from "../kernel/json.ts";
import { ALLOW_ALL, readAllowlist, type AskRules } from "./allowlist.ts";
import {
  agentUnknown,
  checkPair,
  checkText,
  nobodyAsked,
  readRequest,
  resultOf,
  type AskRequest,
  type AskResult,
} from "./ask.ts";
import { ANSWER_BYTES } from "./answer.ts";
import { endOf, type ExchangeEnd } from "./endings.ts";
import {
  runExchange,
  type TurnAttempt,
  type ExchangeAgent,
  type ExchangeStore,
  type SpokenTurn,
} from "./exchange.ts";
import { newJobId, transition, type Job, type JobDetail, type JobResult } from "./job.ts";
import type { Jobs } from "./jobs.ts";
import { JOB_LIMITS, type JobLimits } from "./limits.ts";
import type { GivenAnswer, JobTurn, JobWords } from "../wire/jobs.ts";

/** What an agent is asked in a turn of an exchange in memory. */
export interface MemoryTurn {
  readonly agent: string;
  readonly number: number;
  readonly message: string;
  readonly background: string;
  /** As the tool `end_conversation`. */
  end(): void;
  /** The tool `finish`: the result, in its own words. */
  finish(result: string): void;
}

/** A function in the place of an agent; what it throws is classed by its `code`. */
export type MemoryAgent = (
  turn: MemoryTurn,
  options: { signal: AbortSignal },
) => Promise<string> | string;

/** Agents that are functions, and the rules of their exchanges. */
export interface MemoryJobsOptions {
  readonly agents: Readonly<Record<string, MemoryAgent>>;
  /** Which agent may ask which. Default: every agent may ask every agent. */
  readonly allow?: readonly string[] | undefined;
  readonly limits?: Partial<JobLimits> | undefined;
  readonly clock?: Clock | undefined;
  /** For the jitter of retries. */
  readonly random?: (() => number) | undefined;
}

/**
 * Exchanges without engine and database, under the same rules and with the same calls as
 * `team.jobs`: for tests and scripts. Nothing outlives the process, no job waits for a
 * permit, and there is no place of origin that is told the result.
 *
 *     const jobs = new MemoryJobs({ agents: { ruda: () => "…", eden: () => "It takes eleven minutes." } });
 *     const message = "How long does the build take?";
 *     const answer = await jobs.ask({ requester: "ruda", agent: "eden", message });
 */
export class MemoryJobs implements Pick<Jobs, "ask" | "get" | "cancel" | "speak"> {
  readonly #options: MemoryJobsOptions;
  readonly #limits: JobLimits;
  readonly #clock: Clock;
  readonly #allow: AskRules;
  readonly #runs = new Map<string, MemoryRun>();
  readonly #keys = new Map<string, { readonly jobId: string; readonly body: string }>();

  constructor(options: MemoryJobsOptions) {
    this.#options = options;
    this.#limits = { ...JOB_LIMITS, ...options.limits };
    this.#clock = options.clock ?? systemClock;
    this.#allow = readAllowlist(options.allow ?? ALLOW_ALL);
  }

  /** As `Jobs.ask`: an abort ends the waiting, and the exchange goes on. */
  async ask(
    request: AskRequest,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<AskResult> {
    const { waitSec } = readRequest(request, this.#limits);
    signal?.throwIfAborted();
    const run = this.#begin(request);
    if (waitSec === 0) return { status: "accepted", jobId: run.job.jobId };
    const patience = new AbortController();
    const late = this.#clock
      .sleep(waitSec * 1_000, {
        signal: AbortSignal.any([patience.signal, ...(signal ? [signal] : [])]),
      })
      .catch(() => {});
    await Promise.race([run.ended, late]);
    patience.abort();
    if (isJobOver(run.job.status)) return resultOf(run.detail());
    signal?.throwIfAborted();
    return { status: "timeout", jobId: run.job.jobId };
  }

  /** Throws `JOB_UNKNOWN`. */
  async get(jobId: string): Promise<JobDetail> {
    return this.#find(jobId).detail();
  }

  /** Throws `JOB_UNKNOWN`, `JOB_TRANSITION` (it has ended otherwise). */
  async cancel(jobId: string): Promise<Job> {
    const run = this.#find(jobId);
    if (run.job.status !== "CANCELLED") transition(run.job.status, "CANCELLED");
    run.cancel();
    await run.ended;
    return run.job;
  }

  /** Throws `JOB_UNKNOWN`, `JOB_OVER`, `JOB_WORDS_FULL`, `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`. */
  async speak(jobId: string, text: string, { by }: { by: string }): Promise<void> {
    checkText(text, this.#limits.messageBytes);
    const run = this.#find(jobId);
    if (isJobOver(run.job.status)) {
      throw new DureError(
        "JOB_OVER",
        `The job ${jobId} is ${run.job.status}; no worker listens any more.`,
        { class: "conflict", hint: "Ask anew." },
      );
    }
    run.hear(by, text.trim());
  }

  /**
   * Runs an exchange to its end and gives all of it. With the abort of `signal` it is cancelled.
   */
  async exchange(
    request: AskRequest,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<JobDetail> {
    const run = this.#begin(request);
    const onAbort = (): void => run.cancel();
    if (signal?.aborted) onAbort();
    signal?.addEventListener("abort", onAbort, { once: true });
    await run.ended;
    signal?.removeEventListener("abort", onAbort);
    return run.detail();
  }

  #begin(request: AskRequest): MemoryRun {
    const read = readRequest(request, this.#limits);
    const asking = this.#agent(request.requester);
    if (request.agent === undefined && request.session === undefined) throw nobodyAsked();
    if (request.agent === undefined) {
      throw new DureError(
        "SESSION_UNKNOWN",
        `No agent of yours answers in a session ${request.session}.`,
        { class: "not-found", hint: "In memory there are no sessions; name the agent." },
      );
    }
    const target = this.#agent(request.agent);
    checkPair(asking, target, this.#allow, this.#agents());
    const key = request.key === undefined ? undefined : `${asking.id}:${request.key}`;
    const body = canonicalJson([
      target.id,
      request.message,
      read.payload,
      request.topic,
      request.conversationId,
      request.maxTurns,
    ]);
    const known = key === undefined ? undefined : this.#keys.get(key);
    if (known) {
      if (known.body !== body) {
        throw new DureError(
          "IDEMPOTENCY_KEY_REUSED",
          `The key ${request.key} was used for another request.`,
          { class: "input", hint: "Use a new key for a new request." },
        );
      }
      return this.#find(known.jobId);
    }
    const now = this.#clock.now();
    const job = newJob(request, read, { requester: asking.id, target: target.id, now });
    const { agents, random = Math.random } = this.#options;
    const run = new MemoryRun(job, { agents, clock: this.#clock, limits: this.#limits, random });
    this.#runs.set(job.jobId, run);
    if (key !== undefined) this.#keys.set(key, { jobId: job.jobId, body });
    return run;
  }

  #agents(): readonly ExchangeAgent[] {
    return Object.keys(this.#options.agents).map(agentOf);
  }

  #agent(id: string): ExchangeAgent {
    if (Object.hasOwn(this.#options.agents, id)) return agentOf(id);
    throw agentUnknown(id, this.#agents());
  }

  #find(jobId: string): MemoryRun {
    const run = this.#runs.get(jobId);
    if (run) return run;
    throw new DureError("JOB_UNKNOWN", `There is no job ${jobId}.`, {
      class: "not-found",
      hint: "Jobs in memory are known to the object that made them alone.",
    });
  }
}

/** The row that a request would have. Pure. */
function newJob(
  request: AskRequest,
  read: ReturnType<typeof readRequest>,
  { requester, target, now }: { requester: string; target: string; now: number },
): Job {
  const jobId = newJobId(now);
  return {
    jobId,
    tenant: request.tenant ?? "",
    status: "RUNNING",
    outcome: null,
    requester,
    target,
    message: request.message,
    payload: read.payload,
    topic: read.topic,
    intent: read.intent,
    conversationId: request.conversationId ?? `conv_${ulid(now)}`,
    parentJobId: null,
    rootId: jobId,
    depth: 0,
    retryOf: null,
    files: [],
    maxTurns: read.maxTurns,
    turnsDone: 0,
    resumeCount: 0,
    resumes: 0,
    lastError: null,
    waiting: null,
    origin: request.origin
      ? { session: request.origin.session, turn: request.origin.turn ?? null }
      : null,
    createdAt: now,
    updatedAt: now,
    startedAt: now,
    finishedAt: null,
    turnStartedAt: null,
  };
}

/** One exchange in memory, from its request to its end. */
export function exchangeInMemory(
  request: AskRequest,
  options: MemoryJobsOptions & { readonly signal?: AbortSignal | undefined },
): Promise<JobDetail> {
  return new MemoryJobs(options).exchange(request, { signal: options.signal });
}

class MemoryRun implements ExchangeStore {
  job: Job;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  readonly #turns: JobTurn[] = [];
  readonly #words: JobWords[] = [];
  readonly #agents: Readonly<Record<string, MemoryAgent>>;
  readonly #clock: Clock;
  readonly #limits: JobLimits;
  readonly #cancelled = new AbortController();
  #attempt: TurnAttempt | undefined;
  #answer: GivenAnswer | null = null;

  constructor(
    job: Job,
    parts: {
      agents: Readonly<Record<string, MemoryAgent>>;
      clock: Clock;
      limits: JobLimits;
      random: () => number;
    },
  ) {
    this.job = job;
    this.#agents = parts.agents;
    this.#clock = parts.clock;
    this.#limits = parts.limits;
    this.ended = this.#run(parts.random);
  }

  detail(): JobDetail {
    return { ...this.job, answer: this.#answer, turns: [...this.#turns], words: [...this.#words] };
  }

  cancel(): void {
    this.#cancelled.abort(
      new DureError("JOB_CANCELLED", `The job ${this.job.jobId} was cancelled.`, {
        class: "conflict",
      }),
    );
  }

  hear(author: string, text: string): void {
    const { count, bytes } = this.#limits.words;
    const waiting = this.#words.filter(({ turn }) => turn === null);
    const sum = waiting.reduce(
      (total, words) => total + Buffer.byteLength(words.text),
      Buffer.byteLength(text),
    );
    if (waiting.length >= count || sum > bytes) {
      throw new DureError(
        "JOB_WORDS_FULL",
        `The next turn of ${this.job.jobId} is told ${count} texts of ${bytes} bytes together at most.`,
        {
          class: "limit",
          hint: "Wait until the next turn has heard what waits, or say it shorter.",
        },
      );
    }
    this.#words.push({
      id: this.#words.length + 1,
      author,
      text,
      at: this.#clock.now(),
      turn: null,
    });
  }

  /** Never rejects. */
  async #run(random: () => number): Promise<void> {
    const { signal } = this.#cancelled;
    try {
      const end = await runExchange({ job: this.job, turns: [], attempt: 0 }, this, {
        limits: this.#limits,
        clock: this.#clock,
        random,
        signal,
      });
      if (end === "rests") {
        this.#end(
          endOf("agent_error", {
            error: {
              code: "EXCHANGE_RESTS",
              message: "The exchange waits for a person; there is none in memory.",
            },
          }),
        );
      }
    } catch (error) {
      if (signal.aborted) this.#end({ status: "CANCELLED", outcome: "cancelled" });
      else {
        this.#end(
          endOf("agent_error", {
            error: { code: codeOf(error) ?? "INTERNAL", message: messageOf(error) },
          }),
        );
      }
    }
  }

  #end({ status, outcome, error }: ExchangeEnd): void {
    if (isJobOver(this.job.status)) return;
    const now = this.#clock.now();
    this.job = {
      ...this.job,
      status,
      outcome,
      lastError: error ?? null,
      updatedAt: now,
      finishedAt: now,
      turnStartedAt: null,
    };
  }

  // --- the store of the exchange

  agent(id: string): ExchangeAgent | undefined {
    return Object.hasOwn(this.#agents, id) ? agentOf(id) : undefined;
  }

  async words(turn: number): Promise<readonly JobWords[]> {
    return this.#words.filter((words) => words.turn === null || words.turn === turn);
  }

  async results(): Promise<readonly JobResult[]> {
    return [];
  }

  async overBudget(): Promise<undefined> {
    return undefined;
  }

  async begin(attempt: TurnAttempt): Promise<boolean> {
    if (this.#attempt?.number !== attempt.number) {
      this.job = { ...this.job, turnStartedAt: this.#clock.now() };
    }
    this.#attempt = attempt;
    for (const [index, words] of this.#words.entries()) {
      if (attempt.words.includes(words.id)) this.#words[index] = { ...words, turn: attempt.number };
    }
    return true;
  }

  async speak(
    number: number,
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<SpokenTurn> {
    signal.throwIfAborted();
    const { speaker, message, background } = this.#attempt!;
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () =>
      late.abort(new DOMException("The turn is late.", "TimeoutError")),
    );
    const either = AbortSignal.any([signal, late.signal]);
    let endAsked = false;
    let finished: string | undefined;
    const turn: MemoryTurn = {
      agent: speaker.id,
      number,
      message,
      background,
      end: () => void (endAsked = true),
      finish: (result) => {
        checkText(result, ANSWER_BYTES);
        finished = result.trim();
      },
    };
    const cut = new Promise<never>((_, reject) =>
      either.addEventListener("abort", () => reject(either.reason as Error), { once: true }),
    );
    cut.catch(() => {});
    try {
      const text = await Promise.race([
        (async () => this.#agents[speaker.id]!(turn, { signal: either }))(),
        cut,
      ]);
      return { kind: "said", text, endAsked: endAsked || finished !== undefined, finished };
    } catch (error) {
      signal.throwIfAborted();
      return late.signal.aborted
        ? { kind: "late" }
        : {
            kind: "failed",
            error: { code: codeOf(error) ?? "AGENT_FAILED", message: messageOf(error) },
          };
    } finally {
      cancel();
    }
  }

  async settle({
    turn,
    answer,
    end,
  }: Parameters<ExchangeStore["settle"]>[0]): Promise<"continues" | "over"> {
    const now = this.#clock.now();
    if (turn) {
      this.#answer = answer ?? null;
      this.#turns.push({
        ...turn,
        tokensIn: 0,
        tokensOut: 0,
        costMicroUsd: null,
        turnId: null,
        attempts: this.#attempt!.attempt,
        startedAt: this.job.turnStartedAt ?? now,
        finishedAt: now,
      });
      this.job = { ...this.job, turnsDone: turn.number, updatedAt: now, turnStartedAt: null };
    }
    if (!end) return "continues";
    // Words that no agent was told yet keep it from its natural end.
    if (end.status === "COMPLETED" && this.#words.some((words) => words.turn === null)) {
      this.job = { ...this.job, maxTurns: Math.max(this.job.maxTurns, this.job.turnsDone + 1) };
      return "continues";
    }
    this.#end(end);
    return "over";
  }

  isPaused(): boolean {
    return false;
  }

  async restPaused(): Promise<"rests"> {
    return "rests";
  }

  async rest(): Promise<"rests"> {
    return "rests";
  }
}

function agentOf(id: string): ExchangeAgent {
  return { id, displayName: id, service: id };
}
