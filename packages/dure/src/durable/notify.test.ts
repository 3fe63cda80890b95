import { expect, test } from "vitest";
import { silentLogger } from "../kernel/logger.ts";
import type { Database } from "./database.ts";
import { Notifications } from "./notify.ts";
import { testDatabase } from "./test-database.ts";

/** On a busy machine; a test that works needs far less. */

test("a topic wakes its subscribers in every process, and only them", async () => {
  await using db = await testDatabase({ migrated: false });
  await using here = await started(db.database);
  await using there = await started(db.database);
  const woken = { here: 0, there: 0, other: 0 };
  here.notifications.subscribe("events", () => woken.here++);
  there.notifications.subscribe("events", () => woken.there++);
  there.notifications.subscribe("stops", () => woken.other++);

  here.notifications.publish("events");

  await expect.poll(() => woken).toEqual({ here: 1, there: 1, other: 0 });
});

test("many publications in one instant are one NOTIFY per topic", async () => {
  await using db = await testDatabase({ migrated: false });
  await using own = await started(db.database);
  let events = 0;
  let last = 0;
  own.notifications.subscribe("events", () => events++);
  own.notifications.subscribe("last", () => last++);

  for (let count = 0; count < 1_000; count++) own.notifications.publish("events");
  own.notifications.publish("last");

  await expect.poll(() => last).toBe(1);
  expect(events).toBe(1);
});

test("what a process publishes wakes it once, not again when PostgreSQL tells of it", async () => {
  await using db = await testDatabase({ migrated: false });
  await using here = await started(db.database);
  await using there = await started(db.database);
  const woken = { here: 0, there: 0, last: 0 };
  here.notifications.subscribe("events", () => woken.here++);
  there.notifications.subscribe("events", () => woken.there++);
  here.notifications.subscribe("last", () => woken.last++);

  here.notifications.publish("events");
  await expect.poll(() => woken.there).toBe(1);
  there.notifications.publish("last"); // comes behind the own one

  await expect.poll(() => woken.last).toBe(1);
  expect(woken.here).toBe(1);
});

test("after a cut everybody is called, and publishing works again", async () => {
  await using db = await testDatabase({ migrated: false });
  await using own = await started(db.database);
  let woken = 0;
  own.notifications.subscribe("events", () => woken++);
  own.notifications.publish("events");
  await expect.poll(() => woken).toBe(1);

  await db.database.query({
    text: "select pg_terminate_backend(pid, 2000) from pg_stat_activity where application_name in ('dure:test:listen', 'dure:test:notify')",
  });
  await expect.poll(() => woken).toBe(2);

  own.notifications.publish("events");
  await expect.poll(() => woken).toBe(3);
});

test("a process that is alone sends no NOTIFY, until another one begins to listen", async () => {
  await using db = await testDatabase({ migrated: false });
  await using own = await started(db.database);
  let here = 0;
  let woken = 0;
  own.notifications.subscribe("events", () => here++);
  const noted = async (): Promise<number> => {
    const text =
      "select count(*)::integer as count from pg_stat_activity where query ~ 'pg_notify'";
    const mine = "datname = current_database() and application_name like '%:notify'";
    const [row] = await db.database.query<{ count: number }>({ text: `${text} and ${mine}` });
    return row!.count;
  };
  own.notifications.publish("events");
  await expect.poll(noted).toBe(1);
  for (let times = 0; times < 3; times++) own.notifications.publish("events");

  await using other = await started(db.database);
  other.notifications.subscribe("events", () => woken++);
  own.notifications.publish("events");

  await expect.poll(() => woken).toBe(1);
  expect(here).toBe(3);
});

test("a subscriber that throws does not keep the others asleep", async () => {
  await using db = await testDatabase({ migrated: false });
  await using own = await started(db.database);
  let woken = 0;
  own.notifications.subscribe("events", () => {
    throw new Error("not today");
  });
  own.notifications.subscribe("events", () => woken++);

  own.notifications.publish("events");

  await expect.poll(() => woken).toBe(1);
});

test("start twice is one start, stop sends what is pending, and later publications are silent", async () => {
  await using db = await testDatabase({ migrated: false });
  await using reader = await started(db.database);
  let woken = 0;
  reader.notifications.subscribe("events", () => woken++);
  const writer = new Notifications({ database: db.database, logger: silentLogger });
  await Promise.all([writer.start(), writer.start()]);

  writer.publish("events");
  await writer.stop();
  await writer.stop();
  writer.publish("events");

  await expect.poll(() => woken).toBe(1);
});

async function started(
  database: Database,
): Promise<{ notifications: Notifications } & AsyncDisposable> {
  const notifications = new Notifications({ database, logger: silentLogger });
  await notifications.start();
  return { notifications, [Symbol.asyncDispose]: () => notifications.stop() };
}
