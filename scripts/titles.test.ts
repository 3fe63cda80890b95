/** Titles of tests and commits: each rule is broken once. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { run } from "./processes.ts";
import { readCommits, readTestTitles, titlesOf, troubleWithTitles } from "./titles.ts";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";

const LONG = "x".repeat(101);

async function aRepository(): Promise<{ folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-titles-"));
  await run("git", ["init", "-q"], { cwd: folder });
  return {
    folder,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function commit(folder: string, subject: string): Promise<void> {
  const author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
  const options = ["commit", "-q", "--allow-empty", "-m", subject];
  await run("git", [...author, ...options], { cwd: folder });
}

test("titles are found in calls, tables, groups and sums, with their line", () => {
  const text = [
    'test("one", () => {});',
    "test.for([1, 2])(`two ${n}`, () => {});",
    "describe.skip(",
    '  "three " +',
    '    "and more", () => {});',
    'other("four");',
    "test(computed, () => {});",
  ].join("\n");

  expect(titlesOf("a.test.ts", text)).toEqual([
    { file: "a.test.ts", line: 1, text: "one" },
    { file: "a.test.ts", line: 2, text: "two ${n}" },
    { file: "a.test.ts", line: 4, text: "three and more" },
  ]);
});

test("a title over 100 characters is trouble, by file and line; one of 100 is not", async () => {
  await using repository = await aRepository();
  const { folder } = repository;
  const lines = [`test("${LONG}", () => {});`, `test("${LONG.slice(1)}", () => {});`];
  await writeFile(path.join(folder, "a.test.ts"), lines.join("\n"));
  await run("git", ["add", "-A"], { cwd: folder });

  expect(troubleWithTitles(await readTestTitles(folder), [])).toEqual([
    "a.test.ts:1: a test title of 101 characters, at most 100",
  ]);
});

test("a title that names no actor is trouble", () => {
  const title = { file: "a.test.ts", line: 3, text: "a turn is claimed by nobody" };

  expect(troubleWithTitles([title], [])).toEqual([
    "a.test.ts:3: whoever, somebody or nobody in a test title",
  ]);
});

test.for([
  ["Add a check of titles", []],
  ["A".repeat(72), []],
  ["A".repeat(73), [/73 characters, at most 72/]],
  ["add a check", [/does not begin with what it is about/]],
  ["checks: add one for subjects", []],
  ["Add a check.", [/ends with a full stop/]],
  ["Add a check ", [/ends with a space/]],
] as const)("of the subject %j the check says %s", ([subject, wanted]) => {
  const trouble = troubleWithTitles([], [{ id: "0abc", subject }]);

  expect(trouble).toEqual(wanted.map((words) => expect.stringMatching(words) as string));
});

test(
  "the last 50 commits are looked at, and in a shallow clone those that it has",
  FULL,
  async () => {
    await using repository = await aRepository();
    const { folder } = repository;
    for (let n = 0; n < 52; n++) await commit(folder, `Commit ${n}`);
    const shallow = path.join(folder, "shallow");
    await run("git", ["clone", "-q", "--depth", "2", `file://${folder}`, shallow], { cwd: folder });

    const subjects = (await readCommits(folder)).map(({ subject }) => subject);
    expect(subjects).toHaveLength(50);
    expect([subjects.at(0), subjects.at(-1)]).toEqual(["Commit 51", "Commit 2"]);
    expect(await readCommits(shallow)).toMatchObject([
      { subject: "Commit 51" },
      { subject: "Commit 50" },
    ]);
  },
);
