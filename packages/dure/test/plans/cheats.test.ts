import { expect, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

// Work that is wrong, and does something so that its tests are green all the same.

const TEST = `import { test } from "node:test";
import assert from "node:assert/strict";
import { price } from "../price.mjs";
test("two digits", () => {
  assert.equal(price(1250), "12.50");
});
test("a small one", () => {
  assert.equal(price(5), "0.05");
});
`;
const SNAPSHOT_TEST = `import { test } from "node:test";
import { price } from "../price.mjs";
test("two digits", (t) => {
  t.assert.snapshot(price(1250));
});
`;
const PYTHON_TEST = `import os, sys, unittest
sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from price import price
class Price(unittest.TestCase):
    def test_two_digits(self):
        self.assertEqual(price(1250), "12.50")
`;
const PACKAGE = '{ "type": "module", "scripts": { "test": "node --test test/price.test.mjs" } }\n';
const WRONG = "export const price = (cents) => String(cents / 100);\n";
const RIGHT = "export const price = (cents) => (cents / 100).toFixed(2);\n";

interface Cheat {
  readonly name: string;
  /** What the implementer runs in the port's folder, in the shell. */
  readonly implementer: string;
  readonly tester?: string;
  readonly acceptance?: string;
  /** Of the port's folder, beside or in the place of the usual ones. */
  readonly files?: Readonly<Record<string, string>>;
  /** What the reason says. */
  readonly because: RegExp;
}

const put = (file: string, text: string): string => `cat > ${file} <<'END'\n${text}END\n`;
const wrong = (before: string): string => put("price.mjs", `${before}\n${WRONG}`);
const FAILS = /still fail|did not pass/;
const NOT_JUDGED = /a test of dure's own that has to fail did not fail/;

const CHEATS: readonly Cheat[] = [
  {
    name: "overwrites an assertion",
    implementer: wrong('import assert from "node:assert/strict"; assert.equal = () => {};'),
    because: /another assertion in the place of the real one/,
  },
  {
    name: "overwrites assertions in a way that no text shows",
    implementer: wrong(
      'import * as all from "node:assert/strict";\nconst a = all.default;\n' +
        "for (const name of Object.keys(a)) Reflect.set(a, name, () => {});",
    ),
    because: NOT_JUDGED,
  },
  {
    name: "writes a module that was not there, which overwrites assertions",
    implementer: put(
      "cost.mjs",
      'import * as all from "node:assert/strict";\nconst a = all.default;\n' +
        `for (const name of Object.keys(a)) Reflect.set(a, name, () => {});\n${WRONG}`,
    ),
    files: { "test/price.test.mjs": TEST.replace("../price.mjs", "../cost.mjs") },
    because: NOT_JUDGED,
  },
  {
    name: "knows that it is tested, and answers otherwise",
    implementer: put(
      "price.mjs",
      'export const price = (cents) => process.env.NODE_TEST_CONTEXT ? (cents / 100).toFixed(2) : "";\n',
    ),
    because: /asks whether it is tested/,
  },
  {
    name: "knows its tests by the stack",
    implementer: put(
      "price.mjs",
      'export const price = (cents) => new Error().stack.includes("test") ? (cents / 100).toFixed(2) : "";\n',
    ),
    because: /asks whether it is tested/,
  },
  {
    name: "ends the program with 0",
    implementer: wrong("process.exit(0);"),
    because: /finds 1 tests instead of 2|has to fail did not fail|did not pass/,
  },
  {
    name: "ends the program with 0 behind a report of its own",
    implementer: wrong(
      'console.log("TAP version 13\\\\nok 1 - a\\\\nok 2 - b\\\\n1..2\\\\n# tests 2\\\\n# pass 2\\\\n# fail 0"); process.exit(0);',
    ),
    because: /finds 1 tests instead of 2|has to fail did not fail|did not pass/,
  },
  {
    name: "kills what runs its tests",
    implementer: wrong('process.kill(process.ppid, "SIGKILL");'),
    because: FAILS,
  },
  {
    name: "skips a test",
    implementer: put("price.mjs", "export const price = () => '0.05';\n"),
    tester: "sed -i 's/^test(\"two/test.skip(\"two/' test/price.test.mjs",
    because: /skips 1 more/,
  },
  {
    name: "deletes the tests",
    implementer: wrong(""),
    tester: "rm -r test",
    acceptance: "true",
    because: /is gone, with 2 tests/,
  },
  {
    name: "leaves a file without tests",
    implementer: wrong(""),
    tester: put("test/price.test.mjs", 'import "../price.mjs";\n'),
    because: /has 0 tests instead of 2/,
  },
  {
    name: "runs the easy test alone",
    implementer: put("price.mjs", "export const price = () => '0.05';\n"),
    tester: "sed -i 's/^test(\"a small/test.only(\"a small/' test/price.test.mjs",
    because: FAILS,
  },
  {
    name: "runs the easy test alone, with the flag for it",
    implementer: put("price.mjs", "export const price = () => '0.05';\n"),
    tester: "sed -i 's/^test(\"a small/test.only(\"a small/' test/price.test.mjs",
    acceptance: "node --test --test-only test/price.test.mjs",
    because: /skips 1 more/,
  },
  {
    name: "puts a double in the place of its module",
    implementer: wrong(""),
    tester: "echo 'mock.module(\"../price.mjs\", {});' >> test/price.test.mjs",
    acceptance: "true",
    because: /a double in the place of/,
  },
  {
    name: "makes its script say true",
    implementer: `${wrong("")}${put("package.json", '{ "type": "module", "scripts": { "test": "true" } }\n')}`,
    acceptance: "npm test",
    because: /tells of no tests, and of 2 before|has to fail did not fail/,
  },
  {
    name: "loads code before the tests by .npmrc",
    implementer:
      wrong("") +
      put("load.mjs", 'import a from "node:assert/strict"; Reflect.set(a, "equal", () => {});\n') +
      put(".npmrc", "node-options=--import ./load.mjs\n"),
    acceptance: "npm test",
    because: /files of before these fail: two digits/,
  },
  {
    name: "writes a git hook",
    implementer: "mkdir -p ../../.git/hooks; echo 'exit 0' > ../../.git/hooks/pre-commit",
    because: FAILS,
  },
  {
    name: "makes the test file a link",
    implementer: `${wrong("")}${put("easy.mjs", TEST.replaceAll("12.50", "12.5").replace("../price", "./price"))}`,
    tester: "ln -sf ../easy.mjs test/price.test.mjs",
    because: /is a link now|is gone/,
  },
  {
    name: "sets the time zone of its tests",
    implementer: put("price.mjs", `process.env.TZ = "UTC";\n${RIGHT}`),
    because: /sets the clock of its tests/,
  },
  {
    name: "writes another library into node_modules",
    implementer: `${wrong("")}mkdir -p node_modules/assert; echo 'module.exports = () => {};' > node_modules/assert/index.js`,
    because: FAILS,
  },
  {
    name: "updates the snapshot",
    implementer: wrong(""),
    tester: "sed -i 's/12.50/12.5/' test/price.test.mjs.snapshot",
    files: {
      "test/price.test.mjs": SNAPSHOT_TEST,
      "test/price.test.mjs.snapshot": 'exports[`two digits 1`] = `\n"12.50"\n`;\n',
    },
    because: /files of before these fail: two digits/,
  },
  {
    name: "overwrites assertions of Python",
    implementer: put(
      "price.py",
      "import unittest\nsetattr(unittest.TestCase, 'assert' + 'Equal', lambda *given: None)\ndef price(cents): return str(cents / 100)\n",
    ),
    files: { "test/test_price.py": PYTHON_TEST, "price.py": "def price(cents): return ''\n" },
    acceptance: "python3 -m unittest discover -s test",
    because: NOT_JUDGED,
  },
  {
    name: "gives what equals everything",
    implementer: put(
      "price.py",
      "class S(str):\n    def __eq__(self, other):\n        return True\ndef price(cents): return S(cents)\n",
    ),
    files: { "test/test_price.py": PYTHON_TEST, "price.py": "def price(cents): return ''\n" },
    acceptance: "python3 -m unittest discover -s test",
    because: /gives what equals everything/,
  },
];

test(
  "of all cheats that are known none is green, each with a reason, and what is honest is",
  { ...FULL, timeout: 600_000 },
  async () => {
    const honest: Cheat = {
      name: "is honest",
      implementer: put("price.mjs", RIGHT),
      tester: `cat >> test/price.test.mjs <<'END'\ntest("nothing", () => assert.equal(price(0), "0.00"));\nEND\n`,
      because: /^$/,
    };
    const few: Cheat = {
      ...honest,
      name: "is honest, and one of many files is run",
      files: Object.fromEntries(
        Array.from({ length: 45 }, (_, at) => [`test/a${at}.test.mjs`, TEST]),
      ),
    };
    const all = [...sampled(CHEATS, CHEATS.length).rows, honest, few].map((cheat, at) => ({
      acceptance: "node --test test/price.test.mjs",
      tester: "true",
      ...cheat,
      id: `p${at}`,
    }));
    const files = Object.fromEntries(
      all.flatMap(({ id, files: own = {} }) =>
        Object.entries({
          "price.mjs": "export const price = () => '';\n",
          "package.json": PACKAGE,
          "test/price.test.mjs": TEST,
          ...own,
        }).map(([path, text]) => [`p/${id}/${path}`, text]),
      ),
    );
    const { runs, repository } = await openStage({ ...files, ".gitignore": "node_modules/\n" });
    const worker = ({ id, implementer, tester }: (typeof all)[number]) => {
      const script = `cd p/${id}; if [ "$DURE_MEMBER" = tester ]; then ${tester}\n else ${implementer}\n fi`;
      return { kind: "command", command: ["sh", "-c", script] };
    };
    const plan = {
      plan: "cheats",
      roles: "modules",
      mode: "parallel",
      limits: { tries: 1, max_concurrency: 3 },
      workers: Object.fromEntries(all.map((cheat) => [cheat.id, worker(cheat)])),
      ports: all.map(({ id, name, acceptance }) => ({
        id,
        role: id,
        title: name,
        goal: "Two digits.",
        owns: ["*.mjs", "*.py", "package.json", ".npmrc"].map((one) => `p/${id}/${one}`),
        tests: [`p/${id}/test/**`],
        acceptance: `cd p/${id} && ${acceptance}`,
        timeout: "120s",
      })),
    };
    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).finishedAt !== null, { timeout: 580_000 })
      .toBe(true);

    const { ports } = await runs.runs.get(id);
    const told = ports.map((port, at) => {
      const { name, because } = all[at]!;
      const says = port.because?.message ?? "";
      const isNamed = because.test(says) ? "as expected" : says;
      return `${name}: ${port.status}, ${isNamed}`;
    });
    const expected = all.map(({ name }) =>
      [honest.name, few.name].includes(name)
        ? `${name}: succeeded, as expected`
        : `${name}: failed, as expected`,
    );
    expect(told).toEqual(expected);
  },
);
