/**
 * Durable turns against peers in one run: `node --conditions=dure-source bench/turn.ts [--rounds 5]
 * [--scale 1] [--only plain,steps,stream,first-token,unhappy]`. What each part measures and what it
 * should be: bench/README.md, docs/spec/platform §10.
 */

import { parseArgs } from "node:util";
import { defineService, flow } from "../packages/dure/src/engine/service/service.ts";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import {
  median,
  overRounds,
  printBound,
  printFact,
  printMachine,
  printTable,
  printTitle,
} from "./lib/figures.ts";
import { sessionOf, startDure, type BenchDure } from "./lib/dure.ts";
import { alternate, closedLoop, type Round } from "./lib/load.ts";
import { instantModel, LONG, SHORT } from "./lib/model.ts";
import { PeerProcess } from "./lib/peers.ts";
import { startPostgres, storedBytes, writesSoFar, type BenchPostgres } from "./lib/postgres.ts";
import { HandWrittenRows } from "./lib/rows.ts";
import { StreamClient } from "./lib/stream-client.ts";

const MESSAGE = "When does my parcel arrive?";
/** Readers of the event log that are attached in the unhappy shape. */
const READERS = 10;
/** Steps of a turn that does nothing else, and how many at once. Source: docs/spec/platform §10. */
const STEPS = 200;
const WIDE = 20;
/** Statements that write a turn; each is a transaction. */
const TURN_WRITES = [
  "accept_turn",
  "reserve_budget",
  "journal_turn",
  "effect_intent",
  "effect_settle",
  "finish_turn",
];
const PARTS = { plain, steps, stream, "first-token": firstToken, unhappy } as const;

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    /** Multiplies the turns of a round; 0.1 is enough to see that it runs. */
    scale: { type: "string", default: "1" },
    only: { type: "string", default: Object.keys(PARTS).join(",") },
  },
});
const rounds = Number(options.rounds);
const scaled = (turns: number): number => Math.max(20, Math.round(turns * Number(options.scale)));

printMachine();
await using postgres = await startPostgres();
for (const name of options.only.split(",") as (keyof typeof PARTS)[]) await PARTS[name](postgres);

// --- a plain turn, in process

async function plain(server: BenchPostgres): Promise<void> {
  const model = instantModel(SHORT);
  const url = await server.database("dure_plain");
  await using rows = await HandWrittenRows.open(await server.database("rows_plain"), model.aiSdk);
  await using dure = await startDure({ url, model: model.offline });

  for (const { workers, turns } of [
    { workers: 1, turns: scaled(500) },
    { workers: 32, turns: scaled(3_000) },
  ]) {
    printTitle(
      `Durable turn, instant model, ${workers} ${workers === 1 ? "session" : "sessions at once"} ` +
        `(${rounds} rounds of ${turns} turns)`,
    );
    const rowsLoop = (name: string, count = turns) =>
      closedLoop({
        workers,
        turns: count,
        turn: async (worker, index) =>
          void (await rows.turn(sessionOf(name, worker, index), MESSAGE)),
      });
    const dureLoop = (name: string, count = turns) =>
      counted(url, dure, () =>
        closedLoop({
          workers,
          turns: count,
          turn: (worker, index) => dure.turn(sessionOf(name, worker, index), MESSAGE),
        }),
      );
    await rowsLoop(`warm${workers}`, Math.ceil(turns / 2));
    await dureLoop(`warm${workers}`, Math.ceil(turns / 2));

    const results = await alternate(rounds, {
      rows: (round) => rowsLoop(`${workers}.${round}`),
      dure: (round) => dureLoop(`${workers}.${round}`),
    });

    printRounds({ "rows by hand (not resumable)": results.rows, dure: results.dure });
    printCounts(results.dure);
    const p50 = pairedRatio(results.dure, results.rows, (round) => round.p50);
    const perSecond = pairedRatio(results.dure, results.rows, (round) => round.perSecond);
    if (workers === 1) {
      printBound("p50, ratio to rows by hand", p50, { direction: "≤", must: 3.2, aim: 2.2 }, " ×");
    } else {
      printBound(
        "turns/s, ratio to rows by hand",
        perSecond,
        { direction: "≥", must: 0.26, aim: 0.5 },
        " ×",
      );
    }
    printBound(
      "statements per turn",
      overRounds(results.dure, (round) => round.statements),
      { direction: "≤", must: 10, aim: 5 },
    );
    printBound(
      "CPU per turn in this process",
      overRounds(results.dure, (round) => round.cpuPerTurn),
      { direction: "≤", aim: 1 },
      " ms",
    );
  }
}

// --- a turn that is nothing but steps

async function steps(server: BenchPostgres): Promise<void> {
  const work = defineService({
    name: "steps",
    agents: {},
    flows: {
      DEFAULT: flow(async (turn) => {
        for (let done = 0; done < STEPS; done += WIDE) {
          await Promise.all(
            Array.from({ length: WIDE }, (_, lane) => turn.step(`${done + lane}`, () => lane)),
          );
        }
        return turn.done({ message: "" });
      }),
    },
  });
  const url = await server.database("dure_steps");
  await using dure = await startDure({ url, model: instantModel(SHORT).offline, service: work });
  const turns = scaled(50);
  const loop = (round: string) =>
    counted(url, dure, () =>
      closedLoop({
        workers: 1,
        turns,
        turn: (worker, index) => dure.turn(sessionOf(round, worker, index), MESSAGE),
      }),
    );
  await loop("warm");

  const { dure: results } = await alternate(rounds, { dure: (round) => loop(`${round}`) });

  printTitle(
    `A turn of ${STEPS} durable no-op steps, ${WIDE} wide (${rounds} rounds of ${turns} turns)`,
  );
  printBound(
    "whole turn, p50",
    overRounds(results, (round) => round.p50),
    { direction: "≤", must: 150, aim: 100 },
    " ms",
  );
  printFact(
    "whole turn, p99",
    overRounds(results, (round) => round.p99),
    " ms",
  );
  printFact(
    "statements per turn",
    overRounds(results, (round) => round.statements),
  );
  printFact(
    "write transactions per turn, NOTIFY and lease included",
    overRounds(results, (round) => round.writes),
  );
}

// --- a streamed turn, through HTTP

async function stream(server: BenchPostgres): Promise<void> {
  const url = await server.database("dure_stream");
  await using dure = await PeerProcess.start("dure", { databaseUrl: url });
  await using bare = await PeerProcess.start("bare");
  await using direct = await PeerProcess.start("direct");
  const peers = { dure, bare, direct };

  const loop = async (
    name: keyof typeof peers,
    workers: number,
    turns: number,
    round: string,
  ): Promise<StreamRound> => {
    const client = new StreamClient(peers[name].url, workers);
    const firstTokens: number[] = [];
    await peers[name].figures();
    const figures = await closedLoop({
      workers,
      turns,
      turn: async (worker, index) =>
        void firstTokens.push(
          (await client.turn(sessionOf(round, worker, index), MESSAGE)).firstTokenMs,
        ),
    });
    client.close();
    const { cpuMs } = await peers[name].figures();
    return { ...figures, cpuPerTurn: cpuMs / figures.turns, firstTokenMs: median(firstTokens) };
  };

  for (const { workers, turns } of [
    { workers: 1, turns: scaled(200) },
    { workers: 20, turns: scaled(1_500) },
  ]) {
    printTitle(
      `Streamed turn, ${LONG.length} tokens without delay, through HTTP, ${workers} ` +
        `${workers === 1 ? "connection" : "connections"} (${rounds} rounds of ${turns} turns)`,
    );
    for (const name of ["dure", "bare", "direct"] as const) {
      await loop(name, workers, Math.ceil(turns / 2), `warm${workers}`);
    }
    const results = await alternate(rounds, {
      dure: (round) => loop("dure", workers, turns, `${workers}.${round}`),
      bare: (round) => loop("bare", workers, turns, `${workers}.${round}`),
      direct: (round) => loop("direct", workers, turns, `${workers}.${round}`),
    });

    printRounds({
      dure: results.dure,
      "AI SDK streamText on Fastify (nothing stored)": results.bare,
      "its model alone on Fastify (nothing stored)": results.direct,
    });
    printFact(
      "first token, dure",
      overRounds(results.dure, (round) => round.firstTokenMs),
      " ms",
    );
    printFact(
      "first token, AI SDK on Fastify",
      overRounds(results.bare, (round) => round.firstTokenMs),
      " ms",
    );
    if (workers === 1) {
      printBound(
        "whole turn, p50",
        overRounds(results.dure, (round) => round.p50),
        { direction: "≤", must: 11, aim: 9 },
        " ms",
      );
    } else {
      printBound(
        "turns/s",
        overRounds(results.dure, (round) => round.perSecond),
        { direction: "≥", must: 110, aim: 300 },
      );
    }
    printFact(
      "p50, ratio to AI SDK on Fastify",
      pairedRatio(results.dure, results.bare, (round) => round.p50),
      " ×",
    );
    printFact(
      "turns/s, ratio to AI SDK on Fastify",
      pairedRatio(results.dure, results.bare, (round) => round.perSecond),
      " ×",
    );
  }

  printTitle("What one streamed turn leaves behind");
  const turns = scaled(300);
  const client = new StreamClient(dure.url, 1);
  const before = { ...(await storedBytes(url)), writes: await writesSoFar(url) };
  for (let index = 0; index < turns; index++) {
    await client.turn(sessionOf("stored", 0, index), MESSAGE);
  }
  const after = { ...(await storedBytes(url)), writes: await writesSoFar(url) };
  client.close();
  printBound(
    "stored: growth of the files of schema dure, indexes included",
    (after.files - before.files) / turns / 1_000,
    { direction: "≤", must: 12, aim: 9 },
    " kB",
  );
  printFact(
    "of it the rows themselves (pg_column_size)",
    (after.rows - before.rows) / turns / 1_000,
    " kB",
  );
  printFact(
    "write transactions per turn, NOTIFY and lease included",
    (after.writes - before.writes) / turns,
  );
}

interface StreamRound extends Round {
  readonly firstTokenMs: number;
}

// --- how long a reader waits for the first token, over the bare model call

async function firstToken(server: BenchPostgres): Promise<void> {
  const model = instantModel(LONG);
  await using dure = await startDure({
    url: await server.database("dure_first_token"),
    model: model.offline,
  });
  const turns = scaled(200);
  const ofModel = async (): Promise<number> => {
    const startedAt = performance.now();
    const { stream } = await model.aiSdk.doStream({
      prompt: [{ role: "user", content: [{ type: "text", text: MESSAGE }] }],
    });
    for await (const part of stream) if (part.type === "text-delta") break;
    return performance.now() - startedAt;
  };
  const ofDure = async (session: string): Promise<number> => {
    const startedAt = performance.now();
    let firstTokenMs = Number.NaN;
    for await (const { type } of dure.engine.turn({ session, message: MESSAGE })) {
      if (type === "LLM_TOKEN" && Number.isNaN(firstTokenMs)) {
        firstTokenMs = performance.now() - startedAt;
      }
    }
    return firstTokenMs;
  };
  const repeat = async (
    name: string,
    once: (session: string) => Promise<number>,
  ): Promise<number> => {
    const latencies: number[] = [];
    for (let index = 0; index < turns; index++) {
      latencies.push(await once(sessionOf(name, 0, index)));
    }
    return median(latencies);
  };

  await repeat("warm", ofDure);
  const results = await alternate(rounds, {
    model: (round) => repeat(`${round}`, ofModel),
    dure: (round) => repeat(`${round}`, ofDure),
  });
  printTitle(`Time to the first token, in process (${rounds} rounds of ${turns} turns)`);
  printFact("bare model call, p50", median(results.model), " ms");
  printFact("dure, p50", median(results.dure), " ms");
  printFact(
    "over the bare model call",
    median(results.dure.map((ms, round) => ms - results.model[round]!)),
    " ms",
  );
}

// --- everything at once

async function unhappy(server: BenchPostgres): Promise<void> {
  const model = instantModel(SHORT);
  const workers = 32;
  const turns = scaled(3_000);
  const happyUrl = await server.database("dure_happy");
  const unhappyUrl = await server.database("dure_unhappy");
  await using rows = await HandWrittenRows.open(await server.database("rows_unhappy"), model.aiSdk);
  await using happy = await startDure({ url: happyUrl, model: model.offline });
  await using burdened = await startDure({
    url: unhappyUrl,
    model: model.offline,
    budgets: {
      turn: { tokens: 1e6 },
      session: { tokens: 1e7 },
      day: { tokens: 1e12 },
      agent: { day: { tokens: 1e12 } },
    },
    retentionEveryMs: 1_000,
  });
  const readers = new AbortController();
  let seen = 0;
  const reading = Array.from({ length: READERS }, async () => {
    for await (const item of burdened.events.follow({}, { signal: readers.signal })) {
      if (item.kind === "event") seen++;
    }
  });

  printTitle(
    `The unhappy shape: ${workers} sessions of one team, budgets on, ${READERS} event readers, ` +
      `retention every second (${rounds} rounds of ${turns} turns)`,
  );
  const loop = (dure: BenchDure, url: string, name: string) =>
    counted(url, dure, () =>
      closedLoop({
        workers,
        turns,
        turn: (worker, index) => dure.turn(sessionOf(name, worker, index), MESSAGE),
      }),
    );
  await loop(happy, happyUrl, "warm");
  await loop(burdened, unhappyUrl, "warm");
  const results = await alternate(rounds, {
    rows: (round) =>
      closedLoop({
        workers,
        turns,
        turn: async (worker, index) =>
          void (await rows.turn(sessionOf(`${round}`, worker, index), MESSAGE)),
      }),
    happy: (round) => loop(happy, happyUrl, `${round}`),
    unhappy: (round) => loop(burdened, unhappyUrl, `${round}`),
  });

  printRounds({
    "rows by hand": results.rows,
    "dure, plain": results.happy,
    "dure, unhappy": results.unhappy,
  });
  printCounts(results.unhappy);
  printBound(
    "turns/s, ratio to rows by hand",
    pairedRatio(results.unhappy, results.rows, (round) => round.perSecond),
    { direction: "≥", must: 0.26, aim: 0.5 },
    " ×",
  );
  printFact(
    "turns/s, ratio to dure without the burden",
    pairedRatio(results.unhappy, results.happy, (round) => round.perSecond),
    " ×",
  );
  printBound(
    "statements per turn",
    overRounds(results.unhappy, (round) => round.statements),
    { direction: "≤", must: 10, aim: 5 },
  );

  const expected = READERS * 2 * turns * (rounds + 1);
  const deadline = systemClock.monotonic() + 10_000;
  while (seen < expected && systemClock.monotonic() < deadline) await systemClock.sleep(20);
  printFact(
    `events that ${READERS} readers have seen, of ${expected.toLocaleString("en")} due`,
    seen,
  );
  readers.abort();
  await Promise.all(reading);
}

// --- counting

interface CountedRound extends Round {
  /** Per turn, of the pool. */
  readonly statements: number;
  readonly byName: ReadonlyMap<string, number>;
  /** Transactions that wrote, per turn, of the whole server. */
  readonly writes: number;
}

async function counted(
  url: string,
  dure: BenchDure,
  work: () => Promise<Round>,
): Promise<CountedRound> {
  const statementsBefore = dure.database.statements;
  const namesBefore = new Map(dure.statements);
  const writesBefore = await writesSoFar(url);
  const round = await work();
  const writes = (await writesSoFar(url)) - writesBefore;
  return {
    ...round,
    statements: (dure.database.statements - statementsBefore) / round.turns,
    byName: new Map(
      [...dure.statements].map(([name, count]) => [
        name,
        (count - (namesBefore.get(name) ?? 0)) / round.turns,
      ]),
    ),
    writes: writes / round.turns,
  };
}

function printCounts(results: readonly CountedRound[]): void {
  const names = [...results.at(-1)!.byName]
    .toSorted(([, a], [, b]) => b - a)
    .filter(([, count]) => count >= 0.005);
  printFact(
    "write transactions per turn, NOTIFY and lease included",
    overRounds(results, (round) => round.writes),
  );
  printBound(
    "of them commits of the turn itself",
    overRounds(results, (round) => commitsOf(round)),
    { direction: "≤", aim: 2 },
  );
  console.log(
    "  statements per turn by name: " +
      names.map(([name, count]) => `${name} ${count.toFixed(2)}`).join(", "),
  );
}

function commitsOf({ byName }: CountedRound): number {
  return TURN_WRITES.reduce((sum, name) => sum + (byName.get(name) ?? 0), 0);
}

function printRounds(peers: Readonly<Record<string, readonly Round[]>>): void {
  printTable(
    ["", "p50 ms", "p99 ms", "turns/s", "CPU ms/turn"],
    Object.entries(peers).map(([name, results]) => [
      name,
      overRounds(results, (round) => round.p50),
      overRounds(results, (round) => round.p99),
      overRounds(results, (round) => round.perSecond),
      overRounds(results, (round) => round.cpuPerTurn),
    ]),
  );
}

/** The median over rounds of one peer's figure over the other's in the same round. */
function pairedRatio(
  ours: readonly Round[],
  theirs: readonly Round[],
  figure: (round: Round) => number,
): number {
  return median(ours.map((round, index) => figure(round) / figure(theirs[index]!)));
}
