/** The style sheets take every size from the tokens in theme.ts. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { DEFAULT_THEME } from "@mantine/core";
import { expect, test } from "vitest";
import { tokens } from "../src/theme.ts";

const SOURCES = path.join(import.meta.dirname, "../src");

/** All but `1px`; shares of the screen or the parent are not sizes, and no token can be a query. */
const SIZE = /(?<![\w.])(?!1px\b)\d*\.?\d+(?:px|r?em|ch|ex|pt)\b/u;
const QUERY = /^\s*@(?:media|container)\b/u;
/** What the kit and the drawing of plans name. */
const FOREIGN = /^--(?:mantine|xy|button)-/u;

test("every size in the style sheets is a token", async () => {
  const lines = await sheetLines();

  const sizes = lines.filter(({ line }) => !QUERY.test(line) && SIZE.test(line));

  expect(lines.length).toBeGreaterThan(1_000);
  expect(sizes).toEqual([]);
});

test("every custom property that the style sheets read has a value", async () => {
  const lines = await sheetLines();
  const { variables, light } = tokens(DEFAULT_THEME);
  const set = lines.flatMap(({ line }) => line.match(/^\s*--[\w-]+(?=:)/u) ?? []);
  const known = new Set([...Object.keys(variables), ...Object.keys(light), "--depth"]);
  for (const name of set) known.add(name.trim());

  const read = lines.flatMap(({ line }) => line.match(/(?<=var\()--[\w-]+/gu) ?? []);

  expect(read.filter((name) => !known.has(name) && !FOREIGN.test(name))).toEqual([]);
});

async function sheetLines(): Promise<readonly { readonly sheet: string; readonly line: string }[]> {
  const names = (await readdir(SOURCES, { recursive: true })).filter((name) =>
    name.endsWith(".css"),
  );
  const read = names.map(async (sheet) => {
    const text = await readFile(path.join(SOURCES, sheet), "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => ({ sheet, line }));
  });
  return (await Promise.all(read)).flat();
}
