// @module-tag slow
import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { collaborate, ONE_BY_ONE, readyTeamOn, settled } from "./helpers.ts";
import { discordPlatform } from "./discord-platform.ts";
import type { TestPlatform } from "./platform.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const PLATFORMS: readonly (readonly [string, () => TestPlatform | Promise<TestPlatform>])[] = [
  ["web", webPlatform],
  ["discord", discordPlatform],
];

const BY = { by: "mina" } as const;

async function generalOf(team: TestTeam): Promise<string> {
  const [row] = await team.database.query<{ id: string }>({
    text: "select id from dure.places where kind = 'channel' order by created_at limit 1",
  });
  return row!.id;
}

const outcomes = (team: TestTeam): Promise<readonly object[]> =>
  team.database.query({
    text: "select agent, state, outcome from dure.handlings order by created_at, id",
  });

/** An agent whose call is under way until the test lets it go on. */
function held(): { behave: Behave; begun: Promise<void>; goOn: () => void } {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const behave: Behave = async () => {
    begun.resolve();
    await gate.promise;
    return "다 했어요";
  };
  return { behave, begun: begun.promise, goOn: () => gate.resolve() };
}

describe.each(PLATFORMS)("on %s", { timeout: 60_000 }, (_name, openPlatform) => {
  test(
    "a paused agent answers no one, says so once, and answers all after the resume",
    FULL,
    async () => {
      const platform = await openPlatform();
      const team = await readyTeamOn(platform, { gather: ONE_BY_ONE });
      await team.rooms.pauses.pause("eden", BY);

      await platform.say(team, "@이든 하나");
      await platform.say(team, "@이든 둘");
      await platform.say(team, "@루다 너는?");
      const place = await generalOf(team);
      await eventually(async () => {
        const shown = await platform.shown(team, place);
        expect(shown.filter((line) => line.includes("멈춰 두었어요"))).toHaveLength(1);
        expect(shown.filter((line) => line.includes("루다의 답입니다"))).toHaveLength(1);
      });
      expect(team.calls("eden")).toBe(0);

      await team.rooms.pauses.resume("eden", { by: "jun" });

      await eventually(async () => {
        const shown = await platform.shown(team, place);
        expect(shown.filter((line) => line.includes("이든의 답입니다"))).toHaveLength(2);
        expect(shown.filter((line) => line.includes("다시 시작했어요"))).toHaveLength(1);
      });
      expect(team.calls("eden")).toBe(2);
    },
  );

  test(
    "a stop ends what runs, says so once with who did it, and what comes later is answered",
    FULL,
    async () => {
      const eden = held();
      const platform = await openPlatform();
      const team = await readyTeamOn(platform, { behave: { eden: eden.behave } });
      await platform.say(team, "@이든 오래 걸리는 일");
      await eden.begun;
      await platform.say(team, "@이든 그다음 일");
      const place = await generalOf(team);

      const stopped = await team.rooms.stopIn(place, { tenant: "", person: "mina" });

      expect(stopped).toEqual({ answers: 2, requests: 0, jobs: 0 });
      await eventually(async () => {
        const shown = await platform.shown(team, place);
        expect(shown.filter((line) => line.includes("멈췄어요"))).toHaveLength(1);
        expect(shown.at(-1)).toContain("mina 님이 여기서 하던 일을 멈췄어요: 답 2건");
      });
      await eventually(() => expect(team.engine.running).toBe(0));
      eden.goOn();
      await platform.say(team, "@이든 새 일");
      await eventually(async () =>
        expect((await platform.shown(team, place)).at(-1)).toContain("다 했어요"),
      );
      expect(await outcomes(team)).toEqual([
        { agent: "eden", state: "done", outcome: "stopped" },
        { agent: "eden", state: "done", outcome: "stopped" },
        { agent: "eden", state: "done", outcome: "answered" },
      ]);
    },
  );

  test("a stop of a room withdraws what was asked in its threads, and nothing reminds of it", async () => {
    const eden = held();
    const platform = await openPlatform();
    const team = await readyTeamOn(platform, { behave: { eden: eden.behave } });
    const { threadId } = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "코드 리뷰",
    });
    await eden.begun;

    const stopped = await team.rooms.stopIn(await generalOf(team), {
      tenant: "",
      person: "mina",
    });

    expect(stopped).toMatchObject({ answers: 1, requests: 1 });
    expect(
      await team.database.query({ text: "select thread, state, next_at from dure.requests" }),
    ).toEqual([{ thread: threadId, state: "withdrawn", next_at: null }]);
    eden.goOn();
    await settled(team);
    expect(await platform.shown(team, threadId)).not.toContainEqual(
      expect.stringContaining("다 했어요"),
    );
  });
});

describe("when a process dies", { timeout: 60_000 }, () => {
  test("a stop whose process died after its row is finished by another one", FULL, async () => {
    const eden = held();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { behave: { eden: eden.behave } });
    await platform.say(team, "@이든 오래 걸리는 일");
    await eden.begun;
    const place = await generalOf(team);

    await team.database.query(
      { text: "insert into dure.stops (id, place, by) values ('stop_1', $1, 'mina')" },
      [place],
    );

    await eventually(async () =>
      expect((await platform.shown(team, place)).at(-1)).toContain("답 1건"),
    );
    await eventually(() => expect(team.engine.running).toBe(0));
    eden.goOn();
  });

  test("a stop half done is done to its end, and the turns of its answers end", FULL, async () => {
    const eden = held();
    const platform = webPlatform();
    const team = await readyTeamOn(platform, { behave: { eden: eden.behave } });
    await platform.say(team, "@이든 오래 걸리는 일");
    await eden.begun;
    const place = await generalOf(team);

    await team.database.transaction(async (tx) => {
      await tx.query(
        {
          text: `insert into dure.stops (id, place, by, answers) values ('stop_1', $1, 'mina', 1)`,
        },
        [place],
      );
      await tx.query({
        text: `update dure.handlings
          set state = 'done', outcome = 'stopped', finished_at = clock_timestamp()`,
      });
    });

    await eventually(() => expect(team.engine.running).toBe(0));
    await eventually(async () =>
      expect((await platform.shown(team, place)).at(-1)).toContain("답 1건"),
    );
    eden.goOn();
  });

  test("what was stopped does not begin again in a process that starts after it", async () => {
    const eden = held();
    const platform = webPlatform();
    const first = await readyTeamOn(platform, { behave: { eden: eden.behave } });
    await platform.say(first, "@이든 오래 걸리는 일");
    await eden.begun;
    await first.rooms.stopIn(await generalOf(first), { tenant: "", person: "mina" });
    eden.goOn();
    await first.stop();

    const second = await readyTeamOn(platform, { on: { url: first.url } });
    await platform.say(second, "@루다 안녕");
    await eventually(() => expect(second.calls("ruda")).toBe(1));

    expect(second.calls("eden")).toBe(0);
  });

  test("a pause holds for a process that starts after it, and for one beside it", async () => {
    const platform = webPlatform();
    const first = await readyTeamOn(platform);
    await first.rooms.pauses.pause("eden", BY);
    const second = await readyTeamOn(platform, { on: { url: first.url } });

    await platform.say(second, "@이든 하나");
    await platform.say(second, "@루다 둘");
    await eventually(() => expect(first.calls("ruda") + second.calls("ruda")).toBe(1));
    expect(first.calls("eden") + second.calls("eden")).toBe(0);
    const states = { text: "select state from dure.handlings where agent = 'eden'" };
    expect(await first.database.query(states)).toEqual([{ state: "waiting" }]);

    await second.rooms.pauses.resume("eden", BY);
    await eventually(() => expect(first.calls("eden") + second.calls("eden")).toBe(1));
  });

  test(
    "nothing reminds a paused agent, and the time of the request goes on after the resume",
    FULL,
    async () => {
      const platform = webPlatform();
      const team = await readyTeamOn(platform, {
        behave: { eden: () => "" },
        limits: { reminderMs: [1_000, 60_000], unansweredMs: 90_000 },
      });
      await collaborate(team, "ruda", { targetAgent: "eden", message: "부탁" });
      await team.rooms.pauses.pause("eden", BY);
      const paused = await team.database.query<{ next_at: Date }>({
        text: "select next_at from dure.requests",
      });
      await team.database.query({
        text: "update dure.pauses set at = at - interval '1 hour' where agent = 'eden'",
      });
      await team.database.query({
        text: "update dure.requests set created_at = created_at - interval '2 hours'",
      });

      await team.rooms.pauses.resume("eden", BY);

      const [after] = await team.database.query<{ next_at: Date }>({
        text: "select next_at from dure.requests",
      });
      const later = after!.next_at.getTime() - paused[0]!.next_at.getTime();
      expect(later).toBeGreaterThanOrEqual(3_600_000);
    },
  );
});
