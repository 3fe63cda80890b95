import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../kernel/test-tiers.ts";
import { withCanary } from "./canary.ts";
import { readTestOutput } from "./read-output.ts";

const MARK = "qwkzjxvbnm";
const MODULES = resolve(import.meta.dirname, "../../../../../node_modules");

/** What a real runner says of a file of tests with its canary. */
async function runWith(
  framework: "node" | "vitest",
  { path, text, module }: { path: string; text: string; module: string },
) {
  const folder = await mkdtemp(join(tmpdir(), "dure-canary-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await symlink(MODULES, join(folder, "node_modules"));
  await writeFile(join(folder, path.endsWith(".cjs") ? "price.cjs" : "price.mjs"), module);
  const canary = withCanary(framework, { path, text }, MARK)!;
  await writeFile(join(folder, path), canary.text);
  const args =
    framework === "node" ? ["--test", path] : [join(MODULES, "vitest/vitest.mjs"), "run", path];
  const env = { PATH: process.env["PATH"], CI: "1", NO_COLOR: "1" };
  const output = await new Promise<string>((done) => {
    execFile(process.execPath, args, { cwd: folder, env }, (_error, stdout, stderr) =>
      done(stdout + stderr),
    );
  });
  const report = readTestOutput(output);
  const isFound = report.failures.some(({ name }) => name.includes(canary.name));
  return { isFound, passed: report.passed, framework: report.framework };
}

const NODE = (how: string) => `${how}
test("two digits", () => assert.equal(price(1250), "12.50"));
`;
const NODE_ESM = NODE(
  'import { test } from "node:test";\nimport assert from "node:assert";\nimport { price } from "./price.mjs";',
);
const NODE_CJS = NODE(
  'const { test } = require("node:test");\nconst assert = require("node:assert");\nconst { price } = require("./price.cjs");',
);
const VITEST = `import { expect, test } from "vitest";
import { price } from "./price.mjs";
test("two digits", () => expect(price(1250)).toBe("12.50"));
`;
const RIGHT = "price = (cents) => (cents / 100).toFixed(2);\n";

test.each([
  ["node", "price.test.mjs", NODE_ESM, `export const ${RIGHT}`],
  ["node", "price.test.cjs", NODE_CJS, `exports.${RIGHT}`],
  ["vitest", "price.test.mjs", VITEST, `export const ${RIGHT}`],
] as const)("a test that has to fail does, beside those that pass: %s %s", FULL, async (...row) => {
  const [framework, path, text, module] = row;

  expect(await runWith(framework, { path, text, module })).toEqual({
    isFound: true,
    passed: 1,
    framework,
  });
});

test.each([
  [
    "node",
    "price.test.mjs",
    NODE_ESM,
    'import a from "node:assert"; Reflect.set(a, "equal", () => {}); export const price = () => "";',
  ],
  [
    "node",
    "price.test.cjs",
    NODE_CJS,
    'const a = require("node:assert"); a.strict.match = () => {}; exports.price = () => "12.50";',
  ],
  [
    "vitest",
    "price.test.mjs",
    VITEST,
    'import { expect } from "vitest"; expect.extend({ toBe: () => ({ pass: true, message: () => "" }) }); export const price = () => "";',
  ],
] as const)(
  "a test that has to fail is missed where assertions find nothing: %s",
  FULL,
  async (...row) => {
    const [framework, path, text, module] = row;

    expect(await runWith(framework, { path, text, module })).toMatchObject({ isFound: false });
  },
);

test("tests of pytest, unittest and jest get one that has to fail; of others none is known", () => {
  const python = { path: "tests/test_price.py", text: "import price\n" };

  expect(withCanary("pytest", python, MARK)?.text).toContain(`def test_case_${MARK}():`);
  expect(withCanary("unittest", python, MARK)?.text).toContain(`class Case_${MARK}(`);
  expect(withCanary("jest", { path: "a.test.js", text: "" }, MARK)?.text).toContain(MARK);
  expect(withCanary("go", { path: "price_test.go", text: "" }, MARK)).toBeUndefined();
  const main = { path: "test_price.py", text: "unittest.main()\n" };
  expect(withCanary("unittest", main, MARK)).toBeUndefined();
});
