import { readFileSync } from "node:fs";
import path from "node:path";
import { codeOf, messageOf } from "../../kernel/errors.ts";

/** A line of a file; lines count from 1. */
export interface ErrorPlace {
  /** Absolute. */
  readonly file: string;
  readonly line: number;
}

/** `/team/service.ts:8` at the top of a syntax error, `(file:///team/service.ts:8:7)` of a throw. */
const PLACES = /(?:file:\/\/)?(\/[^\s():]+):(\d+)(?::\d+)?/g;
const NOT_FOUND = /^Cannot find (?:package|module) '([^']+)' imported from (\/.+)$/;

/**
 * Where below `root` a module cannot be loaded: where it throws, where it is no TypeScript, or where
 * it imports what is not there. Undefined: the error does not say. Without `root`: anywhere.
 */
export function placeOfError(cause: unknown, root = ""): ErrorPlace | undefined {
  if (codeOf(cause) === "ERR_MODULE_NOT_FOUND") return placeOfImport(messageOf(cause), root);
  const stack = cause instanceof Error ? (cause.stack ?? "") : "";
  const places = [...stack.matchAll(PLACES)].map(([, file, line]) => ({
    file: decodeURI(file!.split("?")[0]!), // a module that was read anew has a query
    line: Number(line),
  }));
  return places.find(({ file }) => isOwn(file, root));
}

function placeOfImport(message: string, root: string): ErrorPlace | undefined {
  const [, wanted = "", file = ""] = NOT_FOUND.exec(message) ?? [];
  if (!isOwn(file, root)) return undefined;
  const name = path.basename(wanted);
  const lines = readFileSync(file, "utf8").split("\n");
  const line = lines.findIndex((text) => /\b(?:from|import)\b/.test(text) && text.includes(name));
  return line < 0 ? undefined : { file, line: line + 1 };
}

function isOwn(file: string, root: string): boolean {
  return (
    file.startsWith(`${root}${path.sep}`) && !file.includes(`${path.sep}node_modules${path.sep}`)
  );
}
