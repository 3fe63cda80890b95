/**
 * Exchanges between agents: how many a process leads, and how it goes on after a kill -9. `node
 * --conditions=dure-source bench/jobs.ts [--rounds 3] [--scale 1] [--jobs 1000] [--only
 * lead,recover]`; SMALL=1 is 100 jobs and a tenth.
 */

import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import {
  overRounds,
  printBound,
  printFact,
  printMachine,
  printTable,
  printTitle,
} from "./lib/figures.ts";
import { startJobs, wordsOf } from "./lib/jobs-team.ts";
import { closedLoop, type Round } from "./lib/load.ts";
import { ask, startPostgres, writesSoFar, type BenchPostgres } from "./lib/postgres.ts";

const small = process.env["SMALL"] === "1";
const PARTS = { lead, recover } as const;
const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: small ? "1" : "3" },
    scale: { type: "string", default: small ? "0.1" : "1" },
    jobs: { type: "string", default: small ? "100" : "1000" },
    only: { type: "string", default: Object.keys(PARTS).join(",") },
  },
});
const rounds = Number(options.rounds);
const PROCESS = fileURLToPath(new URL("lib/jobs-process.ts", import.meta.url));
/** Longest wait for anything here, milliseconds. */
const PATIENCE_MS = 300_000;

printMachine();
await using postgres = await startPostgres();
for (const name of options.only.split(",") as (keyof typeof PARTS)[]) await PARTS[name](postgres);

// --- leading exchanges, in process

async function lead(server: BenchPostgres): Promise<void> {
  const url = await server.database("jobs_lead");
  await using team = await startJobs({ url, agents: 64, respond: wordsOf, limits: {} });
  for (const { workers, turns, count } of [
    { workers: 1, turns: 1, count: 100 },
    { workers: 32, turns: 1, count: 600 },
    { workers: 1, turns: 6, count: 30 },
    { workers: 32, turns: 6, count: 150 },
  ]) {
    const jobs = Math.max(10, Math.round(count * Number(options.scale)));
    const loop = (many: number): Promise<Round> =>
      closedLoop({
        workers,
        turns: many,
        turn: async (worker) => {
          const answer = await team.jobs.ask({
            requester: `a${worker * 2}`,
            agent: `a${worker * 2 + 1}`,
            message: "Please go on",
            maxTurns: turns,
            waitSec: 120,
          });
          if (answer.status !== "ok") {
            throw new Error(`an exchange ended with ${JSON.stringify(answer)}`);
          }
        },
      });
    printTitle(
      `Exchanges of ${turns} ${turns === 1 ? "turn" : "turns"}, instant model, ${workers} at once ` +
        `(${rounds} rounds of ${jobs} jobs)`,
    );
    await loop(Math.ceil(jobs / 3));
    const results: (Round & { writes: number })[] = [];
    for (let round = 0; round < rounds; round++) {
      const before = await writesSoFar(url);
      const result = await loop(jobs);
      results.push({
        ...result,
        writes: ((await writesSoFar(url)) - before) / (result.turns * turns),
      });
    }
    printTable(
      ["", "p50 ms", "p99 ms", "jobs/s", "exchange turns/s", "CPU ms/turn", "write commits/turn"],
      [
        [
          "dure",
          overRounds(results, (round) => round.p50),
          overRounds(results, (round) => round.p99),
          overRounds(results, (round) => round.perSecond),
          overRounds(results, (round) => round.perSecond * turns),
          overRounds(results, (round) => round.cpuPerTurn / turns),
          overRounds(results, (round) => round.writes),
        ],
      ],
    );
  }
}

// --- kill -9 with many running jobs

async function recover(server: BenchPostgres): Promise<void> {
  const jobs = Number(options.jobs);
  const agents = 64;
  const turns = 3;
  const url = await server.database("jobs_recover");
  const first = fork(PROCESS, [url, String(agents), String(jobs), String(turns), "stuck"], {
    execArgv: ["--conditions=dure-source"],
  });
  await until(`${jobs} jobs are in their second turn`, async () => {
    const found = await ask<{ count: string }>(
      url,
      "select count(*)::text as count from dure.jobs where status = 'RUNNING' and turns_done = 1 " +
        "and current_turn is not null",
    ).catch(() => []);
    return Number(found[0]?.count) === jobs;
  });
  const killed = once(first, "exit");
  first.kill("SIGKILL");
  await killed;

  // All times are the wall clock of this machine, which PostgreSQL shares.
  const startedAt = systemClock.now();
  const second = fork(PROCESS, [url, String(agents), "0", String(turns), "instant"], {
    execArgv: ["--conditions=dure-source"],
  });
  const [{ readyAt }] = (await once(second, "message")) as [{ readyAt: number }];
  await until(
    "every job has ended",
    async () =>
      (
        await ask<{ open: string }>(
          url,
          "select count(*)::text as open from dure.jobs where finished_at is null",
        )
      )[0]!.open === "0",
  );
  const [found] = await ask<{
    first_resumed: number;
    first_done: number;
    last_done: number;
    completed: string;
    turns: string;
    resumed: string;
  }>(
    url,
    `select (select extract(epoch from min(at)) * 1000 from dure.events where type = 'job.started' and (data->>'resumed')::boolean)::float8 as first_resumed,
       (select extract(epoch from min(finished_at)) * 1000 from dure.jobs)::float8 as first_done,
       (select extract(epoch from max(finished_at)) * 1000 from dure.jobs)::float8 as last_done,
       (select count(*) from dure.jobs where status = 'COMPLETED')::text as completed,
       (select count(*) from dure.job_turns)::text as turns,
       (select count(*) from dure.jobs where resumes = 1)::text as resumed`,
  );
  const { first_resumed, first_done, last_done, completed, turns: recorded, resumed } = found!;
  printTitle(
    `Recovery after kill -9 with ${jobs.toLocaleString("en")} jobs in their second turn; times ` +
      "from the start of the next process",
  );
  printFact("jobs are led again", readyAt - startedAt, " ms");
  printBound(
    "first job resumed, after that",
    (first_resumed - readyAt) / 1_000,
    { direction: "≤", must: 2 },
    " s",
  );
  printFact("first job ended", (first_done - startedAt) / 1_000, " s");
  printFact("all jobs ended", (last_done - startedAt) / 1_000, " s");
  printBound("jobs that did not complete", jobs - Number(completed), { direction: "≤", must: 0 });
  printBound("turns missing or too many", Math.abs(jobs * turns - Number(recorded)), {
    direction: "≤",
    must: 0,
  });
  printBound("jobs that were not resumed exactly once", jobs - Number(resumed), {
    direction: "≤",
    must: 0,
  });
  const ended = once(second, "exit");
  second.disconnect();
  await ended;
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = systemClock.monotonic() + PATIENCE_MS;
  while (!(await isSo())) {
    if (systemClock.monotonic() > deadline) {
      throw new Error(`not within ${PATIENCE_MS} ms: ${what}`);
    }
    await systemClock.sleep(100);
  }
}
