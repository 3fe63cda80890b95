import type { RowOf } from "../durable/rows.ts";
import type { KnowledgeDocument, KnowledgeText } from "../wire/knowledge.ts";
import { createHash } from "node:crypto";
import type { Database, Transaction } from "../durable/database.ts";
import { pageLimit, pageOf, readCursor, type RowPage } from "../durable/page.ts";
import { DureError } from "../kernel/errors.ts";
import { chunksOf, titleOf, type Chunk } from "./chunks.ts";
import { wordsOf } from "../models/search-words.ts";

/** Source: docs/spec/knowledge §2. */
const MAX_DOCUMENTS = 10_000;
const MAX_CHUNKS = 50_000;

const PAGE = { usual: 100, most: 1_000 };

/** Raised with any change of how texts are cut: documents are then cut anew when they are added again. */
const CUT_VERSION = 1;

/** What tells whether a document has changed. Pure; who adds documents can compute it too. */
export function digestOf({ title, text }: Pick<KnowledgeText, "title" | "text">): string {
  const whole = JSON.stringify([CUT_VERSION, title ?? titleOf(text), text]);
  return createHash("sha256").update(whole).digest("hex");
}

/**
 * Stores a document and its chunks in one commit, in the place of the one that has its source. False
 * where that is the same. Throws `KNOWLEDGE_FULL`.
 */
export async function putDocument(
  database: Database,
  base: string,
  { source, title, text }: KnowledgeText,
): Promise<boolean> {
  const stored = storableText(text);
  const named = storableText(title ?? titleOf(text));
  const digest = digestOf({ title, text });
  const chunks = chunksOf(stored);
  const words = chunks.map((chunk) => wordsOfChunk(named, chunk));

  return database.transaction(async (tx) => {
    // Two that add the same document wait for each other.
    await tx.query(LOCK, [base, source]);
    const [before] = await tx.query<{ digest: string }>(DIGEST, [base, source]);
    if (before?.digest === digest) return false;

    await tx.query(REMOVE, [base, source]);
    await assertRoom(tx, base, chunks.length);
    const all = words.reduce((sum, some) => sum + some.length, 0);
    await tx.query(INSERT_DOCUMENT, [
      base,
      source,
      named,
      digest,
      Buffer.byteLength(text),
      chunks.length,
      all,
    ]);
    const rows = chunks.map(({ headings, text: part }, at) => ({
      nr: at + 1,
      headings,
      text: part,
      words: words[at],
    }));
    await tx.query(INSERT_CHUNKS, [base, source, JSON.stringify(rows)]);
    return true;
  });
}

/** Whether it was there. */
export async function removeDocument(
  database: Database,
  base: string,
  source: string,
): Promise<boolean> {
  const removed = await database.query(REMOVE, [base, source]);
  return removed.length > 0;
}

/** By source. Throws `CURSOR_INVALID`. */
export async function listDocuments(
  database: Database,
  base: string,
  page: { readonly limit?: number | undefined; readonly cursor?: string | undefined },
): Promise<RowPage<KnowledgeDocument>> {
  const limit = pageLimit(page.limit, PAGE);
  const [after = ""] = readCursor(page.cursor, /^([^]{1,500})$/u) ?? [];
  const rows = await database.query<DocumentRow>(LIST, [base, after, limit + 1]);
  const { items, nextCursor } = pageOf(rows, limit, ({ source }) => [source]);

  return {
    items: items.map(({ indexed_at, ...row }) => ({ ...row, indexedAt: indexed_at.getTime() })),
    nextCursor,
  };
}

/** How much each base holds; one without documents has no row. */
export async function countDocuments(
  database: Database,
): Promise<ReadonlyMap<string, { readonly documents: number; readonly chunks: number }>> {
  const rows = await database.query<{ base: string; documents: number; chunks: number }>(COUNT);
  return new Map(rows.map(({ base, documents, chunks }) => [base, { documents, chunks }]));
}

/** What a chunk is found by: title and headings count as its text does. */
function wordsOfChunk(title: string, { headings, text }: Chunk): readonly string[] {
  return wordsOf([title, ...headings, text].join("\n"));
}

async function assertRoom(tx: Transaction, base: string, more: number): Promise<void> {
  const [held] = await tx.query<{ documents: number; chunks: number }>(COUNT_OF, [base]);
  const { documents = 0, chunks = 0 } = held ?? {};
  if (documents < MAX_DOCUMENTS && chunks + more <= MAX_CHUNKS) return;

  throw new DureError(
    "KNOWLEDGE_FULL",
    `The base ${base} has ${documents} documents in ${chunks} parts, and this one adds ${more}.`,
    {
      class: "conflict",
      hint: `A base has at most ${MAX_DOCUMENTS} documents and ${MAX_CHUNKS} parts. Split it in two.`,
    },
  );
}

/** PostgreSQL's text refuses U+0000 and halves of surrogate pairs. */
function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\uFFFD");
}

type DocumentRow = RowOf<KnowledgeDocument, "indexedAt">;

const LOCK = {
  name: "knowledge.lock",
  text: "select pg_advisory_xact_lock(hashtext('knowledge'), hashtext($1 || '/' || $2))",
};
const DIGEST = {
  name: "knowledge.digest",
  text: `
    select digest
    from dure.knowledge_documents
    where base = $1 and source = $2`,
};
const REMOVE = {
  name: "knowledge.remove",
  text: `
    delete from dure.knowledge_documents
    where base = $1 and source = $2
    returning source`,
};
const INSERT_DOCUMENT = {
  name: "knowledge.insert_document",
  text: `
    insert into dure.knowledge_documents (base, source, title, digest, bytes, chunks, words)
    values ($1, $2, $3, $4, $5, $6, $7)`,
};
const INSERT_CHUNKS = {
  name: "knowledge.insert_chunks",
  text: `
    insert into dure.knowledge_chunks (base, source, nr, headings, text, words)
    select $1, $2, row.nr, row.headings, row.text, row.words
    from jsonb_to_recordset($3::jsonb) as row (nr integer, headings text[], text text, words text[])`,
};
const LIST = {
  name: "knowledge.list",
  text: `
    select source, title, digest, bytes, chunks, indexed_at
    from dure.knowledge_documents
    where base = $1 and source > $2
    order by source
    limit $3`,
};
const COUNT = {
  name: "knowledge.count",
  text: `
    select base, count(*)::integer as documents, sum(chunks)::integer as chunks
    from dure.knowledge_documents
    group by base`,
};
const COUNT_OF = {
  name: "knowledge.count_of",
  text: `
    select count(*)::integer as documents, coalesce(sum(chunks), 0)::integer as chunks
    from dure.knowledge_documents
    where base = $1`,
};
