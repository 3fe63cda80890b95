// @module-tag slow
import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { FULL } from "../kernel/test-tiers.ts";
import type { EmbeddingModel } from "../models/embeddings.ts";
import { Knowledge } from "./knowledge.ts";
import { ENGLISH, KOREAN } from "./recall/questions.ts";
import { pgVectorDatabase, type PgVectorDatabase } from "./test-pgvector.ts";
import { VectorIndex } from "./vector-index.ts";
import { ensureSpace, tableOf } from "./vector-space.ts";
import { bytesOf, nearest, type Near } from "./vectors.ts";
import { wordsOf } from "../models/search-words.ts";

/** The search of others' pgvector against our own exact one. */
let db: PgVectorDatabase;
let lines: string[];
let open: VectorIndex[];

const DIMENSIONS = 96;
const INDEXED = { by: "pgvector", because: expect.stringMatching(/^pgvector \d/) as string };

/** A direction by the words of a text: others' words point elsewhere. */
const model: EmbeddingModel = {
  name: "test:words",
  embed: async (texts) => texts.map((text) => directionOf(text, DIMENSIONS)),
};

beforeAll(async () => {
  db = await pgVectorDatabase();
  // A base of a few parts is read whole by PostgreSQL; here its index is asked all the same.
  await db.exec(
    "do $$ begin execute format('alter database %I set enable_seqscan = off', current_database()); end $$",
  );
  await db.exec("set enable_seqscan = off");
}, 120_000);

beforeEach(async () => {
  lines = [];
  open = [];
  await db.exec("delete from dure.knowledge_documents");
  await db.exec("create extension if not exists vector");
});

afterEach(async () => {
  for (const index of open) await index.stop();
});

afterAll(() => db?.[Symbol.asyncDispose](), 60_000);

function directionOf(text: string, dimensions: number): readonly number[] {
  const direction = Array.from({ length: dimensions }, () => 0.001);
  for (const word of wordsOf(text)) {
    let hash = 7;
    for (const letter of word) hash = (hash * 31 + letter.codePointAt(0)!) >>> 0;
    direction[hash % dimensions]! += 1;
  }
  return direction;
}

/** The index of one process. */
function process(using: EmbeddingModel = model, bases = ["store", "office"]): VectorIndex {
  const write = (_: object, line: string): void => void lines.push(line);
  const logger = { debug: write, info: write, warn: write, error: write };
  const embedded = bases.map((base) => [base, { model: using, floor: 0.1 }] as const);
  const options = { bases: new Map(embedded), clock: systemClock, logger };
  const index = new VectorIndex({ database: db.database, ...options });
  open.push(index);
  return index;
}

function knowledgeOf(vectors: VectorIndex): Knowledge {
  return new Knowledge({ database: db.database, bases: ["store", "office"], vectors });
}

async function addHandbooks(): Promise<void> {
  const knowledge = knowledgeOf(process());
  for (const [base, file] of [
    ["store", "store.ko.md"],
    ["office", "office.en.md"],
  ] as const) {
    const text = await readFile(path.join(import.meta.dirname, "recall", file), "utf8");
    await knowledge.put(base, { source: file, text });
  }
}

/** Parts of one word each, so that each is near to few others. */
async function addMany(count: number): Promise<void> {
  const knowledge = knowledgeOf(process());
  const texts = Array.from({ length: count }, (_, at) => `# part ${at}\n\nw${at % 50} v${at}`);
  await knowledge.put("office", { source: "many.md", text: texts.join("\n\n") });
}

async function exactly(base: string, question: string): Promise<readonly Near[]> {
  const asked = bytesOf(directionOf(question, DIMENSIONS));
  const about = { base, model: model.name, asked, floor: 0.1, limit: 6 };
  return nearest(db.database, about, undefined);
}

async function near(index: VectorIndex, base: string, question: string): Promise<readonly Near[]> {
  return index.near(base, question, { limit: 6, signal: undefined });
}

async function searchOf(index: VectorIndex, base = "office"): Promise<object> {
  const { search: by, because } = (await index.status(base))!;
  return { by, because };
}

async function count(where: string): Promise<number> {
  const [row] = await db.database.query<{ n: number }>({
    text: `select count(*)::integer as n from ${where}`,
  });
  return row!.n;
}

const office = tableOf({ base: "office", model: model.name, dimensions: DIMENSIONS });

test("the labelled questions find the same, in the same order, by pgvector and exactly", async () => {
  await addHandbooks();
  const index = process();
  await index.look();
  expect([await searchOf(index, "store"), await searchOf(index)]).toEqual([INDEXED, INDEXED]);

  let passages = 0;
  for (const [question] of [...KOREAN, ...ENGLISH]) {
    for (const base of ["store", "office"]) {
      const found = await near(index, base, question);
      passages += found.length;
      expect(found, question).toEqual(await exactly(base, question));
    }
  }
  expect(passages).toBeGreaterThan(300);
});

describe("the table of a base", FULL, () => {
  test("is asked by its index, and finds what the exact search finds", async () => {
    await addMany(700);
    const index = process();
    await index.look();

    const plan = await db.database.query<Record<string, string>>({
      text: `
        explain select chunk from ${office}
        order by direction <=> (select direction from ${office} limit 1) limit 200`,
    });
    expect(JSON.stringify(plan)).toContain("_direction_idx");
    for (const at of [1, 99, 350, 699]) {
      const question = `w${at % 50} v${at}`;
      expect(await near(index, "office", question)).toEqual(await exactly("office", question));
    }
  });

  test("that another process began is gone on with where that one died", async () => {
    await addMany(700);
    const dying = process();
    await dying.look();
    await db.exec(`
      delete from ${office} where chunk in (select chunk from ${office} order by chunk desc limit 300);
      update dure.knowledge_vectors set is_placed = false
      where not exists (select from ${office} s where s.chunk = knowledge_vectors.chunk)`);

    const next = process();
    expect(await near(next, "office", "w20 v620")).toEqual(await exactly("office", "w20 v620"));
    await next.look();

    expect(await count(office)).toBe(700);
    expect(await searchOf(next)).toEqual(INDEXED);
  });

  test("finds what an older release has stored beside it, before that is placed", async () => {
    await addMany(10);
    const index = process();
    await index.look();
    await db.exec(`
      delete from ${office} where chunk = (select max(chunk) from ${office});
      update dure.knowledge_vectors set is_placed = false
      where chunk = (select max(chunk) from dure.knowledge_vectors)`);

    expect(await near(index, "office", "w9 v9")).toEqual(await exactly("office", "w9 v9"));
    await index.look();
    expect(await count(office)).toBe(10);
  });

  test("loses the parts of a document with it", async () => {
    await addMany(10);
    const index = process();
    await index.look();
    await knowledgeOf(index).remove("office", "many.md");

    expect(await count(office)).toBe(0);
    expect(await near(index, "office", "w9 v9")).toEqual([]);
  });

  test("is filled once by two processes at once", async () => {
    await addMany(300);
    await Promise.all([process().look(), process().look()]);

    expect(await count(office)).toBe(300);
    expect(await count("dure.knowledge_vectors where not is_placed")).toBe(0);
  });

  test("is made anew where a restore brought marks and no table", async () => {
    await addMany(10);
    await process().look();
    await db.exec(`drop table ${office}`);

    const after = process();
    await after.look();

    expect(await count(office)).toBe(10);
    expect(await near(after, "office", "w9 v9")).toEqual(await exactly("office", "w9 v9"));
  });
});

describe("marks that have lost their table", FULL, () => {
  const space = { base: "office", model: model.name, dimensions: DIMENSIONS, schema: "public" };
  const go = new AbortController().signal;
  const marked = () => count("dure.knowledge_vectors where is_placed");

  beforeEach(() => db.exec(COUNT_UPDATES));
  afterEach(() => db.exec(COUNT_NO_MORE));

  test("are taken away in bounded transactions", async () => {
    await addMany(4_500);
    await db.exec(`
      insert into dure.knowledge_vectors (chunk, model, vector, is_placed)
      select id, '${model.name}', decode(repeat('01', ${DIMENSIONS}), 'hex'), true
      from dure.knowledge_chunks`);

    await ensureSpace(db.database, space, { signal: go });

    expect(await marked()).toBe(0);
    const [most] = await db.database.query<{ n: number }>({
      text: "select max(n)::integer as n from (select sum(n) as n from updates group by tx) as each",
    });
    expect(most?.n).toBeLessThanOrEqual(2_000);
  });

  test("whose process dies half-way are gone on with, and hide nothing meanwhile", async () => {
    await addMany(50);
    const other = process();
    await other.look();
    await db.exec(`drop table ${office}; truncate updates; insert into updates values (-1, 0)`);
    const dying = ensureSpace(db.database, space, { signal: go, atOnce: 20 });

    await expect(dying).rejects.toThrow("killed");
    expect(await marked()).toBe(30);
    expect(await near(other, "office", "w9 v9")).toEqual(await exactly("office", "w9 v9"));

    await db.exec("truncate updates");
    await process().look();
    expect([await count(office), await marked()]).toEqual([50, 50]);
  });

  test("end with their process where it is told to stop", async () => {
    await addMany(10);
    await process().look();
    await db.exec(`drop table ${office}`);

    const ended = ensureSpace(db.database, space, { signal: AbortSignal.abort(new Error("over")) });

    await expect(ended).rejects.toThrow("over");
  });
});

/** Notes how many vectors a transaction marks. With the row -1 the second transaction fails. */
const COUNT_UPDATES = `
  create table public.updates (tx bigint, n integer);
  create function public.note_update() returns trigger language plpgsql as $$
  begin
    insert into public.updates select txid_current(), count(*) from changed;
    if exists (select from public.updates where tx = -1)
      and (select count(distinct tx) from public.updates) > 2 then
      raise 'killed';
    end if;
    return null;
  end $$;
  create trigger note_update after update on dure.knowledge_vectors
    referencing new table as changed for each statement execute function public.note_update()`;
const COUNT_NO_MORE = `
  drop trigger note_update on dure.knowledge_vectors;
  drop function public.note_update();
  drop table public.updates`;

describe("a model whose vectors have another length", FULL, () => {
  test("has a table of its own, and the former one stays right", async () => {
    await addMany(10);
    const longer = {
      ...model,
      embed: async (texts: readonly string[]) => texts.map(longDirection),
    };
    await process().look();
    await knowledgeOf(process()).put("office", { source: "b.md", text: "w9 v9 zebra" });
    const index = process(longer);
    await index.look();

    const found = await near(index, "office", "zebra");
    expect(found).toHaveLength(1);
    const table = tableOf({ base: "office", model: model.name, dimensions: 128 });
    expect([await count(office), await count(table)]).toEqual([10, 1]);
  });

  test("of 3,072 dimensions is indexed, and finds what the exact search finds", async () => {
    await addMany(20);
    const large: EmbeddingModel = {
      name: "test:large",
      embed: async (texts) => texts.map((text) => directionOf(text, 3_072)),
    };
    const index = process(large);
    await index.look();

    const asked = bytesOf(directionOf("w7 v7", 3_072));
    const about = { base: "office", model: large.name, asked, floor: 0.1, limit: 6 };
    expect(await near(index, "office", "w7 v7")).toEqual(
      await nearest(db.database, about, undefined),
    );
    expect(await searchOf(index)).toEqual(INDEXED);
    expect(await count(tableOf({ base: "office", model: large.name, dimensions: 3_072 }))).toBe(20);
  });

  test("is compared exactly where pgvector cannot index so many dimensions", async () => {
    await addMany(3);
    const huge: EmbeddingModel = {
      name: "test:huge",
      embed: async (texts) => texts.map((text) => directionOf(text, 4_096)),
    };
    const index = process(huge);
    await index.look();

    expect(await near(index, "office", "w1 v1")).not.toEqual([]);
    expect(await searchOf(index)).toEqual({
      by: "exact",
      because: "pgvector indexes at most 4000 dimensions",
    });
  });
});

function longDirection(text: string): readonly number[] {
  return directionOf(text, 128);
}

describe("the extension", FULL, () => {
  test("is created where the role may", async () => {
    await db.exec("drop extension vector cascade");
    await addMany(3);
    const index = process();
    await index.look();

    expect(await searchOf(index)).toEqual(INDEXED);
    expect(lines).toContainEqual(expect.stringMatching(/^vectors are compared by an index/));
  });

  test("is used where another program has put it, whatever its schema is called", async () => {
    await db.exec(`drop extension vector cascade;
      create schema "of, others";
      create extension vector schema "of, others"`);
    try {
      await addMany(10);
      const index = process();
      await index.look();

      expect(await searchOf(index)).toEqual(INDEXED);
      expect(await near(index, "office", "w9 v9")).toEqual(await exactly("office", "w9 v9"));
    } finally {
      await db.exec(`drop extension vector cascade; drop schema "of, others"`);
    }
  });

  test("that goes away costs no answer, and is made again with its tables", async () => {
    await addMany(10);
    const index = process();
    await index.look();
    await db.exec("drop extension vector cascade");

    expect(await near(index, "office", "w9 v9")).toEqual(await exactly("office", "w9 v9"));
    expect(await searchOf(index)).toMatchObject({ by: "exact" });

    await index.look();
    expect(await searchOf(index)).toEqual(INDEXED);
    expect(await near(index, "office", "w9 v9")).toEqual(await exactly("office", "w9 v9"));
    expect(await count(office)).toBe(10);
  });

  test("that comes later is found at the next look, also after this role was refused", async () => {
    await db.exec("drop extension vector cascade");
    await db.exec(REFUSE);
    try {
      await addMany(10);
      const index = process();
      await index.look();
      expect(await searchOf(index)).toEqual({
        by: "exact",
        because: "the server has pgvector, which this role may not create: create extension vector",
      });
      expect(await near(index, "office", "w9 v9")).not.toEqual([]);

      await db.exec(`${ALLOW}; create extension vector`);
      await index.look();
      expect(await searchOf(index)).toEqual(INDEXED);
    } finally {
      await db.exec(ALLOW);
    }
  });
});

/** A server that refuses it, as to a role without the right. */
const REFUSE = `
  create function public.refuse() returns event_trigger language plpgsql
    as $$ begin raise insufficient_privilege; end $$;
  create event trigger refuse on ddl_command_start when tag in ('CREATE EXTENSION')
    execute function public.refuse()`;
const ALLOW = "drop event trigger if exists refuse; drop function if exists public.refuse";
