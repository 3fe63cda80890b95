import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { MemoryVersion, TurnStore } from "../../durable/turns.ts";
import { agentPaused } from "../../durable/pauses.ts";
import { runAttempts, type Attempt } from "../../models/attempts.ts";
import type { Llm } from "../../models/card.ts";
import type { ModelAnswer, ModelCallRecord, ModelRequest } from "../../models/model.ts";
import type { Models } from "../../models/models.ts";
import { NO_MODEL } from "../../models/no-model.ts";
import { FAILURES } from "../../models/failures.ts";
import { estimateTokens } from "../../models/prices.ts";
import { languageOf, promptText, type PromptOverrides } from "../../models/prompt-files.ts";
import type { Budgets } from "../money/budgets.ts";
import type { LeafService } from "../service/combine.ts";
import { logFailure } from "../log-failure.ts";
import { deedsOf } from "./history.ts";
import { dialogWithin, foldPlan, newestWithin, oldestWithin, type FoldPlan } from "./fold-plan.ts";
import { HistoryRoom } from "./history-room.ts";
import {
  lastTurns,
  MEMORY_DEFAULTS,
  withDeeds,
  summaryLlm,
  type Memory,
  type MemoryOptions,
} from "./memory.ts";
import type { SessionReader } from "../turn/sessions.ts";
import { namesOf, type PauseGate } from "../turn/paused.ts";
import { storedCall } from "./stored-call.ts";

/**
 * Folds that run at once, and that may wait; beyond, a session is folded after its next turn.
 */
const FOLDS_AT_ONCE = 4;
const MAX_FOLDS_WAITING = 1_000;

/** Estimated tokens of a dialog below which summing up a shorter one is not tried. */
const LEAST_AT_ONCE = 250;

/** Estimated tokens of what stands around a dialog, at most. */
const PROMPT_TOKENS = 500;

const ASKED_ONCE = { maxAttempts: 1, backoffSec: 0, timeoutSec: 60 } as const;

/** Offline models that give no summary: one says back what it is told, one how to connect a model. */
const NO_SUMMARY: ReadonlySet<string> = new Set(["echo", NO_MODEL]);

/** The session has gone on, or its agent is paused: the memory stays unfolded for now. */
const LEFT_AS_IT_IS: ReadonlySet<string> = new Set(["SESSION_BUSY", "AGENT_PAUSED"]);

type FoldOptions = Required<Pick<MemoryOptions, keyof typeof MEMORY_DEFAULTS>> & MemoryOptions;

/** The agent to which these calls are charged. */
const MEMORY_AGENT = "memory";

export interface MemoryFolderOptions {
  readonly store: TurnStore;
  readonly reader: SessionReader;
  readonly models: Models;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly defaultLlm: Llm;
  readonly lease: AbortSignal;
  /** Absent: nothing is limited. */
  readonly budgets: Budgets | undefined;
  /** Absent: no agent is ever paused. */
  readonly pauses?: PauseGate | undefined;
  /** The team's texts in the place of ours. */
  readonly prompts?: PromptOverrides | undefined;
}

/**
 * Folds older exchanges into the summary between turns. Losing a fold loses nothing: the unfolded
 * history stays.
 */
export class MemoryFolder {
  readonly #options: MemoryFolderOptions;
  readonly #waiting = new Map<string, Grown>();
  readonly #running = new Set<Promise<void>>();
  /** Offline models that have no summary to give: they are not asked again. */
  readonly #speechless = new Set<string>();
  readonly #stop = new AbortController();

  constructor(options: MemoryFolderOptions) {
    this.#options = options;
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
    const hasGrown = turns >= options.summarizeThreshold || room !== undefined;
    const isFull = this.#waiting.size >= MAX_FOLDS_WAITING;

    if (!hasGrown || isFull || this.#stop.signal.aborted) return;
    this.#waiting.set(session, { service: service.name, options, room });
    this.#next();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#waiting.clear();
    await Promise.allSettled(this.#running);
  }

  #next(): void {
    while (this.#running.size < FOLDS_AT_ONCE) {
      const [entry] = this.#waiting;

      if (!entry) return;
      const [session, grown] = entry;
      this.#waiting.delete(session);
      const work = this.#fold(session, grown).finally(() => {
        this.#running.delete(work);
        this.#next();
      });
      this.#running.add(work);
    }
  }

  async #fold(session: string, { service, options, room }: Grown): Promise<void> {
    const { store, reader, logger } = this.#options;
    try {
      const found = await reader.memoryOf(session);
      if (!found || this.#isPaused({ session, service })) return; // it is folded after the next turn
      const plan = foldPlan(found.memory, options, room);
      if (plan.older.length === 0) return;
      try {
        await this.#foldInParts({ session, service, version: found }, found.memory, plan, options);
      } catch (error) {
        if (this.#leavesAsItIs(error)) return;
        const now = await reader.memoryOf(session);
        const trimmed = now && this.#trimmed(session, now.memory, { error, options, room });
        if (trimmed) await store.fold(session, now, trimmed);
      }
    } catch (error) {
      logFailure(logger, "a memory was not folded; it is tried again after the next turn", {
        error,
        facts: { session },
      });
    }
  }

  /** As much at once as the model of summaries takes; each part is stored before the next one. */
  async #foldInParts(
    { session, service, version }: FoldedSession,
    stored: Memory,
    { older, recent }: FoldPlan,
    options: FoldOptions,
  ): Promise<void> {
    if (!options.enableSummary) throw new NoSummary("summaries are turned off");
    if (this.#isSpeechless(options)) throw new NoSummary("the offline model gives no summary");
    let { rev } = version;
    let memory = stored;
    let left = older;
    let most = this.#mostAtOnce(memory, options);
    while (left.length > 0) {
      const part = oldestWithin(left, most);
      const dialog = dialogWithin(part, most);
      const whose = { session, service, version: { ...version, rev } };
      const summaryText = await this.#summarize(whose, memory, dialog, options).catch(
        (error: unknown) => {
          most = Math.min(most, estimateTokens(dialog)) / 2;
          if (!isTooLong(error) || most < LEAST_AT_ONCE) throw error;
          return undefined;
        },
      );
      if (summaryText === undefined) continue;
      left = left.slice(part.length);
      memory = {
        ...withDeeds(memory, deedsOf(part)),
        rawHistory: [...left, ...recent],
        summaryText,
      };
      if (!(await this.#options.store.fold(session, whose.version, memory))) return;
      rev += 1;
    }
  }

  /** Estimated tokens of a dialog that may be summed up at once. */
  #mostAtOnce({ refused, summaryText }: Memory, options: FoldOptions): number {
    const room = new HistoryRoom(refused, this.#options.clock.now());
    const most = room.mostFor(this.#llmOf(options), undefined);
    if (most === undefined) return Infinity;
    return Math.max(most - estimateTokens(summaryText) - PROMPT_TOKENS, LEAST_AT_ONCE);
  }

  #leavesAsItIs(error: unknown): boolean {
    const isOver = this.#stop.signal.aborted || this.#options.lease.aborted;
    return isOver || LEFT_AS_IT_IS.has(codeOf(error) ?? "");
  }

  /** What stays where there is no summary. Undefined: all. */
  #trimmed(
    session: string,
    memory: Memory,
    { error, options, room }: { error: unknown; options: FoldOptions; room: number | undefined },
  ): Memory | undefined {
    const { logger } = this.#options;
    if (options.enableSummary && !this.#isStandIn(options)) {
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

  #llmOf({ summaryModel }: MemoryOptions): Llm {
    const own = summaryModel ? summaryLlm(summaryModel) : undefined;
    return own ?? this.#options.defaultLlm;
  }

  /** A function in the place of a model: that it knows no summaries is no trouble. */
  #isStandIn(options: MemoryOptions): boolean {
    return this.#llmOf(options).provider === "offline";
  }

  #isSpeechless(options: MemoryOptions): boolean {
    const { provider, model } = this.#llmOf(options);
    return provider === "offline" && (NO_SUMMARY.has(model) || this.#speechless.has(model));
  }

  /** Each model of the chain is asked once. */
  async #summarize(
    whose: FoldedSession,
    memory: Memory,
    dialog: string,
    options: MemoryOptions,
  ): Promise<string> {
    const { clock, lease, prompts } = this.#options;
    const language = languageOf(dialog) ?? "en";
    const prompt = (options.summaryPrompt ?? promptText(prompts, "memory", language))
      .replaceAll("{memory_block}", () => memory.summaryText)
      .replaceAll("{dialog}", () => dialog);
    const request: ModelRequest = { messages: [{ role: "user", text: prompt }], temperature: 0 };
    const { value } = await runAttempts(
      { llm: this.#llmOf(options), policy: ASKED_ONCE },
      (attempt) => this.#ask(whose, request, attempt),
      { clock, signal: AbortSignal.any([this.#stop.signal, lease]) },
    );
    const text = value.text.trim();

    if (text === "") throw new NoSummary("the summary is empty");
    return text;
  }

  /**
   * The call is charged like every other: to the agent `memory`, the session and the team. Without
   * room for it nothing is asked, as after any failure.
   */
  async #ask(
    whose: FoldedSession,
    request: ModelRequest,
    { llm, signal }: Pick<Attempt, "llm" | "signal">,
  ): Promise<ModelAnswer> {
    const { models, budgets, store } = this.#options;
    const { session, service } = whose;
    const model = models.resolve(llm);

    if (!(await store.confirmFold(session, whose.version, { signal }))) throw movedOn(session); // before it is charged for
    const charged = await budgets?.charge(
      { session, path: `memory/${session}`, service, agent: MEMORY_AGENT, isConversation: true },
      request,
      model,
    );
    let record: ModelCallRecord | undefined;
    try {
      if (this.#isPaused(whose)) throw agentPaused(service);
      return await model.stream(request, {
        signal,
        labels: { purpose: "memory" },
        onRecord: (noted) => (record = noted),
      });
    } catch (error) {
      const isMute = llm.provider === "offline" && !signal.aborted && !isTooLong(error);
      if (isMute) this.#speechless.add(llm.model);
      throw error;
    } finally {
      if (record) await (charged ? charged.settle(record) : this.#note(whose, record));
    }
  }

  /** The memory is the agent's: so is the call that folds it. */
  #isPaused({ session, service }: Pick<FoldedSession, "session" | "service">): boolean {
    const { pauses } = this.#options;
    return pauses?.first(namesOf({ session, services: [service] })) !== undefined;
  }

  async #note({ session, service }: FoldedSession, record: ModelCallRecord): Promise<void> {
    const { store, logger } = this.#options;
    await store
      .noteCalls(session, service, [storedCall(MEMORY_AGENT, record)])
      .catch((error: unknown) => {
        logger.warn(
          { session, error: messageOf(error) },
          "the model call of a fold could not be recorded",
        );
      });
  }
}

/** A memory that may be folded. */
interface Grown {
  readonly service: string;
  readonly options: FoldOptions;
  /** Estimated tokens that its history may have; absent: any. */
  readonly room: number | undefined;
}

/** Asking once more brings no summary either. */
class NoSummary extends Error {}

function isTooLong(error: unknown): boolean {
  return codeOf(error) === FAILURES.context.code;
}

interface FoldedSession {
  readonly session: string;
  readonly service: string;
  readonly version: MemoryVersion;
}

/** The session went on meanwhile: its memory is no longer the one that was read. */
function movedOn(session: string): DureError {
  return new DureError(
    "SESSION_BUSY",
    `The session ${session} has gone on since its memory was read.`,
    { class: "conflict" },
  );
}
