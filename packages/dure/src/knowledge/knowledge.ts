import type { KnowledgeDocument, KnowledgePassage, KnowledgeText } from "../wire/knowledge.ts";
import type { Database } from "../durable/database.ts";
import type { Page } from "../durable/page.ts";
import type { Retriever } from "../engine/agent/agent.ts";
import { DureError } from "../kernel/errors.ts";
import { countDocuments, listDocuments, putDocument, removeDocument } from "./document-rows.ts";
import { fuse, MAX_PASSAGES, passagesOf, searchWords } from "./search.ts";
import type { VectorIndex, VectorStatus } from "./vector-index.ts";

/** A named set of documents. */
export interface KnowledgeBase {
  readonly name: string;
  readonly documents: number;
  readonly chunks: number;
  /** Null where it has no embedding model. */
  readonly vectors: VectorStatus | null;
}

export interface KnowledgeOptions {
  readonly database: Database;
  readonly bases: readonly string[];
  /** Absent: no base has an embedding model. */
  readonly vectors?: VectorIndex | undefined;
}

/** The documents of a team, which its agents search. Source: docs/spec/knowledge. */
export class Knowledge {
  readonly #database: Database;
  readonly #bases: ReadonlySet<string>;
  readonly #vectors: VectorIndex | undefined;

  constructor({ database, bases, vectors }: KnowledgeOptions) {
    this.#database = database;
    this.#bases = new Set(bases);
    this.#vectors = vectors;
  }

  async list(): Promise<readonly KnowledgeBase[]> {
    const counts = await countDocuments(this.#database);
    const bases: KnowledgeBase[] = [];
    for (const name of this.#bases) {
      const { documents, chunks } = counts.get(name) ?? { documents: 0, chunks: 0 };
      const vectors = (await this.#vectors?.status(name)) ?? null;
      bases.push({ name, documents, chunks, vectors });
    }

    return bases;
  }

  /** Whether it changed anything. Throws `KNOWLEDGE_UNKNOWN`, `KNOWLEDGE_FULL`. */
  async put(base: string, text: KnowledgeText): Promise<boolean> {
    this.#assertBase(base);
    const isNew = await putDocument(this.#database, base, text);
    if (isNew) this.#vectors?.wake();

    return isNew;
  }

  /** Whether it was there. Throws `KNOWLEDGE_UNKNOWN`. */
  async remove(base: string, source: string): Promise<boolean> {
    this.#assertBase(base);
    return removeDocument(this.#database, base, source);
  }

  /** Throws `KNOWLEDGE_UNKNOWN`, `CURSOR_INVALID`. */
  async documents(
    base: string,
    page: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
  ): Promise<Page<KnowledgeDocument>> {
    this.#assertBase(base);
    return listDocuments(this.#database, base, page);
  }

  /** Best first; empty where nothing fits. Throws `KNOWLEDGE_UNKNOWN`. */
  async search(
    bases: readonly string[],
    question: string,
    options: { readonly limit?: number | undefined; readonly signal?: AbortSignal } = {},
  ): Promise<readonly KnowledgePassage[]> {
    for (const base of bases) this.#assertBase(base);
    const byWords = await searchWords(this.#database, bases, question, options);
    const byMeaning = await this.#byMeaning(bases, question, options);
    if (byMeaning.length === 0) return byWords;

    return fuse([byWords, byMeaning], options.limit ?? MAX_PASSAGES);
  }

  /** What an agent asks before it answers. Throws `KNOWLEDGE_UNKNOWN`. */
  retrieverOf(bases: readonly string[]): Retriever {
    for (const base of bases) this.#assertBase(base);
    return {
      citesSources: true,
      search: async (question, { signal }) => {
        const passages = await this.search(bases, question, { signal });
        return passages.map(quoted);
      },
    };
  }

  async #byMeaning(
    bases: readonly string[],
    question: string,
    { limit = MAX_PASSAGES, signal }: { limit?: number | undefined; signal?: AbortSignal },
  ): Promise<readonly KnowledgePassage[]> {
    const vectors = this.#vectors;
    if (!vectors || question.trim() === "") return [];
    const found = await Promise.all(
      bases.map((base) => vectors.near(base, question, { limit, signal })),
    );
    const near = found.flat().toSorted((a, b) => b.cosine - a.cosine);

    return passagesOf(this.#database, near.slice(0, limit), { signal });
  }

  #assertBase(base: string): void {
    if (this.#bases.has(base)) return;

    const known = [...this.#bases].join(", ") || "none";
    throw new DureError("KNOWLEDGE_UNKNOWN", `The team has no knowledge base "${base}".`, {
      class: "not-found",
      hint: `Name it in the configuration: knowledge: { ${base}: {} }. There are: ${known}.`,
    });
  }
}

/** As it stands in a prompt. Pure. */
function quoted({ source, headings, text }: KnowledgePassage): string {
  const place = [source, ...headings].join(" › ");
  return `Source: ${place}\n\n${text}`;
}
