import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./processes.ts";
import { titlesOf } from "./titles.ts";

/** Pages that promise; each promise names the test that shows it, and that test exists. */
const PAGES = ["docs/security.md", "docs/reliability.md"];

interface Claim {
  readonly sentence: string;
  readonly file: string;
  /** The title of the test, or of its group, as its source says it. */
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
    const titles = await titlesIn(file);
    if (!titles.includes(title)) missing.push(`${sentence} → ${file}: ${title}`);
  }

  expect(promises.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

test.each(PAGES)("each test that %s names outside of its tables has a file", async (page) => {
  const text = await readFile(path.join(root, page), "utf8");
  const files = [...text.matchAll(/`([^`\s]+\.test\.tsx?)`/g)].map(([, file]) => file!);

  expect(files.filter((file) => !existsSync(path.join(root, file)))).toEqual([]);
});

test.each(PAGES)("no row of a promise's table of %s is without a test", async (page) => {
  const text = await readFile(path.join(root, page), "utf8");
  const tables = text.matchAll(/^\|.*\| shown by +\|\n\|[-| ]+\|\n((?:\|.*\n)+)/gm);
  const rows = [...tables].flatMap(([, body]) => body!.trimEnd().split("\n"));

  expect(rows.length).toBe(claimsOf(text).length);
});

async function titlesIn(file: string): Promise<readonly string[]> {
  const place = path.join(root, file);
  if (!existsSync(place)) return [];
  return titlesOf(file, await readFile(place, "utf8")).map(({ text }) => text);
}
