import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { planOfTask } from "../../src/cli/task.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { realPlan } from "./real-runs.ts";
import { openStage } from "./stage.ts";

const WRONG = "export const price = () => 1;\n";
const TEST = `import { test } from "node:test";
import assert from "node:assert/strict";
import { price } from "./price.mjs";
test("price", () => assert.equal(price(), 2));
test("type", () => assert.equal(typeof price(), "number"));
`;
const FILES = { "src/price.mjs": WRONG, "src/price.test.mjs": TEST };
const MEND = "echo 'export const price = () => 2;' > src/price.mjs";

/** The plan of a task that a program works on. */
const task = (acceptance: string, worker = MEND) => {
  const given = { goal: "Two.", owns: ["src/price.mjs"], tests: [], acceptance, tries: 1 };
  const command = ["sh", "-c", worker];
  return realPlan(planOfTask({ ...given, worker: { kind: "command", command } }).text);
};

const ended = async (runs: TestRuns, id: string) => {
  const isOver = async (): Promise<boolean> => (await runs.runs.get(id)).finishedAt !== null;
  await expect.poll(isOver, { timeout: 120_000, interval: 100 }).toBe(true);

  return runs.runs.get(id);
};

const stepsOf = async (runs: TestRuns, id: string): Promise<readonly string[]> =>
  (await runs.runs.port(id, "task")).steps.map((step) => `${step.try} ${step.kind}`);

test("a task is set up as its repository says, is red at its base, and green in the end", async () => {
  const { runs, repository } = await openStage({
    ...FILES,
    ".gitignore": "made\n",
    ".dure/project.yaml": "setup: echo there > made\n",
  });
  const plan = task("test -f made && node --test src/price.test.mjs");

  const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
  const run = await ended(runs, id);

  expect([run.status, run.plan.setup]).toEqual(["success", "echo there > made"]);
  expect(await stepsOf(runs, id)).toEqual([
    "0 setup",
    "0 count",
    "1 implement",
    "1 accept",
    "1 judge",
  ]);
  const { steps } = await runs.runs.port(id, "task");
  expect(steps[1]!.output).toMatchObject({
    red: true,
    counted: { passed: 1, failed: 1 },
    feedback: { success: false, metrics: { total: 2, failed: 1 } },
  });
});

test("an acceptance that cannot run ends a task before a worker begins, and names the setup", async () => {
  const { runs, repository } = await openStage({
    ...FILES,
    ".dure/project.yaml": "setup: 'true'\n",
  });

  const plan = task("no-such-runner src", "touch src/price.mjs");
  const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });
  const run = await ended(runs, id);

  expect([run.status, await stepsOf(runs, id)]).toEqual(["failed", ["0 setup", "0 count"]]);
  expect(run.ports[0]!.because).toMatchObject({
    code: "ACCEPTANCE_NOT_RUN",
    message: expect.stringMatching(
      /no-such-runner: (?:command )?not found The set-up was `true`\./,
    ),
    hint: expect.stringContaining(".dure/project.yaml"),
  });
});

test("a program that the task is to make is red at the base, and no reason to end", async () => {
  const { runs, repository } = await openStage(FILES);
  const plan = {
    ...task("./src/price.mjs", "printf '#!/bin/sh\\n' > src/price.mjs; chmod +x src/price.mjs"),
  };

  const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });

  expect((await ended(runs, id)).status).toBe("success");
  expect(await stepsOf(runs, id)).toEqual(["0 count", "1 implement", "1 accept"]);
});

test("what is green at its base is tried all the same", async () => {
  const { runs, repository } = await openStage({
    ...FILES,
    "src/price.mjs": "export const price = () => 2;\n",
  });
  const plan = task("node --test src/price.test.mjs", "echo '//' >> src/price.mjs");

  const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "me" });

  expect((await ended(runs, id)).status).toBe("success");
  const { steps } = await runs.runs.port(id, "task");
  expect(steps.map(({ kind, output }) => [kind, (output as { red?: boolean }).red])).toEqual([
    ["count", false],
    ["implement", undefined],
    ["accept", undefined],
    ["judge", undefined],
  ]);
});

test.each([
  ["a list of hosts", "setup_hosts: [other.example]\n"],
  ["no network at all", ""],
])(
  "a setup that asks for a host which it may not reach ends soon, with its name: %s",
  async (_what, hosts) => {
    const fetch = `node -e 'fetch("http://registry.example/x").finally(() => setInterval(() => {}, 1000)).catch(() => {})'`;
    const npm = "npm view is-odd --registry http://registry.example --fetch-retries 9";
    const setup = hosts === "" ? npm : fetch;
    const { runs, repository } = await openStage(
      { ...FILES, ".dure/project.yaml": `setup: ${JSON.stringify(setup)}\n${hosts}` },
      { programs: (process.env["PATH"] ?? "").split(":") },
    );
    const plan = task("node --test src/price.test.mjs");

    const request = { plan, repository: repository.folder, by: "me", reachesOut: hosts !== "" };
    const { id } = await runs.runs.run(request);
    const run = await ended(runs, id);

    expect(run.status).toBe("failed");
    expect(run.ports[0]!.because).toMatchObject({
      code: "HOST_REFUSED",
      message: "The set-up asked for registry.example, which it may not reach.",
      hint: expect.stringContaining("setup_hosts: [registry.example:443]"),
    });
    const [step] = (await runs.runs.port(id, "task")).steps;
    expect(step!.kind).toBe("setup");
  },
);

test(
  "what a worker is refused stands in its transcript, and does not end it",
  { ...FULL, timeout: 120_000 },
  async () => {
    const { runs, repository } = await openStage(FILES);
    const plan = task(
      "node --test src/price.test.mjs",
      `node -e 'fetch("http://a.example")'; ${MEND}`,
    );
    const network = { workers: { kind: "provider", hosts: ["b.example"] } } as const;

    const request = { plan: { ...plan, network }, repository: repository.folder, by: "me" };
    const { id } = await runs.runs.run(request);

    expect((await ended(runs, id)).status).toBe("success");
    const { lines } = await runs.runs.transcript(id, "task", {});
    expect(lines.filter(({ kind }) => kind === "refused")).toMatchObject([{ title: "a.example" }]);
  },
);
