import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { MemoryVersion, TurnStore } from "../../durable/turns.ts";
import { agentPaused } from "../../durable/pauses.ts";
import { runAttempts, type Attempt } from "../../models/attempts.ts";
import { parseModelNames, type Llm } from "../../models/card.ts";
import type { ModelAnswer, ModelCallRecord, ModelRequest } from "../../models/model.ts";
import type { Models } from "../../models/models.ts";
import { NO_MODEL } from "../../models/no-model.ts";
import { fileLine } from "../../kernel/files.ts";
import { spokenBy } from "../../kernel/quoted-words.ts";
import { languageOf, promptText, type PromptOverrides } from "../../models/prompt-files.ts";
import type { Budgets } from "../money/budgets.ts";
import type { LeafService } from "../service/combine.ts";
import { logFailure } from "../log-failure.ts";
import { deedsOf } from "./history.ts";
import {
  lastTurns,
  MEMORY_DEFAULTS,
  turnsOf,
  withDeeds,
  type Memory,
  type MemoryEntry,
  type MemoryOptions,
} from "./memory.ts";
import { callLines } from "./work.ts";
import type { SessionReader } from "../turn/sessions.ts";
import { namesOf, type PauseGate } from "../turn/paused.ts";
import { storedCall } from "./stored-call.ts";

/**
 * Folds that run at once, and that may wait; beyond, a session is folded after its next turn.
 */
const FOLDS_AT_ONCE = 4;
const MAX_FOLDS_WAITING = 1_000;
const ASKED_ONCE = { maxAttempts: 1, backoffSec: 0, timeoutSec: 60 } as const;

/** Offline models that give no summary: one says back what it is told, one how to connect a model. */
const NO_SUMMARY: ReadonlySet<string> = new Set(["echo", NO_MODEL]);

/** The session has gone on, or its agent is paused: the memory stays unfolded for now. */
const LEFT_AS_IT_IS: ReadonlySet<string> = new Set(["SESSION_BUSY", "AGENT_PAUSED"]);

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
  readonly #waiting = new Map<
    string,
    { readonly service: string; readonly options: MemoryOptions }
  >();
  readonly #running = new Set<Promise<void>>();
  /** Offline models that have no summary to give: they are not asked again. */
  readonly #speechless = new Set<string>();
  readonly #stop = new AbortController();

  constructor(options: MemoryFolderOptions) {
    this.#options = options;
  }

  /** After a turn: folds the session's memory if it has grown enough. */
  consider(session: string, service: LeafService, turns: number): void {
    const options = { ...MEMORY_DEFAULTS, ...service.memory };

    if (
      turns < options.summarizeThreshold ||
      this.#stop.signal.aborted ||
      this.#waiting.size >= MAX_FOLDS_WAITING
    ) {
      return;
    }
    this.#waiting.set(session, { service: service.name, options });
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
      const [session, { service, options }] = entry;
      this.#waiting.delete(session);
      const work = this.#fold(session, service, { ...MEMORY_DEFAULTS, ...options }).finally(() => {
        this.#running.delete(work);
        this.#next();
      });
      this.#running.add(work);
    }
  }

  async #fold(
    session: string,
    service: string,
    options: Required<Pick<MemoryOptions, keyof typeof MEMORY_DEFAULTS>> & MemoryOptions,
  ): Promise<void> {
    const { store, reader, logger, lease } = this.#options;
    try {
      const found = await reader.memoryOf(session);

      if (!found || turnsOf(found.memory) < options.summarizeThreshold) return;
      if (this.#isPaused({ session, service })) return; // it is folded after the next turn
      const { memory } = found;
      const recent = lastTurns(memory.rawHistory, options.keepRecentTurns);
      const older = memory.rawHistory.slice(0, memory.rawHistory.length - recent.length);
      let folded: Memory;
      try {
        if (!options.enableSummary) throw new Error("summaries are turned off");
        if (this.#isSpeechless(options)) throw new Error("the offline model gives no summary");
        folded = {
          ...withDeeds(memory, deedsOf(older)),
          rawHistory: recent,
          summaryText: await this.#summarize(
            { session, service, version: found },
            memory,
            older,
            options,
          ),
        };
      } catch (error) {
        const isLeft = LEFT_AS_IT_IS.has(codeOf(error) ?? "");
        if (this.#stop.signal.aborted || lease.aborted || isLeft) return;
        if (options.enableSummary && !this.#isStandIn(options)) {
          logFailure(logger, "a memory could not be folded; the old summary stays", {
            error,
            facts: { session },
          });
        }
        const kept = lastTurns(memory.rawHistory, options.maxRawTurns);
        if (kept.length === memory.rawHistory.length) return;

        const lost = memory.rawHistory.slice(0, memory.rawHistory.length - kept.length);
        folded = { ...withDeeds(memory, deedsOf(lost)), rawHistory: kept };
      }
      await store.fold(session, found, folded);
    } catch (error) {
      logFailure(logger, "a memory was not folded; it is tried again after the next turn", {
        error,
        facts: { session },
      });
    }
  }

  #llmOf({ summaryModel }: MemoryOptions): Llm {
    return summaryModel === undefined ? this.#options.defaultLlm : parseModelNames(summaryModel);
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
    older: Memory["rawHistory"],
    options: MemoryOptions,
  ): Promise<string> {
    const { clock, lease, prompts } = this.#options;
    const dialog = older.flatMap(linesOf).join("\n");
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

    if (text === "") throw new Error("the summary is empty");
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
      if (llm.provider === "offline" && !signal.aborted) this.#speechless.add(llm.model);
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

/** What was said and called, as the one who sums it up reads it. */
function linesOf({ role, content, files = [], work = [] }: MemoryEntry): readonly string[] {
  const sent = files.map((file) => `[file ${fileLine(file)}]`);
  return [...work.flatMap(callLines), spokenBy(role, [content, ...sent].filter(Boolean).join(" "))];
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
