import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./processes.ts";

/** Pages that promise; each promise names the test that shows it, and that test exists. */
const PAGES = ["docs/security.md", "docs/reliability.md"];

interface Claim {
  readonly sentence: string;
  readonly file: string;
  /** A part of the test's title. */
  readonly title: string;
}

/** Rows of tables whose last cell is `file`: title. */
function claimsOf(page: string): Claim[] {
  const rows = page.matchAll(/^\| (.+?) +\| `([^`]+\.test\.ts)`: (.+?) +\|$/gm);
  return [...rows].map(([, sentence, file, title]) => ({
    sentence: sentence!,
    file: file!,
    title: title!,
  }));
}

test.each(PAGES)("every promise of %s names a test that exists", async (page) => {
  const promises = claimsOf(await readFile(path.join(root, page), "utf8"));
  const missing: string[] = [];
  for (const { sentence, file, title } of promises) {
    const place = path.join(root, file);
    const source = existsSync(place) ? await readFile(place, "utf8") : "";
    if (!source.includes(title)) missing.push(`${sentence} → ${file}: ${title}`);
  }

  expect(promises.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

test.each(PAGES)("no row of a promise's table of %s is without a test", async (page) => {
  const text = await readFile(path.join(root, page), "utf8");
  const tables = text.matchAll(/^\|.*\| shown by +\|\n\|[-| ]+\|\n((?:\|.*\n)+)/gm);
  const rows = [...tables].flatMap(([, body]) => body!.trimEnd().split("\n"));

  expect(rows.length).toBe(claimsOf(text).length);
});
