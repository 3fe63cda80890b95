/** What a compiled file imports: found, and rewritten at exactly its place. */

import { isBuiltin } from "node:module";
import { parseSync } from "oxc-parser";

export interface Import {
  readonly specifier: string;
  /** Where the specifier stands in the text, with its quotes. */
  readonly start: number;
  readonly end: number;
  /** What is taken of it; `*` is everything. */
  readonly names: readonly string[];
}

/** Imports and re-exports of a file, also `import("x")`; a computed one is none. Pure. */
export function importsIn(file: string, text: string): readonly Import[] {
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be read: ${errors[0]!.message}`);

  const imported = module.staticImports.map(({ moduleRequest, entries }) =>
    importAt(moduleRequest, entries.map(nameTaken)),
  );
  const exported = module.staticExports
    .flatMap(({ entries }) => entries)
    .flatMap((entry) =>
      entry.moduleRequest ? [importAt(entry.moduleRequest, [nameTaken(entry)])] : [],
    );
  const dynamic = module.dynamicImports.flatMap(({ moduleRequest: { start, end } }) => {
    const value = literal(text.slice(start, end));
    return value === undefined ? [] : [importAt({ value, start, end }, ["*"])];
  });

  return [...imported, ...exported, ...dynamic];
}

/** The text with other specifiers; undefined keeps one. Pure. */
export function withSpecifiers(
  text: string,
  imports: readonly Import[],
  wantedFor: (specifier: string) => string | undefined,
): string {
  // Two entries of one `export … from` name the same place.
  const places = new Map(imports.map((one) => [one.start, one]));
  let result = text;
  for (const { start, end, specifier } of [...places.values()].toSorted(byLast)) {
    const wanted = wantedFor(specifier);
    if (wanted === undefined) continue;
    result = result.slice(0, start) + JSON.stringify(wanted) + result.slice(end);
  }

  return result;
}

/** The package of a specifier; undefined: a file, or a module of Node. Pure. */
export function packageOf(specifier: string): string | undefined {
  if (/^[./#]|^\w+:/.test(specifier) || isBuiltin(specifier)) return undefined;
  const [first = "", second = ""] = specifier.split("/");

  return first.startsWith("@") ? `${first}/${second}` : first;
}

interface Entry {
  readonly importName: { readonly kind: string; readonly name?: string | null };
}

function nameTaken({ importName: { kind, name } }: Entry): string {
  if (kind === "Default") return "default";

  return kind === "Name" && name ? name : "*";
}

function importAt(
  { value, start, end }: { value: string; start: number; end: number },
  names: readonly string[],
): Import {
  return { specifier: value, start, end, names };
}

/** What a string literal says; undefined for any other expression. */
function literal(source: string): string | undefined {
  return /^(["'])([^"'\\]*)\1$/.exec(source)?.[2];
}

function byLast(one: Import, other: Import): number {
  return other.start - one.start;
}
