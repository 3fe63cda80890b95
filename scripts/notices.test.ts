import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { billOf, licenceOn, licencePage, readBuiltIn } from "./notices.ts";

test("a package of the pages without a text of its licence is refused", async () => {
  const modules = await mkdtemp(path.join(tmpdir(), "dure-notices-"));
  onTestFinished(() => rm(modules, { recursive: true, force: true }));
  await mkdir(path.join(modules, "bare"));
  const written = JSON.stringify([{ name: "bare", version: "1.0.0", identifier: "MIT" }]);
  await expect(readBuiltIn(written, modules)).rejects.toThrow("bare is built into the pages");

  await writeFile(path.join(modules, "bare", "NOTICE"), "By us.\n");
  await writeFile(path.join(modules, "bare", "LICENSE.md"), "Do it.\n");
  expect(await readBuiltIn(written, modules)).toMatchObject([{ text: "Do it.\n\nBy us." }]);
});

test("a page gives a licence where it has its words, not where it has a link", () => {
  expect(licenceOn("# a\n\n## License\n\n(MIT)\n\nPermission is hereby granted, …")).toContain("…");
  expect(licenceOn("# a\n\n## License\n\n[MIT](LICENSE)")).toBe("");
});

test("one package in two versions is listed twice, and packages of one text share it", () => {
  const one = { name: "@a/b", version: "1.0.0", identifier: "(MIT OR ISC)", text: "words" };
  const packages = [one, { ...one, version: "2.0.0" }, one];

  const bill = JSON.parse(billOf({ name: "dure", version: "0.1.0" }, packages)) as {
    components: { purl: string; licenses: unknown }[];
  };
  expect(bill.components.map(({ purl }) => purl)).toEqual([
    "pkg:npm/%40a/b@1.0.0",
    "pkg:npm/%40a/b@2.0.0",
  ]);
  expect(bill.components[0]!.licenses).toEqual([{ expression: "(MIT OR ISC)" }]);
  expect(licencePage(packages)).toContain(
    "## @a/b 1.0.0 ((MIT OR ISC)), @a/b 2.0.0 ((MIT OR ISC))\n\n    words\n",
  );
});
