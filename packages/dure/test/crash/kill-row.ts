import { expect } from "vitest";
import { expectWholeStream, resumedAfter } from "./checks.ts";
import type { BankKind, Point } from "./points.ts";
import { within, type ServerProcess } from "./server-process.ts";
import type { Row } from "./table.ts";
import type { Message } from "./turn-reader.ts";
import type { World } from "./world.ts";

/** A turn that is killed, and what must be true of it in the end. */
export interface Scenario {
  readonly name: string;
  /** Talks until the turn in question can begin, and says what begins it. */
  begin(world: World, session: string, server: ServerProcess): Promise<Omit<Message, "session">>;
  /** How often each agent is asked in a turn without a kill. */
  readonly calls: Readonly<Record<string, number>>;
  /** Hooks in its `DONE`. */
  readonly hooks: number;
  /** Transfers booked in its session when it has ended. */
  readonly bookings: number;
  expectEnd(
    world: World,
    session: string,
    turn: string,
    done: Readonly<Record<string, unknown>>,
  ): Promise<void>;
}

/**
 * One row of the crash table: the server comes to the point, is killed, another one is started, and
 * the turn ends: once, booked once, no finished call made again, every stored event read once and
 * in order. Gives the new server.
 *
 * `again: "any"` is for a death at an unknown moment: one more call of each agent at most.
 */
export async function killAt(
  world: World,
  server: ServerProcess,
  {
    scenario,
    bank,
    point,
    again = point.again ?? [],
  }: { scenario: Scenario; bank: BankKind; point: Point; again?: readonly string[] | "any" },
): Promise<{ server: ServerProcess; row: Row }> {
  const session = world.newSession();
  await world.reset();
  const message = await scenario.begin(world, session, server);
  await world.reset();
  world.bank.addFaults(...bank.faults);

  let current = server;
  const coming = point.come(world, session);
  const reader = world.send({ session, ...message }, () => current.url);
  await within(coming, `"${point.name}" was not reached`, () => server.log);
  await server.kill();
  current = world.serve();
  const { log } = current;
  await current.url; // a server that cannot start says so at once
  const done = await within(reader.done, "the turn did not end", () => log);
  const turn = reader.turnId!;
  if (scenario.hooks > 0) {
    await world.until(
      "the hook was not recorded",
      async () => (await world.hookState(turn)) === "sent",
      () => log,
    );
  }

  await scenario.expectEnd(world, session, turn, done);
  expect((await world.turnsOf(session)).filter(({ status }) => status !== "done")).toEqual([]);
  expect(world.bookingsOf(session)).toBe(scenario.bookings);
  const { counts } = world.provider;
  if (again === "any") {
    for (const [agent, count] of Object.entries(counts)) {
      expect(count - (scenario.calls[agent] ?? 0), agent).toBeOneOf([0, 1]);
    }
  } else {
    expect(counts).toEqual({
      ...scenario.calls,
      ...Object.fromEntries(again.map((agent) => [agent, scenario.calls[agent]! + 1])),
    });
  }
  expect(new Set(world.hooks.deliveries)).toEqual(new Set(scenario.hooks > 0 ? [`${turn}.0`] : []));
  if (again !== "any") {
    expect(world.hooks.deliveries).toHaveLength(point.deliveries ?? scenario.hooks);
  }
  const events = await expectWholeStream(world, reader);
  return {
    server: current,
    row: {
      turn: scenario.name,
      "killed at": point.name,
      "the bank": bank.name,
      bookings: world.bookingsOf(session),
      "model calls": Object.values(counts).join("+") || "none",
      DONE: 1,
      "events read": events,
      connections: reader.connections,
      hooks: world.hooks.deliveries.length,
      "resume ms": resumedAfter(current, turn) ?? "-",
    },
  };
}
