// @module-tag slow
import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { within, type ServerProcess } from "./server-process.ts";
import { printTable, type Row } from "./table.ts";
import { World } from "./world.ts";
import type { MessageTest, ProxiedStatement } from "@dure/testing";

/** What one turn sends to the database; requests and answers are counted alike. */
const TURN_STATEMENTS = [
  "accept_turn",
  "journal_turn",
  "effect_intent",
  "effect_settle",
  "finish_turn",
];
const ofTurn = ({ name }: ProxiedStatement): boolean => TURN_STATEMENTS.includes(name);
const SYNC = "S";
/**
 * Cuts in a usual run; DURE_TEST_LONG=1 takes every message, and again with all connections cut at
 * once.
 */
const SAMPLE = 16;
const isLong = process.env["DURE_TEST_LONG"] === "1";

const rows: Row[] = [];
let world: World;
let server: ServerProcess;
/** Messages of one turn whose statements are prepared. */
let messages = 0;

beforeAll(async () => {
  world = await World.start();
  server = world.serve();
  await server.url;
  await transferWhole();
  const count = world.proxy.cut(Number.POSITIVE_INFINITY, ofTurn);
  await transferWhole();
  messages = count.passed;
  count.cancel();
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("The connection to PostgreSQL cut after the n-th of the turn's messages", rows);
}, 120_000);

test(
  "a turn outlives a cut after any of its messages: booked once, no model asked twice",
  { ...FULL, timeout: 1_800_000 },
  async () => {
    expect(messages).toBeGreaterThan(40);
    for (const n of chosen(messages)) await expectWholeAfterCut(n, ofTurn);
  },
);

test.each(TURN_STATEMENTS)(
  "a turn outlives the lost answer to the commit of %s",
  { timeout: 180_000 },
  async (name) => {
    const { wasCut } = await expectWholeAfterCut(
      1,
      (statement, { from, type }) => statement.name === name && from === "client" && type === SYNC,
    );

    expect(wasCut).toBe(true);
  },
);

test(
  "a turn outlives a cut of every connection at once",
  { ...FULL, timeout: 1_800_000 },
  async () => {
    for (const n of chosen(messages).filter((_, index) => isLong || index % 4 === 1)) {
      await expectWholeAfterCut(n, ofTurn, { everyLine: true });
    }
  },
);

/** The last one here: it kills the server. */
test(
  "what a process was doing for a caller when it died is in the audit log as begun, with no outcome",
  { timeout: 180_000 },
  async () => {
    const { session } = await transferWhole();
    const audit = (): Promise<unknown> =>
      world.database.query({ text: "select name, what, subject, outcome from dure.audit" });
    const begun = [{ name: "127.0.0.1", what: "session.delete", subject: session, outcome: null }];
    const holder = await world.database.connectSession();
    try {
      await holder.query("begin");
      // The deed waits for it, its entry does not.
      await holder.query("select from dure.sessions where id = $1 for update", [session]);
      const answer = fetch(`${await server.url}/v1/agent/sessions/${session}`, {
        method: "DELETE",
      }).then(
        ({ status }) => status,
        () => "cut",
      );
      await expect.poll(audit, { timeout: 20_000 }).toEqual(begun);

      await server.kill();

      expect(await answer).toBe("cut");
    } finally {
      await holder.end();
    }
    expect(await audit()).toEqual(begun);
  },
);

async function expectWholeAfterCut(
  n: number,
  test: MessageTest,
  { everyLine = false } = {},
): Promise<{ wasCut: boolean }> {
  let last = "";
  const cut = world.proxy.cut(
    n,
    (statement, message) => {
      if (!test(statement, message)) return false;
      last = `${statement.name}, ${message.from}'s ${message.type}`;
      return true;
    },
    { everyLine },
  );
  const { session, events } = await transferWhole();
  const wasCut = cut.passed >= n;
  cut.cancel();
  rows.push({
    n,
    "cut behind": wasCut ? last : "not reached",
    connections: everyLine ? "all" : "one",
    bookings: world.bookingsOf(session),
    "events read": events,
  });
  return { wasCut };
}

/** `count` numbers from 1 to `most`, both included, evenly spread. */
function chosen(most: number, count = isLong ? most : SAMPLE): number[] {
  return Array.from({ length: count }, (_, index) =>
    Math.round(1 + (index * (most - 1)) / (count - 1)),
  );
}

async function transferWhole(): Promise<{ session: string; events: number }> {
  world.provider.reset();
  const session = world.newSession();
  const reader = world.send(
    { session, text: "홍길동에게 5만원 바로 보내줘", key: "all" },
    () => server.url,
  );

  const done = await within(reader.done, "the turn did not end", () => server.log);

  await expectTransferred(world, session, reader.turnId!, done);
  expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1 });
  expect(await world.turnsOf(session)).toEqual([{ id: reader.turnId, status: "done" }]);
  return { session, events: await expectWholeStream(world, reader) };
}
