/** The figures of the documents: each kind of rule is broken once in a small page. */

import { expect, test } from "vitest";
import { MAX_BLOCK, MAX_UNRELEASED, measurePage, troubleWith, wordsOfUnreleased } from "./prose.ts";

const words = (count: number): string => Array.from({ length: count }, () => "Word").join(" ");

function troubleOf(markdown: string): string[] {
  return troubleWith([measurePage("page.md", markdown)], 0);
}

test("a page of short sentences has no trouble", () => {
  expect(troubleOf("# Title\n\nOne process holds a bot. It renews its lease.\n")).toEqual([]);
});

test("a page of long sentences is trouble, with the line of the longest", () => {
  const page = `# Title\n\nA short one.\nThen ${words(45)}.\n`;

  expect(troubleOf(page)).toEqual([
    "page.md: 24.5 words a sentence, at most 20; longest 46 words in line 4",
  ]);
});

test("a list item is a sentence of its own, also without a full stop", () => {
  const { meanSentence } = measurePage("page.md", `- ${words(10)}\n- ${words(20)}\n`);

  expect(meanSentence).toBe(15);
});

test.for([
  ["a paragraph", `${`${words(10)}. `.repeat(10)}\n`],
  ["a list item", `- ${`${words(10)}. `.repeat(10)}\n`],
  ["a cell of a table", `| a | b |\n| - | - |\n| x | ${`${words(10)}. `.repeat(10)} |\n`],
])("%s that is too long is trouble", ([, page]) => {
  expect(troubleOf(page!)).toEqual([
    expect.stringContaining(`a paragraph over ${MAX_BLOCK} words, 100 words in line`),
  ]);
});

test.for(["Nobody waits.", "# Whoever", "| a |\n| - |\n| somebody |"])(
  "a vague actor is trouble in prose, headings and tables: %s",
  (page) => {
    expect(troubleOf(`${page}\n`)).toEqual([
      expect.stringContaining("whoever, somebody or nobody in line"),
    ]);
  },
);

test("code counts as one word, and what it says is not read", () => {
  const page = `Run \`somebody && echo ${words(60)}. now?\` first.\n\n~~~\n${words(200)}\n~~~\n`;

  expect(measurePage("page.md", page)).toMatchObject({
    meanSentence: 3,
    longestBlock: { line: 1, words: 3 },
    vagueLines: [],
  });
});

test("tables do not count for the mean of the sentences", () => {
  const table = "| a | b |\n| - | - |\n| x | y |\n";

  expect(measurePage("page.md", `${words(12)}.\n\n${table}`).meanSentence).toBe(12);
});

test("the unreleased part ends at the next release, and may not grow over its limit", () => {
  const log = `# Changelog\n\n${words(5)}\n\n## [Unreleased]\n\n### Added\n\n- ${words(899)}\n\n## 0.1.0\n\n${words(50)}\n`;

  expect(wordsOfUnreleased(log)).toBe(900);
  expect(troubleWith([], MAX_UNRELEASED)).toEqual([]);
  expect(troubleWith([], MAX_UNRELEASED + 1)).toEqual([
    `CHANGELOG.md: unreleased has ${MAX_UNRELEASED + 1} words, at most ${MAX_UNRELEASED}`,
  ]);
});
