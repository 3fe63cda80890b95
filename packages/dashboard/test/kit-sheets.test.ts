/** The kit's sheets are named one by one: a page whose component lacks its sheet is broken. */

import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { expect, test } from "vitest";

const SOURCES = path.join(import.meta.dirname, "../src");
const SHEETS = path.join(path.dirname(fileURLToPath(import.meta.resolve("@mantine/core"))), "..");

test("every component of the kit has its style sheet on the page that shows it", async () => {
  const files = await sources();
  const onEveryPage = sheetsOf(files.get("main.tsx")!);
  const used = [...files].flatMap(([file, text]) =>
    componentsOf(text).map((name) => ({ file, name, has: sheetsOf(text) })),
  );
  const missing = used.filter(
    ({ name, has }) => hasSheet(name) && !onEveryPage.has(name) && !has.has(name),
  );

  expect(used.filter(({ name }) => hasSheet(name)).length).toBeGreaterThan(50);
  expect(missing.map(({ file, name }) => `${file}: ${name}`)).toEqual([]);
});

async function sources(): Promise<ReadonlyMap<string, string>> {
  const names = await readdir(SOURCES, { recursive: true });
  const read = names
    .filter((name) => name.endsWith(".tsx"))
    .map(async (name) => [name, await readFile(path.join(SOURCES, name), "utf8")] as const);
  return new Map(await Promise.all(read));
}

function componentsOf(text: string): readonly string[] {
  const imports = text.matchAll(/^import \{(?<names>[^}]*)\} from "@mantine\/core";/gm);
  return [...imports].flatMap(({ groups }) => groups!["names"]!.match(/\b[A-Z]\w+/g) ?? []);
}

function sheetsOf(text: string): ReadonlySet<string> {
  const sheets = text.matchAll(/^import "@mantine\/core\/styles\/(?<name>\w+)\.css";/gm);
  return new Set([...sheets].map(({ groups }) => groups!["name"]!));
}

function hasSheet(name: string): boolean {
  return existsSync(path.join(SHEETS, "styles", `${name}.css`));
}
