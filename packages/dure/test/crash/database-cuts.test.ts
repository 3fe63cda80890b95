import { afterAll, beforeAll, expect, test } from "vitest";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { within, type ServerProcess } from "./server-process.ts";
import { printTable, type Row } from "./table.ts";
import { World } from "./world.ts";
import type { ProxiedStatement } from "../../src/testing/postgres-proxy.ts";

/** What one turn sends to the database; one of them is cut after its n-th message, requests and answers counted alike. */
const TURN_STATEMENTS: ReadonlySet<string> = new Set(["accept_turn", "journal_turn", "effect_intent", "effect_settle", "finish_turn"]);
const ofTurn = ({ name }: ProxiedStatement): boolean => TURN_STATEMENTS.has(name);
/** Cuts in a usual run; DURE_TEST_LONG=1 takes every message, and again with all connections cut at once. */
const SAMPLE = 16;
const isLong = process.env["DURE_TEST_LONG"] === "1";

const rows: Row[] = [];
let world: World;
let server: ServerProcess;
/** Messages of one turn on connections that have prepared nothing yet. */
let messages = 0;

beforeAll(async () => {
  world = await World.start();
  server = world.serve();
  await server.url;
  const count = world.proxy.cut(Number.POSITIVE_INFINITY, ofTurn);
  await transferWhole();
  messages = count.passed;
  count.cancel();
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("The connection to PostgreSQL cut after the n-th of the turn's messages", rows);
}, 120_000);

test("a turn outlives a cut after any of its messages: booked once, no model asked twice", { timeout: 1_200_000 }, async () => {
  expect(messages).toBeGreaterThan(40);
  for (const n of chosen(messages)) await expectWholeAfterCut(n, { everyLine: false });
});

test("a turn outlives a cut of every connection at once", { timeout: 1_200_000 }, async () => {
  for (const n of chosen(messages).filter((_, index) => isLong || index % 4 === 1)) await expectWholeAfterCut(n, { everyLine: true });
});

async function expectWholeAfterCut(n: number, options: { everyLine: boolean }): Promise<void> {
  let last: ProxiedStatement | undefined;
  const cut = world.proxy.cut(n, (statement) => ofTurn(statement) && ((last = statement), true), options);
  const { session, events } = await transferWhole();
  const wasCut = cut.passed >= n;
  cut.cancel();
  rows.push({ n, connections: options.everyLine ? "all" : "one", in: wasCut ? last!.name : "not reached", bookings: world.bookingsOf(session), "events read": events });
}

/** `count` numbers from 1 to `most`, both included, evenly spread. */
function chosen(most: number, count = isLong ? most : SAMPLE): number[] {
  return Array.from({ length: count }, (_, index) => Math.round(1 + (index * (most - 1)) / (count - 1)));
}

async function transferWhole(): Promise<{ session: string; events: number }> {
  world.provider.reset();
  const session = world.newSession();
  const reader = world.send({ session, text: "홍길동에게 5만원 바로 보내줘", key: "all" }, () => server.url);

  const done = await within(reader.done, "the turn did not end", () => server.log);

  await expectTransferred(world, session, reader.turnId!, done);
  expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1 });
  expect(await world.turnsOf(session)).toEqual([{ id: reader.turnId, status: "done" }]);
  return { session, events: await expectWholeStream(world, reader) };
}
