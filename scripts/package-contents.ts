/** Whether the packed library works alone: all that it imports comes with it, and has its licence. */

import { readFile } from "node:fs/promises";
import path from "node:path";
import { declaredBy, doorsOf, NOTICES, readManifest, type Manifest } from "./bundle/carry.ts";
import { declarationsFrom } from "./bundle/declarations.ts";
import { importsIn, packageOf } from "./bundle/imports.ts";
import { DONE_WITHOUT, folderOf, VENDOR } from "./bundle/vendor.ts";

/** A package as it is packed. */
export interface Contents {
  readonly folder: string;
  /** Files of the tarball, from the folder, with `/`. */
  readonly names: readonly string[];
}

/** What is wrong with a packed package, a line each. */
export async function troubleWithContents(contents: Contents): Promise<readonly string[]> {
  const manifest = await readManifest(contents.folder);
  const files = await readCode(contents);

  return [
    ...files.flatMap((file) => troubleWithImports(file, contents, manifest)),
    ...(await troubleWithTypes(contents, manifest)),
    ...(await troubleWithNotices(contents, files)),
    ...troubleWithBrowser(files),
  ];
}

interface Code {
  readonly name: string;
  readonly text: string;
  readonly specifiers: readonly string[];
}

async function readCode({ folder, names }: Contents): Promise<readonly Code[]> {
  const wanted = names.filter((name) => /^(bin|dist)\/.*\.m?js$/.test(name));

  return Promise.all(
    wanted.map(async (name) => {
      const text = await readFile(path.join(folder, name), "utf8");
      const imported = importsIn(name, text).map(({ specifier }) => specifier);
      return { name, text, specifiers: [...imported, ...requiredBy(name, text)] };
    }),
  );
}

/** What code that is built in requires when it runs, as the bundler writes it. */
function requiredBy(name: string, text: string): readonly string[] {
  if (!name.startsWith(`dist/${VENDOR}/`)) return [];

  return [...text.matchAll(/\b__require\("([^"]+)"\)/g)].map(([, specifier]) => specifier!);
}

/** A project finds what a file imports: in the package, or among what is installed with it. */
function troubleWithImports(
  { name, specifiers }: Code,
  { names }: Contents,
  manifest: Manifest,
): readonly string[] {
  const declared = declaredBy(manifest);
  return specifiers.flatMap((specifier) => {
    const owner = packageOf(specifier);
    if (owner !== undefined) {
      const isKnown = declared.includes(owner) || owner in DONE_WITHOUT;
      return isKnown ? [] : [`${name} imports ${specifier}: neither built in nor a dependency`];
    }
    if (!specifier.startsWith(".")) return [];
    const target = path.posix.join(path.posix.dirname(name), specifier);
    return names.includes(target) ? [] : [`${name} imports ${specifier}: not in the package`];
  });
}

async function troubleWithTypes(
  { folder, names }: Contents,
  manifest: Manifest,
): Promise<readonly string[]> {
  const declared = declaredBy(manifest);
  const types = await declarationsFrom(path.join(folder, "dist"), doorsOf(manifest));
  const strangers = [...types.packages].filter(([name]) => !declared.includes(name));
  const missing = [...types.reached].filter((name) => !names.includes(`dist/${name}`));

  return [
    ...strangers.map(([name, file]) => `dist/${file} names types of ${name}: no dependency`),
    ...missing.map((name) => `dist/${name} is not in the package, and a door leads to it`),
  ];
}

/** Each package whose code is there is in the list for audits and on the page of licences. */
async function troubleWithNotices(
  { folder }: Contents,
  files: readonly Code[],
): Promise<readonly string[]> {
  const page = await readFile(path.join(folder, NOTICES.page), "utf8");
  const bill = JSON.parse(await readFile(path.join(folder, NOTICES.bill), "utf8")) as {
    readonly components: readonly { readonly name: string; readonly version: string }[];
  };
  const listed = new Set(bill.components.map(({ name }) => name));
  const unlisted = [...ownersIn(files)].filter((name) => !listed.has(name));
  const unnamed = bill.components.filter(
    ({ name, version }) => !page.includes(`${name} ${version} (`),
  );

  return [
    ...unlisted.map((name) => `${name} is built in and not in ${NOTICES.bill}`),
    ...unnamed.map(({ name }) => `${name} is built in and has no licence in ${NOTICES.page}`),
  ];
}

/** The bundler writes above each module whose it is: `// node_modules/ws/lib/sender.js`. */
function ownersIn(files: readonly Code[]): ReadonlySet<string> {
  const owners = files.flatMap(({ text }) =>
    [...text.matchAll(/^\/\/ (\S*node_modules\/\S+)$/gm)].flatMap(
      ([, module]) => folderOf(`/${module}`)?.replace(/^.*node_modules\//, "") ?? [],
    ),
  );

  return new Set(owners);
}

/** Doors of pages lead to nothing that is built in: it is built for Node. */
function troubleWithBrowser(files: readonly Code[]): readonly string[] {
  const byName = new Map(files.map((file) => [file.name, file]));
  const ahead = ["dist/client/index.js", "dist/react/index.js"];
  const seen = new Set<string>();
  for (let name = ahead.pop(); name !== undefined; name = ahead.pop()) {
    if (seen.has(name)) continue;
    seen.add(name);
    const folder = path.posix.dirname(name);
    const relative = byName.get(name)?.specifiers.filter((one) => one.startsWith(".")) ?? [];
    ahead.push(...relative.map((one) => path.posix.join(folder, one)));
  }

  return [...seen]
    .filter((name) => name.startsWith(`dist/${VENDOR}/`))
    .map((name) => `${name} is built for Node, and a door of pages leads to it`);
}
