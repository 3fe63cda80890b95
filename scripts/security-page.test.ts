import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { root } from "./processes.ts";

/** docs/security.md promises; each promise names the test that shows it, and that test exists. */
const PAGE = path.join(root, "docs/security.md");

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

test("every promise of the security page names a test that exists", async () => {
  const promises = claimsOf(await readFile(PAGE, "utf8"));
  const missing: string[] = [];
  for (const { sentence, file, title } of promises) {
    const place = path.join(root, file);
    const source = existsSync(place) ? await readFile(place, "utf8") : "";
    if (!source.includes(title)) missing.push(`${sentence} → ${file}: ${title}`);
  }

  expect(promises.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

test("no row of a promise's table is without a test", async () => {
  const page = await readFile(PAGE, "utf8");
  const tables = page.matchAll(/^\| promise +\| shown by +\|\n\|[-| ]+\|\n((?:\|.*\n)+)/gm);
  const rows = [...tables].flatMap(([, body]) => body!.trimEnd().split("\n"));

  expect(rows.length).toBe(claimsOf(page).length);
});
