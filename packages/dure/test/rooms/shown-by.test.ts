import { readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";

const PACKAGE = path.resolve(import.meta.dirname, "../..");
const SPEC = path.resolve(PACKAGE, "../../docs/spec/collaboration.md");

test("each test that the specification names for a promise stands in its file", async () => {
  const [, table = ""] = (await readFile(SPEC, "utf8")).split("## 11. Shown by");
  const rows = [...table.matchAll(/^\| .+? \| `([^`]+)` *\| (.+?) *\|$/gm)];

  expect(rows.length).toBeGreaterThan(60);
  const missing: string[] = [];
  for (const [, file = "", title = ""] of rows) {
    const text = await readFile(path.join(PACKAGE, file), "utf8");
    if (!text.includes(title)) missing.push(`${file}: ${title}`);
  }
  expect(missing).toEqual([]);
});
