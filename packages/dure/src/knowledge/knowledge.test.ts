import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { digestOf } from "./document-rows.ts";
import { Knowledge } from "./knowledge.ts";

let db: TestDatabase;
let knowledge: Knowledge;

beforeAll(async () => {
  db = await testDatabase();
  knowledge = new Knowledge({ database: db.database, bases: ["handbook", "other"] });
}, 60_000);

afterAll(() => db?.[Symbol.asyncDispose]());

const REFUNDS = { source: "refunds.md", text: "# Refunds\nA refund takes three days." };

async function sourcesFor(question: string, base = "handbook"): Promise<readonly string[]> {
  const passages = await knowledge.search([base], question);
  return passages.map(({ source, headings }) => [source, ...headings].join("/"));
}

describe("documents", () => {
  test("one is found by its text, title and headings, in its own base alone", async () => {
    await knowledge.put("handbook", { ...REFUNDS, title: "Money matters" });

    expect(await sourcesFor("How many days does a refund take?")).toEqual(["refunds.md/Refunds"]);
    expect(await sourcesFor("money")).toEqual(["refunds.md/Refunds"]);
    expect(await sourcesFor("refund", "other")).toEqual([]);
  });

  test("the same again changes nothing; another text under its source replaces it", async () => {
    const text = { source: "hours.md", text: "We open at nine." };
    expect(await knowledge.put("handbook", text)).toBe(true);
    expect(await knowledge.put("handbook", text)).toBe(false);

    expect(await knowledge.put("handbook", { ...text, text: "We open at noon." })).toBe(true);

    expect(await sourcesFor("nine")).toEqual([]);
    expect(await sourcesFor("noon")).toEqual(["hours.md"]);
  });

  test("two that add one document at once leave one", async () => {
    const put = (text: string) => knowledge.put("other", { source: "twice.md", text });
    await Promise.all(Array.from({ length: 8 }, (_, at) => put(`version ${at % 2}`)));

    const { items } = await knowledge.documents("other", {});
    expect(items.map(({ source, chunks }) => [source, chunks])).toEqual([["twice.md", 1]]);
  });

  test("what PostgreSQL's text refuses is replaced, not a failure", async () => {
    const source = "odd.md";
    await knowledge.put("other", { source, text: "zebra \u0000 crossing \ud800 half" });

    const [passage] = await knowledge.search(["other"], "zebra crossing");
    expect(passage?.text).toBe("zebra \uFFFD crossing \uFFFD half");
    expect(await knowledge.remove("other", source)).toBe(true);
    expect(await knowledge.remove("other", source)).toBe(false);
  });

  test("the list goes on page by page, and its digest tells what has changed", async () => {
    const texts = ["a.md", "b.md", "c.md"].map((source) => ({ source, text: `about ${source}` }));
    for (const text of texts) await knowledge.put("other", text);

    const first = await knowledge.documents("other", { limit: 2 });
    const second = await knowledge.documents("other", { limit: 2, cursor: first.nextCursor! });

    expect(first.items.map(({ digest }) => digest)).toEqual(texts.slice(0, 2).map(digestOf));
    expect(second.items[0]?.source).toBe("c.md");
  });

  test("a document of 1 MiB is stored and found", async () => {
    const paragraph = "Lorem ipsum dolor sit amet consectetur. ".repeat(20);
    const text = `${paragraph}\n\n`.repeat(1_300) + "The zanzibar clause is here.";

    await knowledge.put("other", { source: "long.md", text });

    const [passage] = await knowledge.search(["other"], "zanzibar clause");
    expect(passage?.text).toContain("zanzibar");
    await knowledge.remove("other", "long.md");
  });
});

test("an unknown base is refused by its name", async () => {
  const unknown = { code: "KNOWLEDGE_UNKNOWN", class: "not-found" };

  await expect(knowledge.put("hanbook", REFUNDS)).rejects.toMatchObject(unknown);
  await expect(knowledge.search(["hanbook"], "x")).rejects.toMatchObject(unknown);
  await expect(knowledge.documents("hanbook", {})).rejects.toMatchObject(unknown);
  expect(() => knowledge.retrieverOf(["hanbook"])).toThrow(/knowledge base "hanbook"/);
});

test("a question without words, or of 64 KiB, ends", async () => {
  expect(await knowledge.search(["handbook"], "?!")).toEqual([]);
  expect(await knowledge.search(["handbook"], "무엇 ".repeat(20_000))).toEqual([]);
});

test("an agent gets passages that begin with their source", async () => {
  const { signal } = new AbortController();
  const passages = await knowledge.retrieverOf(["handbook"]).search("refund", { signal });

  expect(passages).toEqual(["Source: refunds.md › Refunds\n\nA refund takes three days."]);
});
