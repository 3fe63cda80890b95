import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import type { PlanStep } from "../../src/plans/rows/run.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import { LeaderProcess } from "./leader-process.ts";
import { realPlan, startRealRuns, testRepository } from "./real-runs.ts";

// Agents with living conversations, whose server is killed again and again.

const AGENT = fileURLToPath(new URL("acp-agent/agent.ts", import.meta.url));
/** Moments of one run. Source: the twenty of issue 16 in the long tier, five in the full one. */
const KILLS = 5;
const SEEDS = process.env["DURE_TEST_LONG"] === "1" ? 4 : 1;
const FIRST_SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");
const PORTS = ["a", "b"];

/** Its first try is wrong, and its second one is right. */
function portOf(id: string) {
  const edit = (path: string, content: string) => ({ edits: [{ path, content }] });
  const implementer = ["wrong", "right"].map((word) => ({
    member: "implementer",
    ...edit(`src/${id}/file.txt`, `${word}\n`),
  }));
  const tester = { member: "tester", ...edit(`test/${id}/file.txt`, "tried\n") };

  return {
    id,
    role: id,
    goal: `AGENT ${JSON.stringify(implementer)}\nAGENT ${JSON.stringify(tester)}`,
    owns: [`src/${id}/**`],
    tests: [`test/${id}/**`],
    acceptance: `grep -q right src/${id}/file.txt`,
  };
}

const PLAN = {
  plan: "sessions",
  roles: "modules",
  mode: "parallel",
  limits: { tries: 3 },
  workers: { default: { kind: "acp", command: [process.execPath, AGENT] } },
  ports: PORTS.map(portOf),
};

/** How far a run is: each start, conversation and end of a step counts one. Pure. */
function distance(steps: readonly PlanStep[]): number {
  return steps.reduce(
    (sum, { starts, session, status }) =>
      sum + starts + (session === undefined ? 0 : 1) + (status === "done" ? 1 : 0),
    0,
  );
}

/** Deterministic whole numbers from 1 to `most`. Source: Numerical Recipes' generator. */
function numbers(seed: number): (most: number) => number {
  let state = seed * 2_654_435_761;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return 1 + (state % most);
  };
}

async function openWorld() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const files = PORTS.map((id) => [`src/${id}/file.txt`, "old\n"]);
  const repository = stack.use(await testRepository(Object.fromEntries(files)));
  const home = await mkdtemp(join(tmpdir(), "dure-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const script = join(home, "script.json");
  await writeFile(script, "ports: {}");
  const watcher = stack.use(await startRealRuns({ url, home, script: "ports: {}" }));
  await watcher.runs.stop();
  return {
    watcher,
    repository,
    lead: () => stack.use(new LeaderProcess({ url, home, script })),
  };
}

/** How the conversations of a member began, in order. */
async function conversations(runs: TestRuns, id: string, port: string, member: string) {
  const { lines } = await runs.runs.transcript(id, port, {});
  const own = lines.filter((line) => line.kind === "session" && line.member === member);
  return own.map(({ title }) => title).join(" ");
}

test.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
  "kill -9 at five moments of seed %i: conversations go on, with the same tree and all commits",
  { ...FULL, timeout: 1_200_000 },
  async (seed) => {
    const draw = numbers(seed);
    const { watcher, repository, lead } = await openWorld();
    let leader = lead();
    await leader.ready;
    const signal = { signal: new AbortController().signal };
    const wanted = { plan: realPlan(JSON.stringify(PLAN)), repository: repository.folder };
    const { id } = await watcher.runs.run({ ...wanted, by: "me" }, signal);
    const steps = () => watcher.runs.records.steps.of(id);
    const doneAtKill = new Map<number, number>();

    let next = 0;
    for (let kills = 0; kills < KILLS; kills++) {
      next = Math.max(next, distance(await steps())) + draw(5);
      await expect
        .poll(async () => distance(await steps()) >= next, { timeout: 300_000, interval: 20 })
        .toBe(true);
      await leader.kill();
      for (const step of await steps()) {
        if (step.status === "done") doneAtKill.set(step.id, step.starts);
      }
      leader = lead();
    }
    await expect
      .poll(async () => (await watcher.runs.get(id)).finishedAt !== null, { timeout: 600_000 })
      .toBe(true);

    const run = await watcher.runs.get(id);
    expect(run.status, leader.log.slice(-20).join("\n")).toBe("success");
    const branch = run.report!.branch!;
    for (const port of PORTS) {
      expect(await repository.git("show", `${branch}:src/${port}/file.txt`)).toBe("right");
      expect(await repository.git("show", `${branch}:test/${port}/file.txt`)).toBe("tried");
      for (const member of ["implementer", "tester"]) {
        // Once a conversation is stored each later start goes on with it. A kill may lose the line
        // that tells its begin.
        const begun = await conversations(watcher, id, port, member);
        expect(begun, `${port} ${member}`).toMatch(/^(?:new ?)*(?:resumed ?)+$/);
      }
    }
    const after = await steps();
    for (const step of after) {
      const starts = doneAtKill.get(step.id);
      if (starts !== undefined) expect(step.starts, `${step.port} ${step.kind}`).toBe(starts);
    }
    const reachable = await repository.git("rev-list", "--all", `--glob=refs/dure/${id}/*`);
    const commits = after.flatMap(({ output }) =>
      typeof output === "object" && output !== null && "commit" in output
        ? [String(output.commit)]
        : [],
    );
    expect(commits.filter((commit) => !reachable.includes(commit))).toEqual([]);
    expect(await watcher.runs.records.steps.strayProcesses(id)).toEqual([]);
  },
);
