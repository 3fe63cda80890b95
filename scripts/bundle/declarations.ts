/** The types that people reach through the doors of the package. The others are not published. */

import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { importsIn, packageOf } from "./imports.ts";

export interface Declarations {
  /** Files of types that a door leads to, from `dist`, with `/`. */
  readonly reached: ReadonlySet<string>;
  /** Packages that they name, and a file that does. */
  readonly packages: ReadonlyMap<string, string>;
}

/** Follows the types from the doors. */
export async function declarationsFrom(
  dist: string,
  doors: readonly string[],
): Promise<Declarations> {
  const reached = new Set<string>();
  const packages = new Map<string, string>();
  const ahead = [...doors];
  for (let file = ahead.pop(); file !== undefined; file = ahead.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const specifier of typesNamedIn(file, await readFile(path.join(dist, file), "utf8"))) {
      const owner = packageOf(specifier);
      if (owner !== undefined) packages.set(owner, file);
      else if (specifier.startsWith(".")) ahead.push(declarationOf(file, specifier));
    }
  }

  return { reached, packages };
}

/** What npm leaves out of the package: types that no door leads to. One name a line. */
export async function unreachedIn(dist: string, reached: ReadonlySet<string>): Promise<string> {
  const names = (await readdir(dist, { recursive: true })).map((one) => one.replaceAll("\\", "/"));
  const unreached = names.filter((name) => name.endsWith(".d.ts") && !reached.has(name));

  return `${unreached
    .toSorted()
    .map((name) => `/${name}`)
    .join("\n")}\n`;
}

/** Specifiers of a file of types, also those of `import("x").Name`. Pure. */
export function typesNamedIn(file: string, text: string): readonly string[] {
  const within: string[] = [];
  new Visitor({ TSImportType: ({ source }) => void within.push(source.value) }).visit(
    parseSync(file, text).program,
  );

  return [...importsIn(file, text).map(({ specifier }) => specifier), ...within];
}

/** `./role.ts` and `./role.js` are `role.d.ts`. */
function declarationOf(file: string, specifier: string): string {
  const target = path.posix.join(path.posix.dirname(file), specifier);

  return target.replace(/(\.d)?\.(js|ts)$/, ".d.ts");
}
