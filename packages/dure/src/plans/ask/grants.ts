import { readGlob } from "../glob.ts";
import { pathProblem } from "../scope.ts";
import type { PathGrant } from "../../wire/runs.ts";

/** Paths that one answer gives at most. A port that needs more needs another plan. */
export const MAX_GRANTS = 50;

/**
 * The path that a person's note names; undefined when it is words. A path is one word with a slash
 * or an ending in it. Pure.
 */
export function pathIn(note: string): string | undefined {
  const word = note.trim();
  if (/\s/.test(word) || !/\/|\.\w+$/.test(word)) return undefined;
  return grantable(word);
}

/**
 * A path as it is given: of the repository, without the slash at the end of a folder; undefined for
 * what is none. Pure.
 */
export function grantable(path: string): string | undefined {
  const plain = path.replace(/\/+$/, "");
  return pathProblem(plain) === undefined && readGlob(escaped(plain)).ok ? plain : undefined;
}

/**
 * The patterns of a grant: the path as it is written, `[id]` included; of a folder all that is in
 * it. Pure; what is no path has none.
 */
export function grantGlobs(
  { path, wants }: Pick<PathGrant, "path" | "wants">,
  isFolder: boolean,
): readonly string[] {
  const plain = grantable(path);
  if (plain === undefined) return [];
  const below = `${escaped(plain)}/**`;
  if (isFolder) return [below];
  return wants === "read" ? [escaped(plain), below] : [escaped(plain)];
}

/** The pattern that matches this path alone. Pure. */
export function escaped(path: string): string {
  return path.replace(/[*?[\]{}\\+@!]/g, "\\$&");
}
