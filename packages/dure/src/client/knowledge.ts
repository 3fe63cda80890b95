import { fromWire, toWire } from "../kernel/wire.ts";
import type {
  KnowledgeBases,
  KnowledgeDocument,
  KnowledgePassage,
  KnowledgeText,
} from "../wire/knowledge.ts";
import { readJson, type Http } from "./http.ts";
import type { Page } from "./resources.ts";

interface Options {
  readonly signal?: AbortSignal | undefined;
}

/** The documents that agents search. Needs the scope `admin`. */
export class KnowledgeClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Bases, with how much they hold. */
  list(options: Options = {}): Promise<KnowledgeBases> {
    return this.#get("", {}, options);
  }

  /** By source; 100 unless `limit` says another number (at most 1,000). */
  documents(
    base: string,
    page: { limit?: number | undefined; cursor?: string | undefined } = {},
    options: Options = {},
  ): Promise<Page<KnowledgeDocument>> {
    return this.#get(`/${encodeURIComponent(base)}/documents`, page, options);
  }

  /** Adds it, or replaces the one of its source. `changed` is false where it was the same. */
  put(
    base: string,
    text: KnowledgeText,
    { signal }: Options = {},
  ): Promise<{ readonly source: string; readonly changed: boolean }> {
    return this.#send(`/${encodeURIComponent(base)}/documents`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(toWire(text)),
      signal: signal ?? null,
    });
  }

  remove(
    base: string,
    source: string,
    { signal }: Options = {},
  ): Promise<{ readonly source: string; readonly removed: boolean }> {
    const query = new URLSearchParams({ source }).toString();
    return this.#send(`/${encodeURIComponent(base)}/documents?${query}`, {
      method: "DELETE",
      signal: signal ?? null,
    });
  }

  /** What an agent would get for a question: 6 passages unless `limit` says another number (at most 50). */
  search(
    base: string,
    question: string,
    { limit, signal }: Options & { limit?: number | undefined } = {},
  ): Promise<{ readonly items: readonly KnowledgePassage[] }> {
    return this.#get(`/${encodeURIComponent(base)}/search`, { question, limit }, { signal });
  }

  #get<Answer>(
    path: string,
    query: Readonly<Record<string, string | number | undefined>>,
    { signal }: Options,
  ): Promise<Answer> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    return this.#send(`${path}?${search.toString()}`, { signal: signal ?? null });
  }

  async #send<Answer>(path: string, init: RequestInit): Promise<Answer> {
    const answer = await this.#http.request(`/v1/knowledge${path}`, init);
    return fromWire(await readJson(answer)) as Answer;
  }
}
