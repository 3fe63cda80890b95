import type {
  KnowledgeBases,
  KnowledgeDocument,
  KnowledgePassage,
  KnowledgeText,
} from "../wire/knowledge.ts";
import { queryOf, type CallOptions, type Http } from "./http.ts";
import type { Page } from "./resources.ts";

/** The documents that agents search. Needs the scope `admin`. */
export class KnowledgeClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Bases, with how much they hold. */
  list(options: CallOptions = {}): Promise<KnowledgeBases> {
    return this.#http.get("/v1/knowledge", options);
  }

  /** By source; 100 unless `limit` says another number (at most 1,000). */
  documents(
    base: string,
    page: { limit?: number | undefined; cursor?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<Page<KnowledgeDocument>> {
    return this.#http.get(`${pathOf(base)}/documents${queryOf(page)}`, options);
  }

  /** Adds it, or replaces the one of its source. `changed` is false where it was the same. */
  put(
    base: string,
    text: KnowledgeText,
    options: CallOptions = {},
  ): Promise<{ readonly source: string; readonly changed: boolean }> {
    return this.#http.answer("PUT", `${pathOf(base)}/documents`, text, options);
  }

  remove(
    base: string,
    source: string,
    options: CallOptions = {},
  ): Promise<{ readonly source: string; readonly removed: boolean }> {
    const path = `${pathOf(base)}/documents${queryOf({ source })}`;
    return this.#http.answer("DELETE", path, undefined, options);
  }

  /** What an agent would get for a question: 6 passages unless `limit` says another number (at most 50). */
  search(
    base: string,
    question: string,
    { limit, ...options }: CallOptions & { limit?: number | undefined } = {},
  ): Promise<{ readonly items: readonly KnowledgePassage[] }> {
    return this.#http.get(`${pathOf(base)}/search${queryOf({ question, limit })}`, options);
  }
}

function pathOf(base: string): string {
  return `/v1/knowledge/${encodeURIComponent(base)}`;
}
