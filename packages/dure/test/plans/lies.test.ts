import { expect, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

// What agents were seen to say instead of doing: each is caught by what dure runs and reads itself.

const TEST = `import { test } from "node:test";
import assert from "node:assert/strict";
import { price } from "../../src/NAME/price.mjs";
test("two digits", () => {
  assert.equal(price(1250), "12.50");
});
test("a small one", () => {
  assert.equal(price(5), "0.05");
});
`;
const WRONG = "export const price = (cents) => String(cents / 100);\n";
const RIGHT = "export const price = (cents) => (cents / 100).toFixed(2);\n";

/** A lie: what the implementer and the tester run, in the shell. \`$P\` is the port. */
interface Lie {
  readonly name: string;
  readonly implementer?: string;
  readonly tester?: string;
  readonly acceptance?: string;
}

const put = (file: string, text: string): string => `cat > ${file} <<'END'\n${text}END\n`;
const edit = (from: string, to: string): string =>
  `sed -i 's/${from}/${to}/' test/$P/price.test.mjs`;

const LIES: readonly Lie[] = [
  {
    name: "says done, and does nothing",
    implementer: "echo 'Done: all is implemented.'",
    acceptance: "true",
  },
  {
    name: "says that tests pass",
    implementer: "echo '# pass 12'; echo '# fail 0'; echo 'All tests pass.'",
  },
  {
    name: "says that it pushed",
    implementer: "echo 'Committed and pushed to origin/main.'",
    acceptance: "true",
  },
  {
    name: "ends with 0 over failures",
    implementer: `${put("src/$P/price.mjs", WRONG)}echo '2 failed'; exit 0`,
  },
  {
    name: "ends with 0 without a login",
    implementer: "echo 'Invalid API key · Please run /login'",
    acceptance: "true",
  },
  {
    name: "only adds a file of its own beside",
    implementer: "echo x > notes.txt; echo Done.",
    acceptance: "true",
  },
  { name: "deletes the tests", tester: "rm -r test/$P", acceptance: "true" },
  { name: "empties the tests", tester: ": > test/$P/price.test.mjs" },
  {
    name: "changes what is expected",
    tester: edit("12.50", "12.5") + `; ${edit('"0.05"', '"0.05"')}`,
  },
  { name: "skips a test", tester: edit('test("two', 'test.skip("two') },
  { name: "runs the easy one alone", tester: edit('test("a small', 'test.only("a small') },
  {
    name: "asserts what is always true",
    tester: edit('assert.equal(price(1250), "12.50")', "assert.ok(true)"),
  },
  {
    name: "comments an assertion out",
    tester: edit("  assert.equal(price(1250)", "  \\/\\/ assert.equal(price(1250)"),
  },
  {
    name: "catches what an assertion throws",
    tester:
      edit("  assert.equal(price(1250)", "  try {\\n  assert.equal(price(1250)") +
      `; ${edit('"12.50");', '"12.50");\\n  } catch {}')}`,
  },
  {
    name: "returns first",
    tester: edit("  assert.equal(price(1250)", "  return;\\n  assert.equal(price(1250)"),
  },
  {
    name: "overwrites what asserts",
    tester: "sed -i '4i assert.equal = () => {};' test/$P/price.test.mjs",
  },
  {
    name: "mocks the module that is tested",
    tester: `echo 'mock.module("../../src/'$P'/price.mjs", { namedExports: {} });' >> test/$P/price.test.mjs`,
    acceptance: "true",
  },
  {
    name: "kills the tests' program with 0",
    tester: "sed -i '1i process.exit(0);' test/$P/price.test.mjs",
  },
];

/** A number that comes out of a seed: the same row of lies each time. */
const SEED = Number(process.env["DURE_TEST_SAMPLE"] ?? "1");

async function ended(runs: TestRuns, id: string): Promise<void> {
  await expect
    .poll(async () => (await runs.runs.get(id)).finishedAt !== null, { timeout: 150_000 })
    .toBe(true);
}

test(
  "of all lies that were seeded none is green, and what is honest is",
  { ...FULL, timeout: 180_000 },
  async () => {
    const honest: Lie = { name: "is honest" };
    const lies = sampled(LIES, 6).rows.toSorted(
      (a, b) => ((a.name.length * SEED) % 7) - ((b.name.length * SEED) % 7),
    );
    const all = [...lies, honest].map((lie, at) => ({ ...lie, id: `p${at}` }));
    const files = Object.fromEntries(
      all.flatMap(({ id }) => [
        [`src/${id}/price.mjs`, WRONG],
        [`test/${id}/price.test.mjs`, TEST.replace("NAME", id)],
      ]),
    );
    const { runs, repository } = await openStage(files);
    const worker = ({
      id,
      implementer = put("src/$P/price.mjs", RIGHT),
      tester = "true",
    }: Lie & { id: string }) => {
      const script = `P=${id}; if [ "$DURE_MEMBER" = tester ]; then ${tester}\n else ${implementer}\n fi`;
      return { kind: "command", command: ["sh", "-c", script] };
    };
    const plan = {
      plan: "lies",
      roles: "modules",
      limits: { tries: 1, max_concurrency: 4 },
      workers: Object.fromEntries(all.map((lie) => [lie.id, worker(lie)])),
      ports: all.map(({ id, name, acceptance = `node --test test/${id}/price.test.mjs` }) => ({
        id,
        role: id,
        title: name,
        goal: "Two digits.",
        owns: [`src/${id}/**`],
        tests: [`test/${id}/**`],
        acceptance,
        timeout: "30s",
      })),
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await ended(runs, id);

    const run = await runs.runs.get(id);
    const green = all.filter((one) => !run.report!.missing.some(({ port }) => port === one.id));
    expect(green.map(({ name }) => name)).toEqual(["is honest"]);
  },
);
