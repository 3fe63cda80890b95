import { afterAll, beforeAll, expect, test } from "vitest";
import { DureClient } from "../../src/client/index.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { startPlanServer, type PlanServer } from "./plan-server.ts";

/** True at main alone, and false once the result of the plan is there. */
const THEIRS = `
import { test } from "node:test";
import assert from "node:assert/strict";
import { left } from "../../src/stock/stock.mjs";
test("what is sold comes back", () => assert.equal(left(5, 2), 7));
`;

let at: PlanServer;
let dure: DureClient;

beforeAll(async () => {
  at = await startPlanServer();
  dure = new DureClient({ baseUrl: at.server.url });
}, 60_000);
afterAll(() => at?.[Symbol.asyncDispose](), 60_000);

const git = (...args: string[]): Promise<string> => at.repository.git(...args);

async function succeeded(base: string): Promise<string> {
  const { id } = await dure.plans.start({ plan: "shop", base });
  await expect
    .poll(async () => (await dure.plans.run(id)).status, { timeout: 60_000, interval: 250 })
    .toBe("success");

  return id;
}

/** Another commit on a branch of the person, without a working tree. */
async function moveOn(branch: string, path: string, text: string): Promise<string> {
  await git("checkout", "--quiet", branch);
  await at.repository.write({ [path]: text });
  await git("add", "--all");
  await git("commit", "--quiet", "-m", `Add ${path}`);
  await git("checkout", "--quiet", "main");

  return git("rev-parse", branch);
}

const tries = async (id: string): Promise<readonly object[]> => {
  const { orchestrator } = await at.runs.runs.detail(id);
  return orchestrator.filter(({ kind, output }) => kind === "integrate" && output !== null);
};

test(
  "a result is tried on the merged tree of a branch that moved, before the branch moves",
  { ...FULL, timeout: 300_000 },
  async () => {
    await git("branch", "moved", "main");
    const id = await succeeded("moved");
    const theirs = await moveOn("moved", "src/stock/note.txt", "Ours.\n");
    const before = await tries(id);

    const merged = await dure.plans.merge(id, { into: "moved" });

    expect(merged).toMatchObject({ kind: "merged", target: "moved", updated: null });
    expect(await git("rev-parse", "moved^1")).toBe(theirs);
    expect(await git("show", "moved:src/stock/stock.mjs")).toContain("have - sold");
    const after = await tries(id);
    expect(after).toHaveLength(before.length + 1);
    expect(after.at(-1)).toMatchObject({
      output: { commit: merged.commit, feedback: { success: true }, exitCode: 0 },
    });
  },
);

test(
  "a branch stays where it is when the merged tree fails, and is merged once it is mended",
  { ...FULL, timeout: 300_000 },
  async () => {
    await git("branch", "broken", "main");
    const id = await succeeded("broken");
    const theirs = await moveOn("broken", "test/stock/theirs.test.mjs", THEIRS);

    const refused = await dure.plans.merge(id, { into: "broken" }).catch((error: unknown) => error);

    expect(refused).toMatchObject({
      code: "MERGED_TREE_FAILED",
      message: expect.stringContaining("what is sold comes back") as string,
      details: { command: "node --test", tests: ["what is sold comes back"] },
    });
    expect(await git("rev-parse", "broken")).toBe(theirs);

    await moveOn("broken", "test/stock/theirs.test.mjs", THEIRS.replace("7", "3"));
    const merged = await dure.plans.merge(id, { into: "broken" });
    expect(merged.kind).toBe("merged");
    expect((await dure.plans.merge(id, { into: "broken" })).kind).toBe("already");
  },
);
