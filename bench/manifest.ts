/**
 * What a manifest spares on real work: past commits of this repository as ports, and the ports of
 * the example `dev-team`.
 *
 *     node --conditions=dure-source bench/manifest.ts [--commits 10]
 *
 * A port owns the files that its commit changed, and reads the files that these import. With the
 * manifest an implementer reads the prompt and its own files. Without it, it would read these whole:
 *
 * - `narrow`: its own files and what they import;
 * - `wide`: besides their folders' other files, and their tests.
 *
 * `opened` is the cautious figure: what the prompt cut or left out is read whole all the same, and
 * the role would have read no more than `narrow`.
 */

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { contextScopeOf } from "../packages/dure/src/plans/context/context-scopes.ts";
import {
  gatherFiles,
  wholeTokensOf,
  type CommitFiles,
} from "../packages/dure/src/plans/context/gather.ts";
import { Outlines } from "../packages/dure/src/plans/context/outlines.ts";
import { buildPrompt, type PromptFile } from "../packages/dure/src/plans/context/prompt.ts";
import { silentLogger } from "../packages/dure/src/kernel/logger.ts";
import type { Plan, Port } from "../packages/dure/src/plans/plan.ts";
import { parsePlan } from "../packages/dure/src/plans/plan-file.ts";
import { scopeOf } from "../packages/dure/src/plans/port/member-scope.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SHOP = "examples/dev-team/shop/";
const isTest = (file: string): boolean => /\.test\.tsx?$|(?:^|\/)test\//.test(file);

interface Row {
  readonly own: number;
  /** The prompt and its own files. */
  readonly with: number;
  readonly narrow: number;
  readonly wide: number;
  /** References by their form, and imports for which there was no room. */
  readonly shown: string;
  readonly savedNarrow: number;
  readonly savedWide: number;
  readonly savedOpened: number;
}

const { values } = parseArgs({ options: { commits: { type: "string", default: "10" } } });
const signatures = new Outlines({ logger: silentLogger }).of;

function git(...args: string[]): string {
  return execFileSync("git", args, { cwd: ROOT, maxBuffer: 64_000_000 }).toString();
}

/** A tree of this repository, below a folder of it. */
function filesAt(commit: string, below: string): CommitFiles {
  const lines = git("ls-tree", "-r", "-l", commit, "--", below || ".")
    .trim()
    .split("\n");
  const files = lines.map((line) => {
    const [about = "", file = ""] = line.split("\t");
    return { path: file.slice(below.length), bytes: Number(about.split(/ +/)[3]) || 0 };
  });
  return {
    files,
    readFile: async (file) =>
      files.some((one) => one.path === file) ? git("show", `${commit}:${below}${file}`) : undefined,
  };
}

/** Files of the tree that these import by a relative path. */
async function importsOf(own: readonly string[], tree: CommitFiles): Promise<Set<string>> {
  const there = new Set(tree.files.map((file) => file.path));
  const found = new Set<string>();
  for (const file of own) {
    const text = (await tree.readFile(file)) ?? "";
    for (const [, name = ""] of text.matchAll(/from "(\.[^"]+)"/g)) {
      const at = path.posix.join(path.posix.dirname(file), name);
      if (there.has(at) && !own.includes(at)) found.add(at);
    }
  }

  return found;
}

async function measure(plan: Plan, port: Port, tree: CommitFiles, own: string[]): Promise<Row> {
  const scope = scopeOf(plan, port, "implementer");
  const context = contextScopeOf(plan, port, "implementer");
  const gathered = await gatherFiles({ scope, context }, tree, { signatures });
  const task = {
    port: port.id,
    title: port.title,
    goal: port.goal,
    role: port.role,
    try: 1,
    tries: 3,
    acceptance: port.acceptance,
  };
  const { manifest } = buildPrompt({
    kind: "acp",
    member: "implementer",
    task,
    scope,
    context,
    ...gathered,
  });

  const imports = await importsOf(own, tree);
  const folders = new Set(own.map((file) => path.posix.dirname(file)));
  const inFolder = tree.files.map((file) => file.path).filter(isBeside(folders));
  const beside = inFolder.filter((file) => !own.includes(file) && !imports.has(file));
  const names = own.map((file) => path.posix.basename(file).replace(/\.\w+$/, ""));
  const tests = tree.files
    .map((file) => file.path)
    .filter((file) => isTest(file) && names.includes(path.posix.basename(file).split(".")[0]!));

  const sizeOf = (some: Iterable<string>): number => wholeTokensOf(some, tree.files);
  const narrow = sizeOf([...own, ...imports]);
  const wide = sizeOf([...own, ...imports, ...beside, ...tests]);
  const used = manifest.total + sizeOf(own);
  const { references } = gathered;
  const whole = references.filter(({ form }) => form !== "cut").map((file) => file.path);
  const opened = used + sizeOf([...imports].filter((file) => !whole.includes(file)));

  return {
    own: sizeOf(own),
    with: used,
    narrow,
    wide,
    shown: formsOf(references, imports.size),
    savedNarrow: 1 - used / narrow,
    savedWide: 1 - used / wide,
    savedOpened: 1 - opened / narrow,
  };
}

function formsOf(references: readonly PromptFile[], imports: number): string {
  const forms = Map.groupBy(references, ({ form }) => form);
  const shown = [...forms].map(([form, all]) => `${all.length} ${form}`);
  const left = imports - references.length;
  if (left > 0) shown.push(`${left} left out`);

  return shown.join(", ");
}

function isBeside(folders: ReadonlySet<string>): (file: string) => boolean {
  return (file) => folders.has(path.posix.dirname(file)) && !isTest(file);
}

/** The newest commits that changed between 2 and 12 sources that were there before. */
function commitsToMeasure(count: number): { commit: string; own: string[] }[] {
  const found: { commit: string; own: string[] }[] = [];
  const log = git("log", "--no-merges", "--format=%h", "-n", "400").trim().split("\n");
  for (const commit of log) {
    const changed = git(
      "diff-tree",
      "-r",
      "--name-only",
      "--diff-filter=M",
      "--no-commit-id",
      commit,
    );
    const own = changed
      .trim()
      .split("\n")
      .filter((file) => /^packages\/dure\/src\/.*\.ts$/.test(file) && !isTest(file));
    if (own.length >= 2 && own.length <= 12) found.push({ commit, own });
    if (found.length === count) break;
  }

  return found;
}

async function ofCommit(commit: string, own: string[]): Promise<Row> {
  const tree = filesAt(`${commit}~1`, "");
  const imports = await importsOf(own, tree);
  const port = {
    id: "a",
    role: "a",
    owns: own,
    reads: [...imports],
    acceptance: "npm test",
    goal: git("log", "-1", "--format=%B", commit).trim(),
  };
  const agent = { default: { agent: "claude" } };
  const text = JSON.stringify({ plan: "past", roles: "modules", workers: agent, ports: [port] });
  const plan = parsePlan("plan.json", text);

  return measure(plan, plan.ports[0]!, tree, own);
}

async function ofExample(): Promise<Record<string, Row>> {
  const plan = parsePlan(
    "dev-team.yaml",
    readFileSync(path.join(ROOT, "examples/english/plans/dev-team.yaml"), "utf8"),
  );
  const tree = filesAt("HEAD", SHOP);
  const rows: Record<string, Row> = {};
  for (const port of plan.ports) {
    const folder = port.owns[0]!.replace("**", "");
    const own = tree.files.map((file) => file.path).filter((file) => file.startsWith(folder));
    rows[`dev-team ${port.id}`] = await measure(plan, port, tree, own);
  }

  return rows;
}

const FIGURES = ["savedNarrow", "savedWide", "savedOpened"] as const;

function percent(part: number): string {
  return `${Math.round(part * 100)} %`;
}

function print(title: string, rows: Readonly<Record<string, Row>>): void {
  const all = Object.values(rows);
  const cells = Object.entries(rows).map(([name, row]) => {
    const told = FIGURES.map((figure) => [figure, percent(row[figure])]);
    return [name, { ...row, ...(Object.fromEntries(told) as object) }] as const;
  });
  console.log(title);
  console.table(Object.fromEntries(cells));
  const medians = FIGURES.map((figure) => {
    const sorted = all.map((row) => row[figure]).toSorted((one, other) => one - other);
    return `${figure} ${percent(sorted[sorted.length >> 1]!)}`;
  });
  console.log(`Medians: ${medians.join(", ")}\n`);
}

const past: Record<string, Row> = {};
for (const { commit, own } of commitsToMeasure(Number(values.commits))) {
  past[commit] = await ofCommit(commit, own);
}
print("Past commits of this repository as ports; tokens", past);
print("The example dev-team; tokens", await ofExample());
