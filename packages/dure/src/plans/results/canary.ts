import type { Framework } from "./report.ts";

/** A file of tests with one test more, which has to fail. */
export interface Canary {
  readonly path: string;
  /** A word that stands in the name of that test. */
  readonly name: string;
  readonly text: string;
}

/** Assertions that are false. The test passes where one of them does not throw, so that it is missed. */
const FALSE_BY_NODE = [
  "equal(1, 2)",
  "strictEqual(1, 2)",
  "deepEqual({ a: 1 }, { a: 2 })",
  "deepStrictEqual([1], [2])",
  "notEqual(1, 1)",
  "ok(false)",
  "match('a', /b/)",
  "throws(() => {})",
];
const FALSE_BY_EXPECT = [
  "(1).toBe(2)",
  "([1]).toEqual([2])",
  "({ a: 1 }).toStrictEqual({ a: 2 })",
  "(false).toBeTruthy()",
  "(1).not.toBe(1)",
  "('a').toMatch(/b/)",
  "(() => {}).toThrow()",
];

/**
 * A file of tests with a test behind the others that has to fail: it runs in their process, behind all
 * that they import. Undefined: how to write one there is not known. Pure.
 *
 * @param mark a random word of letters: no code knows it before.
 */
export function withCanary(
  framework: Framework,
  { path, text }: { readonly path: string; readonly text: string },
  mark: string,
): Canary | undefined {
  const name = mark;
  const lines = linesOf(framework, { path, text }, mark);

  return lines && { path, name, text: `${text}\n${lines.join("\n")}\n` };
}

function linesOf(
  framework: Framework,
  { path, text }: { readonly path: string; readonly text: string },
  mark: string,
): readonly string[] | undefined {
  if (/\.[cm]?[jt]sx?$/.test(path)) {
    const isCommon = /\brequire\(/.test(text) && !/^\s*(?:import|export)\b/m.test(text);
    const taken = (what: string, as: string, from: string): string => {
      if (isCommon) return `const ${as} = require("${from}")${what === "" ? "" : `.${what}`};`;
      return what === ""
        ? `import ${as} from "${from}";`
        : `import { ${what} as ${as} } from "${from}";`;
    };
    if (framework === "node" && text.includes("node:test")) {
      const said = FALSE_BY_NODE.flatMap((call) => [`a_${mark}.${call}`, `s_${mark}.${call}`]);
      return [
        taken("test", `t_${mark}`, "node:test"),
        taken("", `a_${mark}`, "node:assert"),
        taken("", `s_${mark}`, "node:assert/strict"),
        ...mustThrow(`t_${mark}`, said, mark),
      ];
    }
    const said = (expect: string): string[] => FALSE_BY_EXPECT.map((call) => `${expect}${call}`);
    if (framework === "vitest") {
      return [
        taken("test", `t_${mark}`, "vitest"),
        taken("expect", `e_${mark}`, "vitest"),
        ...mustThrow(`t_${mark}`, said(`e_${mark}`), mark),
      ];
    }
    return framework === "jest" ? mustThrow("test", said("expect"), mark) : undefined;
  }
  if (!path.endsWith(".py")) return undefined;
  if (framework === "pytest") return [`def test_case_${mark}():`, "    assert 1 == 2"];
  return framework === "unittest" ? unittestLines(text, mark) : undefined;
}

/** Before what runs the file as a program. */
function unittestLines(text: string, mark: string): readonly string[] | undefined {
  if (text.includes("unittest.main(")) return undefined;
  const calls = ["assertEqual(1, 2)", "assertTrue(False)", "assertIn(1, [])", "assertIs(1, None)"];
  return [
    "import unittest",
    `class Case_${mark}(unittest.TestCase):`,
    `    def test_case_${mark}(self):`,
    `        for call in [${calls.map((call) => `lambda: self.${call}`).join(", ")}]:`,
    "            try:",
    "                call()",
    "            except AssertionError:",
    "                continue",
    "            return",
    `        raise AssertionError("as it should")`,
  ];
}

function mustThrow(test: string, calls: readonly string[], mark: string): string[] {
  const all = calls.map((call) => `() => ${call}`).join(", ");
  const missed = "try { one(); return; } catch {}";
  return [
    `${test}("case ${mark}", () => { for (const one of [${all}]) { ${missed} } throw new Error("as it should"); });`,
  ];
}
