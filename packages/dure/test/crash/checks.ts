import { expect } from "vitest";
import { RECEIPT } from "./model-provider.ts";
import type { ServerProcess } from "./server-process.ts";
import type { TurnReader } from "./turn-reader.ts";
import type { World } from "./world.ts";

/**
 * The reader got every stored event once, in order, `DONE` last, and nothing else under an id.
 * Returns how many.
 */
export async function expectWholeStream(world: World, reader: TurnReader): Promise<number> {
  const turn = reader.turnId!;
  const stored = await world.storedEvents(turn);

  expect(reader.events.map(({ id, event }) => `${id!.slice(turn.length + 1)} ${event}`)).toEqual(
    stored,
  );
  expect(reader.events.every(({ id }) => id!.startsWith(`${turn}.`))).toBe(true);
  expect(stored.filter((event) => event.endsWith(" DONE"))).toEqual([stored.at(-1)]);
  return stored.length;
}

/**
 * The transfer of the session is booked once, its only turn ended once and in order, and its text
 * is whole.
 */
export async function expectTransferred(
  world: World,
  session: string,
  turn: string,
  done: Readonly<Record<string, unknown>>,
): Promise<void> {
  expect(done).toMatchObject({
    message: RECEIPT,
    next_action: "DONE",
    state_snapshot: { stage: "EXECUTED", to: "홍길동", amount: 50_000 },
  });
  expect(done).not.toHaveProperty("error");
  expect(world.bookingsOf(session)).toBe(1);
  const [text] = await world.database.query<{ shown: string }>(
    {
      text: `select string_agg(data #>> '{}', '' order by seq) as shown from dure.turn_events
              where turn_id = $1 and type = 'LLM_TOKEN'
                and seq > (select max(seq) from dure.turn_events where turn_id = $1 and type = 'AGENT_START')`,
    },
    [turn],
  );
  expect(text!.shown).toBe(RECEIPT);
  expect(await world.completedOf(turn)).toEqual(["EXECUTED"]);
}

/**
 * Milliseconds from the start of the process to the moment when it went on with the turn; undefined
 * when there was nothing to go on with.
 */
export function resumedAfter(server: ServerProcess, turn: string): number | undefined {
  const line = server.log.find((text) => text.includes(`turn ${turn} goes on`));
  return line === undefined
    ? undefined
    : (JSON.parse(line) as { time: number }).time - server.startedAt;
}
