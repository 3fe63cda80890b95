import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import type { DureClient, NewDraft, PlanDraft } from "../client/index.ts";
import { Output } from "./output.ts";
import { graphLines, inRepository, nameIn, planFrom } from "./plan-from.ts";
import { WORDS_EN } from "./words/words.en.ts";

const TEXT = "plan: sessions\nroles: modules\n";
const VIEW = {
  ports: [
    {
      id: "core",
      title: "Sessions end",
      owns: ["src/core/**"],
      tests: ["test/core/**"],
      dependsOn: [],
      acceptance: "npm test",
    },
    {
      id: "api",
      title: "api",
      owns: ["a", "b", "c", "d"],
      tests: [],
      dependsOn: ["core"],
      acceptance: "npm run api",
    },
  ],
  levels: [["core"], ["api"]],
  mode: { mode: "in-order", because: "there are few files", conditions: [] },
  workers: [{ role: "default", kind: "own" }],
  warnings: [],
};

/** A server that drafts, and a person who answers in this order; none: no person is there. */
async function stage(draft: Partial<PlanDraft> = {}, said?: readonly string[]) {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-from-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const shown: string[] = [];
  const stream = new Writable({
    write: (part: Buffer, _, done) => (shown.push(part.toString()), done()),
  }) as unknown as NodeJS.WriteStream;
  const streams = { stdin: process.stdin, stdout: stream, stderr: stream };
  const output = new Output({ streams, json: false, noColor: true });
  const asked: (NewDraft | readonly object[])[] = [];
  const none = { questions: [], open: [], problems: [], problemCount: 0 };
  const drafted = { id: "draft_1", version: 1, text: TEXT, ...none, ...draft };
  const plans = {
    drafts: {
      make: async (request: NewDraft) => (asked.push(request), drafted),
      answer: async (_: unknown, answers: readonly object[]) => (asked.push(answers), drafted),
    },
    dryRun: async () => VIEW,
  };
  const client = { plans } as unknown as Pick<DureClient, "plans">;
  const started: string[] = [];
  const answers = [...(said ?? [])];
  const ask = said === undefined ? undefined : async () => answers.shift();
  const start = async (file: string, text: string) => (
    started.push(`${file}: ${text}`),
    0 as const
  );
  const from = (out?: string) =>
    planFrom(
      { goal: "Sessions end", repository: undefined, folder, out },
      { client, output, ask, start },
    );
  return { folder, from, asked, started, words: () => shown.join("") };
}

test("a plan is a graph in lines: each port with what it needs, owns and must pass", () => {
  const lines = graphLines(VIEW as unknown as Parameters<typeof graphLines>[0], WORDS_EN.plans);

  expect(lines).toEqual([
    "● core  Sessions end",
    "  owns    src/core/**",
    "  tests   test/core/**",
    "  passes  npm test",
    "└▶ api     ← core",
    "   owns    a, b, c and 1 more",
    "   passes  npm run api",
  ]);
});

test("the draft becomes a file of the team, never over another one, and tells what is open", async () => {
  const { folder, from, words } = await stage({
    open: ["no test was seen"],
    questions: [{ question: "Which?", answer: null }],
  });

  const codes = [await from(), await from()];

  expect(codes).toEqual([0, 0]);
  expect(await readFile(path.join(folder, "plans/sessions.yaml"), "utf8")).toBe(TEXT);
  expect(await readFile(path.join(folder, "plans/sessions-2.yaml"), "utf8")).toBe(TEXT);
  expect(words()).toContain("● core");
  expect(words()).toContain("open no test was seen");
  expect(words()).toContain("asks Which?");
  expect(words()).toContain("/plans/drafts/draft_1");
});

test("a draft with problems is kept too, and ends with 1", async () => {
  const problem = { file: "draft.yaml", line: 2, key: "ports", message: "is missing" };
  const { folder, from, words } = await stage({ problems: [problem], problemCount: 1 });

  expect(await from(path.join(folder, "mine.yaml"))).toBe(1);
  expect(await readFile(path.join(folder, "mine.yaml"), "utf8")).toBe(TEXT);
  expect(words()).toContain("draft.yaml:2 ports: is missing");
  expect(words()).not.toContain("● core");
});

test("a person's answers make a second draft; what they leave empty is as assumed", async () => {
  const questions = ["How long?", "For whom?"].map((question) => ({ question, answer: null }));
  const { from, asked } = await stage({ questions }, ["30 minutes", "", "q"]);
  const silent = await stage({ questions }, ["", "", "q"]);

  await from();
  await silent.from();

  expect(asked).toEqual([
    { goal: "Sessions end" },
    [{ question: "How long?", answer: "30 minutes" }],
  ]);
  expect(silent.asked).toHaveLength(1);
});

test("a person edits the file, looks again, and starts what it says then", async () => {
  const { folder, from, started } = await stage({}, ["", "s"]);
  await writeFile(path.join(folder, "x"), "");

  await from(path.join(folder, "x.yaml"));

  expect(started).toEqual([`x.yaml: ${TEXT}`]);
});

test("a plan that was drafted for another repository names it, and keeps the one that it names", () => {
  expect(inRepository(TEXT, undefined)).toBe(TEXT);
  expect(inRepository(`# note\n${TEXT}`, "/srv/my shop")).toBe(
    '# note\nplan: sessions\nrepository: "/srv/my shop"\nroles: modules\n',
  );
  expect(inRepository(`${TEXT}repository: shop\n`, "/srv/other")).toBe(`${TEXT}repository: shop\n`);
});

test("a plan without a name that a file can have is called draft", () => {
  expect([TEXT, "plan: '한글'", "plan: ../x", 'plan: "a-b"'].map(nameIn)).toEqual([
    "sessions",
    "draft",
    "draft",
    "a-b",
  ]);
});
