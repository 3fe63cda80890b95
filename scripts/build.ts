/**
 * Builds what is stale: the library into packages/dure/dist, the dashboard into
 * packages/dure/dashboard, the test doubles into packages/testing/dist.
 */

import { createHash } from "node:crypto";
import {
  access,
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { brotliCompress } from "node:zlib";
import { billOf, licencePage, readBuiltIn } from "./notices.ts";
import { root, runTool, type Finished } from "./processes.ts";

export interface BuildResult {
  readonly name: string;
  readonly built: boolean;
  readonly exitCode: number;
  readonly output: string;
}

/**
 * Builds in order, stops at the first failure. Running it again at once builds nothing. `product`:
 * only what a team runs on, without the test doubles.
 */
export async function buildStale(
  options: { env?: NodeJS.ProcessEnv; product?: boolean } = {},
): Promise<BuildResult[]> {
  await carryPages();

  const results: BuildResult[] = [];
  for (const part of PARTS) {
    if (options.product && part.name === "testing") continue;
    const result = await buildPart(part, options.env ?? process.env);
    results.push(result);
    if (result.exitCode !== 0) return results;
  }

  return results;
}

/** These stand once in the repository and go with the packages. */
async function carryPages(): Promise<void> {
  const pages = [`${LIBRARY}/LICENSE`, `${LIBRARY}/CHANGELOG.md`, `${TESTING}/LICENSE`];
  for (const page of [...pages, "packages/create-dure/LICENSE"]) {
    await copyFile(path.join(root, path.basename(page)), path.join(root, page));
  }
  const docs = path.join(root, LIBRARY, "docs");
  await rm(docs, { recursive: true, force: true });
  await cp(path.join(root, "docs"), docs, { recursive: true });
  for (const page of ["README.md", "README.ko.md", "ARCHITECTURE.md"]) {
    const text = await readFile(path.join(root, page), "utf8");
    await writeFile(path.join(root, LIBRARY, page), withoutDeadLinks(text, carriedPath));
  }
}

/** Whether a link of a page leads to something that goes with the package. */
function carriedPath(target: string): boolean {
  return /^(docs\/|CHANGELOG\.md|ARCHITECTURE\.md|LICENSE|README)/.test(target);
}

/** Links within the repository that do not go along become their words. Pure. */
export function withoutDeadLinks(text: string, isCarried: (target: string) => boolean): string {
  return text.replace(/\[([^\]\n]+)\]\(([^)\s]+)\)/g, (whole, words: string, target: string) => {
    const isOutside = /^(https?:|#|mailto:)/.test(target);
    return isOutside || isCarried(target) ? whole : words;
  });
}

interface Part {
  readonly name: string;
  /** Files and folders whose contents decide whether a build is still good. */
  readonly sources: readonly string[];
  /** Files that every good build leaves. */
  readonly products: readonly string[];
  readonly build: (env: NodeJS.ProcessEnv) => Promise<Finished>;
}

const CACHE = path.join(root, "node_modules", ".cache", "dure");
const LIBRARY = "packages/dure";
const TESTING = "packages/testing";
const SHARED = [
  "package-lock.json",
  "tsconfig.base.json",
  `${LIBRARY}/package.json`,
  `${LIBRARY}/tsconfig.json`,
  `${LIBRARY}/src`,
];

const PARTS: readonly Part[] = [
  {
    name: "library",
    sources: SHARED,
    products: [`${LIBRARY}/dist/index.js`],
    build: (env) => compile(LIBRARY, env),
  },
  {
    name: "dashboard",
    sources: [...SHARED, "packages/dashboard"],
    products: ["dashboard/index.html", "THIRD-PARTY.md", "sbom.cdx.json"].map(
      (name) => `${LIBRARY}/${name}`,
    ),
    build: buildDashboard,
  },
  {
    name: "testing",
    sources: [...SHARED, TESTING],
    products: [`${TESTING}/dist/index.js`],
    build: (env) => compile(TESTING, env),
  },
];

async function buildPart(part: Part, env: NodeJS.ProcessEnv): Promise<BuildResult> {
  const stampFile = path.join(CACHE, `${part.name}.stamp`);
  const wanted = await fingerprint(part.sources);
  const last = await readFile(stampFile, "utf8").catch(() => undefined);
  if (last === wanted && (await areThere(part.products))) {
    return { name: part.name, built: false, exitCode: 0, output: "" };
  }

  await rm(stampFile, { force: true });
  const { exitCode, output } = await part.build(env).catch(failed);
  if (exitCode === 0) {
    await mkdir(CACHE, { recursive: true });
    await writeFile(stampFile, wanted);
  }
  return { name: part.name, built: true, exitCode, output };
}

function failed(error: unknown): Finished {
  return { exitCode: 1, stdout: "", output: `${String(error)}\n` };
}

/**
 * Compiles over what is there, so that a running server keeps its files, then removes what has no
 * source any more.
 */
async function compile(place: string, env: NodeJS.ProcessEnv): Promise<Finished> {
  const folder = path.join(root, place, "dist");
  // Builds until 2026-11-30 rewrote imports, and the compiler would take their files for its own.
  if (await exists(path.join(folder, "vendor"))) await rm(folder, { recursive: true });
  const finished = await runTool("tsc", ["-b", place], { env });
  if (finished.exitCode !== 0) return finished;

  for (const file of await filesOf(folder)) {
    const name = path.relative(folder, file);
    const compiledFrom = /^(.+?)\.(js|d\.ts)(\.map)?$/.exec(name)?.[1];
    if (compiledFrom === undefined) continue;
    if (!(await exists(path.join(root, place, "src", `${compiledFrom}.ts`)))) await rm(file);
  }
  return finished;
}

/** Built beside its place and moved there, so that a running server never serves half of it. */
async function buildDashboard(env: NodeJS.ProcessEnv): Promise<Finished> {
  const place = path.join(root, LIBRARY, "dashboard");
  const next = path.join(CACHE, "dashboard");
  const finished = await runTool(
    "vite",
    ["build", "--outDir", next, "--emptyOutDir", "--logLevel", "warn"],
    {
      cwd: path.join(root, "packages", "dashboard"),
      env,
    },
  );
  if (finished.exitCode === 0) {
    await takeLicences(path.join(next, LICENCES));
    await packAssets(path.join(next, "assets"));
    await rm(place, { recursive: true, force: true });
    await rename(next, place);
  } else {
    await rm(next, { recursive: true, force: true });
  }
  return finished;
}

/** As `packages/dashboard/vite.config.ts` names it. It is for the package, not for the pages. */
const LICENCES = "licences.json";

async function takeLicences(file: string): Promise<void> {
  const packages = await readBuiltIn(await readFile(file, "utf8"), path.join(root, "node_modules"));
  const folder = path.join(root, LIBRARY);
  const { name, version } = JSON.parse(
    await readFile(path.join(folder, "package.json"), "utf8"),
  ) as { name: string; version: string };
  await writeFile(path.join(folder, "THIRD-PARTY.md"), licencePage(packages));
  await writeFile(path.join(folder, "sbom.cdx.json"), billOf({ name, version }, packages));
  await rm(file);
}

const pack = promisify(brotliCompress);

/** Puts each asset a second time beside itself, as small as it gets: the server sends that one. */
async function packAssets(assets: string): Promise<void> {
  const packOne = async (name: string): Promise<void> => {
    const file = path.join(assets, name);
    await writeFile(`${file}.br`, await pack(await readFile(file)));
  };
  await Promise.all((await readdir(assets)).map(packOne));
}

/** One hash over names and contents; tests are left out, because nothing is built from them. */
async function fingerprint(sources: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(process.version);
  for (const source of sources) {
    for (const file of await filesOf(path.join(root, source))) {
      hash.update(`\0${path.relative(root, file)}\0`).update(await readFile(file));
    }
  }
  return hash.digest("hex");
}

async function filesOf(place: string): Promise<string[]> {
  const entries = await readdir(place, { withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOTDIR") return undefined;
      throw error;
    },
  );
  if (!entries) return [place];

  const files: string[] = [];
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const inner = path.join(place, entry.name);
    if (entry.isDirectory()) {
      if (!NOT_SOURCES.has(entry.name)) files.push(...(await filesOf(inner)));
    } else if (!/\.test\.tsx?$|^test-/.test(entry.name)) {
      files.push(inner);
    }
  }
  return files;
}

const NOT_SOURCES = new Set(["node_modules", "dist", "coverage"]);

async function areThere(files: readonly string[]): Promise<boolean> {
  const found = await Promise.all(files.map((file) => exists(path.join(root, file))));

  return found.every(Boolean);
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
