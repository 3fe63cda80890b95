/**
 * The walks of ARCHITECTURE.md: their files exist, are few, and lead from one to the next.
 */

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../../../..");
const SOURCES = "packages/dure/src";
const MOST_FILES = 25;

interface Walk {
  readonly title: string;
  readonly files: readonly string[];
}

const WALKS = walksOf(readFileSync(path.join(ROOT, "ARCHITECTURE.md"), "utf8"));

test("three walks are described", () => {
  expect(WALKS.map(({ files }) => files.length > 1)).toEqual([true, true, true]);
});

describe.each(WALKS)("$title", ({ files }) => {
  test(`the walk has at most ${MOST_FILES} files, each once`, () => {
    expect(files.length).toBeLessThanOrEqual(MOST_FILES);
    expect(new Set(files).size).toBe(files.length);
  });

  test("the walk names files that exist", () => {
    expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
  });

  test("the walk leads to each file from one before it, by at most one file between", () => {
    const lost = files.filter((file, at) => at > 0 && !isReached(file, files.slice(0, at)));

    expect(lost).toEqual([]);
  });
});

/** The numbered files under each heading of the section "Three walks". Pure. */
function walksOf(page: string): readonly Walk[] {
  const section = page.split("\n## Three walks\n")[1]?.split("\n## ")[0] ?? "";
  return section
    .split("\n### ")
    .slice(1)
    .map((part) => ({
      title: part.split("\n")[0]!,
      files: [...part.matchAll(/^\d+\. `([^`]+)`/gmu)].map(([, file]) =>
        file!.startsWith("examples/") ? file! : `${SOURCES}/${file}`,
      ),
    }));
}

function isReached(file: string, before: readonly string[]): boolean {
  return before.some((from) => {
    const near = importsOf(from);
    return near.includes(file) || near.some((between) => importsOf(between).includes(file));
  });
}

/** The files of the product that a file imports, also later, or exports again. */
function importsOf(file: string): readonly string[] {
  return [...textOf(file).matchAll(/(?: from |import\()"([^"]+)"/gu)]
    .map(([, named]) => targetOf(file, named!))
    .filter((target) => existsSync(path.join(ROOT, target)));
}

function targetOf(file: string, named: string): string {
  if (named.startsWith(".")) return path.posix.join(path.posix.dirname(file), named);
  return path.posix.join(SOURCES, named.replace(/^dure\/?/u, ""), "index.ts");
}

function textOf(file: string): string {
  return existsSync(path.join(ROOT, file)) ? readFileSync(path.join(ROOT, file), "utf8") : "";
}
