/** The figures of the house style: each kind of rule is broken once in a small tree. */

import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { figuresOver, measureAir, troubleWith, type AirFigures } from "./air.ts";
import { run, runTool } from "./processes.ts";

const FILE = "packages/dure/src/kernel/noisy.ts";

async function figuresOf(text: string, file = FILE): Promise<AirFigures> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-air-"));
  try {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
    await writeFile(path.join(folder, "packages/plain.ts"), "export const outside = 1;\n");
    await run("git", ["init", "-q"], { cwd: folder });
    await run("git", ["add", "-A"], { cwd: folder });
    return await measureAir(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

test.for([
  [
    "complexity",
    `export const f = (n: number) => {\n${"  if (n) n++;\n".repeat(15)}  return n;\n};\n`,
  ],
  [
    "max-params",
    "export function f(a: 1, b: 1, c: 1, d: 1, e: 1) {\n  return [a, b, c, d, e];\n}\n",
  ],
  [
    "max-lines-per-function",
    `export function f() {\n  let n = 0;\n${"  n++;\n".repeat(80)}  return n;\n}\n`,
  ],
  [
    "max-lines-per-class",
    `export class F {\n${Array.from({ length: 350 }, (_, n) => `  a${n} = 1;\n`).join("")}}\n`,
  ],
] as const)("a file that breaks %s is trouble, unless the list has it", async ([rule, text]) => {
  const { broken } = await figuresOf(text);
  const allowed = { rule, file: FILE, count: 1, because: "a test" };

  expect(broken).toMatchObject([{ rule, file: FILE, count: 1 }]);
  expect(troubleWith(broken, [])).toHaveLength(1);
  expect(troubleWith(broken, [allowed])).toEqual([]);
});

test("an entry that is no longer needed is trouble, so that the list shrinks", () => {
  const entry = { rule: "complexity", file: FILE, count: 2, because: "a test" } as const;

  expect(troubleWith([], [entry])).toEqual([
    `${FILE}: complexity is broken 0 times, the list says 2; lower it`,
  ]);
});

test("long lines, conditional spreads and vague words are counted", async () => {
  const figures = await figuresOf(
    [
      `export const long = "${"x".repeat(100)}";`,
      "export const one = { ...(long && { long }), ...(long.length !== 3 && { long }) };",
      "export const other = { ...(long ? { long } : {}), ...(long === one ? {} : { long }) };",
      "/** Whoever reads this. */",
    ].join("\n"),
  );

  expect(figures).toMatchObject({ lines: 4, conditionalSpreads: 4, vagueLines: 1 });
  expect(figures.longLinesPercent).toBe(25);
  expect(figuresOver(figures)).toHaveLength(2);
});

test("of a test's file only the vague words are counted", async () => {
  const figures = await figuresOf("/** Somebody. */\n", "packages/dure/src/kernel/noisy.test.ts");

  expect(figures).toMatchObject({ files: 0, vagueLines: 0, vagueTestLines: 1 });
  expect(figuresOver({ ...figures, vagueTestLines: 1_000 })).toHaveLength(1);
});

test("a file that is not formatted fails the check", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-format-"));
  try {
    await writeFile(path.join(folder, "packed.ts"), "export const a={b:1}\n");
    const { exitCode, output } = await runTool("oxfmt", ["--check"], { cwd: folder });

    expect(exitCode).toBe(1);
    expect(output).toContain("packed.ts");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
