import { createHash } from "node:crypto";
import type { Database, Transaction } from "../durable/database.ts";
import { identifier } from "./pgvector.ts";
import { rank, type Near, type VectorQuestion, type VectorRow } from "./vectors.ts";

/** Vectors of one base, one model and one length: they alone can be compared. */
export interface Space {
  readonly base: string;
  readonly model: string;
  readonly dimensions: number;
  /** Where the extension stands. */
  readonly schema: string;
}

/** Longest vector that pgvector indexes as `halfvec`. Longer ones are compared exactly. */
export const MAX_INDEXED = 4_000;
/** Marks that are taken away at once: 50,000 in one transaction might not fit in its 5 s. */
const MARKS_AT_ONCE = 2_000;
/** Vectors that are placed at once: a transaction has 5 s, and an index takes its time. */
const PLACED_AT_ONCE = 64;
/**
 * What the index is asked for; these are then compared exactly. The index leaves some out: the more
 * it is asked for, the fewer. A question has at most 50 passages.
 */
const CANDIDATES = 200;
/** More vectors outside of the table than this, and all are compared. */
const MAX_UNPLACED = 1_000;

/**
 * Makes the table of a space where it is missing or has lost its column. Marks of vectors that it
 * has not are taken away before, some at a time: a process that dies here leaves marks without a
 * table, which the next one takes away. So no table ever stands beside marks that it does not keep.
 */
export async function ensureSpace(
  database: Database,
  space: Space,
  { signal, atOnce = MARKS_AT_ONCE }: { readonly signal: AbortSignal; readonly atOnce?: number },
): Promise<void> {
  const isThere = await database.transaction((tx) => dropBroken(tx, space));
  await takeMarksAway(database, space, { signal, atOnce, isThere });
  if (!isThere) await database.transaction((tx) => create(tx, space));
}

async function dropBroken(tx: Transaction, space: Space): Promise<boolean> {
  if (await isWhole(tx, space)) return true;
  await tx.query({ text: `drop table if exists ${tableOf(space)}` });
  return false;
}

/** A table and its index are one commit. */
async function create(tx: Transaction, space: Space): Promise<void> {
  if (await isWhole(tx, space)) return; // another process was faster
  const half = halfvecOf(space);
  const table = tableOf(space);
  await tx.query({ text: createTable(space, table, half) });
  await tx.query({
    text: `create index on ${table} using hnsw (direction ${half}_cosine_ops)`,
  });
}

/** Under the lock of the table. */
async function isWhole(tx: Transaction, space: Space): Promise<boolean> {
  const table = tableOf(space);
  await tx.query(LOCK, [table]);
  const [found] = await tx.query<{ isWhole: boolean }>(IS_WHOLE, [table, halfvecOf(space)]);
  return found?.isWhole === true;
}

/** Also of what a dropped table has taken along, and of what a restore has left out. */
async function takeMarksAway(
  database: Database,
  space: Space,
  how: { readonly signal: AbortSignal; readonly atOnce: number; readonly isThere: boolean },
): Promise<void> {
  const { signal, atOnce, isThere } = how;
  const { base, model, dimensions } = space;
  const statement = takePageAway(isThere ? tableOf(space) : undefined);
  for (let after: string | null = "0"; after !== null;) {
    signal.throwIfAborted();
    const values: readonly unknown[] = [base, model, dimensions, after, atOnce];
    const [page]: MarksPage[] = await database.query(statement, values, { signal });
    after = page!.last;
  }
}

interface MarksPage extends Record<string, unknown> {
  /** Null: nothing was left. */
  readonly last: string | null;
}

function halfvecOf({ schema }: Space): string {
  return `${identifier(schema)}.halfvec`;
}

/** Vectors of a base that stand in no table yet, the oldest first; only those that can be indexed. */
export async function unplaced(
  database: Database,
  { base, model }: Pick<Space, "base" | "model">,
  signal: AbortSignal,
): Promise<readonly VectorRow[]> {
  return database.query<VectorRow>(UNPLACED, [base, model, MAX_INDEXED, PLACED_AT_ONCE], {
    signal,
  });
}

/** Lengths of the vectors that are said to stand in a table. */
export async function lengthsPlaced(
  database: Database,
  { base, model }: Pick<Space, "base" | "model">,
): Promise<readonly number[]> {
  const rows = await database.query<{ length: number }>(LENGTHS, [base, model]);
  return rows.map(({ length }) => length);
}

/** Whether the base has vectors that no table can have. */
export async function hasTooLong(
  database: Database,
  { base, model }: Pick<Space, "base" | "model">,
): Promise<boolean> {
  const rows = await database.query(TOO_LONG, [base, model, MAX_INDEXED]);
  return rows.length > 0;
}

/** Both, or neither: the vector stands in the table, and is marked as placed. */
export async function place(
  database: Database,
  space: Space,
  rows: readonly VectorRow[],
): Promise<void> {
  const chunks = rows.map(({ chunk }) => chunk);
  const texts = rows.map(({ vector }) => halfText(vector));
  await database.transaction(async (tx) => {
    await tx.query(insertInto(space), [chunks, texts, space.model]);
    await tx.query(MARK, [chunks, space.model]);
  });
}

/**
 * What the index finds nearest, and what no table has yet, compared exactly: so the order is that of
 * the exact search. Undefined: too much is outside of the table.
 */
export async function nearestInSpace(
  database: Database,
  space: Space,
  question: VectorQuestion & { readonly signal: AbortSignal | undefined },
): Promise<readonly Near[] | undefined> {
  const { base, model, asked, signal } = question;
  const rows = await database.transaction(async (tx) => {
    await searchWidely(tx);
    return tx.query<VectorRow & { readonly outside: number }>(
      findIn(space),
      [base, model, halfText(asked), CANDIDATES, MAX_UNPLACED + 1, space.dimensions],
      { signal },
    );
  });
  if ((rows[0]?.outside ?? 0) > MAX_UNPLACED) return undefined;

  return rank(rows, question);
}

async function searchWidely(tx: Transaction): Promise<void> {
  await tx.query(SEARCH_WIDELY, [String(CANDIDATES)]);
}

/** The name of its table; a base may have any name. Pure. */
export function tableOf({ base, model, dimensions }: Omit<Space, "schema">): string {
  const text = JSON.stringify([base, model, dimensions]);
  return `dure.knowledge_near_${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/** As pgvector reads it. Pure. */
function halfText(vector: Uint8Array): string {
  return `[${new Int8Array(vector.buffer, vector.byteOffset, vector.byteLength).join(",")}]`;
}

const LOCK = {
  name: "knowledge.lock_space",
  text: "select pg_advisory_xact_lock(hashtext('knowledge.vectors'), hashtext($1))",
};
const IS_WHOLE = {
  name: "knowledge.is_space_whole",
  text: `
    select exists (
      select from pg_attribute
      where attrelid = to_regclass($1) and attname = 'direction' and not attisdropped
        and atttypid = to_regtype($2)
    ) as "isWhole"`,
};
const SEARCH_WIDELY = {
  name: "knowledge.search_widely",
  text: "select set_config('hnsw.ef_search', $1, true)",
};
const UNPLACED = {
  name: "knowledge.unplaced",
  text: `
    select v.chunk::text as chunk, v.vector
    from dure.knowledge_vectors v
    join dure.knowledge_chunks c on c.id = v.chunk
    where c.base = $1 and v.model = $2 and not v.is_placed
      and octet_length(v.vector) between 1 and $3
    order by v.chunk
    limit $4`,
};
const TOO_LONG = {
  name: "knowledge.too_long",
  text: `
    select
    from dure.knowledge_vectors v
    join dure.knowledge_chunks c on c.id = v.chunk
    where c.base = $1 and v.model = $2 and not v.is_placed and octet_length(v.vector) > $3
    limit 1`,
};
const LENGTHS = {
  name: "knowledge.lengths_placed",
  text: `
    select distinct octet_length(v.vector) as length
    from dure.knowledge_vectors v
    join dure.knowledge_chunks c on c.id = v.chunk
    where c.base = $1 and v.model = $2 and v.is_placed`,
};
const MARK = {
  name: "knowledge.mark_placed",
  text: `
    update dure.knowledge_vectors set is_placed = true
    where chunk = any($1::bigint[]) and model = $2`,
};

function createTable({ dimensions }: Space, table: string, half: string): string {
  return `
    create table ${table} (
      chunk bigint primary key references dure.knowledge_chunks (id) on delete cascade,
      direction ${half}(${dimensions}) not null
    )`;
}

/** @param table What it has keeps its mark */
function takePageAway(table: string | undefined): { text: string } {
  const isMissing =
    table === undefined ? "" : `and not exists (select from ${table} s where s.chunk = v.chunk)`;
  return {
    text: `
      with page as (
        select v.chunk
        from dure.knowledge_vectors v
        join dure.knowledge_chunks c on c.id = v.chunk
        where c.base = $1 and v.model = $2 and v.is_placed
          and octet_length(v.vector) = $3 and v.chunk > $4::bigint
        order by v.chunk
        limit $5
      ),
      taken as (
        update dure.knowledge_vectors v set is_placed = false
        from page
        where v.chunk = page.chunk and v.model = $2 ${isMissing}
      )
      select max(chunk)::text as last from page`,
  };
}

function insertInto(space: Space): { text: string } {
  return {
    text: `
      insert into ${tableOf(space)} (chunk, direction)
      select v.chunk, given.direction::${identifier(space.schema)}.halfvec
      from unnest($1::bigint[], $2::text[]) as given (chunk, direction)
      join dure.knowledge_vectors v on v.chunk = given.chunk and v.model = $3
      on conflict do nothing`,
  };
}

function findIn(space: Space): { name: string; text: string } {
  const table = tableOf(space);
  const schema = identifier(space.schema);
  return {
    name: `knowledge.find_in.${table}`,
    text: `
      with near as (
        select s.chunk
        from ${table} s
        order by s.direction operator(${schema}.<=>) $3::text::${schema}.halfvec
        limit $4
      ),
      outside as (
        select v.chunk
        from dure.knowledge_vectors v
        join dure.knowledge_chunks c on c.id = v.chunk
        where c.base = $1 and v.model = $2 and not v.is_placed
          and octet_length(v.vector) = $6
        limit $5
      )
      select v.chunk::text as chunk, v.vector, (select count(*)::integer from outside) as outside
      from (select chunk from near union select chunk from outside) as found
      join dure.knowledge_vectors v on v.chunk = found.chunk and v.model = $2
      order by v.chunk`,
  };
}
