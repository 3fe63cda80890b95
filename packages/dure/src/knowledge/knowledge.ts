import type { KnowledgeDocument, KnowledgePassage, KnowledgeText } from "../wire/knowledge.ts";
import type { Database } from "../durable/database.ts";
import type { RowPage } from "../durable/page.ts";
import type { Retriever } from "../engine/agent/agent.ts";
import { DureError } from "../kernel/errors.ts";
import { countDocuments, listDocuments, putDocument, removeDocument } from "./document-rows.ts";
import type { VectorIndex, VectorStatus } from "./vector-index.ts";
import type { Near } from "./vectors.ts";
import { wordsOf } from "../models/search-words.ts";

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
  ): Promise<RowPage<KnowledgeDocument>> {
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

// --- search

/** Words of a question that are looked for: a message may have 64 KiB. */
const MAX_ASKED = 64;

/** Source: docs/spec/knowledge §2. */
const MAX_PASSAGES = 6;

/**
 * A chunk with less of what was asked is about something else. Source: docs/spec/knowledge §3, and
 * knowledge/recall.test.ts, which holds both what is found and what is not.
 */
const FLOOR = 0.25;

/**
 * The chunks of these bases that have most of the question's words, best first; empty where none has
 * enough of them.
 */
async function searchWords(
  database: Database,
  bases: readonly string[],
  question: string,
  { limit = MAX_PASSAGES, signal }: { limit?: number | undefined; signal?: AbortSignal } = {},
): Promise<readonly KnowledgePassage[]> {
  const words = wordsOf(question).slice(0, MAX_ASKED);
  if (words.length === 0) return [];

  return database.query<PassageRow>(SEARCH, [bases, words, limit, FLOOR], { signal });
}

/** The passages of chunks, with how near each is; in the order of the chunks. */
async function passagesOf(
  database: Database,
  near: readonly Near[],
  { signal }: { readonly signal: AbortSignal | undefined },
): Promise<readonly KnowledgePassage[]> {
  if (near.length === 0) return [];
  const ids = near.map(({ chunk }) => chunk);
  const cosines = near.map(({ cosine }) => cosine);

  return database.query<PassageRow>(PASSAGES, [ids, cosines], { signal });
}

/** What a passage loses with each place behind the first one. Source: Cormack et al. 2009, k = 60. */
const RANK_OFFSET = 60;

/**
 * One list of two: a passage counts by its place in each, so scores of different kinds are never
 * compared. Pure.
 */
function fuse(
  lists: readonly (readonly KnowledgePassage[])[],
  limit: number,
): readonly KnowledgePassage[] {
  const fused = new Map<string, KnowledgePassage>();
  for (const [place, passage] of lists.flatMap((list) => [...list.entries()])) {
    const { base, source, headings, text } = passage;
    const key = JSON.stringify([base, source, headings, text]);
    const before = fused.get(key);
    const score = (before?.score ?? 0) + 1 / (RANK_OFFSET + place + 1);
    const share = Math.max(before?.share ?? 0, passage.share);
    fused.set(key, { ...passage, score, share });
  }

  return [...fused.values()].toSorted((a, b) => b.score - a.score).slice(0, limit);
}

type PassageRow = KnowledgePassage & Record<string, unknown>;

/**
 * BM25 with each word counted once for a chunk (k₁ = 1.2, b = 0.75). What no chunk has weighs as what
 * one has: a question that is mostly about other things has no passage here.
 */
const SEARCH = {
  name: "knowledge.search",
  text: `
    with held as (
      select greatest(sum(chunks), 1)::float8 as chunks,
        sum(words)::float8 / greatest(sum(chunks), 1) as usual
      from dure.knowledge_documents
      where base = any($1)
    ),
    hits as materialized (
      select asked.word, c.id, cardinality(c.words) as length
      from unnest($2::text[]) as asked (word)
      join dure.knowledge_chunks c on c.words @> array[asked.word] and c.base = any($1)
    ),
    weights as (
      select asked.word,
        ln(1 + (held.chunks - count(hits.id) + 0.5) / (greatest(count(hits.id), 1) + 0.5)) as weight
      from held, unnest($2::text[]) as asked (word)
      left join hits using (word)
      group by asked.word, held.chunks
    ),
    ranked as (
      select hits.id,
        sum(weights.weight) / (select sum(weight) from weights) as share,
        sum(weights.weight)
          * 2.2 / (1 + 1.2 * (0.25 + 0.75 * hits.length / nullif(held.usual, 0))) as score
      from held, hits
      join weights using (word)
      group by hits.id, hits.length, held.usual
    )
    select c.base, c.source, d.title, c.headings, c.text, ranked.score, ranked.share
    from ranked
    join dure.knowledge_chunks c using (id)
    join dure.knowledge_documents d using (base, source)
    where ranked.share >= $4
    order by ranked.score desc, c.id
    limit $3`,
};

const PASSAGES = {
  name: "knowledge.passages",
  text: `
    select c.base, c.source, d.title, c.headings, c.text, near.cosine as score,
      near.cosine as share
    from unnest($1::bigint[], $2::float8[]) with ordinality as near (id, cosine, place)
    join dure.knowledge_chunks c on c.id = near.id
    join dure.knowledge_documents d using (base, source)
    order by near.place`,
};
