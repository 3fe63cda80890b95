/** Every way into the packed library, imported and read by TypeScript as a person's project does. */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { root } from "./processes.ts";

interface Manifest {
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

/** `dure`, `dure/team` …: what the installed packages let a project import. */
export async function doorsOf(project: string): Promise<readonly string[]> {
  const names = ["dure", "@dure/testing"];
  const doors = await Promise.all(
    names.map(async (name) => {
      const { exports = {} } = await manifestIn(path.join(project, "node_modules", name));
      return Object.keys(exports).map((door) => path.posix.join(name, door));
    }),
  );

  return doors.flat();
}

/** What a project with pages adds, in the versions of this repository. */
export async function companions(): Promise<readonly string[]> {
  const ours = await manifestIn(root);
  const dure = await manifestIn(path.join(root, "packages/dure"));
  const versions = { ...ours.devDependencies, ...dure.devDependencies };

  return ["react", "@types/react", "typescript", "@types/node"].map(
    (name) => `${name}@${versions[name]}`,
  );
}

/** Prints `ok` where each door opens and gives something. */
export function importsOf(doors: readonly string[]): string {
  return `
for (const door of ${JSON.stringify(doors)}) {
  const given = Object.keys(await import(door));
  if (given.length === 0) throw new Error(door + " gives nothing");
}
console.log("ok");
`;
}

/**
 * A file whose types come from every door, and that is wrong where a hook has no types of its own.
 * The strictest project reads the types of its packages, too: ours name nothing that it has not.
 */
export async function writeTyped(project: string, doors: readonly string[]): Promise<void> {
  const imports = doors.map((door, index) => `import * as door${index} from "${door}";`);
  const used = doors.map((_, index) => `door${index}`).join(", ");
  const lines = [
    ...imports,
    'import type { RunningTeam } from "dure/team";',
    'import { useTurn } from "dure/react";',
    `export const doors: readonly object[] = [${used}];`,
    "// @ts-expect-error: a hook is no number",
    "export const turn: number = useTurn;",
    "// @ts-expect-error: a team is started, not written down",
    "export const team: RunningTeam = {};",
  ];
  await writeFile(path.join(project, "doors.ts"), `${lines.join("\n")}\n`);
  const compilerOptions = {
    ...{ target: "ES2023", module: "NodeNext", strict: true, noEmit: true, skipLibCheck: false },
    types: ["node"],
  };
  const config = { compilerOptions, files: ["doors.ts"] };
  await writeFile(path.join(project, "tsconfig.json"), JSON.stringify(config));
}

async function manifestIn(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(path.join(folder, "package.json"), "utf8")) as Manifest;
}
