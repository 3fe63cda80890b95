/**
 * Whether a server that answers keeps what it should not: heap and RSS over many turns.
 * `node --conditions=dure-source bench/memory.ts [--turns 10000]`.
 */

import { parseArgs } from "node:util";
import { printBound, printFact, printMachine, printTable, printTitle } from "./lib/figures.ts";
import { closedLoop } from "./lib/load.ts";
import { PeerProcess } from "./lib/peers.ts";
import { startPostgres } from "./lib/postgres.ts";
import { sessionOf } from "./lib/dure.ts";
import { StreamClient } from "./lib/stream-client.ts";

const { values: options } = parseArgs({ options: { turns: { type: "string", default: "10000" } } });
const turns = Number(options.turns);
const WORKERS = 16;
const STEPS = 10;

printMachine();
await using postgres = await startPostgres();
await using dure = await PeerProcess.start("dure", {
  answer: "short",
  databaseUrl: await postgres.database("memory"),
  nodeOptions: ["--expose-gc"],
});
const client = new StreamClient(dure.url, WORKERS);

const samples: { turns: number; heapMb: number; rssMb: number }[] = [];
const sample = async (done: number): Promise<void> => {
  await dure.figures(); // collects; the second look does not see what the first one left
  const { heapBytes, rssBytes } = await dure.figures();
  samples.push({ turns: done, heapMb: heapBytes / 1e6, rssMb: rssBytes / 1e6 });
};

/** Turns until caches, compiled code and pools have their size. Source: our choice. */
const warmUp = Math.ceil(turns / 5);
for (let step = 0; step <= STEPS; step++) {
  const isWarmUp = step === 0;
  await closedLoop({
    workers: WORKERS,
    turns: isWarmUp ? warmUp : turns / STEPS,
    turn: async (worker, index) =>
      void (await client.turn(sessionOf(`${step}`, worker, index), "When does my parcel arrive?")),
  });
  await sample(isWarmUp ? 0 : (turns / STEPS) * step);
}
client.close();

printTitle(
  `Memory of one server over ${turns.toLocaleString("en")} turns in ` +
    `${(turns / 5).toLocaleString("en")} sessions, after ${warmUp.toLocaleString("en")} to warm ` +
    "up; after garbage collection",
);
printTable(
  ["turns", "heap MB", "RSS MB"],
  samples.map(({ turns: done, heapMb, rssMb }) => [done.toLocaleString("en"), heapMb, rssMb]),
);
const [first, last] = [samples[0]!, samples.at(-1)!];
printBound(
  "heap, growth after warm-up",
  last.heapMb - first.heapMb,
  { direction: "≤", aim: 3 },
  " MB",
);
printFact("RSS, growth after warm-up", last.rssMb - first.rssMb, " MB");
printBound("RSS at the end", last.rssMb, { direction: "≤", aim: 170 }, " MB");
