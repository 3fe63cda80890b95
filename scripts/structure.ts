/**
 * What one person has to hold to know the product: `npm run structure` prints it, and the check
 * `structure` of `npm test` keeps each figure from growing. Sources are those of the packages,
 * without tests and what is for tests alone.
 */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import type { CheckResult } from "./checks.ts";
import { root, run } from "./processes.ts";

export interface Structure {
  /** Lines of TypeScript and style sheets in `packages/<name>/src`. */
  readonly lines: number;
  readonly dashboardLines: number;
  readonly styleLines: number;
  readonly scriptLines: number;
  /** Files that exactly one other file of the product imports, in percent. */
  readonly oneImporterPercent: number;
  /** Exported names that exactly one other file of the product imports, in percent. */
  readonly oneUserPercent: number;
  /** Private methods with exactly one call, in percent. */
  readonly calledOncePercent: number;
  /** Names of types that several files declare. */
  readonly sharedTypeNames: number;
}

/** A little above what the tree has; each of them is lowered when the tree allows it. */
const LIMITS: Structure = {
  lines: 254_520,
  dashboardLines: 30_850,
  styleLines: 3_160,
  scriptLines: 9_770,
  oneImporterPercent: 30.2,
  oneUserPercent: 47.8,
  calledOncePercent: 62.6,
  sharedTypeNames: 39,
};

const SOURCE = /^packages\/[^/]+\/src\/.*\.(?:tsx?|css)$/;
const FOR_TESTS = /\.test\.tsx?$|\/test-[^/]+$/;
const SCRIPT = /^scripts\/.*\.(?:ts|mjs)$/;

async function measureStructure(): Promise<Structure> {
  const { stdout } = await run("git", ["ls-files"]);
  const listed = stdout.split("\n").filter(Boolean);
  const texts = new Map<string, string>();
  for (const file of listed) {
    const isMeant = (SOURCE.test(file) && !FOR_TESTS.test(file)) || SCRIPT.test(file);
    if (isMeant) texts.set(file, await readFile(path.join(root, file), "utf8"));
  }
  const linesOf = (isMeant: (file: string) => boolean): number =>
    [...texts].reduce(
      (sum, [file, text]) => (isMeant(file) ? sum + text.trimEnd().split("\n").length : sum),
      0,
    );
  const product = [...texts].filter(([file]) => SOURCE.test(file) && !file.endsWith(".css"));
  const modules = product.map(([file, text]) => readModule(file, text, texts));

  return {
    lines: linesOf((file) => SOURCE.test(file)),
    dashboardLines: linesOf((file) => file.startsWith("packages/dashboard/")),
    styleLines: linesOf((file) => file.endsWith(".css")),
    scriptLines: linesOf((file) => SCRIPT.test(file)),
    ...usesOf(modules),
    calledOncePercent: calledOnce(modules),
    sharedTypeNames: sharedNames(modules),
  };
}

interface Module {
  readonly file: string;
  /** Names of types that it declares. */
  readonly types: readonly string[];
  readonly exported: readonly string[];
  /** `file name` of each name that it imports; the name is empty for a whole module. */
  readonly imported: readonly string[];
  /** Private methods, and how often each is called. */
  readonly methods: readonly number[];
}

function readModule(file: string, text: string, all: ReadonlyMap<string, string>): Module {
  const { program, module } = parseSync(file, text);
  const types: string[] = [];
  const methods = new Set<string>();
  const calls: string[] = [];
  new Visitor({
    TSInterfaceDeclaration: ({ id }) => void types.push(id.name),
    TSTypeAliasDeclaration: ({ id }) => void types.push(id.name),
    MethodDefinition: ({ key }) => void (key.type === "PrivateIdentifier" && methods.add(key.name)),
    MemberExpression: ({ property }) =>
      void (property.type === "PrivateIdentifier" && calls.push(property.name)),
  }).visit(program);

  const target = (specifier: string): string | undefined => {
    const named = path.posix.join(path.posix.dirname(file), specifier);
    return specifier.startsWith(".") && all.has(named) ? named : undefined;
  };
  const entries = [
    ...module.staticImports.flatMap(({ moduleRequest, entries: names }) =>
      names.map(({ importName }) => ({ from: moduleRequest.value, name: importName.name ?? "" })),
    ),
    ...module.staticExports.flatMap(({ entries: names }) =>
      names.flatMap(({ moduleRequest, importName }) =>
        moduleRequest ? [{ from: moduleRequest.value, name: importName.name ?? "" }] : [],
      ),
    ),
  ];
  return {
    file,
    types,
    exported: module.staticExports.flatMap(({ entries: names }) =>
      names.flatMap(({ moduleRequest, exportName }) =>
        moduleRequest || exportName.name === null ? [] : [exportName.name],
      ),
    ),
    imported: entries.flatMap(({ from, name }) => {
      const found = target(from);
      return found === undefined ? [] : [`${found} ${name}`];
    }),
    methods: [...methods].map((name) => calls.filter((call) => call === name).length),
  };
}

function usesOf(
  modules: readonly Module[],
): Pick<Structure, "oneImporterPercent" | "oneUserPercent"> {
  const users = countUsers(modules, (one) => one);
  const importers = countUsers(modules, (one) => one.split(" ")[0]!);
  const names = modules.flatMap(({ file, exported }) => exported.map((name) => `${file} ${name}`));

  return {
    oneImporterPercent: percent(modules, ({ file }) => importers.get(file) === 1),
    oneUserPercent: percent(names, (name) => users.get(name) === 1),
  };
}

/** How many modules use each of what they import. */
function countUsers(
  modules: readonly Module[],
  keyOf: (imported: string) => string,
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { imported } of modules) {
    for (const key of new Set(imported.map(keyOf))) counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

function calledOnce(modules: readonly Module[]): number {
  return percent(
    modules.flatMap(({ methods }) => methods),
    (calls) => calls === 1,
  );
}

function sharedNames(modules: readonly Module[]): number {
  const declared = modules.flatMap(({ types }) => [...new Set(types)]);
  const counts = Map.groupBy(declared, (name) => name);

  return [...counts.values()].filter(({ length }) => length > 1).length;
}

function percent<One>(all: readonly One[], isMeant: (one: One) => boolean): number {
  return Math.round((1_000 * all.filter(isMeant).length) / all.length) / 10;
}

/** Each figure above its limit is a line of trouble. */
export async function checkStructure(): Promise<CheckResult> {
  const figures = await measureStructure();
  const above = Object.entries(LIMITS).flatMap(([name, limit]) => {
    const value = figures[name as keyof Structure];
    return value > limit ? [`${name} is ${value}, at most ${limit}`] : [];
  });

  return above.length === 0
    ? { ok: true, note: `${figures.lines} lines` }
    : { ok: false, output: above.join("\n") };
}

if (import.meta.main) console.table(await measureStructure());
