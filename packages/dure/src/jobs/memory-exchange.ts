import { systemClock, type Clock } from "../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { ExchangeEnd } from "./endings.ts";
import { runExchange, type Attempt, type ExchangeAgent, type ExchangeDesk, type Spoken } from "./exchange.ts";
import { decideIntent, turnsOf } from "./intent.ts";
import { newJobId, type Job, type JobTurn, type JobWords } from "./job.ts";
import { JOB_LIMITS, type JobLimits } from "./limits.ts";
import { parsePayload } from "./payloads.ts";

/** What an agent is asked in a turn of an exchange in memory. */
export interface MemoryTurn {
  readonly agent: string;
  readonly number: number;
  readonly message: string;
  readonly background: string;
  /** As the tool `end_conversation`. */
  end(): void;
}

/** A function in the place of an agent; what it throws is classed by its `code`. */
export type MemoryAgent = (turn: MemoryTurn, options: { signal: AbortSignal }) => Promise<string> | string;

/**
 * An exchange without engine and database, under the same rules: for tests and scripts. Nothing outlives the process.
 *
 *     const { outcome, turns } = await exchangeInMemory({ requester: "ruda", target: "eden", message: "…", agents: { ruda: () => "…", eden: () => "…" } });
 */
export async function exchangeInMemory(
  request: { requester: string; target: string; message: string; maxTurns?: number; topic?: string; payload?: unknown; agents: Readonly<Record<string, MemoryAgent>> },
  options: { limits?: Partial<JobLimits>; clock?: Clock; random?: () => number; signal?: AbortSignal; words?: (turn: number) => readonly { author: string; text: string }[] } = {},
): Promise<Pick<Job, "jobId" | "status" | "outcome" | "lastError"> & { readonly turns: readonly JobTurn[] }> {
  const limits = { ...JOB_LIMITS, ...options.limits };
  const clock = options.clock ?? systemClock;
  const payload = request.payload === undefined ? null : parsePayload(request.payload);
  const { intent } = decideIntent({ message: request.message, payload: payload ?? undefined });
  const now = clock.now();
  const job: Job = {
    jobId: newJobId(now),
    tenant: "",
    status: "RUNNING",
    outcome: null,
    requester: request.requester,
    target: request.target,
    message: request.message,
    payload,
    topic: request.topic ?? null,
    intent,
    conversationId: "memory",
    parentJobId: null,
    rootId: "memory",
    depth: 0,
    retryOf: null,
    maxTurns: turnsOf(intent, request.maxTurns, limits.collaborationTurns),
    turnsDone: 0,
    resumeCount: 0,
    resumes: 0,
    lastError: null,
    waiting: null,
    origin: null,
    createdAt: now,
    updatedAt: now,
    startedAt: now,
    finishedAt: null,
  };
  const desk = new MemoryDesk(request.agents, clock, options.words ?? (() => []));
  const signal = options.signal ?? new AbortController().signal;
  await runExchange({ job, turns: [], attempt: 0 }, desk, { limits, clock, random: options.random ?? Math.random, signal });
  const { end } = desk;
  if (!end) throw new DureError("EXCHANGE_RESTS", "The exchange waits for a person; there is none in memory.");
  return { jobId: job.jobId, status: end.status, outcome: end.outcome, lastError: end.error ?? null, turns: desk.turns };
}

class MemoryDesk implements ExchangeDesk {
  readonly turns: JobTurn[] = [];
  end: ExchangeEnd | undefined;
  readonly #agents: Readonly<Record<string, MemoryAgent>>;
  readonly #clock: Clock;
  readonly #words: (turn: number) => readonly { author: string; text: string }[];
  #attempt: Attempt | undefined;
  #startedAt = 0;

  constructor(agents: Readonly<Record<string, MemoryAgent>>, clock: Clock, words: (turn: number) => readonly { author: string; text: string }[]) {
    this.#agents = agents;
    this.#clock = clock;
    this.#words = words;
  }

  agent(id: string): ExchangeAgent | undefined {
    return id in this.#agents ? { id, displayName: id, service: id } : undefined;
  }

  async words(turn: number): Promise<readonly JobWords[]> {
    return this.#words(turn).map((words, id) => ({ ...words, id, at: this.#clock.now(), turn }));
  }

  async overBudget(): Promise<undefined> {
    return undefined;
  }

  async begin(attempt: Attempt): Promise<boolean> {
    if (this.#attempt?.number !== attempt.number) this.#startedAt = this.#clock.now();
    this.#attempt = attempt;
    return true;
  }

  async speak(number: number, { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal }): Promise<Spoken> {
    const { speaker, message, background } = this.#attempt!;
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () => late.abort(new DOMException("The turn is late.", "TimeoutError")));
    const either = AbortSignal.any([signal, late.signal]);
    let endAsked = false;
    const turn: MemoryTurn = { agent: speaker.id, number, message, background, end: () => void (endAsked = true) };
    const cut = new Promise<never>((_, reject) => either.addEventListener("abort", () => reject(either.reason as Error), { once: true }));
    cut.catch(() => {});
    try {
      const text = await Promise.race([(async () => this.#agents[speaker.id]!(turn, { signal: either }))(), cut]);
      return { kind: "said", text, endAsked };
    } catch (error) {
      signal.throwIfAborted();
      return late.signal.aborted ? { kind: "late" } : { kind: "failed", error: { code: codeOf(error) ?? "AGENT_FAILED", message: messageOf(error) } };
    } finally {
      cancel();
    }
  }

  async settle({ turn, end }: { turn?: { number: number; speaker: string; text: string }; end?: ExchangeEnd | undefined }): Promise<"continues" | "over"> {
    if (turn) this.turns.push({ ...turn, tokensIn: 0, tokensOut: 0, costMicroUsd: null, turnId: null, attempts: this.#attempt!.attempt, startedAt: this.#startedAt, finishedAt: this.#clock.now() });
    this.end = end;
    return end ? "over" : "continues";
  }

  async rest(): Promise<void> {}
}
