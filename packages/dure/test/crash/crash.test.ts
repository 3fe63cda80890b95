// @module-tag slow
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { killAt } from "./kill-row.ts";
import {
  ACCEPTED,
  aroundDone,
  AROUND_EFFECT,
  AROUND_HOOK,
  aroundModelCall,
  BAD_BANKS,
  GOOD_BANK,
  randomFrom,
} from "./points.ts";
import { ALL_AT_ONCE } from "./scenarios.ts";
import { within, type ServerProcess } from "./server-process.ts";
import { printTable, spread, type Row } from "./table.ts";
import { World } from "./world.ts";

/**
 * The crash table: the real server is killed with SIGKILL at each named point of a turn and started
 * again. Source: docs/spec/conversation §3, §4, §6.
 */
const POINTS = [
  ACCEPTED,
  ...aroundModelCall(1, "intent"),
  ...aroundModelCall(2, "slots"),
  ...AROUND_EFFECT,
  ...aroundModelCall(3, "receipt").slice(0, 1),
  {
    name: "in the middle of model call 3",
    come: (world: World) => world.provider.hold("receipt", "middle"),
    again: ["receipt"],
  },
  ...aroundDone(["receipt"]),
  ...AROUND_HOOK,
];
const isLong = process.env["DURE_TEST_LONG"] === "1";
const OF_TURN: ReadonlySet<string> = new Set([
  "accept_turn",
  "journal_turn",
  "effect_intent",
  "effect_settle",
  "finish_turn",
]);
/** No turn of this service needs fewer messages to and from its database. */
const MESSAGES_LEAST = 50;
const KILLS = sampled(POINTS, 1);
const SEEDS = sampled(
  Array.from({ length: isLong ? 100 : 3 }, (_, index) => index + 1),
  1,
);

const rows: Row[] = [];
let world: World;
let server: ServerProcess;

beforeAll(async () => {
  world = await World.start();
}, 120_000);

beforeEach(async () => {
  server = await world.running(server);
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("Killed with SIGKILL, started again: the crash service", rows);
  process.stdout.write(
    `${spread(rows, "resume ms")} (from the start of the process, without a caller)\n`,
  );
}, 120_000);

test.each(KILLS.rows)(
  "killed at “$name” the turn ends once and whole",
  { ...KILLS.options, timeout: 180_000 },
  async (point) => {
    const result = await killAt(world, server, { scenario: ALL_AT_ONCE, bank: GOOD_BANK, point });
    server = result.server;
    rows.push(result.row);
  },
);

test.each(SEEDS.rows)(
  "killed at a random message to or from its database (seed %i) the turn ends once and whole",
  { ...SEEDS.options, timeout: 180_000 },
  async (seed) => {
    const random = randomFrom(seed * 7_919);
    const n = 1 + Math.floor(random() * MESSAGES_LEAST);
    const bank = [GOOD_BANK, ...BAD_BANKS][Math.floor(random() * 4)]!;
    const point = {
      name: `its ${n}-th message with the database (seed ${seed})`,
      come: (there: World) => there.proxy.cut(n, ({ name }) => OF_TURN.has(name)).reached,
    };
    const result = await killAt(world, server, {
      scenario: ALL_AT_ONCE,
      bank,
      point,
      again: "any",
    });
    server = result.server;
    rows.push(result.row);
  },
);

test(
  "killed three times in one turn it ends once and whole",
  { ...FULL, timeout: 240_000 },
  async () => {
    await world.reset();
    const session = world.newSession();
    const first = world.provider.hold("intent", "before");
    const reader = world.send(
      { session, text: "홍길동에게 5만원 바로 보내줘", key: "thrice" },
      () => server.url,
    );
    for (const held of [
      () => first,
      () => world.provider.hold("slots", "before"),
      () => world.provider.hold("receipt", "middle"),
    ]) {
      const point = held();
      await within(point, "the point was not reached", () => server.log);
      await server.kill();
      server = world.serve();
    }
    const done = await within(reader.done, "the turn did not end", () => server.log);

    await expectTransferred(world, session, reader.turnId!, done);
    expect(world.provider.counts).toEqual({ intent: 2, slots: 2, receipt: 2 });
    await expectWholeStream(world, reader);
  },
);

test(
  "a turn that waits for a new process goes on without any caller",
  { ...FULL, timeout: 180_000 },
  async () => {
    await world.reset();
    const session = world.newSession();
    const held = world.provider.hold("slots", "before");
    const reader = world.send(
      { session, text: "홍길동에게 5만원 바로 보내줘", key: "alone" },
      () => server.url,
    );
    await within(held, "the slots were not asked for", () => server.log);
    reader.leave();
    await server.kill();
    server = world.serve();
    const { log } = server;
    await world.until(
      "the turn did not end",
      async () => (await world.turnsOf(session))[0]?.status === "done",
      () => log,
    );

    expect(world.bookingsOf(session)).toBe(1);
    expect(world.provider.counts).toEqual({ intent: 1, slots: 2, receipt: 1 });
  },
);
