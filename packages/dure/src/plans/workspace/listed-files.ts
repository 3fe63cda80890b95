import { foldPath, literalPrefix } from "../glob.ts";
import { foldedGlob } from "../scope.ts";
import { type PathKey, textOf } from "./paths.ts";

export interface ListedFile {
  readonly path: string;
  /** Bytes; 0 for a submodule. */
  readonly bytes: number;
  readonly kind: "file" | "link" | "submodule";
}

/**
 * The first pattern that begins at or below a submodule. Pure. `src/**` around a submodule lies not
 * in it; the submodule stays as it is.
 */
export function findOwnedSubmodule(
  patterns: readonly string[],
  submodules: readonly string[],
): { pattern: string; submodule: string } | undefined {
  for (const pattern of patterns) {
    for (const alternative of foldedGlob(pattern).alternatives) {
      const prefix = `${literalPrefix(alternative).join("/")}/`;
      const submodule = submodules.find((path) => prefix.startsWith(`${foldPath(path)}/`));
      if (submodule !== undefined) return { pattern, submodule };
    }
  }

  return undefined;
}

export function listedFile(line: string): ListedFile {
  const tab = line.indexOf("\t");
  const [mode, , , bytes] = line.slice(0, tab).split(/ +/);

  return {
    path: textOf(line.slice(tab + 1) as PathKey),
    bytes: Number(bytes) || 0,
    kind: kindOfMode(mode),
  };
}

function kindOfMode(mode: string | undefined): ListedFile["kind"] {
  if (mode === "160000") return "submodule";
  return mode === "120000" ? "link" : "file";
}
