// @module-tag slow
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
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

const SLOW = { timeout: 180_000 } as const;
const STOCK = "src/stock/stock.mjs";
/** What a person makes of the line that the port changes too. */
const THEIRS = "export const left = (have, sold) => Math.max(0, have + sold);\n";
const BOTH = "export const left = (have, sold) => Math.max(0, have - sold);\n";

const git = (...args: string[]): Promise<string> => at.repository.git(...args);

/** A plan with one port, which subtracts. */
const planOf = (workers: string): string => `
plan: shop
roles: modules
integration: node --test test/stock/*.test.mjs
workers: { ${workers} }
ports:
  - { id: stock, role: stock, goal: Count the stock., owns: [src/stock/**], tests: [test/stock/**], acceptance: node --test test/stock/*.test.mjs }
`;
const NONE = "stock: { kind: offline }";
const commandOf = (script: string, name = "orchestrator"): string =>
  `${name}: { kind: command, command: [sh, -c, ${JSON.stringify(script)}] }`;
const orchestratedBy = (script: string): string => `${NONE}, ${commandOf(script)}`;
const OFFLINE = `${NONE}, orchestrator: { kind: offline }`;

/** A run that began from a branch and has succeeded, and the branch, which has moved since. */
async function conflicting(branch: string, workers: string) {
  await git("branch", branch, "main");
  const text = planOf(workers);
  const { id } = await dure.plans.start({ text, file: "shop.yaml", base: branch });
  await expect
    .poll(async () => (await dure.plans.run(id)).status, { timeout: 60_000, interval: 250 })
    .toBe("success");

  return { id, theirs: await moveOn(branch, THEIRS, "Never below nothing") };
}

/** Another commit on a branch of the person. */
async function moveOn(branch: string, text: string, subject: string): Promise<string> {
  await git("checkout", "--quiet", branch);
  await at.repository.write({ [STOCK]: text });
  await git("commit", "--quiet", "--all", "-m", subject);
  await git("checkout", "--quiet", "main");

  return git("rev-parse", branch);
}

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no refusal",
    (error: unknown) => error,
  );

const questions = async (run: string) => (await dure.escalations({ run, type: "conflict" })).items;
const merged = (id: string, into: string) => dure.plans.merge(id, { into });

test(
  "lines that a moved branch has changed too are written once by the orchestrator, and tried",
  SLOW,
  async () => {
    const { id, theirs } = await conflicting("solved", OFFLINE);
    const before = await dure.plans.run(id);

    const outcome = await merged(id, "solved");

    const solved = { by: "orchestrator", files: [STOCK] };
    expect(outcome).toMatchObject({ kind: "merged", target: "solved", solved });
    expect(await git("show", `solved:${STOCK}`)).toBe(BOTH.trim());
    expect(await git("log", "-1", "--format=%P", "solved")).toContain(theirs);
    const after = await dure.plans.run(id);
    expect(after).toMatchObject({ delivery: "merged", report: { merged: { solved } } });
    expect(after.tokensIn - before.tokensIn).toBe(700);
    const tried = after.orchestrator.findLast(({ kind }) => kind === "integrate");
    expect(tried?.output).toMatchObject({ commit: outcome.commit, feedback: { success: true } });
    expect(await merged(id, "solved")).toMatchObject({ kind: "already", solved });
    expect(await questions(id)).toEqual([]);

    await dure.plans.undo(id);
    expect(await git("show", `solved:${STOCK}`)).toBe(THEIRS.trim());
  },
);

test(
  "where there is no orchestrator the plan's default worker writes them once",
  SLOW,
  async () => {
    const mends = "sed -i s/+/-/ src/stock/stock.mjs";
    const writesBoth = `printf '%s' '${BOTH.trimEnd()}' > ${STOCK}; echo >> ${STOCK}`;
    const script = `if grep -q '<<<<<<<' ${STOCK}; then ${writesBoth}; else ${mends}; fi`;
    const { id } = await conflicting("alone", commandOf(script, "default"));

    const outcome = await merged(id, "alone");

    expect(outcome).toMatchObject({ kind: "merged", solved: { files: [STOCK] } });
    expect(await git("show", `alone:${STOCK}`)).toBe(BOTH.trimEnd());
    expect(await questions(id)).toEqual([]);
  },
);

test(
  "without an agent for it a person is asked with both sides, and what they choose is merged",
  SLOW,
  async () => {
    const { id, theirs } = await conflicting("asked", NONE);

    const refused = await refusal(merged(id, "asked"));

    const [question] = await questions(id);
    expect(refused).toMatchObject({
      code: "MERGE_CONFLICT",
      hint: expect.stringContaining(`Answer ${question!.id}`) as string,
      details: { files: [STOCK], escalation: question!.id },
    });
    expect(question).toMatchObject({
      status: "open",
      title: `shop: The result and asked changed the same lines: ${STOCK}.`,
      description: expect.stringContaining(`dure plan merge ${id} --into asked`) as string,
      context: { files: [STOCK], into: "asked", branchAt: theirs.slice(0, 12) },
    });
    const places = question!.context["places"] as Record<string, string>;
    expect(places[STOCK]).toMatch(
      /<<<<<<< asked\n.*Math\.max[^]*have - sold[^]*>>>>>>> the result/,
    );
    expect(question!.suggestedActions.map(({ value }) => value)).toEqual([
      "take_result",
      "take_branch",
      "by_hand",
    ]);
    expect(await git("rev-parse", "asked")).toBe(theirs);
    expect(await git("status", "--porcelain")).toBe("");
    await refusal(merged(id, "asked"));
    expect(await questions(id)).toHaveLength(1);

    const later = await moveOn("asked", THEIRS.replace("0", "1"), "At least one");
    await refusal(merged(id, "asked"));
    const [newer, older] = await questions(id);
    expect([newer!.status, older!.status]).toEqual(["open", "resolved"]);
    expect(newer!.context["branchAt"]).toBe(later.slice(0, 12));

    await dure.answerEscalation(newer!.id, { value: "take_result" });
    const outcome = await merged(id, "asked");
    expect(outcome).toMatchObject({ kind: "merged", solved: { files: [STOCK] } });
    expect(await git("show", `asked:${STOCK}`)).toContain("have - sold");
    expect(await git("log", "-1", "--format=%P", "asked")).toContain(later);
  },
);

test(
  "what an orchestrator could not solve is asked, and a person's hint lets it try again",
  SLOW,
  async () => {
    const script = [
      "prompt=$(cat)",
      // Not its own: nothing of that is taken.
      "echo changed >> README.md",
      'case "$prompt" in *"Count the stock."*"Never below nothing"*) ;; *) exit 3;; esac',
      `case "$prompt" in *"Subtract, but keep zero."*) echo '${BOTH.trim()}' > ${STOCK};;`,
      // Both sides are still there, with their markers.
      `*) sed -i s/export/export/ ${STOCK}; echo >> ${STOCK};; esac`,
    ].join("\n");
    const { id, theirs } = await conflicting("hinted", orchestratedBy(script));

    const refused = await refusal(merged(id, "hinted"));

    expect(refused).toMatchObject({ code: "MERGE_CONFLICT" });
    const [question] = await questions(id);
    expect(question!.description).toContain(`The agent at the merge did not write ${STOCK} once.`);
    expect(await git("rev-parse", "hinted")).toBe(theirs);
    const note = "Subtract, but keep zero.";
    await dure.answerEscalation(question!.id, { value: "solve", note });

    expect(await merged(id, "hinted")).toMatchObject({ kind: "merged" });
    expect(await git("show", `hinted:${STOCK}`)).toBe(BOTH.trim());
    expect(await git("diff", "--name-only", "hinted^1", "hinted")).toBe(STOCK);
  },
);

test(
  "what was solved and fails its tests is asked, and a person who merges by hand is believed",
  SLOW,
  async () => {
    const { id, theirs } = await conflicting(
      "wrong",
      orchestratedBy(`echo 'export {};' > ${STOCK}`),
    );

    const failed = await refusal(merged(id, "wrong"));

    const [question] = await questions(id);
    expect(failed).toMatchObject({
      code: "MERGED_TREE_FAILED",
      hint: expect.stringContaining(question!.id) as string,
    });
    expect(question!.context["output"]).toContain("left");
    expect(await git("rev-parse", "wrong")).toBe(theirs);
    expect(await refusal(merged(id, "wrong"))).toMatchObject({ code: "MERGE_CONFLICT" });
    await dure.answerEscalation(question!.id, { value: "by_hand" });
    expect(await refusal(merged(id, "wrong"))).toMatchObject({
      code: "MERGE_CONFLICT",
      hint: expect.stringContaining("by hand (git merge) on wrong") as string,
    });
    expect(await questions(id)).toHaveLength(1);
  },
);

test("a secret that stands in what was solved is shown before it is merged", SLOW, async () => {
  const secret = ["gh", "p_", "Zk3mQ8vT1rY6wP0sL4nB7xC2dF5gH9jK0aSe"].join("");
  const script = `echo '${BOTH.trim()} // ${secret}' > ${STOCK}`;
  const { id, theirs } = await conflicting("secret", orchestratedBy(script));

  const refused = await refusal(merged(id, "secret"));

  const finding = { rule: "github-token", path: STOCK };
  expect(refused).toMatchObject({
    code: "RESULT_NEEDS_REVIEW",
    details: { findings: [expect.objectContaining(finding) as object] },
  });
  expect(await git("rev-parse", "secret")).toBe(theirs);
});

test("where people approve the very commit, no other files are merged for them", SLOW, async () => {
  const { id, theirs } = await conflicting("approved", OFFLINE);
  const { signal } = new AbortController();
  const state = { needed: 1, counted: 1, approvals: [], not: null, author: null } as const;
  const delivery = new RunDelivery({
    runs: at.runs.runs,
    conflicts: new RunConflicts(at.runs),
    team: { assertMayChange: async () => {} },
    gate: {
      state: async ({ commit }) => ({ commit, ...state }),
      approve: () => Promise.reject(new Error("no approval is asked for here")),
      assertMayMerge: async () => {},
    },
    clock: systemClock,
    open: (run) => Repository.open(run.repository, { git: new Git({ env: process.env }), signal }),
    env: process.env,
  });
  const run = await at.runs.runs.get(id);

  const refused = await refusal(delivery.merge(run, { into: undefined, tenant: null, signal }));

  expect(refused).toMatchObject({ code: "MERGE_CONFLICT" });
  const [question] = await questions(id);
  expect(question!.suggestedActions.map(({ value }) => value)).toEqual(["by_hand"]);
  expect(await git("rev-parse", "approved")).toBe(theirs);
});

test("a branch that moves while its conflict is solved is merged as it is then", SLOW, async () => {
  const waits = [
    `if ! grep -q 'max(1' ${STOCK}; then`,
    "n=0; while [ $n -lt 60 ] && [ ! -f go ]; do sleep 0.5; n=$((n+1)); done; fi",
    `echo '${BOTH.trim()}' > ${STOCK}`,
  ].join("\n");
  const { id } = await conflicting("moving", orchestratedBy(waits));
  const outcome = refusal(merged(id, "moving"));
  const { folder } = await at.runs.runs.get(id);
  const isSolving = async (): Promise<boolean> =>
    (await at.runs.runs.detail(id)).orchestrator.some(({ kind }) => kind === "merge");
  await expect.poll(isSolving, { timeout: 30_000, interval: 200 }).toBe(true);
  const later = await moveOn("moving", THEIRS.replace("0", "1"), "At least one");
  await writeFile(join(folder, "ports", "orchestrator", "tree", "go"), "");

  expect(await outcome).toMatchObject({ code: "TARGET_MOVED" });
  expect(await git("rev-parse", "moving")).toBe(later);
  expect(await merged(id, "moving")).toMatchObject({ kind: "merged" });
  expect(await git("log", "-1", "--format=%P", "moving")).toContain(later);
});
