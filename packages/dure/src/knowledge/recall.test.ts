import { readFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { Knowledge } from "./knowledge.ts";
import { ENGLISH, KOREAN, type Labelled } from "./recall/questions.ts";

/** What a labelled set of questions finds. `DURE_TEST_PRINT=1` prints the questions that miss. */
let db: TestDatabase;
let knowledge: Knowledge;

beforeAll(async () => {
  db = await testDatabase();
  knowledge = new Knowledge({ database: db.database, bases: ["store", "office"] });
  await add("store", "store.ko.md");
  await add("office", "office.en.md");
}, 60_000);

afterAll(() => db?.[Symbol.asyncDispose]());

async function add(base: string, file: string): Promise<void> {
  const text = await readFile(path.join(import.meta.dirname, "recall", file), "utf8");
  await knowledge.put(base, { source: file, text });
}

interface Recall {
  /** The right heading was the best passage. */
  readonly first: number;
  /** It was among the passages. */
  readonly among: number;
  /** Questions about something else found nothing. */
  readonly silent: number;
  readonly missed: readonly string[];
}

async function recallOf(questions: readonly Labelled[]): Promise<Recall> {
  const found = await Promise.all(
    questions.map(async ([question, heading]) => {
      const passages = await knowledge.search(["store", "office"], question);
      const headings = passages.map((passage) => passage.headings.at(-1));
      return { question, heading, headings };
    }),
  );
  const asked = found.filter(({ heading }) => heading !== null);
  const foreign = found.filter(({ heading }) => heading === null);
  const first = asked.filter(({ heading, headings }) => headings[0] === heading);
  const among = asked.filter(({ heading, headings }) => headings.includes(heading!));
  const silent = foreign.filter(({ headings }) => headings.length === 0);
  const wrong = found.filter((one) => !first.includes(one) && !silent.includes(one));

  return {
    first: first.length / asked.length,
    among: among.length / asked.length,
    silent: silent.length / foreign.length,
    missed: wrong.map(
      ({ question, heading, headings }) => `${question} → ${heading}: ${headings[0]}`,
    ),
  };
}

describe("what a question finds, both handbooks in one search", () => {
  test.each([
    ["Korean", KOREAN],
    ["English", ENGLISH],
  ])("in %s the right section is there for 95 of 100, and first for 85", async (_, questions) => {
    const recall = await recallOf(questions);

    expect(recall.among, recall.missed.join("\n")).toBeGreaterThanOrEqual(0.95);
    expect(recall.first, recall.missed.join("\n")).toBeGreaterThanOrEqual(0.85);
  });

  test("a question about something else finds nothing, for 80 of 100", async () => {
    const recall = await recallOf([...KOREAN, ...ENGLISH]);

    expect(recall.silent, recall.missed.join("\n")).toBeGreaterThanOrEqual(0.8);
  });
});
