/**
 * kill -9 with many turns in flight, then a new process: when it goes on and when all have ended.
 * `node --conditions=dure-source bench/recovery.ts [--turns 1000]`.
 */

import { Agent, request } from "node:http";
import { parseArgs } from "node:util";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import { printBound, printFact, printMachine, printTitle } from "./lib/figures.ts";
import { PeerProcess } from "./lib/peers.ts";
import { ask, startPostgres } from "./lib/postgres.ts";

const { values: options } = parseArgs({ options: { turns: { type: "string", default: "1000" } } });
const turns = Number(options.turns);
/**
 * Messages that are being accepted at the same time: recovery is measured, not how a rush is borne.
 */
const AT_ONCE = 50;
/** Longest wait for anything here, milliseconds. */
const PATIENCE_MS = 120_000;

printMachine();
await using postgres = await startPostgres();
const databaseUrl = await postgres.database("recovery");

const first = await PeerProcess.start("dure", { answer: "stuck", databaseUrl });
await beginTurns(first.url);
await until(`${turns} turns have shown that their agent began`, async () => {
  const [row] = await ask<{ begun: string }>(
    databaseUrl,
    "select count(distinct turn_id)::text as begun from dure.turn_events where type = 'AGENT_START'",
  );
  return Number(row!.begun) === turns;
});
await first.kill();

// All times are the wall clock of this machine, which PostgreSQL shares.
const startedAt = systemClock.now();
await using _second = await PeerProcess.start("dure", { answer: "short", databaseUrl });
const readyMs = systemClock.now() - startedAt;
await until("every turn has ended", async () => {
  const [row] = await ask<{ open: string }>(
    databaseUrl,
    "select count(*)::text as open from dure.turns where status <> 'done'",
  );
  return row!.open === "0";
});

const [result] = await ask<{
  first_resumed: number;
  first_done: number;
  last_done: number;
  failed: string;
  twice: string;
}>(
  databaseUrl,
  `select
     (select extract(epoch from min(held_at)) * 1000 from dure.turns where holder is not null and epoch > 1)::float8 as first_resumed,
     (select extract(epoch from min(finished_at)) * 1000 from dure.turns)::float8 as first_done,
     (select extract(epoch from max(finished_at)) * 1000 from dure.turns)::float8 as last_done,
     (select count(*) from dure.turns where done ? 'error')::text as failed,
     (select count(*) from dure.sessions where jsonb_array_length(memory->'rawHistory') <> 2)::text as twice`,
);
const { first_resumed, first_done, last_done, failed, twice } = result!;

printTitle(
  `Recovery after kill -9 with ${turns.toLocaleString("en")} turns in flight; times from the ` +
    "start of the next process",
);
printFact("server ready", readyMs, " ms");
printBound(
  "first turn resumed",
  (first_resumed - startedAt) / 1_000,
  { direction: "≤", aim: 2 },
  " s",
);
printFact("first turn ended", (first_done - startedAt) / 1_000, " s");
printFact("all turns ended", (last_done - startedAt) / 1_000, " s");
printBound("turns that ended with an error", Number(failed), { direction: "≤", must: 0 });
printBound("sessions that do not hold exactly one exchange", Number(twice), {
  direction: "≤",
  must: 0,
});

/** Resolves when every message is accepted; the streams stay open until the server dies. */
async function beginTurns(url: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: turns });
  for (let begun = 0; begun < turns; begun += AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, turns - begun) }, (_, index) =>
        beginTurn(url, agent, `s${begun + index}`),
      ),
    );
  }
}

function beginTurn(url: string, agent: Agent, session: string): Promise<void> {
  const body = JSON.stringify({ session_id: session, message: "When does my parcel arrive?" });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    const asked = request(
      new URL("/v1/agent/chat/stream", url),
      { agent, method: "POST", headers },
      (response) => {
        response.on("error", () => {}); // its server is killed
        if (response.statusCode === 200) {
          response.resume();
          return resolve();
        }
        response.on("data", (problem: Buffer) =>
          reject(new Error(`the server answered ${response.statusCode}: ${problem.toString()}`)),
        );
      },
    );
    asked.on("error", reject);
    asked.end(body);
  });
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
