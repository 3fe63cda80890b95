import { createHash } from "node:crypto";
import type { KeptBlock } from "./wire-format.ts";

/** How much of a request was read from the cache, and how much was written to it, in tokens. */
export interface CachedTokens {
  readonly read: number;
  readonly written: number;
}

/** Beginnings that are kept. */
const MAX_KEPT = 1_000;
/**
 * A shorter beginning is not kept, in tokens. Sources: Anthropic and OpenAI, guides "Prompt caching";
 * ai.google.dev, "Context caching", "Implicit caching".
 */
const LEAST = 1_024;
/** So many blocks before a mark are looked at for what is kept. Source: Anthropic's page. */
const LOOKS_BACK = 20;
/** Bytes of a token, about. */
const TOKEN_BYTES = 4;

/**
 * What a provider keeps of the beginnings of requests: Anthropic's up to each block with
 * `cache_control`, others by themselves. A request reads the longest one that it begins with.
 */
export class PromptCache {
  /** Tokens by the hash of the beginning. */
  readonly #kept = new Map<string, number>();

  /** Undefined: the request marks nothing. */
  take(blocks: readonly KeptBlock[]): CachedTokens | undefined {
    const beginnings = beginningsOf(blocks);
    const marks = beginnings.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    const last = marks.at(-1);
    if (last === undefined) return undefined;

    const near = beginnings.filter((_, index) =>
      marks.some((mark) => index <= mark && mark - index < LOOKS_BACK),
    );
    const read = Math.max(0, ...near.map(({ hash }) => this.#kept.get(hash) ?? 0));
    for (const mark of marks) this.#keep(beginnings[mark]!);
    const most = beginnings[last]!.tokens;
    return { read, written: most >= LEAST ? most - read : 0 };
  }

  #keep({ hash, tokens }: Beginning): void {
    if (tokens < LEAST) return;
    this.#kept.set(hash, tokens);
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
  }
}

interface Beginning {
  readonly hash: string;
  readonly tokens: number;
  readonly isMarked: boolean;
}

/** The request up to each of its blocks; a mark is no part of what is compared. */
function beginningsOf(blocks: readonly KeptBlock[]): readonly Beginning[] {
  const hash = createHash("sha256");
  let bytes = 0;
  return blocks.map(({ block, isMarked }) => {
    const text = JSON.stringify(block);
    bytes += Buffer.byteLength(text);
    hash.update(text);
    const tokens = Math.ceil(bytes / TOKEN_BYTES);
    return { hash: hash.copy().digest("hex"), tokens, isMarked };
  });
}
