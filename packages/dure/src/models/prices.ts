import type { FileRef } from "../kernel/files.ts";
import { modelName } from "./card.ts";
import { estimateFileTokens } from "./file-parts.ts";
import type { LlmRef, ModelRequest, ModelUsage } from "./model.ts";

/**
 * Micro-USD per million tokens, which is the same number as micro-micro-USD per token: 2 500 000 is
 * 2.50 USD per million.
 */
export interface Price {
  readonly in: number;
  readonly out: number;
  /** For input read from the provider's cache. Default: `in`. */
  readonly cachedIn?: number | undefined;
  /** For input written to the provider's cache. Default: `in`. */
  readonly cacheWrite?: number | undefined;
}

/**
 * Prices by `provider:model`. A name without a date also covers its dated versions (`…-2025-04-14`,
 * `…-20250929`, `…-latest`).
 */
export type PriceTable = Readonly<Record<string, Price>>;

/**
 * A start, so that costs show at all. Public list prices of OpenAI and Anthropic for standard
 * processing, as known in late 2025 and not checked since; they change without us. Set your own
 * (`prices` of the team): they go before these. What is not listed is counted in tokens.
 */
export const DEFAULT_PRICES: PriceTable = {
  "openai:gpt-5": usd(1.25, 10, 0.125),
  "openai:gpt-5-mini": usd(0.25, 2, 0.025),
  "openai:gpt-5-nano": usd(0.05, 0.4, 0.005),
  "openai:gpt-4.1": usd(2, 8, 0.5),
  "openai:gpt-4.1-mini": usd(0.4, 1.6, 0.1),
  "openai:gpt-4.1-nano": usd(0.1, 0.4, 0.025),
  "openai:gpt-4o": usd(2.5, 10, 1.25),
  "openai:gpt-4o-mini": usd(0.15, 0.6, 0.075),
  "anthropic:claude-opus-4-5": claude(5, 25),
  "anthropic:claude-opus-4-1": claude(15, 75),
  "anthropic:claude-sonnet-4-5": claude(3, 15),
  "anthropic:claude-sonnet-4": claude(3, 15),
  "anthropic:claude-haiku-4-5": claude(1, 5),
  "anthropic:claude-3-5-haiku": claude(0.8, 4),
};

const FREE: Price = { in: 0, out: 0 };

/**
 * The price of a model, or undefined: then it is counted in tokens. What runs offline costs
 * nothing, unless the table says otherwise.
 */
export function priceOf(
  prices: PriceTable,
  llm: Pick<LlmRef, "provider" | "model">,
): Price | undefined {
  const name = modelName(llm);
  return (
    prices[name] ??
    prices[name.replace(/-(?:\d{8}|\d{4}-\d{2}-\d{2}|latest)$/, "")] ??
    (llm.provider === "offline" ? FREE : undefined)
  );
}

/** Millionths of a US dollar, rounded up to whole ones, so that no call is free by rounding. */
export function costMicroUsd(
  price: Price,
  usage: Pick<ModelUsage, "tokensIn" | "tokensOut" | "cachedIn" | "cacheWrites">,
): number {
  const cachedIn = Math.min(usage.cachedIn ?? 0, usage.tokensIn);
  const written = Math.min(usage.cacheWrites ?? 0, usage.tokensIn - cachedIn);
  const total =
    (usage.tokensIn - cachedIn - written) * price.in +
    written * (price.cacheWrite ?? price.in) +
    cachedIn * (price.cachedIn ?? price.in) +
    usage.tokensOut * price.out;

  return Math.ceil(total / 1_000_000);
}

/**
 * About how many tokens a text is, for reservations and where a provider gives no numbers: ASCII
 * characters / 4, plus UTF-8 bytes of everything else / 3. So a Hangul syllable or a Chinese
 * character counts 1, which is at the upper side of what today's tokenizers need (0.6–1.2), and 100
 * English words come to about 140. Never below 1 for a text that is not empty.
 */
export function estimateTokens(text: string): number {
  let ascii = 0;
  let otherBytes = 0;

  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) ascii += 1;
    else if (unit < 0x800) otherBytes += 2;
    else if (unit >= 0xd800 && unit <= 0xdfff) otherBytes += 2; // each half of a pair: 4 bytes together
    else otherBytes += 3;
  }

  return Math.ceil(ascii / 4 + otherBytes / 3);
}

/**
 * Tokens that a provider puts around each message. Source: OpenAI's cookbook gives 3–4 for its chat
 * format.
 */
const TOKENS_PER_MESSAGE = 4;

/**
 * About how many input tokens a request is: its texts, tool calls and results, the descriptions of
 * its tools, its output schema.
 */
export function estimateRequestTokens(request: ModelRequest): number {
  let tokens = estimateTokens(request.system ?? "") + TOKENS_PER_MESSAGE;
  for (const message of request.messages) {
    tokens += TOKENS_PER_MESSAGE;
    if (message.role !== "assistant") tokens += tokensOfFiles(message.files);
    if (message.role === "tool") tokens += estimateTokens(textOfResult(message.result));
    else tokens += estimateTokens(message.text);
    if (message.role === "assistant" && message.toolCalls?.length) {
      tokens += estimateTokens(JSON.stringify(message.toolCalls));
      if (message.reasoning) tokens += estimateTokens(JSON.stringify(message.reasoning));
    }
  }

  if (request.tools?.length) tokens += estimateTokens(JSON.stringify(request.tools));
  if (request.output) tokens += estimateTokens(JSON.stringify(request.output));

  return tokens;
}

function tokensOfFiles(files: readonly FileRef[] = []): number {
  return files.reduce((sum, file) => sum + estimateFileTokens(file), 0);
}

function textOfResult(result: unknown): string {
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "");
}

function usd(input: number, output: number, cachedIn: number): Price {
  return { in: input * 1_000_000, out: output * 1_000_000, cachedIn: cachedIn * 1_000_000 };
}

/**
 * Reading costs a tenth of the input, and writing for five minutes 1.25 times as much. Source:
 * docs.claude.com, "Prompt caching", "Pricing".
 */
function claude(input: number, output: number): Price {
  return { ...usd(input, output, input / 10), cacheWrite: input * 1_250_000 };
}
