/** The checks of `npm test`. Each is one look at the sources and says what it looked at. */

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { writeWordTypes } from "../packages/dashboard/catalogue.ts";
import { describeAir, figuresOver, measureAir, readExceptions, troubleWith } from "./air.ts";
import { checkLayers } from "./layers.ts";
import { checkStructure } from "./structure.ts";
import { pack, tryPackage, type Published } from "./package.ts";
import {
  countUnreleased,
  describeProse,
  measureProse,
  troubleWith as troubleWithProse,
} from "./prose.ts";
import { root, runTool } from "./processes.ts";
import { exportsWithoutDoc, listDoors, makeReference, readDoor } from "./reference.ts";
import { troubleWithSql } from "./schema.ts";
import { readCommits, readTestTitles, troubleWithTitles } from "./titles.ts";

export type CheckResult =
  | { readonly ok: true; readonly note?: string | undefined }
  | { readonly ok: false; readonly output: string };

export interface Check {
  readonly name: string;
  readonly run: (env: NodeJS.ProcessEnv) => Promise<CheckResult>;
}

/** The longest first. */
export const CHECKS: readonly Check[] = [
  { name: "types", run: checkTypes },
  { name: "lint", run: checkLint },
  { name: "layers", run: () => checkLayers(root) },
  { name: "structure", run: checkStructure },
  { name: "package", run: checkPackedExports },
  { name: "unused", run: (env) => judge(runTool("knip", ["--no-progress"], { env })) },
  { name: "air", run: checkAir },
  { name: "reference", run: checkReference },
  { name: "titles", run: checkTitles },
  { name: "sql", run: checkSql },
  { name: "format", run: (env) => judge(runTool("oxfmt", ["--check"], { env })) },
  { name: "prose", run: checkProse },
];

/** Only in the long run: it downloads the dependencies once more. */
export const PACKAGE_CHECK: Check = { name: "install", run: (env) => tryPackage(env) };

/** With the types of the dashboard's words, which git does not keep. */
async function checkLint(env: NodeJS.ProcessEnv): Promise<CheckResult> {
  writeWordTypes();
  return judge(runTool("oxlint", ["--type-aware", "--deny-warnings"], { env }));
}

async function checkAir(): Promise<CheckResult> {
  const figures = await measureAir();
  const trouble = [...figuresOver(figures), ...troubleWith(figures.broken, await readExceptions())];
  if (trouble.length > 0) {
    return { ok: false, output: `${trouble.join("\n")}\n\n${describeAir(figures)}` };
  }
  return { ok: true, note: `${figures.charactersPerLine.toFixed(1)} characters per line` };
}

async function checkProse(): Promise<CheckResult> {
  const [pages, unreleased] = [await measureProse(), await countUnreleased()];
  const trouble = troubleWithProse(pages, unreleased);
  if (trouble.length > 0) {
    return { ok: false, output: `${trouble.join("\n")}\n\n${describeProse(pages, unreleased)}` };
  }
  return { ok: true, note: `${pages.length} pages` };
}

async function checkTitles(): Promise<CheckResult> {
  const [titles, commits] = [await readTestTitles(), await readCommits()];
  const trouble = troubleWithTitles(titles, commits);
  if (titles.length === 0) trouble.push("no test has a title: nothing was looked at");
  if (trouble.length > 0) return { ok: false, output: trouble.join("\n") };
  return { ok: true, note: `${titles.length} tests, ${commits.length} commits` };
}

async function checkSql(): Promise<CheckResult> {
  const trouble = await troubleWithSql();
  return trouble.length === 0 ? { ok: true } : { ok: false, output: trouble.join("\n") };
}

/** The pages of docs/reference are made from the sources, and each export has a docstring. */
async function checkReference(): Promise<CheckResult> {
  const trouble: string[] = [];
  for (const { name, source } of await listDoors()) {
    const bare = exportsWithoutDoc(readDoor(source));
    trouble.push(...bare.map((one) => `${name}: ${one} has no docstring`));
  }
  const pages = await makeReference();
  for (const [page, wanted] of pages) {
    const found = await readFile(page, "utf8").catch(() => "");
    if (found !== wanted) trouble.push(`${path.relative(root, page)} is stale`);
  }
  if (trouble.length === 0) return { ok: true, note: `${pages.size} doors` };
  return { ok: false, output: `${trouble.join("\n")}\nnpm run reference writes the pages anew.` };
}

/** The build makes the declarations. Each checker has types of its own: two are for two cores. */
const TYPES_OPTIONS = [
  ...["--noEmit", "--declaration", "false", "--incremental"],
  ...["--checkers", "2", "--pretty", "false"],
];

/** Incremental: the second run looks only at what changed, errors are kept. */
async function checkTypes(env: NodeJS.ProcessEnv): Promise<CheckResult> {
  writeWordTypes();
  const projects = { sources: "tsconfig.json", dashboard: "packages/dashboard" };
  for (const [name, project] of Object.entries(projects)) {
    const memory = path.join(root, "node_modules/.cache/dure", `types-${name}.tsbuildinfo`);
    const options = [...TYPES_OPTIONS, "--tsBuildInfoFile", memory, "-p", project];
    const result = await judge(runTool("tsc", options, { env }));
    if (!result.ok) return result;
  }
  return { ok: true };
}

/** publint reads the tarball, so it sees what people get and not what lies in the folder. */
async function checkPackedExports(env: NodeJS.ProcessEnv): Promise<CheckResult> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-pack-"));
  try {
    const notes: string[] = [];
    for (const place of ["packages/dure", "packages/testing"] as const) {
      const result = await checkPacked(place, folder, env);
      if (!result.ok) return result;
      notes.push(result.note ?? "");
    }
    return { ok: true, note: notes.join("; ") };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function checkPacked(
  place: Published,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<CheckResult> {
  const packed = await pack(place, folder, env);
  if (!packed.ok) return packed;
  const sources = await importsOfSources(path.join(root, place, "dist"));
  if (sources.length > 0) {
    return { ok: false, output: `compiled files import sources:\n${sources.join("\n")}` };
  }
  const result = await judge(runTool("publint", [packed.tarball, "--strict"], { env }));
  if (!result.ok) return result;

  const size = `${(packed.bytes / 1e6).toFixed(1)} MB`;
  return { ok: true, note: `${packed.names.length} files, ${size}` };
}

/**
 * Compiled files that still name a `.ts` file: the compiler rewrites such paths, but not
 * everywhere.
 */
async function importsOfSources(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir(folder, { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const text = await readFile(path.join(folder, name), "utf8");
    for (const [line] of text.matchAll(/(?:from|import\()\s*"\.{1,2}\/[^"]+\.ts".*/g)) {
      found.push(`${name}: ${line}`);
    }
  }
  return found;
}

async function judge(running: ReturnType<typeof runTool>): Promise<CheckResult> {
  const { exitCode, output } = await running;
  return exitCode === 0
    ? { ok: true }
    : { ok: false, output: output.trim() || `ended with exit code ${exitCode}` };
}
