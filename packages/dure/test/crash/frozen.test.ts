import { afterAll, expect, test } from "vitest";
import { systemClock } from "../../src/kernel/clock.ts";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { within } from "./server-process.ts";
import { printTable, type Row } from "./table.ts";
import { World } from "./world.ts";

/** How long the process stands still at least, milliseconds; others take it for dead after 6 s. DURE_TEST_LONG=1 takes the time of the spec's tables. */
const FROZEN_MS = process.env["DURE_TEST_LONG"] === "1" ? 15_000 : 9_000;

const rows: Row[] = [];

afterAll(() => printTable(`Frozen with SIGSTOP for ${FROZEN_MS / 1_000} s, taken over, thawed`, rows));

/** Both wait most of their time, so they do it side by side, each in a world of its own. */
test.concurrent.each([
  {
    at: "the bank was called, not booked yet",
    come: async (world: World) => {
      world.bank.addFaults({ kind: "delay", when: "before", ms: 1_500 });
      await world.until("the bank was not called", () => world.bank.faults().every(({ kind }) => kind !== "delay"));
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
])("a process that freezes when $at steps down when it thaws, and another one has ended its turn", { timeout: 240_000 }, async ({ at, come }) => {
  await using world = await World.start();
  world.bank.addFaults({ kind: "ignore_keys", times: "always" });
  const session = world.newSession();
  await using frozen = world.serve();
  await using other = world.serve();
  await Promise.all([frozen.url, other.url]);
  let url = frozen.url;

  const point = come(world);
  const reader = world.send({ session, text: "홍길동에게 5만원 바로 보내줘", key: "all" }, () => url);
  const goOn = await within(point, `"${at}" was not reached`, () => frozen.log);
  frozen.signal("SIGSTOP");
  const thawAt = systemClock.monotonic() + FROZEN_MS;
  goOn();
  url = other.url;
  reader.reconnect();
  const done = await within(reader.done, "the other process did not end the turn", () => other.log);
  const stored = await world.storedEvents(reader.turnId!);
  await systemClock.sleep(Math.max(0, thawAt - systemClock.monotonic()));
  frozen.signal("SIGCONT");
  const code = await frozen.exit;

  expect(code).toBe(75);
  await expectTransferred(world, session, reader.turnId!, done);
  expect(await world.storedEvents(reader.turnId!)).toEqual(stored);
  const events = await expectWholeStream(world, reader);
  expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1 });
  rows.push({ "frozen when": at, bookings: world.bookingsOf(session), "events read": events, "exit code": code ?? "-", hooks: world.hooks.deliveries.length });
});
