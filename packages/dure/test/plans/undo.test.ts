// @module-tag slow
import { afterAll, beforeAll, expect, test } from "vitest";
import { DureClient } from "../../src/client/index.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { RunConflicts } from "../../src/plans/runs/run-conflicts.ts";
import { RunDelivery } from "../../src/plans/runs/run-delivery.ts";
import { Git } from "../../src/plans/workspace/git.ts";
import { Repository } from "../../src/plans/workspace/repository.ts";
import { startPlanServer, type PlanServer } from "./plan-server.ts";

let at: PlanServer;
let dure: DureClient;

beforeAll(async () => {
  at = await startPlanServer();
  dure = new DureClient({ baseUrl: at.server.url });
}, 60_000);
afterAll(() => at?.[Symbol.asyncDispose](), 60_000);

const SLOW = { timeout: 120_000 } as const;
const git = (...args: string[]): Promise<string> => at.repository.git(...args);
const STOCK = "src/stock/stock.mjs";

/** A branch of the person, and a run that began from it and has succeeded. */
async function succeeded(base: string): Promise<string> {
  await git("branch", base, "main");
  const { id } = await dure.plans.start({ plan: "shop", base });
  await expect
    .poll(async () => (await dure.plans.run(id)).status, { timeout: 60_000, interval: 250 })
    .toBe("success");

  return id;
}

/** Another commit on a branch. */
async function moveOn(branch: string, path: string, text: string): Promise<string> {
  await git("checkout", "--quiet", branch);
  await at.repository.write({ [path]: text });
  await git("add", "--all");
  await git("commit", "--quiet", "-m", `Add ${path}`);
  await git("checkout", "--quiet", "main");

  return git("rev-parse", branch);
}

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no refusal",
    (error: unknown) => error,
  );

test(
  "a merge is undone once by a commit upon it, and is known as merged and undone",
  SLOW,
  async () => {
    const id = await succeeded("forward");
    const before = await git("rev-parse", "forward");
    expect(await dure.plans.run(id)).toMatchObject({ delivery: "kept", supersededBy: null });
    expect(await refusal(dure.plans.undo(id))).toMatchObject({ code: "RUN_NOT_MERGED" });

    const merged = await dure.plans.merge(id);
    expect(await dure.plans.run(id)).toMatchObject({
      delivery: "merged",
      report: { merged: { target: "forward", commit: merged.commit, before } },
    });
    // Two at once: one commit comes of it.
    const both = await Promise.allSettled([dure.plans.undo(id), dure.plans.undo(id)]);
    const undone = await dure.plans.undo(id);

    expect(both.some(({ status }) => status === "fulfilled")).toBe(true);
    expect(undone).toMatchObject({ target: "forward", isNew: false });
    expect(await git("rev-parse", "forward")).toBe(undone.commit);
    expect(await git("rev-list", "--count", `${merged.commit}..forward`)).toBe("1");
    expect(await git("diff", before, "forward")).toBe("");
    expect(await git("log", "-1", "--format=%B", "forward")).toContain(
      `This reverts commit ${merged.commit}.`,
    );
    const [listed] = (await dure.plans.runs({ plan: "shop", limit: 1 })).items;
    expect(listed).toMatchObject({ id, delivery: "undone" });
    expect(await refusal(dure.plans.merge(id))).toMatchObject({ code: "RUN_UNDONE" });
  },
);

test(
  "what came after a merge commit stays, its files come along, and a conflict changes nothing",
  SLOW,
  async () => {
    const id = await succeeded("behind");
    await moveOn("behind", "NOTES.md", "Before.\n");
    const merged = await dure.plans.merge(id);
    expect(merged.kind).toBe("merged");
    await moveOn("behind", "LATER.md", "After.\n");
    const theirs = await moveOn("behind", STOCK, "export const left = () => 3;\n");

    const conflict = await refusal(dure.plans.undo(id));

    expect(conflict).toMatchObject({
      code: "UNDO_CONFLICT",
      hint: expect.stringContaining(`git revert -m 1 ${merged.commit}`) as string,
      details: { files: [STOCK] },
    });
    expect(await git("rev-parse", "behind")).toBe(theirs);

    await git("checkout", "--quiet", "behind");
    await git("revert", "--no-edit", theirs);
    await at.repository.write({ [STOCK]: "mine\n" });
    expect(await refusal(dure.plans.undo(id))).toMatchObject({ code: "TARGET_DIRTY" });
    await git("checkout", "--quiet", "--", STOCK);
    const undone = await dure.plans.undo(id);
    const status = await git("status", "--porcelain");
    const files = await git("ls-files", "*.md");
    await git("checkout", "--quiet", "main");

    expect(undone).toMatchObject({ target: "behind", updated: at.repository.folder, isNew: true });
    expect([status, files]).toEqual(["", "LATER.md\nNOTES.md\nREADME.md"]);
    expect(await git("show", `behind:${STOCK}`)).toContain("have + sold");
    expect((await git("log", "-1", "--format=%P", "behind")).split(" ")).toHaveLength(1);
  },
);

test(
  "a process that dies after the branch moved leaves what the next one notes",
  SLOW,
  async () => {
    const id = await succeeded("dying");
    const { signal } = new AbortController();
    const asked = { tenant: null, signal } as const;
    const state = { needed: 0, counted: 0, approvals: [], not: null, author: null } as const;
    const dying = new RunDelivery({
      runs: {
        noteDelivery: () => Promise.reject(new Error("it died")),
        trials: at.runs.runs.trials,
      },
      team: { assertMayChange: async () => {} },
      gate: {
        state: async ({ commit }) => ({ commit, ...state }),
        approve: () => Promise.reject(new Error("no approval is asked for here")),
        assertMayMerge: async () => {},
      },
      conflicts: new RunConflicts(at.runs),
      clock: systemClock,
      open: (run) =>
        Repository.open(run.repository, { git: new Git({ env: process.env }), signal }),
      env: process.env,
    });
    const run = await at.runs.runs.get(id);

    await expect(dying.merge(run, { into: undefined, ...asked })).rejects.toThrow("it died");
    expect((await dure.plans.merge(id)).kind).toBe("already");
    expect((await dure.plans.run(id)).delivery).toBe("merged");

    const merged = await at.runs.runs.get(id);
    await expect(dying.undo(merged, { from: undefined, ...asked })).rejects.toThrow("it died");
    expect((await dure.plans.run(id)).delivery).toBe("merged");
    expect(await dure.plans.undo(id)).toMatchObject({ target: "dying", isNew: false });
    expect((await dure.plans.run(id)).delivery).toBe("undone");
  },
);

test("a result that no branch took is superseded by a later run that succeeds", SLOW, async () => {
  const first = await succeeded("first");
  const later = await succeeded("later");

  expect(await dure.plans.run(first)).toMatchObject({
    delivery: "superseded",
    supersededBy: later,
  });
  expect((await dure.plans.run(later)).delivery).toBe("kept");
});
