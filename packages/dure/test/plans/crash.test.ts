import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { makeShop } from "../../../../examples/dev-team/repository.ts";
import { testDatabase, testDatabaseUrl } from "../../src/durable/test-database.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { parsePlan } from "../../src/plans/plan-file.ts";
import type { PlanRun } from "../../src/plans/rows/run.ts";
import { LeaderProcess } from "./leader-process.ts";
import { startRealRuns } from "./real-runs.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";

const PLANS = new URL("../../../../examples/plans/", import.meta.url);
const SCRIPT = fileURLToPath(new URL("dev-team.offline.yaml", PLANS));
const EXAMPLE = fileURLToPath(new URL("../../../../examples/run/dev-team.ts", import.meta.url));
const IS_LONG = process.env["DURE_TEST_LONG"] === "1";
/** Source: docs/spec/plans §9; three in the ordinary run. */
const SEEDS = IS_LONG ? 100 : 3;
const FIRST_SEED = Number(process.env["DURE_TEST_SEED"] ?? "1");

interface World {
  readonly watcher: TestRuns;
  readonly repository: string;
  readonly home: string;
  lead(): LeaderProcess;
}

async function openWorld(): Promise<World> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const folder = await mkdtemp(join(tmpdir(), "dure-plan-crash-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const repository = join(folder, "shop");
  const home = join(folder, "data");
  await makeShop(repository);
  // It asks and looks; it leads nothing itself.
  const watcher = stack.use(await startRealRuns({ url, home, script: "ports: {}" }));
  await watcher.runs.stop();
  return {
    watcher,
    repository,
    home,
    lead: () => stack.use(new LeaderProcess({ url, home, script: SCRIPT })),
  };
}

async function begin(world: World): Promise<string> {
  const plan = parsePlan("dev-team.yaml", await readFile(new URL("dev-team.yaml", PLANS), "utf8"));
  return (
    await world.watcher.runs.run(
      { plan, repository: world.repository, by: "test" },
      { signal: new AbortController().signal },
    )
  ).id;
}

async function ended(
  { watcher }: World,
  id: string,
  leader: () => LeaderProcess,
): Promise<PlanRun> {
  await expect
    .poll(async () => (await watcher.runs.get(id)).finishedAt !== null, {
      timeout: 240_000,
      interval: 100,
      message: "the run did not end",
    })
    .toBe(true)
    .catch((error: unknown) => {
      throw new Error(`${String(error)}\n${leader().log.slice(-20).join("\n")}`);
    });
  return watcher.runs.get(id);
}

async function git(folder: string, ...args: string[]): Promise<string> {
  const child = spawn("git", args, { cwd: folder, stdio: ["ignore", "pipe", "inherit"] });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => void chunks.push(chunk));
  await once(child, "close");
  return Buffer.concat(chunks).toString("utf8").trim();
}

/** Deterministic numbers from 0 to 1. Source: mulberry32, public domain. */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), 1 | state);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** The files of an undisturbed run, as git names them; the first test sees one. */
let undisturbed: string | undefined;

test(
  "the example dev-team, by its one command: feedback mends first tries, and a person is asked",
  { ...FULL, timeout: 300_000 },
  async () => {
    const stack = new AsyncDisposableStack();
    onTestFinished(() => stack.disposeAsync());
    const { url } = stack.use(await testDatabaseUrl());
    const child = spawn(process.execPath, ["--conditions=dure-source", EXAMPLE], {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (said += text));
    }

    const [exitCode] = (await once(child, "close")) as [number | null];
    undisturbed = /^result: dure\/dev-team, whose files are ([0-9a-f]{40})$/m.exec(said)?.[1];

    const checks = said.split("\n").filter((line) => /^ {2}[✓✗] /.test(line));
    expect(checks.length, said).toBe(10);
    // How long it takes is for a machine with nothing else to do.
    expect(
      checks.filter(
        (line) => line.startsWith("  ✗") && (IS_LONG || !line.includes("took less than")),
      ),
      said,
    ).toEqual([]);
    if (IS_LONG) expect(exitCode).toBe(0);
    expect(said).toMatch(/^\d+ % fewer tokens than what their roles would read, in \d+ prompts/m);
    expect(undisturbed, said).toBeDefined();
  },
);

test.each(Array.from({ length: SEEDS }, (_, index) => FIRST_SEED + index))(
  "kill -9 of the leader, at moments of seed %i: the same tree, no commit lost, nothing repeated",
  { ...FULL, timeout: 600_000 },
  async (seed) => {
    const draw = numbers(seed);
    const world = await openWorld();
    let leader = world.lead();
    await leader.ready;
    const before = await git(world.repository, "rev-parse", "HEAD", "main");
    const id = await begin(world);
    const doneAtKill = new Map<string, number>();

    for (let kills = 0; kills < 3; kills++) {
      await systemClock.sleep(500 + draw() * 6_000);
      if ((await world.watcher.runs.get(id)).finishedAt !== null) break;
      await leader.kill();
      for (const step of await world.watcher.runs.records.steps.of(id)) {
        if (step.status === "done") {
          doneAtKill.set(`${step.port} ${step.try} ${step.kind}`, step.starts);
        }
      }
      leader = world.lead();
    }
    const run = await ended(world, id, () => leader);

    expect(run.report).toMatchObject({
      branch: "dure/dev-team",
      kept: ["money", "stock", "cart", "receipt", "api"],
      missing: [{ port: "discount" }],
      integration: { passed: true },
    });
    expect(await git(world.repository, "rev-parse", "dure/dev-team^{tree}")).toBe(undisturbed);
    expect(await git(world.repository, "rev-parse", "HEAD", "main")).toBe(before);
    const steps = await world.watcher.runs.records.steps.of(id);
    for (const step of steps) {
      const known = doneAtKill.get(`${step.port} ${step.try} ${step.kind}`);
      if (known !== undefined && step.kind !== "setup") {
        expect(step.starts, `${step.port} ${step.try} ${step.kind} was done again`).toBe(known);
      }
    }
    const commits = steps.flatMap(({ output }) =>
      typeof output === "object" && output !== null && "commit" in output
        ? [String(output.commit)]
        : [],
    );
    const reachable = new Set(
      (await git(world.repository, "rev-list", "--all", `--glob=refs/dure/${id}/*`)).split("\n"),
    );
    expect(commits.filter((commit) => !reachable.has(commit))).toEqual([]);
    await expect
      .poll(() => readdir(join(world.home, "plans", id, "ports")), {
        timeout: 20_000,
        message: "a tree was left",
      })
      .toEqual(["discount"]);
    expect(await world.watcher.runs.records.steps.strayProcesses(id)).toEqual([]);
  },
);

test(
  "when the process that leads is killed, another one of the same machine goes on by itself",
  { ...FULL, timeout: 300_000 }, // a leader's death in the quick tier: resumed-door.test.ts
  async () => {
    const world = await openWorld();
    const leaders = [world.lead(), world.lead()];
    const ids = await Promise.all(leaders.map(({ ready }) => ready));
    const id = await begin(world);
    const leading = async (): Promise<string | undefined> => {
      const [row] = await world.watcher.database.query<{ holder: string | null }>(
        { text: "select holder from dure.leases where name = $1" },
        [`run:${id}`],
      );
      return row?.holder ?? undefined;
    };
    await expect
      .poll(
        async () =>
          (await world.watcher.runs.records.steps.of(id)).some(({ status }) => status === "done"),
        { timeout: 120_000 },
      )
      .toBe(true);
    const holder = await leading();
    const first = ids.indexOf(holder!);
    const other = 1 - first;

    await leaders[first]!.kill();
    const killed = performance.now();
    await expect.poll(leading, { timeout: 60_000, interval: 100 }).toBe(ids[other]);

    expect(performance.now() - killed).toBeLessThan(boundMs(10_000));
    const run = await ended(world, id, () => leaders[other]!);
    expect(run.report).toMatchObject({
      kept: ["money", "stock", "cart", "receipt", "api"],
      missing: [{ port: "discount" }],
      integration: { passed: true },
    });
  },
);
