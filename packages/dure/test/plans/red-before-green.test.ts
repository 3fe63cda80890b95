import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { shownDetail, shownPort } from "../../src/plans/runs/shown.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const OLD = "export const price = (cents) => String(cents / 100);\n";
const test_ = (line: string): string => `import { test } from "node:test";
import assert from "node:assert/strict";
import { price } from "./price.mjs";
test("price", () => { ${line} });
`;
const put = (file: string, text: string): string => `cat > ${file} <<'END'\n${text}END\n`;

/** The implementer writes two digits; the tester writes a test with this line. */
const worker = (id: string, line: string) => {
  const work = put(
    `src/${id}/price.mjs`,
    OLD.replace("String(cents / 100)", "(cents / 100).toFixed(2)"),
  );
  const script = `if [ "$DURE_MEMBER" = tester ]; then\n${put(`src/${id}/price.test.mjs`, test_(line))}else\n${work}fi`;
  return { kind: "command", command: ["sh", "-c", script] };
};

test(
  "new tests are tried without the work: where they pass there too the run says so, and goes on",
  { ...FULL, timeout: 180_000 },
  async () => {
    const lines = {
      shows: 'assert.equal(price(1250), "12.50")',
      hides: 'assert.equal(typeof price(1250), "string")',
    };
    const ids = ["shows", "hides"] as const;
    const { runs, repository } = await openStage(
      Object.fromEntries(ids.map((id) => [`src/${id}/price.mjs`, OLD])),
    );
    const plan = {
      plan: "shop",
      roles: "modules",
      limits: { tries: 1 },
      workers: Object.fromEntries(ids.map((id) => [id, worker(id, lines[id])])),
      ports: ids.map((id) => ({
        id,
        role: id,
        goal: "Two digits.",
        owns: [`src/${id}/**`],
        tests: [`src/${id}/*.test.mjs`],
        acceptance: `node --test src/${id}/price.test.mjs`,
      })),
    };

    const { id } = await runs.runs.run({
      plan: realPlan(JSON.stringify(plan)),
      repository: repository.folder,
      by: "me",
    });
    await expect
      .poll(async () => (await runs.runs.get(id)).status, { timeout: 120_000, interval: 250 })
      .toBe("success");

    const run = await runs.runs.detail(id);
    const shown = shownDetail(run, ({ repository }) => repository, 0).ports.map((port) => [
      port.id,
      port.unproven,
    ]);
    expect(Object.fromEntries(shown)).toEqual({ shows: false, hides: true });
    const port = shownPort(await runs.runs.port(id, "hides"), run, 0);
    expect(port.unproven).toBe(true);
    expect(port.steps.find(({ kind }) => kind === "base")!.output).toMatchObject({ red: false });
    expect(await repository.git("show", "dure/shop:src/hides/price.mjs")).toContain("toFixed");
  },
);
