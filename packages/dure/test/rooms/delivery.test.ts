import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { systemClock, type Clock } from "../../src/kernel/clock.ts";
import {
  collaborate,
  ANONYMOUS,
  openTypes,
  readyTeamOn,
  settled,
  silent,
  type TeamOptions,
} from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { PLATFORM } from "./platforms.ts";
import type { TestTeam } from "./team.ts";

/** Scenarios of docs/spec/collaboration §6, on every platform. */
describe.each(PLATFORM.rows)(
  "delivery on %s",
  { ...PLATFORM.options, timeout: 30_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;
    const start = async (
      options: TeamOptions = {},
    ): Promise<{ platform: TestPlatform; team: TestTeam }> => {
      const platform = await makePlatform();
      return { platform, team: await readyTeamOn(platform, options) };
    };

    test("E1 403: no retry, failed at once, an escalation names the place", FULL, async () => {
      const { team, platform } = await start();
      platform.fail("post", "permission", { agent: "ruda" });

      await platform.say(team, "안녕");

      await eventually(async () =>
        expect(await deliveries(team, general)).toEqual(["sent", "failed"]),
      );
      expect((await team.inbox.list({ tenant: "", status: "open" })).items).toMatchObject([
        {
          type: "delivery",
          title: expect.stringContaining("→ general") as string,
          context: { place: general, code: "CHANNEL_PERMISSION" },
        },
      ]);
      expect(platform.posts()).toBe(1);
    });

    test("E2 404: no retry, failed at once, an escalation", async () => {
      const { team, platform } = await start();
      platform.fail("post", "not-found", { agent: "ruda" });

      await platform.say(team, "안녕");

      await eventually(async () =>
        expect(await deliveries(team, general)).toEqual(["sent", "failed"]),
      );
      expect(await openTypes(team)).toEqual(["delivery"]);
    });

    test("E3 429: waits as told, then sends; it counts as no attempt", FULL, async () => {
      const { team, platform } = await start();
      platform.fail("post", "rate-limited", { times: 6, retryAfterMs: 50, agent: "ruda" });

      await platform.say(team, "안녕");

      await eventually(async () =>
        expect(await platform.shown(team, general)).toEqual([
          "민준: 안녕",
          "루다: 루다의 답입니다",
        ]),
      );
      expect(platform.posts()).toBe(7);
      expect(await openTypes(team)).toEqual([]);
    });

    test("E4 5xx: three retries after 1, 2 and 4 s, then failed and escalated", FULL, async () => {
      const { team, platform } = await start();
      platform.fail("post", "transient", { times: 4, agent: "ruda" });

      await platform.say(team, "안녕");

      await eventually(
        async () => expect(await deliveries(team, general)).toEqual(["sent", "failed"]),
        { patienceMs: 30_000 },
      );
      expect(platform.posts()).toBe(4);
      expect(await openTypes(team)).toEqual(["delivery"]);
      const [{ tookMs }] = (await team.database.query<{ tookMs: number }>({
        text: `select extract(epoch from settled_at - first_attempt_at)::double precision * 1000 as "tookMs" from dure.outbox where payload->>'kind' = 'post'`,
      })) as [{ tookMs: number }];
      expect(tookMs).toBeGreaterThanOrEqual(7_000);
    });

    test("E5 no answer in 10 s: it is tried again, and shown once", FULL, async () => {
      const patience = patienceByHand();
      const { team, platform } = await start({ outboxClock: patience.clock });
      platform.fail("post", "hang", { agent: "ruda" });

      await platform.say(team, "안녕");
      await eventually(() => expect(platform.posts()).toBe(1));
      patience.end();

      await eventually(async () =>
        expect(await deliveries(team, general)).toEqual(["sent", "sent"]),
      );
      expect(platform.posts()).toBe(2);
      expect(await platform.shown(team, general)).toEqual(["민준: 안녕", "루다: 루다의 답입니다"]);
    });

    test(
      "E5 no answer in 10 s, four times: failed and escalated, after 40 s and the pauses of E4",
      FULL,
      async () => {
        const patience = patienceByHand();
        const { team, platform } = await start({ outboxClock: patience.clock });
        platform.fail("post", "hang", { agent: "ruda", times: 5 });

        await platform.say(team, "안녕");
        for (let attempt = 1; attempt <= 4; attempt++) {
          await eventually(async () => {
            await team.database.query({
              text: "update dure.outbox set next_at = clock_timestamp() where state = 'pending' and attempts > 0",
            }); // the pauses are shown by E4
            expect(platform.posts()).toBe(attempt);
          });
          patience.end();
        }

        await eventually(async () =>
          expect(await deliveries(team, general)).toEqual(["sent", "failed"]),
        );
        await settled(team);
        expect(platform.posts()).toBe(4);
        expect(patience.ended).toEqual([10_000, 10_000, 10_000, 10_000]);
        expect((await team.inbox.list({ tenant: "", status: "open" })).items).toMatchObject([
          { type: "delivery", context: { place: general, outcome: "failed", attempts: 4 } },
        ]);
        expect(await platform.shown(team, general)).toEqual(["민준: 안녕"]);
      },
    );

    test("a 5xx after the message was made shows it once", FULL, async () => {
      const { team, platform } = await start();
      platform.fail("post", "transient", { afterDoing: true, agent: "ruda" });

      await platform.say(team, "안녕");

      await eventually(
        async () => expect(await deliveries(team, general)).toEqual(["sent", "sent"]),
        { patienceMs: 15_000 },
      );
      expect(await platform.shown(team, general)).toEqual(["민준: 안녕", "루다: 루다의 답입니다"]);
    });

    test(
      "a thread whose creation answered 5xx but happened is found, not made again",
      FULL,
      async () => {
        const { team, platform } = await start();
        platform.fail("thread", "transient", { afterDoing: true });

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "일",
        });

        await eventually(
          async () => expect((await platform.shown(team, threadId))[0]).toBe("루다: @이든 일"),
          { patienceMs: 15_000 },
        );
        expect(await team.rooms.reader.threads(general, ANONYMOUS)).toHaveLength(1);
      },
    );

    test(
      "an answer that is longer than a room takes is shown as far as it fits, and says how much is missing",
      FULL,
      async () => {
        const { team, platform } = await start({ behave: { ruda: () => "가".repeat(120_000) } });

        await platform.say(team, "길게 말해 줘");
        await eventually(async () =>
          expect(await deliveries(team, general)).toEqual(["sent", "sent"]),
        );

        const { text } = (await team.rooms.reader.messages(general, {})).at(-1)!;
        expect(text.length).toBeLessThanOrEqual(100_000);
        const [, kept, missing] = /^(가+)\n… \(뒤의 (\d+)자는 너무 길어 뺐어요\)$/.exec(text)!;
        expect(kept!.length + Number(missing)).toBe(120_000);
      },
    );

    test(
      "an answer in parts is one message: the others hear all of it once, and every guard counts it once",
      FULL,
      async () => {
        const long = `처음. ${"한 문장입니다. ".repeat(name === "web" ? 11_095 : 700).trim()} 끝.`;
        const heard: string[] = [];
        const { team } = await start({
          behave: {
            eden: (asked) => (asked.text.includes("길게") ? long : silent(asked)),
            ruda: (told) => (told.results.length === 0 && heard.push(told.text), silent(told)),
          },
        });

        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "eden",
          message: "길게 말해 줘",
        });
        await eventually(() => expect(heard).toHaveLength(1));
        await settled(team);

        const [answer] = await team.database.query<{ parts: number }>({
          text: "select count(*)::integer as parts from dure.room_parts p join dure.room_messages m on m.id = p.message where m.author = 'eden'",
        });
        expect(answer!.parts).toBeGreaterThan(1);
        const heardWith =
          "select p.part from dure.room_parts p join dure.room_messages m on m.id = p.message and m.author = 'eden' join dure.events e on e.type = 'room.heard' and e.data->>'message' = m.id and e.xid::text = p.xmin::text";
        expect(await team.database.query({ text: heardWith })).toEqual([
          { part: answer!.parts - 1 },
        ]); // in the transaction that recorded the last one
        expect(heard[0]!.startsWith("이든: 처음. 한 문장")).toBe(true);
        if (name === "discord") expect(heard[0] === `이든: ${long}`).toBe(true); // a turn takes less than what the web rooms show in one message
        expect(
          await team.database.query(
            {
              text: "select agent_messages, cardinality(recent) as recent from dure.places where id = $1",
            },
            [threadId],
          ),
        ).toEqual([{ agent_messages: 1, recent: 2 }]);
      },
    );

    test(
      "a part that failed stops the later parts of its message; what is said after it goes on",
      FULL,
      async () => {
        const long = "한 문장입니다. ".repeat(11_095).trim(); // longer than one message of the web rooms
        const { team, platform } = await start({
          behave: { ruda: (heard) => (heard.text.includes("길게") ? long : "짧은 답") },
        });
        platform.fail("post", "permission", { agent: "ruda" });

        await platform.say(team, "길게 말해 줘");
        await eventually(async () =>
          expect(await deliveries(team, general)).toEqual(["sent", "failed"]),
        );
        await settled(team);

        expect(platform.posts()).toBe(1);
        const parts = await team.database.query<{ state: string }>({
          text: "select state from dure.outbox where payload->>'kind' = 'post'",
        });
        expect(parts.length).toBeGreaterThan(1);
        expect(new Set(parts.map(({ state }) => state))).toEqual(new Set(["failed"]));
        await platform.say(team, "안녕");
        await eventually(async () =>
          expect((await platform.shown(team, general)).at(-1)).toBe("루다: 짧은 답"),
        );
      },
    );

    test(
      "a refused token takes the account offline with one critical escalation, and no storm follows",
      FULL,
      async () => {
        const { team, platform } = await start();
        platform.fail("post", "credential", { agent: "ruda", times: 100 });

        await platform.say(team, "안녕");

        await eventually(async () => expect(await openTypes(team)).toEqual(["account"]));
        await settled(team);
        expect(platform.posts()).toBeLessThanOrEqual(2);
        expect(
          (await team.rooms.reader.agents()).find((agent) => agent.id === "ruda")?.accounts[0]
            ?.state,
        ).toBe("refused");
      },
    );
  },
);

async function deliveries(team: TestTeam, place: string): Promise<readonly string[]> {
  return (await team.rooms.reader.messages(place, {})).map((message) => message.delivery);
}

/**
 * A clock for the outbox, whose patience with what does not answer ends when the test says so.
 * `ended`: how long each would have lasted, milliseconds.
 */
function patienceByHand(): {
  readonly clock: Clock;
  readonly ended: readonly number[];
  end(): void;
} {
  const waiting = new Map<() => void, number>();
  const ended: number[] = [];
  const clock: Clock = {
    ...systemClock,
    after: (ms, callback) => {
      if (ms < 5_000) return systemClock.after(ms, callback);
      waiting.set(callback, ms);
      return () => waiting.delete(callback);
    },
  };
  return {
    clock,
    ended,
    end: () => {
      for (const [callback, ms] of [...waiting]) {
        waiting.delete(callback);
        ended.push(ms);
        callback();
      }
    },
  };
}
