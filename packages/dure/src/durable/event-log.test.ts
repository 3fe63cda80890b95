// @module-tag slow
import { describe, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import type { EventFilter } from "../kernel/platform-events.ts";
import { sampled } from "../kernel/test-tiers.ts";
import { Database } from "./database.ts";
import { EventLog, type FollowedItem } from "./event-log.ts";
import { parsePosition } from "./event-position.ts";
import { matchesFilter } from "./event-filter.ts";
import { Notifications } from "./notify.ts";
import { testDatabase } from "./test-database.ts";
import { TeamProcess } from "./test-members.ts";
import type { NewPlatformEvent, UnknownEvent } from "../wire/events.ts";

const SEEDS = sampled(
  Array.from({ length: process.env["DURE_TEST_LONG"] ? 20 : 3 }, (_, index) => index + 1),
  1,
);

/** Also one that no release writes. */
function anEvent(type: string, more: Partial<Omit<UnknownEvent, "type">> = {}): NewPlatformEvent {
  return { type, role: "system", data: {}, ...more } as NewPlatformEvent;
}

const numberIn = (item: FollowedItem): unknown =>
  item.kind === "event" && "n" in item.event.data && item.event.data.n;

/** Two logs as of two processes: each with its own connections and poller. */
async function twoLogs(url: string, options: { bufferLimit?: number } = {}) {
  const open = async () => {
    const database = await Database.open({
      url,
      applicationName: "dure:test",
      logger: silentLogger,
      max: 6,
    });
    const notifications = new Notifications({ database, logger: silentLogger });
    await notifications.start();
    const log = new EventLog({ database, logger: silentLogger, notifications, ...options });
    return { database, notifications, log };
  };
  const both = [await open(), await open()] as const;
  return {
    writer: both[0],
    reader: both[1],
    async [Symbol.asyncDispose]() {
      for (const { log, notifications, database } of both) {
        await log.stop();
        await notifications.stop();
        await database.close();
      }
    },
  };
}

/** Takes items until `done`, at most 10 s. */
async function collect(
  items: AsyncGenerator<FollowedItem>,
  done: (all: FollowedItem[]) => boolean,
): Promise<FollowedItem[]> {
  const all: FollowedItem[] = [];
  for await (const item of items) {
    all.push(item);
    if (done(all)) break;
  }
  return all;
}

const typesOf = (items: readonly FollowedItem[]): string[] =>
  items.map((item) => (item.kind === "event" ? item.event.type : item.kind));

test("a reader on another process sees an event within moments of its commit, with its subjects", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const following = collect(
    logs.reader.log.follow({}, { after: await logs.reader.log.now() }),
    (all) => all.length === 1,
  );

  await logs.writer.log.append(logs.writer.database, [
    anEvent("turn.done", { role: "conversation", session: "s1", turn: "t1", data: { n: 1 } }),
  ]);

  const [item] = await following;
  expect(item).toEqual({
    kind: "event",
    event: {
      id: expect.stringMatching(/^1\.\d+\.\d+$/),
      at: expect.any(Number),
      type: "turn.done",
      role: "conversation",
      session: "s1",
      turn: "t1",
      data: { n: 1 },
    },
  });
});

test("events of one write are read in its order", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using team = await twoLogs(db.url);
  const types = Array.from({ length: 20 }, (_, index) => `step.${index}`);

  await team.writer.log.append(
    team.writer.database,
    types.map((type) => anEvent(type)),
  );

  await team.reader.log.caughtUp();
  const { events } = await team.reader.log.read();
  expect(events.map(({ type }) => type)).toEqual(types);
});

test("a reader may begin with the newest that match, fewer when there are fewer, and goes on live", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  await log.append(
    database,
    ["a", "b", "c"].map((type) => anEvent(type, { session: "s1" })),
  );
  await log.append(
    database,
    ["d", "e"].map((type) => anEvent(type, { session: "s2" })),
  );
  const shown = async (count: number, filter: EventFilter = {}): Promise<string[]> => {
    const page = await log.read(await log.beforeLast(count, filter), filter);
    return page.events.map(({ type }) => type);
  };

  await expect.poll(() => shown(3)).toEqual(["c", "d", "e"]); // a transaction elsewhere in the cluster may hide them for a moment
  expect(await shown(2, { session: "s1" })).toEqual(["b", "c"]);
  expect(await shown(1, { types: ["a", "d.*"] })).toEqual(["a"]);
  expect(await shown(1_000)).toEqual(["a", "b", "c", "d", "e"]);
  await expect
    .poll(async () => (await log.beforeLast(5, { session: "nobody" })) === (await log.now()))
    .toBe(true); // the end moves with every transaction of the cluster

  const following = collect(
    logs.reader.log.follow(
      { session: "s1" },
      { after: await log.beforeLast(2, { session: "s1" }) },
    ),
    (all) => all.length === 3,
  );
  await log.append(database, [anEvent("f", { session: "s1" })]);
  expect(typesOf(await following)).toEqual(["b", "c", "f"]);
});

test("an event that commits late is not skipped by a reader who has seen younger ones", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  const written = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const following = collect(
    logs.reader.log.follow({}, { after: await logs.reader.log.now() }),
    (all) => all.length === 3,
  );

  const late = database.transaction(async (tx) => {
    await log.append(tx, [anEvent("late")]);
    written.resolve();
    await release.promise;
  });
  await written.promise;
  await log.append(database, [anEvent("young")]);
  await expect.poll(() => logs.reader.log.lag(), { timeout: 20_000 }).toBeGreaterThan(700); // readers have looked, and wait
  release.resolve();
  await late;
  log.announce();
  await log.append(database, [anEvent("last")]);

  expect(typesOf(await following)).toEqual(["late", "young", "last"]);
});

test("a reader who asks to be caught up waits for the transaction that holds back earlier commits", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  const written = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const open = database.transaction(async (tx) => {
    await log.append(tx, [anEvent("open")]);
    written.resolve();
    await release.promise;
  });
  await written.promise;
  await log.append(database, [anEvent("committed")]);
  const before = await logs.reader.log.read();

  let isCaughtUp = false;
  const caughtUp = logs.reader.log.caughtUp().then(() => (isCaughtUp = true));
  for (let reads = 0; reads < 10; reads++) await logs.reader.log.read();
  expect(isCaughtUp).toBe(false);
  release.resolve();
  await open;
  await caughtUp;

  expect(typesOf(before.events.map((event) => ({ kind: "event" as const, event })))).toEqual([]);
  expect((await logs.reader.log.read()).events.map(({ type }) => type)).toEqual([
    "open",
    "committed",
  ]);
  await expect(logs.reader.log.caughtUp({ signal: AbortSignal.abort() })).resolves.toBeUndefined();
});

test("what a transaction wrote and rolled back is never seen", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  await database
    .transaction(async (tx) => {
      await log.append(tx, [anEvent("void")]);
      throw new Error("no");
    })
    .catch(() => {});
  await log.append(database, [anEvent("kept")]);

  await expect
    .poll(async () => (await log.read()).events.map((event) => event.type), { timeout: 20_000 })
    .toEqual(["kept"]);
});

describe.each(SEEDS.rows)("under load, seed %i", (seed) => {
  test(
    "readers on two processes that reconnect at random read every event once, in one order",
    { ...SEEDS.options, timeout: 120_000 },
    async () => {
      await using db = await testDatabase({ cluster: "events" });
      const log = new EventLog({ database: db.database, logger: silentLogger });
      const from = await log.now();
      await using readerA = new TeamProcess("reader", db.url, String(seed * 10 + 1), from);
      await using readerB = new TeamProcess("reader", db.url, String(seed * 10 + 2), from);
      await readerA.says("reading");
      await readerB.says("reading");

      await using writerA = new TeamProcess("writer", db.url, `w${seed * 10 + 3}`, "300");
      await using writerB = new TeamProcess("writer", db.url, `w${seed * 10 + 4}`, "300");
      await writerA.says("finished");
      // Readers lose the database in the middle too.
      await db.database.query({
        text: "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like '%:listen'",
      });
      await writerB.says("finished");
      await log.append(db.database, [anEvent("test.end")]);
      await readerA.says("read", (line) => line["type"] === "test.end");
      await readerB.says("read", (line) => line["type"] === "test.end");

      const written = [...writerA.lines, ...writerB.lines]
        .filter((line) => line.say === "wrote")
        .map((line) => line["key"] as string);
      const readBy = (reader: TeamProcess) =>
        reader.lines
          .filter((line) => line.say === "read" && line["type"] !== "test.end")
          .map((line) => line["key"] as string);
      expect(written.length).toBeGreaterThan(400);
      expect(readBy(readerA).toSorted()).toEqual(written.toSorted());
      expect(readBy(readerB)).toEqual(readBy(readerA));
      expect(readerA.lines.some((line) => line.say === "reset")).toBe(false);
    },
  );
});

test("a follower that starts far back catches up and goes on without a gap while others write", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  const start = await log.now();
  await log.append(
    database,
    Array.from({ length: 1_700 }, (_, n) => anEvent("n", { data: { n } })),
  );
  const writing = (async () => {
    for (let n = 1_700; n < 1_900; n++) await log.append(database, [anEvent("n", { data: { n } })]);
  })();

  const items = await collect(
    logs.reader.log.follow({}, { after: start }),
    (all) => all.length === 1_900,
  );
  await writing;

  expect(items.map(numberIn)).toEqual(Array.from({ length: 1_900 }, (_, n) => n));
});

/**
 * Until all followers have caught up and ask no more for themselves: what is left is the poller's
 * look.
 */
async function joined(database: Database): Promise<void> {
  const asksStill = async (): Promise<boolean> => {
    const before = database.statements;
    await systemClock.sleep(200);
    return database.statements - before > 1;
  };
  while (await asksStill());
}

test("many followers of one process cost one query per look", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const after = await logs.reader.log.now();
  const followers = Array.from({ length: 300 }, (_, n) =>
    collect(logs.reader.log.follow({ session: `s${n % 3}` }, { after }), (all) => all.length === 2),
  );
  const tellEach = () =>
    logs.writer.log.append(
      logs.writer.database,
      [0, 1, 2].map((n) => anEvent("x", { session: `s${n}` })),
    );
  await joined(logs.reader.database);
  const before = logs.reader.database.statements;

  await tellEach();
  await tellEach();

  const all = await Promise.all(followers);
  expect(
    all.every((items, n) =>
      items.every((item) => item.kind === "event" && item.event.session === `s${n % 3}`),
    ),
  ).toBe(true);
  expect(logs.reader.database.statements - before).toBeLessThan(10);
});

test("a reader that does not take its events is cut off with the place to resume, and the others are not", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url, { bufferLimit: 50 });
  const { log, database } = logs.writer;
  const after = await logs.reader.log.now();
  const lazy = logs.reader.log.follow({}, { after });
  const eager = collect(logs.reader.log.follow({}, { after }), (all) => all.length === 200);
  const waiting = lazy.next();
  await joined(logs.reader.database); // a reader that still catches up reads pages at its own pace, and is never cut off
  await log.append(database, [anEvent("n", { data: { n: 0 } })]);
  const first = await waiting; // and takes nothing more
  for (let n = 1; n < 200; n++) await log.append(database, [anEvent("n", { data: { n } })]);
  await eager;

  const taken: FollowedItem[] = [first.value as FollowedItem];
  const error = await (async () => {
    for await (const item of lazy) taken.push(item);
  })().catch((cause: unknown) => cause as { code: string; details: { resume: string } });

  expect(error).toMatchObject({ code: "EVENT_READER_SLOW" });
  const resumed = await collect(
    logs.reader.log.follow({}, { after: error!.details.resume }),
    (all) => all.length + taken.length === 200,
  );
  expect([...taken, ...resumed].map(numberIn)).toEqual(Array.from({ length: 200 }, (_, n) => n));
});

test("a follower waits out a database that cuts every connection", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const following = collect(
    logs.reader.log.follow({}, { after: await logs.reader.log.now() }),
    (all) => all.length === 2,
  );
  await logs.writer.log.append(logs.writer.database, [anEvent("before")]);

  await db.database.query({
    text: "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()",
  });
  await expect
    .poll(
      () =>
        logs.writer.log.append(logs.writer.database, [anEvent("after")]).then(
          () => true,
          () => false,
        ),
      { timeout: 20_000 },
    )
    .toBe(true);

  expect(typesOf(await following)).toEqual(["before", "after"]);
});

test("a position older than the retention is answered with a reset, then with all that is kept", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  const start = await log.now();
  await log.append(database, [anEvent("old"), anEvent("old")]);
  await expect.poll(async () => (await log.read(start)).events.length, { timeout: 20_000 }).toBe(2);
  await database.query({ text: "update dure.events set at = at - interval '8 days'" });
  await log.append(database, [anEvent("new")]);
  await database.query({ text: "select dure.sweep_events(7 * 86400e3, 1000)" });

  const items = await collect(log.follow({}, { after: start }), (all) => all.length === 2);
  const page = await log.read(start);

  expect(typesOf(items)).toEqual(["reset", "new"]);
  expect(items[0]).toMatchObject({ because: "retention", oldest: expect.any(String) });
  expect(page).toMatchObject({ reset: { because: "retention" }, events: [{ type: "new" }] });
  expect(await log.read((items[0] as { oldest: string }).oldest)).not.toHaveProperty("reset");
});

test("a restore starts a new era: old positions are reset, also for readers that are connected", async () => {
  await using db = await testDatabase({ cluster: "events" });
  await using logs = await twoLogs(db.url);
  const { log, database } = logs.writer;
  const start = await log.now();
  await log.append(database, [anEvent("kept")]);
  const seen: FollowedItem[] = [];
  const following = (async () => {
    for await (const item of logs.reader.log.follow({}, { after: start })) {
      if (seen.push(item) === 4) return seen;
    }
    return seen;
  })();
  await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(1); // it is connected, and has read what there is

  const era = await database.transaction((tx) => log.startEra(tx));
  await log.append(database, [anEvent("new")]);

  expect(era).toBe(2);
  expect(typesOf(await following)).toEqual(["kept", "reset", "kept", "new"]);
  expect((await log.read(start)).reset).toMatchObject({ because: "era" });
});

test("events from the future of another cluster are noticed at start", async () => {
  await using db = await testDatabase({ cluster: "events" });
  const log = new EventLog({ database: db.database, logger: silentLogger });
  await log.append(db.database, [anEvent("restored")]);
  expect(await log.start()).toBe(1);
  await db.database.query({ text: "update dure.events set xid = '9000000000000'" });

  expect(await log.start()).toBe(2);

  await expect
    .poll(async () => (await log.read()).events.map((event) => event.type), { timeout: 20_000 })
    .toEqual(["restored"]);
});

test("a position from the future is reset, and nonsense is refused", async () => {
  await using db = await testDatabase({ cluster: "events" });
  const log = new EventLog({ database: db.database, logger: silentLogger });

  expect((await log.read("1.9000000000000.1")).reset).toMatchObject({ because: "era" });
  for (const nonsense of [
    "",
    "1.2",
    "a.b.c",
    "1.2.3.4",
    "0.1.1",
    "1.-2.3",
    "1.99999999999999999999.1",
    "1.1.9999999999999999999",
  ]) {
    expect(() => parsePosition(nonsense), nonsense).toThrow(
      expect.objectContaining({ code: "EVENT_POSITION_INVALID", class: "input" }),
    );
  }
  await expect(log.follow({}, { after: "nonsense" }).next()).rejects.toMatchObject({
    code: "EVENT_POSITION_INVALID",
  });
});

test("the filter of a page and the filter of a follower are one", async () => {
  await using db = await testDatabase({ cluster: "events" });
  const log = new EventLog({ database: db.database, logger: silentLogger });
  await log.append(db.database, [
    anEvent("turn.done", { session: "s1" }),
    anEvent("turn_x.done", { session: "s1" }),
    anEvent("turnip", { room: "r1", role: "delegation" }),
    anEvent("job.done", { run: "x", job: "j1", role: "orchestration" }),
    anEvent("job.done.late", { run: "x" }),
    anEvent("turn.done", { tenant: "acme" }),
    anEvent("turn.done", { tenant: "beta" }),
  ]);
  await expect.poll(async () => (await log.read()).events.length, { timeout: 20_000 }).toBe(7);
  const { events } = await log.read();
  const filters: EventFilter[] = [
    {},
    { types: [] },
    { types: ["turn.*"] },
    { types: ["turn.done", "job.*"] },
    { types: ["job.done"] },
    { types: ["*"] },
    { session: "s1" },
    { run: "x" },
    { room: "r1" },
    { role: "system" },
    { role: "system", run: "x" },
    { session: "none" },
    { job: "j1" },
    { job: "j2" },
    { tenant: "acme" },
    { tenant: "" },
    { tenant: "none" },
  ];

  for (const filter of filters) {
    expect((await log.read(undefined, filter)).events, JSON.stringify(filter)).toEqual(
      events.filter((event) => matchesFilter(filter, event)),
    );
  }
  expect(
    (await log.read(undefined, { tenant: "acme" })).events.map(({ tenant }) => tenant),
  ).toEqual(["acme"]);
});

test("an abort ends a follower that waits", async () => {
  await using db = await testDatabase({ cluster: "events" });
  const log = new EventLog({ database: db.database, logger: silentLogger });
  const abort = new AbortController();
  const following = collect(log.follow({}, { signal: abort.signal }), () => false);
  await systemClock.sleep(100);

  abort.abort();

  expect(await following).toEqual([]);
});
