// @module-tag slow
import { describe, expect, test } from "vitest";
import { FULL, sampled } from "../../src/kernel/test-tiers.ts";
import type { Database } from "../../src/durable/database.ts";
import type { OfflineReply } from "../../src/models/offline.ts";
import { eventually } from "../until.ts";
import {
  collaborate,
  NEVER_SILENT,
  openTypes,
  readyTeamOn,
  settled,
  silent,
  stateOf,
} from "./helpers.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, Heard, Name, TestTeam } from "./team.ts";

/** Makes an hour pass before each answer: longer than every window of a guard. */
type Hour = () => Promise<void>;

/**
 * Agents that write once an hour. No guard that counts within minutes sees them; they end all the
 * same. Source: docs/spec/collaboration §5.
 */
const BUDGETED = sampled(NEVER_SILENT, 0);
const ASKING = sampled<[string, (count: number) => object]>(
  [
    ["asks anew whenever it is answered", () => ({})],
    ["asks about something else whenever it is answered", (count) => ({ topic: `일 ${count}` })],
  ],
  1,
);

describe.each(PLATFORM.rows)(
  "a loop of one message an hour, on %s",
  { ...PLATFORM.options, timeout: 120_000 },
  (_name, makePlatform) => {
    test.each(BUDGETED.rows)(
      "of %s ends after the exchange budget",
      BUDGETED.options,
      async (_who, behave) => {
        const hour = anHour();
        const slow = Object.fromEntries(
          Object.entries(behave).map(([agent, answer]) => [agent, slowly(hour, answer)]),
        );
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave: slow });
        hour.on(team.database);

        const talk = { targetAgent: "eden", message: "이야기하자" };
        const { threadId } = await collaborate(team, "ruda", talk);
        await settled(team);

        expect(await stateOf(team, threadId)).toBe("resting");
        expect(team.calls("ruda") + team.calls("eden") + team.calls("seum")).toBe(10);
      },
    );

    test.each(ASKING.rows)(
      "of an agent that %s ends, until a person leads it",
      ASKING.options,
      async (_what, more) => {
        const hour = anHour();
        let asked = 0;
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          limits: { threadsPerMinute: 1_000 },
          behave: {
            ruda: slowly(hour, (heard) =>
              askedOn(heard, { targetAgent: "eden", message: `부탁 ${asked}`, ...more(++asked) }),
            ),
            eden: slowly(hour, () => `했어요 ${Math.random()}`),
          },
        });
        hour.on(team.database);

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "부탁",
        });
        await settled(team);

        expect(await requests(team)).toBe(10);
        expect(await trips(team)).toEqual(["pair"]);
        expect(team.calls("eden")).toBe(10);
        expect(await openTypes(team)).toContain("conflict");
        await platform.say(team, "@루다 계속 부탁해 줘", { thread: threadId });
        await eventually(async () => expect(await requests(team)).toBeGreaterThan(10));
      },
    );

    test("of two that hand back at once ends, with nothing lost", FULL, async () => {
      const hour = anHour();
      const back = (targetAgent: Name): Behave =>
        slowly(hour, (heard) =>
          askedOn(heard, { targetAgent, message: `네가 해 ${Math.random()}` }),
        );
      const team = await readyTeamOn(await makePlatform(), {
        behave: { ruda: back("eden"), eden: back("ruda") },
      });
      hour.on(team.database);

      await collaborate(team, "ruda", { targetAgent: "eden", message: "네가 해" });
      await settled(team);

      expect((await trips(team)).length).toBeGreaterThan(0);
      expect(team.calls("ruda") + team.calls("eden")).toBeLessThan(200);
      const open = { text: "select id from dure.requests where state = 'open'" };
      expect(await team.database.query(open)).toEqual([]);
    });
  },
);

/** Calls `collaborate` once in a turn, and says nothing. */
function askedOn(heard: Heard, args: object): OfflineReply | Promise<OfflineReply> {
  const [first] = heard.results;
  if (first === undefined) return { toolCalls: [{ name: "collaborate", args: { ...args } }] };
  return heard.results.length > 1 ? "." : silent({ ...heard, results: [] });
}

function slowly(hour: Hour, behave: Behave): Behave {
  return async (heard) => {
    if (heard.results.length === 0) await hour();
    return behave(heard);
  };
}

/** For all that the guards count and remember. */
function anHour(): Hour & { on(database: Database): void } {
  const opened = Promise.withResolvers<Database>();
  const hour = async (): Promise<void> => {
    const database = await opened.promise;
    for (const text of AN_HOUR_AGO) await database.query({ text });
  };
  return Object.assign(hour, { on: opened.resolve });
}

const AN_HOUR_AGO: readonly string[] = [
  `update dure.agent_pairs
   set calls = array(select at - interval '1 hour' from unnest(calls) at)`,
  `update dure.places
   set active_at = active_at - interval '1 hour',
     suspended_until = suspended_until - interval '1 hour',
     recent = array(select at - interval '1 hour' from unnest(recent) at)
   where kind = 'thread'`,
  "update dure.thread_routes set renewed_at = renewed_at - interval '1 hour'",
];

async function trips(team: TestTeam): Promise<readonly string[]> {
  const rows = await team.database.query<{ guard: string }>({
    text: `
      select data->>'guard' as guard
      from dure.events
      where type = 'room.guard_tripped'
      order by xid, seq`,
  });
  return rows.map(({ guard }) => guard);
}

async function requests(team: TestTeam): Promise<number> {
  return (await team.database.query({ text: "select id from dure.requests" })).length;
}
