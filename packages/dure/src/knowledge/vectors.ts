import type { Database, Transaction } from "../durable/database.ts";

/** Chunks of a base that lie in the direction of a question, by vectors of one model. */
export interface VectorQuestion {
  readonly base: string;
  readonly model: string;
  readonly vector: readonly number[];
  /** Cosine below which a chunk is about something else. */
  readonly floor: number;
  readonly limit: number;
}

export interface Near {
  readonly chunk: string;
  readonly cosine: number;
}

export interface ChunkText {
  readonly id: string;
  readonly text: string;
}

/** Rows that are compared at once: 3 MiB at 1,536 dimensions. */
const PAGE = 2_000;

/** The greatest number of a signed byte. */
const MAX = 127;

/**
 * A direction as bytes: each number is rounded to 1/127 of the greatest one. It costs less than a
 * hundredth of a cosine, and a quarter of the room. Pure.
 */
export function bytesOf(vector: readonly number[]): Buffer {
  const greatest = vector.reduce((most, number) => Math.max(most, Math.abs(number)), 0);
  const scale = greatest > 0 && Number.isFinite(greatest) ? MAX / greatest : 0;
  return Buffer.from(Int8Array.from(vector, (number) => Math.round(number * scale)).buffer);
}

/** 0 where a vector has no direction, or they are not of one length. Pure. */
export function cosineOf(asked: Int8Array, stored: Uint8Array): number {
  const other = new Int8Array(stored.buffer, stored.byteOffset, stored.byteLength);
  if (other.length !== asked.length) return 0;
  let both = 0;
  let one = 0;
  let two = 0;
  for (let at = 0; at < asked.length; at++) {
    const left = asked[at]!;
    const right = other[at]!;
    both += left * right;
    one += left * left;
    two += right * right;
  }

  return one === 0 || two === 0 ? 0 : both / Math.sqrt(one * two);
}

/** Every vector of the base is compared: nothing is left out by an index. Nearest first. */
export async function nearest(
  database: Database,
  { base, model, vector, floor, limit }: VectorQuestion,
  signal: AbortSignal | undefined,
): Promise<readonly Near[]> {
  const asked = new Int8Array(bytesOf(vector));
  let found: readonly Near[] = [];
  for (let after = "0"; ;) {
    signal?.throwIfAborted();
    const rows = await database.query<VectorRow>(VECTORS, [base, model, after, PAGE], { signal });
    const near = rows
      .map(({ chunk, vector: stored }) => ({ chunk, cosine: cosineOf(asked, stored) }))
      .filter(({ cosine }) => cosine >= floor);
    found = [...found, ...near].toSorted((a, b) => b.cosine - a.cosine).slice(0, limit);
    if (rows.length < PAGE) return found;
    after = rows.at(-1)!.chunk;
  }
}

/** Chunks that have no vector of this model yet, the oldest first. */
export async function withoutVector(
  tx: Transaction,
  { base, model, limit }: Pick<VectorQuestion, "base" | "model" | "limit">,
): Promise<readonly ChunkText[]> {
  return tx.query<ChunkText & Record<string, unknown>>(MISSING, [base, model, limit]);
}

/** A chunk that has gone meanwhile is passed over. */
export async function storeVectors(
  tx: Transaction,
  model: string,
  vectors: readonly { readonly id: string; readonly vector: readonly number[] }[],
): Promise<void> {
  const ids = vectors.map(({ id }) => id);
  const bytes = vectors.map(({ vector }) => bytesOf(vector));
  await tx.query(STORE, [model, ids, bytes]);
}

interface VectorRow extends Record<string, unknown> {
  readonly chunk: string;
  readonly vector: Uint8Array;
}

const VECTORS = {
  name: "knowledge.vectors",
  text: `
    select v.chunk::text as chunk, v.vector
    from dure.knowledge_vectors v
    join dure.knowledge_chunks c on c.id = v.chunk
    where c.base = $1 and v.model = $2 and v.chunk > $3::bigint
    order by v.chunk
    limit $4`,
};
const MISSING = {
  name: "knowledge.without_vector",
  text: `
    select c.id::text as id,
      concat_ws(e'\\n', d.title, array_to_string(c.headings, e'\\n'), c.text) as text
    from dure.knowledge_chunks c
    join dure.knowledge_documents d using (base, source)
    where c.base = $1 and not exists (
      select from dure.knowledge_vectors v
      where v.chunk = c.id and v.model = $2
    )
    order by c.id
    limit $3`,
};
const STORE = {
  name: "knowledge.store_vectors",
  text: `
    insert into dure.knowledge_vectors (chunk, model, vector)
    select c.id, $1, given.vector
    from unnest($2::bigint[], $3::bytea[]) as given (id, vector)
    join dure.knowledge_chunks c on c.id = given.id
    on conflict do nothing`,
};
