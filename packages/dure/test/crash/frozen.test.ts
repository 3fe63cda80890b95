import { afterAll, expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { within, type ServerProcess } from "./server-process.ts";
import { printTable, type Row } from "./table.ts";
import { World } from "./world.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/**
 * How long the process stands still at least, milliseconds; others take it for dead after 6 s.
 * DURE_TEST_LONG=1 takes the time of the spec's tables.
 */
const FROZEN_MS = process.env["DURE_TEST_LONG"] === "1" ? 15_000 : 9_000;

const rows: Row[] = [];

afterAll(() =>
  printTable(`Frozen with SIGSTOP for ${FROZEN_MS / 1_000} s, taken over, thawed`, rows),
);

/** Both wait most of their time, so they do it side by side, each in a world of its own. */
test.concurrent.each([
  {
    at: "the bank was called, not booked yet",
    come: async (world: World) => {
      world.bank.addFaults({ kind: "delay", when: "before", ms: 1_500 });
      await world.until("the bank was not called", () =>
        world.bank.faults().every(({ kind }) => kind !== "delay"),
      );
      return () => {};
    },
  },
  {
    // When it thaws, the answer that allows the call lies in its socket, older than the takeover.
    at: "the intent is written, the bank not called yet",
    come: async (world: World) => {
      const stop = world.proxy.stop("after", ({ name }) => name === "effect_intent");
      await stop.reached;
      return () => stop.release();
    },
  },
])(
  "a process that freezes when $at steps down when it thaws, and another one has ended its turn",
  { ...FULL, timeout: 240_000 },
  async ({ at, come }) => {
    await using world = await World.start();
    world.bank.addFaults({ kind: "ignore_keys", times: "always" });
    const session = world.newSession();
    await using frozen = world.serve();
    await using other = world.serve();
    await Promise.all([frozen.url, other.url]);
    let url = frozen.url;

    const point = come(world);
    const reader = world.send(
      { session, text: "홍길동에게 5만원 바로 보내줘", key: "all" },
      () => url,
    );
    const goOn = await within(point, `"${at}" was not reached`, () => frozen.log);
    frozen.signal("SIGSTOP");
    const thawAt = systemClock.monotonic() + FROZEN_MS;
    goOn();
    url = other.url;
    reader.reconnect();
    const done = await within(
      reader.done,
      "the other process did not end the turn",
      () => other.log,
    );
    const stored = await world.storedEvents(reader.turnId!);
    await systemClock.sleep(Math.max(0, thawAt - systemClock.monotonic()));
    frozen.signal("SIGCONT");
    const code = await frozen.exit;

    expect(code).toBe(75);
    await expectTransferred(world, session, reader.turnId!, done);
    expect(await world.storedEvents(reader.turnId!)).toEqual(stored);
    const events = await expectWholeStream(world, reader);
    expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1 });
    rows.push({
      "frozen when": at,
      bookings: world.bookingsOf(session),
      "events read": events,
      "exit code": code ?? "-",
      hooks: world.hooks.deliveries.length,
    });
  },
);

/**
 * Shorter than the 6 s after which a process knows by itself that it stood still, long enough to be
 * taken over behind its last renewal.
 */
const NAP_MS = 5_600;
/** Age of the last renewal when the nap begins; the next one is due at 2 s. */
const NAP_AT_MS = 1_750;

test(
  "a woken process pays for no model call of a turn that another has taken over",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using world = await World.start();
    await using frozen = world.serve();
    await frozen.url;
    await using other = world.serve();
    await other.url;
    await world.send(
      { session: world.newSession(), text: "안녕하세요", key: "warm" },
      () => frozen.url,
    ).done;
    const usual = world.provider.counts;

    // On a busy machine others may look too late: then the nap was just a nap, and another one
    // follows.
    let isTaken = false;
    for (let round = 1; round <= 3 && !isTaken; round++) {
      world.provider.reset();
      isTaken = await napWithAnAnswerInTheSocket(world, frozen, other);
    }

    expect(isTaken).toBe(true);
    expect(await frozen.exit).toBe(75);
    expect(usual).not.toEqual({});
    expect(world.provider.counts).toEqual(usual);
  },
);

/**
 * When it wakes, the answer that begins the turn lies in its socket, older than the takeover. Says
 * whether there was one.
 */
async function napWithAnAnswerInTheSocket(
  world: World,
  frozen: ServerProcess,
  other: ServerProcess,
): Promise<boolean> {
  let url = frozen.url;
  const accepted = world.proxy.stop("after", ({ name }) => name === "accept_turn");
  await world.until("the lease was not renewed", async () => (await renewalAgeMs(world)) < 100);
  const reader = world.send(
    { session: world.newSession(), text: "안녕하세요", key: "all" },
    () => url,
  );
  await within(accepted.reached, "nothing was accepted", () => frozen.log);
  await systemClock.sleep(Math.max(0, NAP_AT_MS - (await renewalAgeMs(world))));

  frozen.signal("SIGSTOP");
  const wakeAt = systemClock.monotonic() + NAP_MS;
  accepted.release();
  url = other.url;
  reader.reconnect();
  await systemClock.sleep(Math.max(0, wakeAt - systemClock.monotonic()));
  const isTaken = await isTakenOver(world);
  frozen.signal("SIGCONT");
  await within(reader.done, "the other process did not end the turn", () => other.log);
  return isTaken;
}

/** Of the first process. */
async function renewalAgeMs(world: World): Promise<number> {
  const [row] = await world.database.query<{ age: number }>({
    text: `
      select (extract(epoch
      from clock_timestamp() - renewed_at) * 1000)::float8 as age
      from dure.processes
      order by started_at
      limit 1`,
  });
  return row!.age;
}

async function isTakenOver(world: World): Promise<boolean> {
  const [row] = await world.database.query<{ over: boolean }>({
    text: "select ended_at is not null as over from dure.processes order by started_at limit 1",
  });
  return row!.over;
}
