import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readEval } from "./eval-file.ts";

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-evals-"));
});

afterEach(() => rm(folder, { recursive: true }));

async function read(text: string, name = "a.eval.yaml") {
  await writeFile(path.join(folder, name), text);
  return readEval(path.join(folder, name), folder);
}

test("a file is read with its defaults, and one message is one turn", async () => {
  expect(
    await read("cases:\n  - say: hello\n    expect: { says: hello, never_calls: [pay] }\n"),
  ).toEqual({
    name: "a",
    threshold: 1,
    repeat: 1,
    timeout: 120_000,
    cases: [
      {
        name: "case 1",
        turns: [{ say: "hello" }],
        expect: { says: ["hello"], neverCalls: ["pay"] },
      },
    ],
  });
});

test.each([
  ["nothing that could fail", "cases: [{ say: hello }]", "expects nothing"],
  [
    "two ways at once",
    "cases: [{ say: a, user: { goal: b }, expect: { says: c } }]",
    "one of them",
  ],
  ["an empty turn", "cases: [{ turns: [{ expect: { says: a } }] }]", "say or press"],
  [
    "a button before an answer",
    "cases: [{ turns: [{ press: Yes, expect: { says: a } }] }]",
    "begins",
  ],
  [
    "a name twice",
    "cases: [{ name: a, say: b, expect: { says: c } }, { name: a, say: b, expect: { says: c } }]",
    'the name "a"',
  ],
  ["an unknown key", "cases: [{ say: a, expect: { sayz: b } }]", 'did you mean "says"'],
  ["a wrong pattern", "cases: [{ say: a, expect: { says: '/(/' } }]", "pattern"],
  ["no case", "cases: []", "at least one case"],
])("a file with %s is refused, with its place", async (_what, text, why) => {
  await expect(read(text)).rejects.toMatchObject({
    code: "EVAL_INVALID",
    message: expect.stringMatching(/a\.eval\.yaml:1/) as string,
  });
  await expect(read(text)).rejects.toThrow(why);
});

test("a file that is not there says what to name", async () => {
  await expect(readEval(path.join(folder, "b.eval.yaml"), folder)).rejects.toMatchObject({
    code: "EVAL_UNREADABLE",
    hint: expect.stringContaining("evals/") as string,
  });
});
