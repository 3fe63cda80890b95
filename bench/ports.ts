/**
 * What a port costs beside its worker: statements, commits, time, and the memory of the process that
 * leads. Workers write one file. `node --conditions=dure-source --expose-gc bench/ports.ts [--ports
 * 1000] [--slots 4]`.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { boundYoungGeneration } from "../packages/dure/src/cli/young-generation.ts";
import { Database } from "../packages/dure/src/durable/database.ts";
import { migrate } from "../packages/dure/src/durable/migrate.ts";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import { silentLogger } from "../packages/dure/src/kernel/logger.ts";
import { SCHEMA } from "../packages/dure/src/team/schema.ts";
import { realPlan, startRealRuns, testRepository } from "../packages/dure/test/plans/real-runs.ts";
import { printBound, printFact, printMachine, printTable, printTitle } from "./lib/figures.ts";
import { startPostgres } from "./lib/postgres.ts";

const { values: options } = parseArgs({
  options: {
    ports: { type: "string", default: "1000" },
    slots: { type: "string", default: "4" },
  },
});
const count = Number(options.ports);
const slots = Number(options.slots);
const SAMPLES = 10;

printMachine();
boundYoungGeneration(systemClock); // as `dure start` does
await using stack = new AsyncDisposableStack();
const postgres = stack.use(await startPostgres());
const url = await postgres.database("ports");
const opened = { url, applicationName: "bench", logger: silentLogger, clock: systemClock, max: 1 };
const database = await Database.open(opened);
await migrate(database, SCHEMA, { logger: silentLogger });
await database.close();
const home = await mkdtemp(join(tmpdir(), "dure-bench-home-"));
stack.defer(() => rm(home, { recursive: true, force: true }));

const names = Array.from({ length: count }, (_, index) => `p${index}`);
const file = (folder: string, name: string): string => `${folder}/${name}/a.txt`;
const writes = (path: string) => [{ edits: [{ path, content: "new\n" }], summary: "Done." }];
const repository = stack.use(
  await testRepository(Object.fromEntries(names.map((name) => [file("src", name), "old\n"]))),
);
const script = {
  ports: Object.fromEntries(
    names.map((name) => [
      name,
      { implementer: writes(file("src", name)), tester: writes(file("test", name)) },
    ]),
  ),
};
const plan = realPlan(
  JSON.stringify({
    plan: "bench",
    roles: "modules",
    limits: { max_concurrency: slots },
    mode: "parallel",
    workers: { default: { kind: "offline" } },
    ports: names.map((id) => ({
      id,
      role: "core",
      goal: "Do it.",
      acceptance: "true",
      owns: [`src/${id}/**`],
      tests: [`test/${id}/**`],
    })),
  }),
);
const runs = stack.use(await startRealRuns({ url, home, script }));

const samples: { ports: number; heapMb: number; rssMb: number; seconds: number }[] = [];
const before = { statements: runs.database.statements, commits: runs.database.commits };
const startedAt = systemClock.monotonic();
const sample = (ports: number): void => {
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  const seconds = (systemClock.monotonic() - startedAt) / 1_000;
  samples.push({ ports, heapMb: heapUsed / 1e6, rssMb: rss / 1e6, seconds });
};
sample(0);
const { id } = await runs.runs.run({ plan, repository: repository.folder, by: "bench" });
let done = 0;
for await (const frame of runs.runs.stream(id, { signal: new AbortController().signal })) {
  if (frame.kind !== "event" || frame.event.type !== "port.success") continue;
  if (++done % Math.max(1, Math.floor(count / SAMPLES)) === 0) sample(done);
}
const ms = systemClock.monotonic() - startedAt;
const run = await runs.runs.get(id);

printTitle(`A run of ${count} ports with pairs, ${slots} at the same time: ${run.status}`);
printTable(
  ["ports", "heap MB", "RSS MB", "seconds"],
  samples.map(({ ports, heapMb, rssMb, seconds }) => [ports, heapMb, rssMb, seconds]),
);
const perPort = (value: number): number => value / count;
printBound(
  "statements of a port, looks by the clock included",
  perPort(runs.database.statements - before.statements),
  { direction: "≤", aim: 60 },
);
printBound("commits of a port", perPort(runs.database.commits - before.commits), {
  direction: "≤",
  aim: 20,
});
printBound(
  "time of a port, in its slot",
  perPort(ms * slots) / 1_000,
  { direction: "≤", aim: 1.5 },
  " s",
);
printFact("time of a port, of the run", perPort(ms) / 1_000, " s");
printBound(
  "RSS at most",
  Math.max(...samples.map(({ rssMb }) => rssMb)),
  { direction: "≤", aim: 400 },
  " MB",
);
