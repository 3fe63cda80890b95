import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { MemoryVersion, TurnStore } from "../../durable/turns.ts";
import { agentPaused } from "../../durable/pauses.ts";
import { runAttempts, type Attempt } from "../../models/attempts.ts";
import type { Llm } from "../../models/card.ts";
import { FAILURES } from "../../models/failures.ts";
import type { ModelAnswer, ModelCallRecord, ModelRequest } from "../../models/model.ts";
import type { Models } from "../../models/models.ts";
import { NO_MODEL } from "../../models/no-model.ts";
import { languageOf, promptText, type PromptOverrides } from "../../models/prompt-files.ts";
import type { Budgets } from "../money/budgets.ts";
import { namesOf, type PauseGate } from "../turn/paused.ts";
import { summaryLlm, type Memory, type MemoryOptions } from "./memory.ts";
import { storedCall } from "./stored-call.ts";

const ASKED_ONCE = { maxAttempts: 1, backoffSec: 0, timeoutSec: 60 } as const;

/** Offline models that give no summary: one says back what it is told, one how to connect a model. */
const NO_SUMMARY: ReadonlySet<string> = new Set(["echo", NO_MODEL]);

/** The agent to which these calls are charged. */
const MEMORY_AGENT = "memory";

export interface SummaryWriterOptions {
  readonly store: TurnStore;
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

/** A session's memory as it was read. */
export interface FoldedSession {
  readonly session: string;
  readonly service: string;
  readonly version: MemoryVersion;
}

/** Asks the model of summaries, once for each part. */
export class SummaryWriter {
  readonly #options: SummaryWriterOptions;
  readonly #stop: AbortSignal;
  /** Offline models that have no summary to give: they are not asked again. */
  readonly #speechless = new Set<string>();

  constructor(options: SummaryWriterOptions, stop: AbortSignal) {
    this.#options = options;
    this.#stop = stop;
  }

  llmOf({ summaryModel }: MemoryOptions): Llm {
    const own = summaryModel ? summaryLlm(summaryModel) : undefined;
    return own ?? this.#options.defaultLlm;
  }

  /** A function in the place of a model: that it knows no summaries is no trouble. */
  isStandIn(options: MemoryOptions): boolean {
    return this.llmOf(options).provider === "offline";
  }

  isSpeechless(options: MemoryOptions): boolean {
    const { provider, model } = this.llmOf(options);
    return provider === "offline" && (NO_SUMMARY.has(model) || this.#speechless.has(model));
  }

  /** The memory is the agent's: so is the call that folds it. */
  isPaused({ session, service }: Pick<FoldedSession, "session" | "service">): boolean {
    const { pauses } = this.#options;
    return pauses?.first(namesOf({ session, services: [service] })) !== undefined;
  }

  /** The summary of a dialog and of what the memory has summed up before. Each model is asked once. */
  async write(
    whose: FoldedSession,
    memory: Memory,
    dialog: string,
    options: MemoryOptions,
  ): Promise<string> {
    const { clock, lease } = this.#options;
    const prompt = this.#template(memory, dialog, options)
      .replaceAll("{memory_block}", () => memory.summaryText)
      .replaceAll("{dialog}", () => dialog);
    const request: ModelRequest = { messages: [{ role: "user", text: prompt }], temperature: 0 };
    const { value } = await runAttempts(
      { llm: this.llmOf(options), policy: ASKED_ONCE },
      (attempt) => this.#ask(whose, request, attempt),
      { clock, signal: AbortSignal.any([this.#stop, lease]) },
    );
    const text = value.text.trim();

    if (text === "") throw new NoSummary("the summary is empty");
    return text;
  }

  /** One prompt begins a summary, the other folds into the one that is there. */
  #template({ summaryText }: Memory, dialog: string, { summaryPrompt }: MemoryOptions): string {
    const isFirst = summaryText === "";
    if (typeof summaryPrompt === "string") return summaryPrompt;
    if (summaryPrompt) return isFirst ? summaryPrompt.first : summaryPrompt.fold;
    const language = languageOf(dialog) ?? "en";

    return promptText(this.#options.prompts, isFirst ? "memory-first" : "memory", language);
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
      if (this.isPaused(whose)) throw agentPaused(service);
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

/** Asking once more brings no summary either. */
export class NoSummary extends Error {}

/** Whether the model takes no dialog of this length. */
export function isTooLong(error: unknown): boolean {
  return codeOf(error) === FAILURES.context.code;
}

/** The session went on meanwhile: its memory is no longer the one that was read. */
function movedOn(session: string): DureError {
  return new DureError(
    "SESSION_BUSY",
    `The session ${session} has gone on since its memory was read.`,
    { class: "conflict" },
  );
}
