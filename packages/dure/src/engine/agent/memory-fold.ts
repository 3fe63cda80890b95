import { codeOf } from "../../kernel/errors.ts";
import type { MemoryVersion } from "../../durable/turns.ts";
import { estimateTokens } from "../../models/prices.ts";
import type { LeafService } from "../service/combine.ts";
import { logFailure } from "../log-failure.ts";
import type { SessionReader } from "../turn/sessions.ts";
import { deedsOf } from "./history.ts";
import {
  dialogWithin,
  foldPlan,
  newestWithin,
  oldestWithin,
  withSummary,
  type FoldPlan,
  type WrittenSummary,
} from "./fold-plan.ts";
import { HistoryRoom } from "./history-room.ts";
import {
  lastTurns,
  MEMORY_DEFAULTS,
  withDeeds,
  type Memory,
  type MemoryOptions,
} from "./memory.ts";
import {
  isTooLong,
  NoSummary,
  SummaryWriter,
  type FoldedSession,
  type SummaryWriterOptions,
} from "./summary-writer.ts";

/**
 * Folds that run at once, and that may wait; beyond, a session is folded after its next turn.
 */
const FOLDS_AT_ONCE = 4;
const MAX_FOLDS_WAITING = 1_000;

/** Estimated tokens of a dialog below which summing up a shorter one is not tried. */
const LEAST_AT_ONCE = 250;

/** Estimated tokens of what stands around a dialog, at most. */
const PROMPT_TOKENS = 500;

/** The session has gone on, or its agent is paused: the memory stays unfolded for now. */
const LEFT_AS_IT_IS: ReadonlySet<string> = new Set(["SESSION_BUSY", "AGENT_PAUSED"]);

type FoldOptions = Required<Pick<MemoryOptions, keyof typeof MEMORY_DEFAULTS>> & MemoryOptions;

export interface MemoryFolderOptions extends SummaryWriterOptions {
  readonly reader: SessionReader;
}

/**
 * Folds older exchanges into the summary between turns: one fold of a session at a time. A summary
 * that a turn has overtaken is paid for: it waits until no turn runs. Losing a fold loses nothing: the
 * unfolded history stays.
 */
export class MemoryFolder {
  readonly #options: MemoryFolderOptions;
  readonly #waiting = new Map<string, Grown>();
  readonly #running = new Map<string, Promise<void>>();
  /** Summaries that could not be stored, by session. */
  readonly #written = new Map<string, Unstored>();
  readonly #stop = new AbortController();
  readonly #writer: SummaryWriter;

  constructor(options: MemoryFolderOptions) {
    this.#options = options;
    this.#writer = new SummaryWriter(options, this.#stop.signal);
  }

  /**
   * After a turn: folds the session's memory if it has grown enough. `room`: estimated tokens that
   * its history may have, where a request of the turn was nearly too long.
   */
  consider(
    session: string,
    service: LeafService,
    { turns, room }: { turns: number; room: number | undefined },
  ): void {
    const options = { ...MEMORY_DEFAULTS, ...service.memory };
    const isLong = turns >= options.summarizeThreshold || this.#written.has(session);
    const hasGrown = isLong || room !== undefined;
    const isFull = this.#waiting.size >= MAX_FOLDS_WAITING;

    if (!hasGrown || isFull || this.#stop.signal.aborted) return;
    this.#waiting.set(session, { service: service.name, options, room });
    this.#next();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#waiting.clear();
    await Promise.allSettled(this.#running.values());
  }

  #next(): void {
    for (const [session, grown] of this.#waiting) {
      if (this.#running.size >= FOLDS_AT_ONCE) return;
      if (this.#running.has(session)) continue; // it is looked at again when that fold is over
      this.#waiting.delete(session);
      const work = this.#fold(session, grown).finally(() => {
        this.#running.delete(session);
        this.#next();
      });
      this.#running.set(session, work);
    }
  }

  async #fold(session: string, grown: Grown): Promise<void> {
    const { service, options, room } = grown;
    try {
      const found = await this.#current(session);
      if (!found || this.#writer.isPaused({ session, service })) return; // it is folded after the next turn
      const plan = foldPlan(found.memory, options, room);
      if (plan.older.length === 0) return;
      try {
        const whose = { session, service, version: found };
        const unstored = await this.#foldInParts(whose, found.memory, plan, options);
        if (unstored) this.#keep(session, unstored, grown);
      } catch (error) {
        if (this.#leavesAsItIs(error)) return;
        await this.#trim(session, { error, options, room });
      }
    } catch (error) {
      logFailure(
        this.#options.logger,
        "a memory was not folded; it is tried again after the next turn",
        {
          error,
          facts: { session },
        },
      );
    }
  }

  /** The memory between turns. A summary that has waited for this is stored first. */
  async #current(session: string): Promise<({ memory: Memory } & MemoryVersion) | undefined> {
    const { store, reader } = this.#options;
    const found = await reader.memoryOf(session);
    const written = this.#written.get(session);
    if (!found || !written) return found;

    const isSame = written.incarnation === found.incarnation;
    const memory = isSame ? withSummary(found.memory, written) : undefined;
    if (memory && !(await store.fold(session, found, memory))) return undefined; // it waits on
    this.#written.delete(session);

    return memory ? { ...found, memory, rev: found.rev + 1 } : found;
  }

  /** The session is looked at again at once: the turn that came between may be over. */
  #keep(session: string, unstored: Unstored, grown: Grown): void {
    const [oldest = session] = this.#written.keys();
    if (this.#written.size >= MAX_FOLDS_WAITING) this.#written.delete(oldest);
    this.#written.set(session, unstored);
    const isWanted = !this.#stop.signal.aborted && !this.#waiting.has(session);
    if (isWanted) this.#waiting.set(session, grown);
  }

  /**
   * As much at once as the model of summaries takes; each part is stored before the next one. Gives
   * the summary that could not be stored, for the session has gone on.
   */
  async #foldInParts(
    { session, service, version }: FoldedSession,
    stored: Memory,
    { older }: FoldPlan,
    options: FoldOptions,
  ): Promise<Unstored | undefined> {
    if (!options.enableSummary) throw new NoSummary("summaries are turned off");
    if (this.#writer.isSpeechless(options)) throw new NoSummary("the offline model gives none");
    let { rev } = version;
    let memory = stored;
    let left = older;
    let most = this.#mostAtOnce(memory, options);
    while (left.length > 0) {
      const part = oldestWithin(left, most);
      const dialog = dialogWithin(part, most);
      const whose = { session, service, version: { ...version, rev } };
      const text = await this.#writer
        .write(whose, memory, dialog, options)
        .catch((error: unknown) => {
          most = Math.min(most, estimateTokens(dialog)) / 2;
          if (!isTooLong(error) || most < LEAST_AT_ONCE) throw error;
          return undefined;
        });
      if (text === undefined) continue;
      left = left.slice(part.length);
      const written = { before: memory.summaryText, part, text };
      memory = withSummary(memory, written)!;
      const isStored = await this.#options.store.fold(session, whose.version, memory);
      if (!isStored) return { ...written, incarnation: version.incarnation };
      rev += 1;
    }
    return undefined;
  }

  /** Estimated tokens of a dialog that may be summed up at once. */
  #mostAtOnce({ refused, summaryText }: Memory, options: FoldOptions): number {
    const room = new HistoryRoom(refused, this.#options.clock.now());
    const most = room.mostFor(this.#writer.llmOf(options), undefined);
    if (most === undefined) return Infinity;
    return Math.max(most - estimateTokens(summaryText) - PROMPT_TOKENS, LEAST_AT_ONCE);
  }

  #leavesAsItIs(error: unknown): boolean {
    const isOver = this.#stop.signal.aborted || this.#options.lease.aborted;
    return isOver || LEFT_AS_IT_IS.has(codeOf(error) ?? "");
  }

  async #trim(session: string, failed: FailedFold): Promise<void> {
    const { store, reader } = this.#options;
    const now = await reader.memoryOf(session);
    const trimmed = now && this.#trimmed(session, now.memory, failed);
    if (trimmed) await store.fold(session, now, trimmed);
  }

  /** What stays where there is no summary. Undefined: all. */
  #trimmed(
    session: string,
    memory: Memory,
    { error, options, room }: FailedFold,
  ): Memory | undefined {
    const { logger } = this.#options;
    if (options.enableSummary && !this.#writer.isStandIn(options)) {
      logFailure(logger, "a memory could not be folded; the old summary stays", {
        error,
        facts: { session },
      });
    }
    const { rawHistory } = memory;
    const last = lastTurns(rawHistory, options.maxRawTurns);
    const isFinal = error instanceof NoSummary || isTooLong(error);
    const kept = isFinal ? newestWithin(last, room ?? Infinity) : last;
    if (kept.length === rawHistory.length) return undefined;

    const lost = rawHistory.slice(0, rawHistory.length - kept.length);
    return { ...withDeeds(memory, deedsOf(lost)), rawHistory: kept };
  }
}

/** A memory that may be folded. */
interface Grown {
  readonly service: string;
  readonly options: FoldOptions;
  /** Estimated tokens that its history may have; absent: any. */
  readonly room: number | undefined;
}

type FailedFold = Pick<Grown, "options" | "room"> & { readonly error: unknown };

/** A summary of a session that has gone on: `incarnation` tells it from another one of its name. */
type Unstored = WrittenSummary & Pick<MemoryVersion, "incarnation">;
