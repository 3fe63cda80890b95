/**
 * The event log: how much it takes in and gives out, and how far its readers are behind.
 * `node --conditions=dure-source bench/events.ts [--rounds 5] [--scale 1]`.
 */

import { parseArgs } from "node:util";
import { Database } from "../packages/dure/src/durable/database.ts";
import { EventLog } from "../packages/dure/src/durable/event-log.ts";
import { migrate } from "../packages/dure/src/durable/migrate.ts";
import { SCHEMA } from "../packages/dure/src/team/schema.ts";
import { Notifications } from "../packages/dure/src/durable/notify.ts";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import { silentLogger } from "../packages/dure/src/kernel/logger.ts";
import {
  median,
  overRounds,
  percentile,
  printFact,
  printMachine,
  printTable,
  printTitle,
} from "./lib/figures.ts";
import { alternate, closedLoop } from "./lib/load.ts";
import { startPostgres } from "./lib/postgres.ts";
import type { NewPlatformEvent } from "../packages/dure/src/wire/events.ts";

const { values: options } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, scale: { type: "string", default: "1" } },
});
const rounds = Number(options.rounds);
const scaled = (count: number): number => Math.max(100, Math.round(count * Number(options.scale)));

/** Of one turn's end, about what the engine writes. */
const EVENT: NewPlatformEvent = {
  type: "turn.done",
  role: "conversation",
  session: "s1",
  turn: "turn_1",
  service: "chat",
  data: {
    author: "person",
    message: "The parcel arrives on Monday.",
    nextAction: "ASK",
    elapsedMs: 2,
  },
};
const READERS = 10;

printMachine();
await using postgres = await startPostgres();
const url = await postgres.database("events");
const reading = await openLog(url, "reader");
const writing = await openLog(url, "writer");
await writing.database.query({
  text: `
    create table bare (id bigint generated always as identity primary key,
    at timestamptz not null default clock_timestamp(), event jsonb not null)`,
});

await appending();
await lagging();
await readingAll();

await writing.stop();
await reading.stop();

/**
 * Against the plainest log: one insert into a table with a sequence, whose readers can miss what
 * commits late.
 */
async function appending(): Promise<void> {
  const insert = { name: "bare", text: "insert into bare (event) values ($1)" };
  for (const { workers, batch } of [
    { workers: 1, batch: 1 },
    { workers: 16, batch: 1 },
    { workers: 16, batch: 50 },
  ]) {
    const turns = scaled(workers === 1 ? 1_000 : 5_000 / Math.sqrt(batch));
    const events = Array.from({ length: batch }, () => EVENT);
    const text = JSON.stringify(events);
    const inserting =
      batch === 1
        ? insert
        : {
            name: "bare50",
            text: "insert into bare (event) select * from jsonb_array_elements($1::jsonb)",
          };
    const results = await alternate(rounds, {
      bare: () =>
        closedLoop({
          workers,
          turns,
          turn: async () =>
            void (await writing.database.query(inserting, [
              batch === 1 ? JSON.stringify(EVENT) : text,
            ])),
        }),
      log: () =>
        closedLoop({ workers, turns, turn: () => writing.log.append(writing.database, events) }),
    });
    printTitle(
      `Append, ${workers} ${workers === 1 ? "writer" : "writers"}, ${batch} ` +
        `${batch === 1 ? "event" : "events"} at once (${rounds} rounds)`,
    );
    printTable(
      ["", "p50 ms", "p99 ms", "events/s"],
      Object.entries({ "bare insert": results.bare, "event log": results.log }).map(
        ([name, peer]) => [
          name,
          overRounds(peer, (round) => round.p50),
          overRounds(peer, (round) => round.p99),
          overRounds(peer, (round) => round.perSecond * batch),
        ],
      ),
    );
    printFact(
      "events/s, ratio to bare insert",
      median(results.log.map((round, index) => round.perSecond / results.bare[index]!.perSecond)),
      " ×",
    );
  }
}

/**
 * From the return of `append` in one process' log to each reader of another's, so NOTIFY and the
 * poll are in it.
 */
async function lagging(): Promise<void> {
  const stop = new AbortController();
  const sentAt = new Map<string, number>();
  const lags: number[] = [];
  let attached = 0;
  const readers = Array.from({ length: READERS }, async () => {
    for await (const item of reading.log.follow({ types: ["room.*"] }, { signal: stop.signal })) {
      if (item.kind !== "event") continue;
      if (item.event.type === "room.thread_made") attached++;
      if (item.event.type !== "room.edited") continue;
      lags.push(performance.now() - sentAt.get(item.event.data.message)!);
    }
  });
  while (attached < READERS) {
    attached = 0;
    await writing.log.append(writing.database, [
      { type: "room.thread_made", role: "system", data: {} },
    ]);
    await systemClock.sleep(100);
  }
  const count = scaled(1_000);
  for (let index = 0; index < count; index++) {
    sentAt.set(`${index}`, performance.now());
    await writing.log.append(writing.database, [
      { type: "room.edited", role: "conversation", data: { message: `${index}` } },
    ]);
    await systemClock.sleep(index % 7); // not in step with the 5 ms in which NOTIFYs are gathered
  }
  while (lags.length < count * READERS) await systemClock.sleep(10);
  stop.abort();
  await Promise.all(readers);
  printTitle(`From the call of append to ${READERS} followers (${count} events, one by one)`);
  printFact("p50", percentile(lags, 0.5), " ms");
  printFact("p99", percentile(lags, 0.99), " ms");
}

async function readingAll(): Promise<void> {
  const startedAt = performance.now();
  let events = 0;
  let after: string | undefined;
  for (;;) {
    const page = await reading.log.read(after, {}, 500);
    events += page.events.length;
    after = page.next;
    if (page.atEnd) break;
  }
  printTitle("Reading everything from the start");
  printFact("events", events);
  printFact("events/s in pages of 500", events / ((performance.now() - startedAt) / 1_000));
}

async function openLog(
  databaseUrl: string,
  name: string,
): Promise<{ database: Database; log: EventLog; stop: () => Promise<void> }> {
  const database = await Database.open({
    url: databaseUrl,
    applicationName: `dure:bench-${name}`,
    logger: silentLogger,
  });
  await migrate(database, SCHEMA, { logger: silentLogger });
  const notifications = new Notifications({ database, logger: silentLogger });
  await notifications.start();
  const log = new EventLog({ database, logger: silentLogger, notifications });
  return {
    database,
    log,
    async stop() {
      await log.stop();
      await notifications.stop();
      await database.close();
    },
  };
}
