import { expect, test } from "vitest";
import { weakenedTests } from "./weakened.ts";

const GOOD = `import { price } from "../src/price.mjs";
test("two digits", () => {
  expect(price(1250)).toBe("12.50");
  expect(price(5)).toBe("0.05");
});
test("nothing", () => { expect(price(0)).toBe("0.00"); });
`;
const owns = (path: string): boolean => path.startsWith("src/") || path.startsWith("shop/");
const kinds = (before: string | undefined, after: string | undefined, path = "test/a.test.ts") =>
  weakenedTests([{ path, before, after }], owns).map(({ kind }) => kind);

test.each([
  ["is deleted", undefined, "removed"],
  ["is emptied", "", "fewer-tests"],
  ["loses a test", GOOD.replace(/test\("nothing.*\n/, ""), "fewer-tests"],
  ["loses an assertion", GOOD.replace(/.*0\.05.*\n/, ""), "assertions-gone"],
  ["has its expectation changed", GOOD.replace('"12.50"', '"1250"'), "assertions-gone"],
  [
    "holds nothing any more",
    GOOD.replaceAll(/expect\(price.*?\);/g, "expect(true).toBe(true);"),
    "assertions-gone",
  ],
  [
    "has its assertions commented out",
    GOOD.replaceAll("  expect", "  // expect"),
    "assertions-gone",
  ],
  ["skips one", GOOD.replace("test(", "test.skip("), "skipped"],
  ["ends before its tests", `process.exit(0);\n${GOOD}`, "skipped"],
  ["runs one alone", GOOD.replace("test(", "test.only("), "skipped"],
  [
    "catches what its assertions throw",
    GOOD.replace("  expect", "  try {\n  expect").replace(";\n});", ";\n  } catch {}\n});"),
    "silenced",
  ],
  ["returns before its assertions", GOOD.replace("  expect", "  return;\n  expect"), "silenced"],
  ["never gets to them", GOOD.replace("  expect", "  if (false)\n  expect"), "silenced"],
  ["replaces what asserts", `const expect = () => ({ toBe() {} });\n${GOOD}`, "silenced"],
  ["overwrites what asserts", `assert.equal = () => {};\n${GOOD}`, "silenced"],
  ["ends well whatever fails", `process.exitCode = 0;\n${GOOD}`, "silenced"],
  [
    "mocks what it is about",
    `${GOOD}vi.mock("../src/price.mjs", () => ({ price: () => "12.50" }));\n`,
    "mocked",
  ],
])("a file of tests that %s is told", (_how, after, kind) => {
  expect(kinds(GOOD, after)).toEqual([kind]);
});

test.each([
  ["gains tests", `${GOOD}test("more", () => { expect(price(1)).toBe("0.01"); });\n`],
  ["has another form", GOOD.replaceAll("  expect", "      expect").replaceAll(";", "")],
  [
    "gains a test that catches",
    `${GOOD}test("more", () => {\n  try { price(); } catch (error) { expect(error.code).toBe("NONE"); }\n});\n`,
  ],
  ["names what asserts", `const assert = require("node:assert");\n${GOOD}`],
  ["mocks what is another's", `${GOOD}vi.mock("node:fs");\nvi.mock("../lib/mail.ts");\n`],
])("a file of tests that %s is not", (_how, after) => {
  expect(kinds(GOOD, after)).toEqual([]);
});

test("tests that moved to another file are not gone", () => {
  const moved = [
    { path: "test/a.test.ts", before: GOOD, after: undefined },
    { path: "test/price/a.test.ts", before: undefined, after: GOOD },
  ];

  expect(weakenedTests(moved, owns)).toEqual([]);
});

test.each([
  [
    "Python",
    "test/test_a.py",
    "def test_a():\n    assert price(1) == 2\n",
    "def test_a():\n    assert True\n",
    "assertions-gone",
  ],
  [
    "Python",
    "test/test_a.py",
    "def test_a():\n    assert f() == 2\n",
    "@pytest.mark.skip\ndef test_a():\n    assert f() == 2\n",
    "skipped",
  ],
  [
    "Python",
    "test/test_a.py",
    "",
    'def test_b():\n    with patch("shop.price.total"):\n        assert f()\n',
    "mocked",
  ],
  [
    "Go",
    "a_test.go",
    'func TestA(t *testing.T) {\n  if f() != 2 {\n    t.Errorf("no")\n  }\n}\n',
    "func TestA(t *testing.T) {\n}\n",
    "assertions-gone",
  ],
  [
    "Java",
    "src/test/ATest.java",
    "@Test\nvoid a() { assertEquals(2, f()); }\n",
    "@Disabled\n@Test\nvoid a() { assertEquals(2, f()); }\n",
    "skipped",
  ],
  ["Rust", "tests/a.rs", "#[test]\nfn a() { assert_eq!(f(), 2); }\n", "", "fewer-tests"],
])("so is it in %s (%s)", (_language, path, before, after, kind) => {
  expect(kinds(before, after, path)).toContain(kind);
});
