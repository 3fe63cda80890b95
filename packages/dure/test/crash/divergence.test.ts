import { afterAll, beforeAll, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { expectWholeStream } from "./checks.ts";
import { within } from "./server-process.ts";
import { printTable, type Row } from "./table.ts";
import type { Variant } from "./team/service.ts";
import { World } from "./world.ts";

const rows: Row[] = [];
let world: World;

beforeAll(async () => {
  world = await World.start();
}, 120_000);

afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  printTable("Killed in mid-turn, started again with another handler", rows);
}, 120_000);

test.each<[Variant, string]>([
  ["one-more", "one step more"],
  ["one-less", "one step less"],
  ["exchanged", "two steps exchanged"],
  ["next-version", "a raised version"],
])(
  "a handler with %s (%s) ends the turn as TURN_DIVERGED and loses nothing",
  { ...FULL, timeout: 180_000 },
  async (variant, what) => {
    world.provider.reset();
    const session = world.newSession();
    const killed = world.serve();
    let url = killed.url;
    const held = world.provider.hold("receipt", "before");
    const reader = world.send(
      { session, text: "홍길동에게 5만원 바로 보내줘", key: "all" },
      () => url,
    );
    await within(held, "the receipt was not asked for", () => killed.log);
    await killed.kill();

    await using next = world.serve(variant);
    url = next.url;
    const done = await within(reader.done, "the turn did not end", () => next.log);
    const after = world.send({ session, text: "안녕", key: "hello" }, () => url);
    const greeting = await within(after.done, "the session did not go on", () => next.log);

    expect(done).toMatchObject({
      error: { code: "TURN_DIVERGED" },
      next_action: "ASK",
      state_snapshot: { stage: "INIT" },
    });
    expect(world.bookingsOf(session)).toBe(1);
    // The second intent is that of the next message.
    expect(world.provider.counts).toEqual({ intent: 2, slots: 1, receipt: 1, talk: 1 });
    expect(await effectsNamedIn(reader.turnId!)).toMatchObject([
      {
        tool: "transfer",
        status: "done",
        input: { to: "홍길동", amount: 50_000 },
        result: { transactionId: expect.any(String) as string },
      },
    ]);
    expect(
      await world.database.query(
        { text: "select status from dure.effects where session_id = $1" },
        [session],
      ),
    ).toEqual([{ status: "done" }]);
    expect(greeting).toMatchObject({ message: "안녕하세요." });
    const events = await expectWholeStream(world, reader);
    rows.push({
      handler: what,
      "ended with": (done["error"] as { code: string }).code,
      bookings: world.bookingsOf(session),
      "events read": events,
      "next message": "answered",
    });
  },
);

/** The effects that the open escalation about a turn names. */
async function effectsNamedIn(turn: string): Promise<readonly unknown[]> {
  const [row] = await world.database.query<{ context: { effects: readonly unknown[] } }>(
    {
      text: `
        select context
        from dure.escalations
        where turn_id = $1
        and type = 'turn_diverged'
        and status = 'open'`,
    },
    [turn],
  );
  return row!.context.effects;
}
