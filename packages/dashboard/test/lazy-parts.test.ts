import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const SOURCE = fileURLToPath(new URL("../src/", import.meta.url));

/** An import that is not named so is not fetched again when it was lost. */
const NAMED =
  /(?:lazyPart|readPart|untilRead)\(\s*"([\w.-]+)",\s*(?:async )?\(\) =>[^;]*?\bimport\("[^"]*?([\w.-]+)\.tsx?"\)/g;

test("each part that is fetched later is asked for under the name of its file", async () => {
  const found: string[] = [];
  const named: string[] = [];
  for await (const file of glob("**/*.{ts,tsx}", { cwd: SOURCE })) {
    const text = await readFile(SOURCE + file, "utf8");
    found.push(
      ...Array.from(text.matchAll(/\bimport\("[^"]*?([\w.-]+)\.tsx?"\)/g), ([, it]) => it!),
    );
    named.push(
      ...Array.from(text.matchAll(NAMED), ([, name, part]) => (name === part ? name! : `${name}?`)),
    );
  }

  expect(named.toSorted()).toEqual(found.toSorted());
  expect(found.length).toBeGreaterThan(20);
});
