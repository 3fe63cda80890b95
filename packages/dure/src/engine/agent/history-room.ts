import { modelName } from "../../models/card.ts";
import { requestTokensFor } from "../../models/context-window.ts";
import type { LlmRef, ModelRequest } from "../../models/model.ts";
import { estimateRequestTokens } from "../../models/prices.ts";
import type { RefusedRequest } from "./memory.ts";

/** Of a request that was refused as too long, the share that later ones may fill. */
const REFUSED_SHARE = 0.8;

/** Of what a request may fill, the share from which the history behind it is folded. */
const FOLD_FROM = 0.75;

/**
 * How long a refusal is believed, in milliseconds: it may have been a mistake of the provider.
 * Source: RFC 2308 §5, of answers that say no: one to three hours work well.
 */
export const REFUSAL_COUNTS_MS = 3_600_000;

/**
 * A model that takes fewer tokens is hardly in use, so one refusal of less says nothing. Source:
 * docs.ollama.com, "Context length": the smallest default.
 */
const SMALLEST_WINDOW = 4_096;

/** What one turn finds out about the room that its session's history has. */
export class HistoryRoom {
  readonly #at: number;
  #refused: RefusedRequest | undefined;
  /** The model whose refusal of a short request was not believed. */
  #doubted: string | undefined;
  #tokens: number | undefined;

  /**
   * `refused`: what the session knows of earlier turns. `at`: when this turn was accepted, which is
   * the same in each of its lives.
   */
  constructor(refused: RefusedRequest | undefined, at: number) {
    this.#at = at;
    if (refused && at - refused.at < REFUSAL_COUNTS_MS) this.#refused = refused;
  }

  /** The last request that a model found too long. */
  get refused(): RefusedRequest | undefined {
    return this.#refused;
  }

  /** Estimated tokens that the history may have in the next turn; undefined: it may stay as it is. */
  get tokens(): number | undefined {
    return this.#tokens;
  }

  /** Estimated tokens that a request to a model may have. */
  mostFor(llm: LlmRef, window: number | undefined): number | undefined {
    const known = requestTokensFor(llm, window);
    const { model, tokens } = this.#refused ?? {};
    if (tokens === undefined || model !== modelName(llm)) return known;
    return Math.min(tokens * REFUSED_SHARE, known ?? Infinity);
  }

  /** A request that nearly fills what its model takes: the next turn's would be too long. */
  asks(request: ModelRequest, most: number): void {
    if (estimateRequestTokens(request) > most * FOLD_FROM) this.#leaves(request, most);
  }

  /** A model has found a request too long. Of a short one that is believed the second time. */
  refuses(llm: LlmRef, request: ModelRequest): void {
    const tokens = estimateRequestTokens(request);
    const model = modelName(llm);
    const isDoubtful = tokens < SMALLEST_WINDOW && this.#doubted !== model;
    this.#doubted = model;
    if (isDoubtful) return;

    this.#refused = { model, tokens, at: this.#at };
    this.#leaves(request, tokens * REFUSED_SHARE);
  }

  /** Half of what is left beside the prompt and the tools: the next turn needs the other half. */
  #leaves({ system, tools, output }: ModelRequest, most: number): void {
    const fixed = estimateRequestTokens({ system, tools, output, messages: [] });
    const room = Math.max((most - fixed) / 2, 0);
    this.#tokens = Math.min(room, this.#tokens ?? Infinity);
  }
}
