/** What `npm run build` does for the library: builds others' code in, and says whose it is. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { declarationsFrom, unreachedIn } from "./declarations.ts";
import { writeWhole } from "./files.ts";
import { billOf, licencePage, readBuiltIn, type BuiltIn, type Place } from "./notices.ts";
import { buildIn } from "./vendor.ts";

/** What the package says of itself, as far as it matters here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, { readonly types: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Files of the package that name the code of others in it. */
export const NOTICES = { page: "THIRD-PARTY.md", bill: "sbom.cdx.json" } as const;

/** After the compiler: others' code into `dist`, and only the types of the doors published. */
export async function carryOthers(folder: string): Promise<readonly BuiltIn[]> {
  const manifest = await readManifest(folder);
  const list = await readFile(path.join(folder, "bundled.json"), "utf8");
  const bundled = JSON.parse(list) as readonly string[];
  const found = await buildIn({ folder, bundled, declared: declaredBy(manifest) });

  const dist = path.join(folder, "dist");
  const { reached } = await declarationsFrom(dist, doorsOf(manifest));
  await writeWhole(path.join(dist, ".npmignore"), await unreachedIn(dist, reached));

  return Promise.all(found.map(readBuiltIn));
}

/** Writes the page of licences and the list for audits. */
export async function writeNotices(
  folder: string,
  places: Readonly<Record<Place, readonly BuiltIn[]>>,
): Promise<void> {
  const { name, version } = await readManifest(folder);
  await writeWhole(path.join(folder, NOTICES.page), licencePage(places));
  await writeWhole(path.join(folder, NOTICES.bill), billOf({ name, version }, places));
}

/** What Vite's `build.license` writes of one package. */
interface ViteLicence {
  readonly name: string;
  readonly version: string;
  readonly identifier?: string;
  readonly text?: string;
}

/** The packages of the pages, from what Vite wrote. Where it found no text, we look ourselves. */
export async function packagesOfPages(written: string, root: string): Promise<readonly BuiltIn[]> {
  const entries = JSON.parse(written) as readonly ViteLicence[];

  return Promise.all(
    entries.map(async ({ name, version, identifier, text }) =>
      identifier && text
        ? { name, version, license: identifier, text }
        : readBuiltIn(path.join(root, "node_modules", name)),
    ),
  );
}

/** Packages that come with it, or that a project installs beside it. Pure. */
export function declaredBy(manifest: Manifest): readonly string[] {
  const { dependencies, peerDependencies, optionalDependencies } = manifest;

  return Object.keys({ ...dependencies, ...peerDependencies, ...optionalDependencies });
}

/** The types of each door, from `dist`. Pure. */
export function doorsOf({ exports }: Manifest): readonly string[] {
  return Object.values(exports).map(({ types }) => types.replace(/^\.\/dist\//, ""));
}

export async function readManifest(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(path.join(folder, "package.json"), "utf8")) as Manifest;
}
