import type { ScheduleFiring } from "../wire/schedules.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { joinTeam } from "../durable/test-members.ts";
import { testDatabase, type TestDatabase } from "../durable/test-database.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import { FULL } from "../kernel/test-tiers.ts";
import type { Schedule } from "./schedule.ts";
import { Schedules } from "./schedules.ts";

const NINE = Date.parse("2026-11-24T09:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

const standup: Schedule = {
  name: "standup",
  cron: "0 9 * * *",
  timeZone: "UTC",
  missed: "skip",
  tenant: "",
  deed: { kind: "message", room: "general", text: "Good morning" },
};

const stack = new AsyncDisposableStack();
let db: TestDatabase;
let members: readonly Awaited<ReturnType<typeof joinTeam>>[] = [];

beforeAll(async () => {
  db = stack.use(await testDatabase());
  members = [stack.use(await joinTeam(db.url)), stack.use(await joinTeam(db.url))];
}, 60_000);

afterAll(() => stack.disposeAsync());

beforeEach(() => db.database.query({ text: "truncate dure.schedules, dure.schedule_firings" }));

/** Each process looks when the test says so. */
const NO_TIMERS: Clock = { ...systemClock, after: () => () => undefined };

interface World {
  /** The wall clock, milliseconds. */
  now: number;
  readonly open: (schedules?: readonly Schedule[], member?: number) => Promise<Schedules>;
}

function worldAt(now: number): World {
  const world: World = {
    now,
    open: async (schedules = [standup], member = 0) => {
      const clock = { ...NO_TIMERS, now: () => world.now };
      const { database, lease, logger } = members[member]!;
      const outbox = { announce: () => undefined };
      const opened = new Schedules({ schedules, database, lease, outbox, clock, logger });
      await opened.start();
      await opened.look();

      return opened;
    },
  };

  return world;
}

const everyone = { tenant: null, by: "kim" };

async function lastOf(schedules: Schedules): Promise<readonly ScheduleFiring[]> {
  return (await schedules.list(everyone))[0]!.last;
}

/** Keys of what is to be done. */
async function entries(): Promise<readonly string[]> {
  const rows = await db.database.query<{ key: string }>({
    text: "delete from dure.outbox where topic = 'schedule' returning key",
  });
  return rows.map(({ key }) => key).toSorted();
}

describe("a moment", FULL, () => {
  test("is taken once by two processes that look at once, and by one that starts later", async () => {
    const world = worldAt(NINE - MINUTE);
    const all = [await world.open([standup], 0), await world.open([standup], 1)];

    world.now = NINE;
    await Promise.all(all.map((one) => one.look()));
    world.now += MINUTE;
    await (await world.open()).look();

    expect(await entries()).toEqual(["schedule:standup:2026-11-24T09:00:00.000Z"]);
  });

  test("of a paused schedule passes, and the next one after it counts", async () => {
    const world = worldAt(NINE - MINUTE);
    const one = await world.open();
    await one.pause("standup", everyone);

    world.now = NINE + MINUTE;
    await one.look();
    const paused = (await one.list(everyone))[0]!;
    await one.resume("standup", everyone);
    await one.look();
    const passed = await entries();
    world.now = NINE + DAY;
    await one.look();

    expect(paused).toMatchObject({ next: null, paused: { by: "kim" } });
    expect(passed).toEqual([]);
    expect(await entries()).toEqual(["schedule:standup:2026-11-25T09:00:00.000Z"]);
  });

  test("that was missed is noted, or done once, as the rule says", async () => {
    const world = worldAt(NINE - MINUTE);
    const late: Schedule = { ...standup, name: "late", missed: "once" };
    await world.open([standup, late]);

    world.now = NINE + 60 * MINUTE;
    const again = await world.open([standup, late]);

    expect(await entries()).toEqual(["schedule:late:2026-11-24T09:00:00.000Z"]);
    expect((await again.list(everyone)).map(({ last }) => last[0]?.status)).toEqual([
      "taken",
      "missed",
    ]);
  });
});

describe("the last start decides", FULL, () => {
  test("a changed rule counts from then on, also in processes of before", async () => {
    const world = worldAt(NINE - 10 * MINUTE);
    const before = await world.open();
    world.now = NINE - 2 * MINUTE;
    const after = await world.open([{ ...standup, cron: "55 8,9 * * *" }], 1);

    world.now = NINE;
    await before.look();
    await after.look();
    const atNine = await entries();
    world.now = NINE + 55 * MINUTE;
    await before.look();
    await after.look();

    expect(atNine).toEqual([]);
    expect(await entries()).toEqual(["schedule:standup:2026-11-24T09:55:00.000Z"]);
  });

  test("what was removed does not fire; when it comes back it counts from then on", async () => {
    const world = worldAt(NINE - MINUTE);
    const before = await world.open();
    await world.open([], 1);

    world.now = NINE;
    await before.look();
    world.now = NINE + MINUTE;
    await (await world.open()).look();

    expect(await entries()).toEqual([]);
  });
});

describe("a clock", FULL, () => {
  test("that is set back by a day fires no moment again", async () => {
    const world = worldAt(NINE - MINUTE);
    const one = await world.open();
    world.now = NINE + DAY;
    await one.look();
    world.now = NINE - MINUTE;
    await one.look();
    world.now = NINE + DAY;
    await one.look();

    expect(await entries()).toEqual(["schedule:standup:2026-11-25T09:00:00.000Z"]);
  });

  test("that was set forward and back keeps no later moment from coming", async () => {
    const world = worldAt(NINE - 10 * MINUTE);
    const one = await world.open();
    world.now = NINE + 90 * DAY + 60 * MINUTE;
    await one.look();
    world.now = NINE - 9 * MINUTE;
    await one.look();
    for (const days of [0, 1, 90]) {
      world.now = NINE + days * DAY;
      await one.look();
    }

    expect(await entries()).toEqual([
      "schedule:standup:2026-11-24T09:00:00.000Z",
      "schedule:standup:2026-11-25T09:00:00.000Z",
      "schedule:standup:2027-02-22T09:00:00.000Z",
    ]);
  });
});

describe("by hand", FULL, () => {
  test("the same key is one run; the moments stay as they are", async () => {
    const world = worldAt(NINE - MINUTE);
    const one = await world.open();

    const first = await one.run("standup", "k", everyone);
    const second = await one.run("standup", "k", everyone);

    expect(second).toEqual(first);
    expect(await entries()).toEqual(["schedule:standup:by-hand:k"]);
    expect(await lastOf(one)).toMatchObject([{ by: "kim", status: "taken", due: world.now }]);
    expect((await one.list(everyone))[0]!.next).toBe(NINE);
  });

  test("a tenant sees and runs its own alone", async () => {
    const own: Schedule = { ...standup, name: "own", tenant: "acme" };
    const one = await worldAt(NINE).open([standup, own]);
    const acme = { tenant: "acme", by: "token_1" };

    const refused = await one.run("standup", "k", acme).catch(codeOf);

    expect(refused).toBe("SCHEDULE_UNKNOWN");
    expect((await one.list(acme)).map(({ name }) => name)).toEqual(["own"]);
  });
});
