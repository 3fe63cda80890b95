import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { TestClock } from "../kernel/test-clock.ts";
import type { EmbeddingModel } from "../models/embeddings.ts";
import { Knowledge } from "./knowledge.ts";
import { VectorIndex } from "./vector-index.ts";
import { bytesOf, cosineOf } from "./vectors.ts";

/** Search by meaning, with a model that knows three of them. */
let db: TestDatabase;
let model: TestModel;
/** Of the base `rules`. */
let other: TestModel;
let lines: string[];
let vectors: VectorIndex;
let knowledge: Knowledge;

/** Words of one meaning lie in one direction. */
const MEANINGS = [/refund|money back|환불/iu, /holiday|leave|휴가/iu, /printer|프린터/iu];

class TestModel implements EmbeddingModel {
  readonly name = "test:meanings";
  readonly asked: (readonly string[])[] = [];
  fails = false;
  /** What happens while it is asked. */
  meanwhile = async (): Promise<void> => {};

  async embed(texts: readonly string[]): Promise<readonly (readonly number[])[]> {
    this.asked.push(texts);
    await this.meanwhile();
    if (this.fails) throw new Error("the model is away");
    return texts.map((text) => MEANINGS.map((meaning) => (meaning.test(text) ? 1 : 0.01)));
  }
}

beforeAll(async () => {
  db = await testDatabase();
}, 60_000);

beforeEach(async () => {
  await db.database.query({ text: "delete from dure.knowledge_documents" });
  model = new TestModel();
  other = new TestModel();
  lines = [];
  ({ vectors, knowledge } = process());
});

afterEach(() => vectors?.stop());

afterAll(() => db?.[Symbol.asyncDispose]());

/** Knowledge of one process. */
function process(clock: Clock = systemClock): { vectors: VectorIndex; knowledge: Knowledge } {
  const { database } = db;
  const write = (_: object, line: string): void => void lines.push(line);
  const logger = { debug: write, info: write, warn: write, error: write };
  const bases = new Map([
    ["handbook", { model, floor: 0.5 }],
    ["rules", { model: other, floor: 0.5 }],
  ]);
  const index = new VectorIndex({ database, bases, clock, logger });
  const names = ["handbook", "rules", "plain"];

  return { vectors: index, knowledge: new Knowledge({ database, bases: names, vectors: index }) };
}

async function sourcesFor(question: string, base = "handbook"): Promise<readonly string[]> {
  return (await knowledge.search([base], question)).map(({ source }) => source);
}

async function addAll(): Promise<void> {
  await knowledge.put("handbook", { source: "refunds.md", text: "A refund takes three days." });
  await knowledge.put("handbook", { source: "leave.md", text: "Leave is asked for in spring." });
}

async function stored(): Promise<number> {
  const [row] = await db.database.query<{ n: number }>({
    text: "select count(*)::integer as n from dure.knowledge_vectors",
  });
  return row!.n;
}

async function openTransactions(): Promise<number> {
  const [row] = await db.database.query<{ n: number }>({
    text: `
      select count(*)::integer as n from pg_stat_activity
      where datname = current_database() and state = 'idle in transaction'`,
  });
  return row!.n;
}

describe("a base with an embedding model", () => {
  test("is found by meaning, across languages, once its documents have vectors", async () => {
    await addAll();
    expect(await sourcesFor("환불은 언제 되나요?")).toEqual([]);

    await vectors.look();

    expect(await sourcesFor("환불은 언제 되나요?")).toEqual(["refunds.md"]);
    expect(await sourcesFor("Where is the printer?")).toEqual([]);
  });

  test("puts first what words and meaning both find", async () => {
    await addAll();
    await knowledge.put("handbook", { source: "days.md", text: "Three days in May are free." });
    await vectors.look();

    const [first, second] = await knowledge.search(["handbook"], "money back after three days");

    expect([first?.source, second?.source]).toEqual(["refunds.md", "days.md"]);
  });

  test("pays for each part once, also after it was cut off, and with two processes", async () => {
    await addAll();
    model.fails = true;
    await vectors.look();
    expect(await stored()).toBe(0);
    model.fails = false;
    const second = process();

    await Promise.all([vectors.look(), second.vectors.look()]);
    await vectors.look();

    expect(await stored()).toBe(2);
    expect(model.asked.filter((texts) => texts.length > 0)).toHaveLength(2); // one failed
  });

  test("holds no transaction open while its model is asked, however long that takes", async () => {
    await addAll();
    let open = -1;
    model.meanwhile = async () => void (open = await openTransactions());

    await vectors.look();

    expect([open, await stored()]).toEqual([0, 2]);
  });

  test("takes the vectors of a replaced document away, and makes new ones", async () => {
    await addAll();
    await vectors.look();
    await knowledge.put("handbook", { source: "refunds.md", text: "The printer is on floor two." });

    expect(await sourcesFor("money back")).toEqual([]);
    await vectors.look();
    expect(await sourcesFor("프린터 어디 있어요")).toEqual(["refunds.md"]);
  });

  test("is searched by words alone while the model is away, and says so", async () => {
    await addAll();
    await vectors.look();
    model.fails = true;

    expect(await sourcesFor("How long does a refund take?")).toEqual(["refunds.md"]);
    expect(lines).toContain("handbook is searched by words alone: test:meanings gave no vector");
  });

  test("is searched by words alone where the model never answers", async () => {
    await addAll();
    await vectors.look();
    const clock = new TestClock();
    model.meanwhile = () => new Promise(() => {});
    let isOver = false;

    const searching = process(clock).knowledge.search(["handbook"], "How long is a refund?");
    const over = (): void => void (isOver = true);
    searching.then(over, over);
    while (!isOver) await clock.pass(100);

    expect((await searching).map(({ source }) => source)).toEqual(["refunds.md"]);
  });

  test("whose model is away holds up no other base, and is made whole when it is back", async () => {
    await addAll();
    await knowledge.put("rules", { source: "print.md", text: "The printer is on floor two." });
    model.fails = true;

    await vectors.look();
    expect(await sourcesFor("프린터", "rules")).toEqual(["print.md"]);
    expect(await knowledge.list()).toMatchObject([
      { name: "handbook", vectors: { missing: 2 } },
      { name: "rules", vectors: { missing: 0 } },
      {},
    ]);

    model.fails = false;
    await vectors.look();

    expect(await sourcesFor("환불은 언제 되나요?")).toEqual(["refunds.md"]);
  });

  test("leaves a base without a model as it was", async () => {
    await knowledge.put("plain", { source: "a.md", text: "A refund takes three days." });
    await vectors.look();

    expect(await stored()).toBe(0);
    expect(await sourcesFor("환불", "plain")).toEqual([]);
    expect(await sourcesFor("refund", "plain")).toEqual(["a.md"]);
  });

  test("says how it is searched, and what it lacks", async () => {
    await addAll();
    const about = { name: "handbook", documents: 2, chunks: 2 };
    const lacking = { model: "test:meanings", missing: 2, search: "exact" };
    const plain = { name: "plain", documents: 0, chunks: 0, vectors: null };
    const because = "pgvector was not looked for yet";
    const rules = { ...plain, name: "rules", vectors: { ...lacking, missing: 0, because } };
    const handbook = { ...about, vectors: { ...lacking, because } };
    expect(await knowledge.list()).toEqual([handbook, rules, plain]);

    await vectors.look();

    expect(await knowledge.list()).toMatchObject([
      { ...about, vectors: { missing: 0, because: expect.stringContaining("pgvector") as string } },
      { name: "rules" },
      plain,
    ]);
  });

  test("passes over vectors of another length, which a changed model has left", async () => {
    await addAll();
    await vectors.look();
    await db.database.query({
      text: "update dure.knowledge_vectors set vector = '\\x7f7f'",
    });

    expect(await sourcesFor("환불")).toEqual([]);
  });
});

describe("a vector in bytes", () => {
  test("keeps its direction to a hundredth", () => {
    const one = Array.from({ length: 1_536 }, (_, at) => Math.sin(at * 7));
    const two = Array.from({ length: 1_536 }, (_, at) => Math.sin(at * 7 + 0.6));
    const dot = one.reduce((sum, number, at) => sum + number * two[at]!, 0);
    const exact = dot / Math.hypot(...one) / Math.hypot(...two);

    expect(cosineOf(bytesOf(one), bytesOf(two))).toBeCloseTo(exact, 2);
  });

  test("without a direction, or with one that is no number, is near nothing", () => {
    const asked = bytesOf([1, 2, 3]);

    expect(cosineOf(asked, bytesOf([0, 0, 0]))).toBe(0);
    expect(cosineOf(asked, bytesOf([Number.NaN, 1, Number.POSITIVE_INFINITY]))).toBe(0);
    expect(cosineOf(asked, bytesOf([]))).toBe(0);
  });
});
