import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { importModule } from "./import-module.ts";
import { isService } from "./load-service.ts";
import { shower } from "./load-service-document.ts";
import { scanHandlers, type ServiceCheck, type Source } from "./load-service-check.ts";
import { maskSource } from "./load-service-scan.ts";

const MAKES_A_SERVICE =
  /(?<![\w$.])(?:defineService|combineServices)\s*[(<]|\bnew\s+ServiceBuilder\b/g;
const ENDINGS = ["", ".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"] as const;

/** Files that are read for one configuration. */
const MAX_FILES = 500;

/** A service that is a module, not a folder of its own. */
export interface ModuleCheck extends ServiceCheck {
  readonly folder: string;
}

/**
 * Checks the services that a configuration in code makes itself or imports by a relative path, with
 * the files that these import. Files under `checked` have been checked as folders of services.
 */
export async function checkImportedServices(
  config: string,
  checked: readonly string[],
): Promise<readonly ModuleCheck[]> {
  const covered = new Set<string>();
  const isElsewhere = (file: string) => covered.has(file) || isUnder(file, checked);

  const imported = importsOf(await readModuleSource(config)).filter((file) => !isElsewhere(file));
  const found: ModuleCheck[] = [];
  for (const file of new Set(imported)) {
    const sources = await sourcesFrom(file, (other) => other === config || isUnder(other, checked));
    const service = await checkModule(file, sources);
    if (!service) continue;
    found.push(service);
    for (const source of sources) covered.add(source.file);
  }
  // Last: what the configuration imports has been read with the service that it makes.
  const own = await checkModule(config, await sourcesFrom(config, isElsewhere));
  return own ? [...found, own] : found;
}

function isUnder(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => file.startsWith(`${folder}${path.sep}`));
}

/** Undefined where the file, and what it imports, makes no service. */
async function checkModule(
  file: string,
  sources: readonly ModuleSource[],
): Promise<ModuleCheck | undefined> {
  const made = sources.flatMap(({ masked }) => [...masked.matchAll(MAKES_A_SERVICE)]);
  if (made.length === 0) return undefined;

  const show = shower(path.dirname(file));
  const shown: readonly Source[] = sources.map(({ file: at, text }) => ({ file: show(at), text }));
  const service = made.length === 1 ? await serviceOf(file) : undefined;
  return {
    folder: path.dirname(file),
    name: service?.name,
    file: show(file),
    problems: scanHandlers(shown, service && Object.keys(service.agents)),
    sources: shown.map((source) => source.file),
  };
}

/** The service that the module exports. A module that breaks is told by the configuration. */
async function serviceOf(file: string) {
  try {
    const exports = await importModule(file);
    return [exports["default"], ...Object.values(exports)].find(isService);
  } catch {
    return undefined;
  }
}

interface ModuleSource extends Source {
  readonly masked: string;
}

async function readModuleSource(file: string): Promise<ModuleSource> {
  const text = await readFile(file, "utf8");
  return { file, text, masked: maskSource(text) };
}

/** The module and all that it imports by a relative path, but for what `isOther` names. */
async function sourcesFrom(
  file: string,
  isOther: (file: string) => boolean,
): Promise<readonly ModuleSource[]> {
  const read = new Map<string, ModuleSource>();
  const queue = [file];
  while (queue.length > 0 && read.size < MAX_FILES) {
    const next = queue.shift()!;
    if (read.has(next)) continue;
    const source = await readModuleSource(next);
    read.set(next, source);
    queue.push(...importsOf(source).filter((imported) => !isOther(imported)));
  }
  return [...read.values()];
}

/** Files that a module imports by a relative path, with names or without. */
function importsOf({ file, text, masked }: ModuleSource): readonly string[] {
  return [...masked.matchAll(/(?<![\w$.])(?:from|import)(?=\s)/g)].flatMap(({ 0: word, index }) => {
    const named = /^\s*(["'])(\.{1,2}\/[^"'\n]*)\1/.exec(
      text.slice(index + word.length, index + word.length + 1000),
    );
    return (named && moduleFileAt(path.resolve(path.dirname(file), named[2]!))) ?? [];
  });
}

/** Where the module is TypeScript or JavaScript that can be read. */
function moduleFileAt(named: string): string | undefined {
  const written = named.replace(/\.(m?)js$/, ".$1ts");
  const candidates = [written, ...ENDINGS.map((ending) => named + ending)];
  return candidates.find((file) => /\.m?[jt]s$/.test(file) && existsSync(file));
}
