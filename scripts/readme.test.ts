/** README.md and README.ko.md say the same: their headings, code, tables and links stand in step. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { blocksOf } from "./guides.ts";
import { root } from "./processes.ts";

const [ENGLISH, KOREAN] = (await Promise.all(
  ["README.md", "README.ko.md"].map((page) => readFile(path.join(root, page), "utf8")),
)) as [string, string];

/** Text outside of code and comments. */
function proseOf(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$|^<!--[^]*?-->$/gm, "");
}

/** Comments, and what a person says to the example, are in the language of the page. */
function codeOf(markdown: string): string[] {
  return blocksOf("README", markdown).map(({ language, code }) => {
    const withoutComments = code.replaceAll(/ +(?:\/\/|#) .*$/gm, "");
    return `${language}\n${withoutComments.replaceAll(/"message": "[^"]*"/g, '"message": …')}`;
  });
}

/** Without what leads to the other language; a page or picture of both has one name. */
function linksOf(markdown: string): string[] {
  const targets = [...proseOf(markdown).matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!);
  return targets
    .filter((target) => !target.startsWith("README"))
    .map((target) =>
      target.replace("docs/ko/", "docs/guides/").replace(/\.(?:ko|en)\.png$/, ".png"),
    );
}

function levelsOf(markdown: string): string[] {
  return proseOf(markdown).match(/^#+(?= )/gm) ?? [];
}

/** Rows of each table, by number. */
function tablesOf(markdown: string): number[] {
  const tables = proseOf(markdown).match(/(?:^\|.*\|\n)+/gm) ?? [];
  return tables.map((table) => table.trimEnd().split("\n").length);
}

test.each([
  ["code blocks", codeOf],
  ["links", linksOf],
  ["levels of headings", levelsOf],
  ["rows of tables", tablesOf],
])("the Korean README has the same %s as the English one", (_what, partsOf) => {
  expect(partsOf(ENGLISH).length).toBeGreaterThan(3);
  expect(partsOf(KOREAN)).toEqual(partsOf(ENGLISH));
});

test("each README says what dure is, then the story, the install line and a service", () => {
  const [install = "", service = ""] = codeOf(ENGLISH);
  const marks = ["kill -9", "npx dure init", "defineService", "| --"];

  for (const page of [ENGLISH, KOREAN]) {
    const places = marks.map((mark) => page.indexOf(mark));
    expect(page).toMatch(/^# dure\n\n\[.*\n\n\*\*dure\*\* ?\(두레.*TypeScript/);
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(places).not.toContain(-1);
  }
  expect(install).toContain("npm create dure");
  expect(service.trimEnd().split("\n").slice(1).filter(Boolean).length).toBeLessThanOrEqual(12);
});

test("no sentence of the Korean README is left in English", () => {
  const lines = proseOf(KOREAN).split("\n");
  const words = lines.filter((line) => /[a-z]{2,}(?: [a-z]{2,}){3}/i.test(line));

  expect(words.filter((line) => !/[가-힣]/.test(line))).toEqual([]);
});
