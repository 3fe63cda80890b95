import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const TEST = `import { test } from "node:test";
import assert from "node:assert/strict";
import { price } from "../src/price.mjs";
test("two digits", () => {
  assert.equal(price(1250), "12.50");
});
`;
const SCRIPT = `if [ "$DURE_MEMBER" = tester ]; then
  sed -i 's/12.50/12.5/' test/price.test.mjs
else
  echo 'export const price = (cents) => String(cents / 100);' > src/price.mjs
fi`;
const PLAN = {
  plan: "shop",
  roles: "modules",
  limits: { tries: 1 },
  workers: { default: { kind: "command", command: ["sh", "-c", SCRIPT] } },
  ports: [
    {
      id: "price",
      role: "price",
      goal: "Prices.",
      owns: ["src/**"],
      tests: ["test/**"],
      acceptance: "node --test test/price.test.mjs",
    },
  ],
};

async function untilEnded(runs: TestRuns, id: string, status: string): Promise<void> {
  await expect
    .poll(async () => (await runs.runs.get(id)).status, { timeout: 90_000, interval: 250 })
    .toBe(status);
}

test(
  "tests that say less are accepted by an answer: the same try counts, and once",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await openStage({
      "src/price.mjs": "export const price = () => '';\n",
      "test/price.test.mjs": TEST,
    });
    const plan = realPlan(JSON.stringify(PLAN));
    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    await untilEnded(runs, id, "failed");
    const { items } = await runs.inbox.list({ tenant: "", run: id, status: "open" });
    const asked = items.find(({ type }) => type === "quality")!;
    expect(asked.suggestedActions.map(({ value }) => value)).toContain("accept");

    const accept = () =>
      runs.inbox.answer(asked.id, { value: "accept" }, { tenant: "", name: "민준" });
    await accept();
    await untilEnded(runs, id, "success");

    const port = await runs.runs.port(id, "price");
    const made = port.steps.map((step) => `${step.try} ${step.kind} ${step.starts}`);
    expect(made).toEqual(["1 implement 1", "1 test 1", "1 accept 1", "1 base 1"]);
    expect([port.triesPair, port.weakerTestsAccepted]).toEqual([1, true]);
    await accept().catch(() => {});
    expect((await runs.runs.get(id)).status).toBe("success");
    expect((await runs.runs.port(id, "price")).steps).toHaveLength(4);
    expect(await repository.git("show", "dure/shop:test/price.test.mjs")).toContain('"12.5"');
  },
);

const TABLE = `import { test } from "node:test";
import assert from "node:assert/strict";
import { price } from "../src/price.mjs";
import { cases } from "./cases.mjs";
for (const [cents, text] of cases) test(text, () => assert.equal(price(cents), text));
`;
const CASES = 'export const cases = [[1250, "12.5"], [100, "1"], [1, "0.01"]];\n';

test(
  "a table of cases that is cut is found by what the acceptance counts, before and now",
  { ...FULL, timeout: 180_000 },
  async () => {
    const { runs, repository } = await openStage({
      "src/price.mjs": "export const price = () => '';\n",
      "test/cases.mjs": CASES,
      "test/price.test.mjs": TABLE,
    });
    const cut = SCRIPT.replace(
      "sed -i 's/12.50/12.5/' test/price.test.mjs",
      "sed -i 's/, .1, \"0.01\".//' test/cases.mjs",
    );
    const worker = { kind: "command", command: ["sh", "-c", cut] };
    const plan = realPlan(JSON.stringify({ ...PLAN, workers: { default: worker } }));

    const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
    await untilEnded(runs, id, "failed");

    const port = await runs.runs.port(id, "price");
    expect(port.because).toMatchObject({
      code: "TESTS_WEAKENED",
      message: expect.stringContaining("finds 2 tests instead of 3") as string,
    });
    expect(port.steps.map(({ kind }) => kind)).toEqual(["implement", "test", "accept", "count"]);
    expect(port.steps.at(-1)!.output).toMatchObject({ counted: { failed: 3, skipped: 0 } });
  },
);
