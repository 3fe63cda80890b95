import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, test } from "vitest";
import { troubleWithContents } from "../package-contents.ts";
import { typesNamedIn, unreachedIn } from "./declarations.ts";
import { importsIn, packageOf, withSpecifiers } from "./imports.ts";
import { billOf, licenceOn, licencePage, readBuiltIn } from "./notices.ts";
import { buildIn, type Product } from "./vendor.ts";

const left: string[] = [];

afterEach(async () => {
  for (const folder of left.splice(0)) await rm(folder, { recursive: true, force: true });
});

/** A folder with these files. */
async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "dure-bundle-")));
  left.push(folder);
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    await writeFile(path.join(folder, name), text);
  }

  return folder;
}

/** A repository whose product imports packages of others. */
async function repositoryWith(files: Readonly<Record<string, string>>): Promise<Product> {
  const root = await folderWith({
    "product/package.json": '{"type":"module"}',
    "node_modules/rolldown/package.json": '{"name":"rolldown"}',
    "node_modules/shared/package.json": '{"type":"module","exports":"./index.js"}',
    "node_modules/shared/index.js": 'export const version = "ours";',
    "node_modules/lazy/package.json": '{"type":"module","exports":"./index.js"}',
    "node_modules/lazy/index.js":
      'import { version } from "shared"; export const seen = () => version; export default 7;',
    "node_modules/old/package.json": '{"main":"index.js"}',
    "node_modules/old/index.js":
      'exports.hello = () => "hello " + require("shared").version;\n' +
      'try { require("bufferutil"); } catch { exports.without = true; }',
    "node_modules/old/node_modules/shared/package.json": '{"main":"index.js"}',
    "node_modules/old/node_modules/shared/index.js": 'exports.version = "theirs";',
    ...files,
  });

  return { folder: path.join(root, "product"), bundled: ["old", "lazy"], declared: ["shared"] };
}

const USES_ALL = {
  "product/dist/index.js": [
    "/* 이름 */",
    'import { hello, without } from "old";',
    'import old from "old";',
    'import { version } from "shared";',
    "export const said = [hello(), without, typeof old.hello, version];",
    'export const later = async () => (await import("lazy")).seen();',
  ].join("\n"),
  "product/dist/deep/more.js": 'export { hello } from "old";',
};

test("what is built in runs without its packages, and a shared one stays one", async () => {
  const product = await repositoryWith(USES_ALL);

  const folders = await buildIn(product);
  const modules = path.join(product.folder, "../node_modules");
  await rm(path.join(modules, "old"), { recursive: true });
  await rm(path.join(modules, "lazy"), { recursive: true });
  const { said, later } = (await import(
    pathToFileURL(path.join(product.folder, "dist/index.js")).href
  )) as { said: unknown; later: () => Promise<unknown> };

  expect(said).toEqual(["hello theirs", true, "function", "ours"]);
  expect(await later()).toBe("ours");
  expect(folders.map((folder) => path.relative(modules, folder)).toSorted()).toEqual([
    "lazy",
    "old",
    "old/node_modules/shared",
    "rolldown",
  ]);
});

test("building in again changes nothing, and a package that is no longer built in comes back", async () => {
  const product = await repositoryWith(USES_ALL);
  const deep = path.join(product.folder, "dist/deep/more.js");

  await buildIn(product);
  const first = await readFile(path.join(product.folder, "dist/index.js"), "utf8");
  expect(await readFile(deep, "utf8")).toBe('export { hello } from "../vendor/old.js";');
  await buildIn(product);
  expect(await readFile(path.join(product.folder, "dist/index.js"), "utf8")).toBe(first);

  await buildIn({ ...product, bundled: [], declared: ["shared", "old", "lazy"] });
  expect(await readFile(deep, "utf8")).toBe(USES_ALL["product/dist/deep/more.js"]);
  await expect(readFile(path.join(product.folder, "dist/vendor/old.js"))).rejects.toThrow("ENOENT");
});

test("an import that no project would find fails the build, and so do files of a package", async () => {
  const stranger = await repositoryWith({ "product/dist/a.js": 'import "left-pad";' });
  await expect(buildIn(stranger)).rejects.toThrow("left-pad: neither built in nor a dependency");

  const withFile = await repositoryWith({
    ...USES_ALL,
    "node_modules/old/index.js": "exports.hello = () => __dirname; exports.without = 1;",
  });
  await expect(buildIn(withFile)).rejects.toThrow("old names files of its own");
});

test("specifiers are found and exchanged at their place, not where a text has them", () => {
  const text = 'const 말 = `import "old"`; import { a as b } from "old"; await import("old/x");';
  const imports = importsIn("a.js", text);

  expect(imports.map(({ specifier, names }) => [specifier, names])).toEqual([
    ["old", ["a"]],
    ["old/x", ["*"]],
  ]);
  expect(withSpecifiers(text, imports, (one) => `./v/${one}.js`)).toBe(
    'const 말 = `import "old"`; import { a as b } from "./v/old.js"; await import("./v/old/x.js");',
  );
});

test.for([
  ["@a/b/c", "@a/b"],
  ["zod/v4", "zod"],
  ["node:fs", undefined],
  ["fs/promises", undefined],
  ["./a.js", undefined],
] as const)("the package of %s is %s", ([specifier, owner]) => {
  expect(packageOf(specifier)).toBe(owner);
});

test("types that no door leads to are left out of the package", async () => {
  const folder = await folderWith({ "index.d.ts": "", "inner/hidden.d.ts": "", "inner/a.js": "" });

  expect(await unreachedIn(folder, new Set(["index.d.ts"]))).toBe("/inner/hidden.d.ts\n");
  expect(typesNamedIn("a.d.ts", 'export declare const a: import("pg").Client;')).toEqual(["pg"]);
});

test("a package without a text of its licence is refused", async () => {
  const bare = await folderWith({ "package.json": '{"name":"bare","license":"MIT"}' });
  await expect(readBuiltIn(bare)).rejects.toThrow("bare is built in and has no text");

  await writeFile(path.join(bare, "NOTICE"), "By us.\n");
  await writeFile(path.join(bare, "LICENSE.md"), "Do it.\n");
  expect(await readBuiltIn(bare)).toMatchObject({ license: "MIT", text: "Do it.\n\nBy us." });
});

test("a page gives a licence where it has its words, not where it has a link", () => {
  expect(licenceOn("# a\n\n## License\n\n(MIT)\n\nPermission is hereby granted, …")).toContain("…");
  expect(licenceOn("# a\n\n## License\n\n[MIT](LICENSE)")).toBe("");
});

test("one package in two versions is listed twice, one in two places once", () => {
  const one = { name: "@a/b", version: "1.0.0", license: "(MIT OR ISC)", text: "words" };
  const places = { server: [one, { ...one, version: "2.0.0" }], pages: [one] };

  const bill = JSON.parse(billOf({ name: "dure", version: "0.1.0" }, places)) as {
    components: { purl: string; licenses: unknown; properties: { value: string }[] }[];
  };
  expect(bill.components.map(({ purl }) => purl)).toEqual([
    "pkg:npm/%40a/b@1.0.0",
    "pkg:npm/%40a/b@2.0.0",
  ]);
  expect(bill.components[0]!.properties.map(({ value }) => value)).toEqual(["server", "pages"]);
  expect(bill.components[0]!.licenses).toEqual([{ expression: "(MIT OR ISC)" }]);
  expect(licencePage(places)).toContain(
    "## @a/b 1.0.0 ((MIT OR ISC)), @a/b 2.0.0 ((MIT OR ISC))\n\n    words\n",
  );
});

/** A packed library in which everything is right. */
const PACKED = {
  "package.json": JSON.stringify({
    name: "dure",
    version: "1.0.0",
    dependencies: { zod: "1.0.0" },
    exports: { ".": { types: "./dist/index.d.ts" } },
  }),
  "dist/index.js": 'import "zod"; import "node:fs"; import "./vendor/ws.js";',
  "dist/index.d.ts": 'import type { z } from "zod"; export type { A } from "./a.ts";',
  "dist/a.d.ts": "export type A = 1;",
  "dist/client/index.js": "export const a = 1;",
  "dist/vendor/ws.js": '// node_modules/ws/lib/a.js\n__require("bufferutil");\n',
  "THIRD-PARTY.md": "## ws 1.0.0 (MIT)\n",
  "sbom.cdx.json": '{"components":[{"name":"ws","version":"1.0.0"}]}',
};

test.for([
  [{}, []],
  [
    { "dist/index.js": 'import "fastify";' },
    ["dist/index.js imports fastify: neither built in nor a dependency"],
  ],
  [
    { "dist/index.js": 'import("./vendor/pg.js");' },
    ["dist/index.js imports ./vendor/pg.js: not in the package"],
  ],
  [
    { "dist/vendor/ws.js": '// node_modules/ws/a.js\n__require("left-pad");' },
    ["dist/vendor/ws.js imports left-pad: neither built in nor a dependency"],
  ],
  [
    { "dist/vendor/ws.js": "// ../node_modules/@a/b/c.js\n" },
    ["@a/b is built in and not in sbom.cdx.json"],
  ],
  [{ "THIRD-PARTY.md": "" }, ["ws is built in and has no licence in THIRD-PARTY.md"]],
  [
    { "dist/index.d.ts": 'export declare const a: import("pg").Client;' },
    ["dist/index.d.ts names types of pg: no dependency"],
  ],
  [
    { "dist/client/index.js": 'import "../vendor/ws.js";' },
    ["dist/vendor/ws.js is built for Node, and a door of pages leads to it"],
  ],
] as const)("a packed library with %j has this trouble: %j", async ([changed, trouble]) => {
  const files = { ...PACKED, ...changed };
  const folder = await folderWith(files);

  expect(await troubleWithContents({ folder, names: Object.keys(files) })).toEqual(trouble);
});

test("types that a door leads to must be in the package", async () => {
  const folder = await folderWith(PACKED);
  const names = Object.keys(PACKED).filter((name) => name !== "dist/a.d.ts");

  expect(await troubleWithContents({ folder, names })).toEqual([
    "dist/a.d.ts is not in the package, and a door leads to it",
  ]);
});
