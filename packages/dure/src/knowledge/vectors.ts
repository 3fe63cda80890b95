import type { Database, Queryable } from "../durable/database.ts";

/** Chunks of a base that lie in the direction of a question, by vectors of one model. */
export interface VectorQuestion {
  readonly base: string;
  readonly model: string;
  /** As `bytesOf` makes it. */
  readonly asked: Uint8Array;
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
export function cosineOf(one: Uint8Array, two: Uint8Array): number {
  const asked = signed(one);
  const other = signed(two);
  if (other.length !== asked.length) return 0;
  let both = 0;
  let left = 0;
  let right = 0;
  for (let at = 0; at < asked.length; at++) {
    const a = asked[at]!;
    const b = other[at]!;
    both += a * b;
    left += a * a;
    right += b * b;
  }

  return left === 0 || right === 0 ? 0 : both / Math.sqrt(left * right);
}

/** Nearest first; of two that are equally near, the older one. Pure. */
export function rank(
  rows: readonly VectorRow[],
  { asked, floor, limit }: Pick<VectorQuestion, "asked" | "floor" | "limit">,
): readonly Near[] {
  return rows
    .map(({ chunk, vector }) => ({ chunk, cosine: cosineOf(asked, vector) }))
    .filter(({ cosine }) => cosine >= floor)
    .toSorted((one, other) => other.cosine - one.cosine)
    .slice(0, limit);
}

function signed(bytes: Uint8Array): Int8Array {
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Every vector of the base is compared: nothing is left out by an index. Nearest first. */
export async function nearest(
  database: Database,
  question: VectorQuestion,
  signal: AbortSignal | undefined,
): Promise<readonly Near[]> {
  const { base, model, limit } = question;
  let found: readonly Near[] = [];
  for (let after = "0"; ;) {
    signal?.throwIfAborted();
    const rows = await database.query<VectorRow>(VECTORS, [base, model, after, PAGE], { signal });
    found = [...found, ...rank(rows, question)]
      .toSorted((one, other) => other.cosine - one.cosine)
      .slice(0, limit);
    if (rows.length < PAGE) return found;
    after = rows.at(-1)!.chunk;
  }
}

/** Chunks that have no vector of this model yet, the oldest first. */
export async function withoutVector(
  database: Queryable,
  { base, model, limit }: Pick<VectorQuestion, "base" | "model" | "limit">,
): Promise<readonly ChunkText[]> {
  return database.query<ChunkText & Record<string, unknown>>(MISSING, [base, model, limit]);
}

export async function countMissing(
  database: Queryable,
  { base, model }: Pick<VectorQuestion, "base" | "model">,
): Promise<number> {
  const [row] = await database.query<{ missing: number }>(COUNT_MISSING, [base, model]);
  return row?.missing ?? 0;
}

/** A chunk that has gone meanwhile is passed over. */
export async function storeVectors(
  database: Queryable,
  model: string,
  vectors: readonly { readonly id: string; readonly vector: readonly number[] }[],
): Promise<void> {
  const ids = vectors.map(({ id }) => id);
  const bytes = vectors.map(({ vector }) => bytesOf(vector));
  await database.query(STORE, [model, ids, bytes]);
}

/** A stored direction: one signed byte for each dimension. */
export interface VectorRow extends Record<string, unknown> {
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
const COUNT_MISSING = {
  name: "knowledge.count_missing",
  text: `
    select count(*)::integer as missing
    from dure.knowledge_chunks c
    where c.base = $1 and not exists (
      select from dure.knowledge_vectors v
      where v.chunk = c.id and v.model = $2
    )`,
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
