/**
 * Third-party code that goes into the package: built into dist/vendor, and imported from there by
 * the compiled files. What it costs and why: docs/decisions/0003.
 */

import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { rolldown, type OutputChunk, type Plugin } from "rolldown";
import { writeWhole } from "./files.ts";
import { importsIn, packageOf, withSpecifiers, type Import } from "./imports.ts";

/** A package with compiled files, and what becomes of the packages that these import. */
export interface Product {
  /** Its folder; the compiled files lie in `dist`. */
  readonly folder: string;
  /** Packages that are built in. */
  readonly bundled: readonly string[];
  /** Packages that a project installs with this one, or of its own. */
  readonly declared: readonly string[];
}

/** Where the built code lies, within `dist`. */
export const VENDOR = "vendor";
/** Code that several of them share. No package has such a name. */
const SHARED = "_shared";

/**
 * Packages that others ask for and do without: never built in. A project may install them; then
 * they are used, as before.
 */
export const DONE_WITHOUT: Readonly<Record<string, string>> = {
  bufferutil: "ws: native code for masks of frames",
  "utf-8-validate": "ws: native code for texts",
  "pg-native": "pg: libpq instead of JavaScript, only with NODE_PG_FORCE_NATIVE",
};

/**
 * Packages whose code names files beside itself, which are not there once it is built in, and why
 * dure does not come there.
 */
const NAMES_OWN_FILES: Readonly<Record<string, string>> = {
  "@fastify/swagger": "its own name and version where no `info` is given; caught",
  pino: "workers of transports; cli/logger.ts writes to a stream",
  "thread-stream": "the worker itself, as for pino",
};

/**
 * Builds the packages in and points the compiled files to them. Again without a change, it writes
 * nothing. Returns the folders of all packages whose code is in the result.
 */
export async function buildIn(product: Product): Promise<readonly string[]> {
  const dist = path.join(product.folder, "dist");
  const files = await compiledFiles(dist);
  const asked = namesAsked(files, product);

  const chunks = await bundle(product, asked);
  assertNoOwnFiles(chunks);
  const written = new Set<string>();
  for (const { fileName, code } of chunks) {
    const file = path.join(dist, VENDOR, fileName);
    await writeWhole(file, code);
    written.add(file);
  }
  for (const file of files) await writeWhole(file.path, rewritten(file, asked));
  await removeOthers(path.join(dist, VENDOR), written);

  return foldersOf(product, chunks);
}

interface Compiled {
  readonly path: string;
  /** From `dist`, with `/`. */
  readonly name: string;
  readonly text: string;
  readonly imports: readonly Import[];
}

async function compiledFiles(dist: string): Promise<readonly Compiled[]> {
  const names = (await readdir(dist, { recursive: true })).map(posix);
  const wanted = names.filter((name) => name.endsWith(".js") && !name.startsWith(`${VENDOR}/`));

  return Promise.all(
    wanted.toSorted().map(async (name) => {
      const file = path.join(dist, name);
      const text = await readFile(file, "utf8");
      return { path: file, name, text, imports: importsIn(name, text) };
    }),
  );
}

/** What files take of each specifier that is built in. Throws for what no project would find. */
function namesAsked(
  files: readonly Pick<Compiled, "name" | "imports">[],
  { bundled, declared }: Pick<Product, "bundled" | "declared">,
): ReadonlyMap<string, ReadonlySet<string>> {
  const asked = new Map<string, Set<string>>();
  for (const { name, imports } of files) {
    for (const one of imports) {
      const specifier = originalOf(one.specifier, name);
      const owner = packageOf(specifier);
      if (owner === undefined || declared.includes(owner)) continue;
      if (!bundled.includes(owner)) {
        throw new Error(`dist/${name} imports ${specifier}: neither built in nor a dependency.`);
      }
      asked.set(specifier, new Set([...(asked.get(specifier) ?? []), ...one.names]));
    }
  }

  return asked;
}

/** The specifier that a file named before it was pointed to what is built in. Pure. */
function originalOf(specifier: string, file: string): string {
  const target = path.posix.join(path.posix.dirname(file), specifier);
  const within = target.startsWith(`${VENDOR}/`) && specifier.startsWith(".");

  return within ? target.slice(VENDOR.length + 1).replace(/\.js$/, "") : specifier;
}

function rewritten({ name, text, imports }: Compiled, asked: ReadonlyMap<string, unknown>): string {
  return withSpecifiers(text, imports, (specifier) => {
    const original = originalOf(specifier, name);
    if (!asked.has(original)) return original === specifier ? undefined : original;
    const way = path.posix.relative(path.posix.dirname(name), `${VENDOR}/${original}.js`);
    return way.startsWith(".") ? way : `./${way}`;
  });
}

/** Names stay as they are, so that a stack trace can be read. */
async function bundle(
  product: Product,
  asked: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<readonly OutputChunk[]> {
  if (asked.size === 0) return [];
  const build = await rolldown({
    cwd: path.dirname(modulesOf(product.folder)),
    input: Object.fromEntries([...asked.keys()].map((one) => [one, one + DOOR])),
    platform: "node",
    plugins: [doors(product, asked)],
    onLog: (_level, log) => {
      throw new Error(`${log.code ?? "rolldown"}: ${log.message}`);
    },
  });
  try {
    const { output } = await build.generate({
      format: "esm",
      comments: { legal: true, annotation: false, jsdoc: false },
      entryFileNames: "[name].js",
      sanitizeFileName: false,
      chunkFileNames: ({ moduleIds }) => `${SHARED}/${nameOf(moduleIds)}-[hash].js`,
    });
    return output.map((one) => {
      if (one.type === "chunk") return one;
      throw new Error(`A package brings a file of its own: ${one.fileName}.`);
    });
  } finally {
    await build.close();
  }
}

/** Doors are no files. They are named as if they lay in `dist`, from where packages are found. */
const DOOR = ".door.mjs";

/**
 * One door per specifier, with the names that are taken. What a built-in package asks for stays
 * outside only where a project gets the same copy of it: another version is built in, too.
 */
function doors(product: Product, asked: ReadonlyMap<string, ReadonlySet<string>>): Plugin {
  const { folder, declared } = product;
  const outside = new RegExp(`^(${[...declared, ...Object.keys(DONE_WITHOUT)].join("|")})(/|$)`);
  const home = path.join(folder, "dist");

  return {
    name: "dure-doors",
    resolveId: {
      filter: { id: [outside, /\.door\.mjs$/] },
      async handler(id, importer, { kind }) {
        if (id.endsWith(DOOR)) return path.join(home, id);
        const name = packageOf(id)!;
        if (name in DONE_WITHOUT) return { id, external: true };

        const found = await this.resolve(id, importer, { kind, skipSelf: true });
        const isShared = found && folderOf(found.id) === installedAt(folder, name);
        return isShared ? { id, external: true } : found;
      },
    },
    load: {
      filter: { id: /\.door\.mjs$/ },
      handler(id) {
        const specifier = posix(path.relative(home, id)).slice(0, -DOOR.length);
        return doorTo(specifier, [...(asked.get(specifier) ?? [])]);
      },
    },
  };
}

/** Where a package finds another one. */
function installedAt(folder: string, name: string): string {
  const nested = path.join(folder, "node_modules", name);

  return posix(existsSync(nested) ? nested : path.join(modulesOf(folder), name));
}

/** The source of a door. Pure. */
function doorTo(specifier: string, names: readonly string[]): string {
  const from = JSON.stringify(specifier);
  const named = names.filter((name) => name !== "*").toSorted();
  const lines = [
    ...(named.length > 0 ? [`export { ${named.join(", ")} } from ${from};`] : []),
    ...(names.includes("*") ? [`export * from ${from};`] : []),
    ...(names.length === 0 ? [`import ${from};`] : []),
  ];

  return `${lines.join("\n")}\n`;
}

/** The `node_modules` of the repository that has the package. */
function modulesOf(folder: string): string {
  for (let at = path.dirname(folder); ; at = path.dirname(at)) {
    const modules = path.join(at, "node_modules");
    if (existsSync(modules)) return modules;
    if (at === path.dirname(at)) throw new Error(`No node_modules above ${folder}.`);
  }
}

/** The folder of the package that a module belongs to; undefined: made by the build. Pure. */
export function folderOf(moduleId: string): string | undefined {
  return /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(posix(moduleId))?.[1];
}

/** Packages of all modules, and the bundler where its helpers are in the result. */
function foldersOf(product: Product, chunks: readonly OutputChunk[]): readonly string[] {
  const ids = chunks.flatMap(({ moduleIds }) => moduleIds);
  const folders = ids.flatMap((id) => folderOf(id) ?? []);
  const hasHelpers = ids.some((id) => id.startsWith("\0rolldown/"));
  if (hasHelpers) folders.push(installedAt(product.folder, "rolldown"));

  return [...new Set(folders)].toSorted();
}

/** A shared file is called after the package that most of its modules are of. */
function nameOf(moduleIds: readonly string[]): string {
  const names = moduleIds.map((id) => folderOf(id)?.replace(/^.*node_modules\//, "") ?? "runtime");
  const counted = Map.groupBy(names, (name) => name);
  const [most] = [...counted].toSorted(([, one], [, other]) => other.length - one.length);

  return (most?.[0] ?? "runtime").replace("/", "-").replace("@", "");
}

/** Code that names files beside itself must be known: its files are not there any more. */
function assertNoOwnFiles(chunks: readonly OutputChunk[]): void {
  for (const { modules } of chunks) {
    for (const [id, { code }] of Object.entries(modules)) {
      const owner = folderOf(id)?.replace(/^.*node_modules\//, "");
      const isKnown = owner === undefined || owner in NAMES_OWN_FILES;
      if (isKnown || !/\b__dirname\b|\b__filename\b|\bimport\.meta\b/.test(code ?? "")) continue;
      throw new Error(`${owner} names files of its own (${path.basename(id)}).`);
    }
  }
}

async function removeOthers(folder: string, kept: ReadonlySet<string>): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.isFile() && !kept.has(file)) await rm(file);
  }
}

function posix(name: string): string {
  return name.replaceAll("\\", "/");
}
