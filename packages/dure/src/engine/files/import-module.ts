import { readFileSync } from "node:fs";
import nodeModule from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { isObject } from "../../kernel/json.ts";
import { maskSource } from "./load-service-scan.ts";

/**
 * Imports a module by its path: TypeScript natively where Node strips types (22.18, 24), else
 * through jiti. An ES module is read as one in a package of the type `commonjs` too.
 */
export async function importModule(file: string): Promise<Record<string, unknown>> {
  if (/\.m?ts$/.test(file) && !process.features.typescript) {
    const { createJiti } = await import("jiti");
    return createJiti(file).import<Record<string, unknown>>(file);
  }
  readAsWritten(file);

  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as Record<string, unknown>;
}

/** How Node reads a file of a package of the type `commonjs`, and the same as an ES module. */
const MODULE_FORMATS: ReadonlyMap<string, string> = new Map([
  ["commonjs", "module"],
  ["commonjs-typescript", "module-typescript"],
]);

/** Packages whose files are read as they are written. A hook stays with its process, as Node's does. */
const hooked = new Set<string>();

/**
 * From now on the ES modules of `file`'s package are read as such, whatever type its package.json
 * names: `npm init` writes `"type": "commonjs"`, and a team's configuration is an ES module. Files
 * that are written in CommonJS stay so. Does nothing where Node is older than 22.15.
 */
function readAsWritten(file: string): void {
  const { registerHooks } = nodeModule;
  const folder = typeof registerHooks === "function" ? commonJsPackageOf(file) : undefined;
  if (folder === undefined || hooked.has(folder)) return;
  hooked.add(folder);

  const inside = `${pathToFileURL(folder).href}/`;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      const isOurs = url.startsWith(inside) && !url.includes("/node_modules/");
      const format = isOurs ? MODULE_FORMATS.get(loaded.format ?? "") : undefined;
      const isModule = format !== undefined && isWrittenAsModule(textOf(loaded.source));

      return isModule ? { ...loaded, format } : loaded;
    },
  });
}

/** The folder of the nearest package.json, if that names the type `commonjs`. */
function commonJsPackageOf(file: string): string | undefined {
  const found = nodeModule.findPackageJSON(pathToFileURL(file));
  if (found === undefined) return undefined;
  try {
    const about: unknown = JSON.parse(readFileSync(found, "utf8"));
    return isObject(about) && about["type"] === "commonjs" ? path.dirname(found) : undefined;
  } catch {
    return undefined; // Node itself says what is wrong with it
  }
}

function textOf(source: unknown): string {
  if (typeof source === "string") return source;
  return source instanceof Uint8Array ? new TextDecoder().decode(source) : "";
}

/** The reserved words, where neither a call nor the name of a member follows. */
const MODULE_SYNTAX = /(?<![\w$.#])(?:import|export)(?![\w$]|\s*[(.=:,?])/u;

/** Whether a source has an `import` or an `export` as ES modules have them. Pure. */
export function isWrittenAsModule(source: string): boolean {
  return MODULE_SYNTAX.test(source) && MODULE_SYNTAX.test(maskSource(source));
}
