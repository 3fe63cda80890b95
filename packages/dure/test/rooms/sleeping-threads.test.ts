import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { Retention } from "../../src/durable/retention.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { silentLogger } from "../../src/kernel/logger.ts";
import type { FakePlace } from "@dure/testing";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { collaborate, ANONYMOUS, participantsOf, readyTeamOn, settled, silent } from "./helpers.ts";
import type { TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

/** Two threads on Discord without a message for 25 h, and a team that was stopped. */
async function twoThatSleep(): Promise<{
  stage: DiscordStage;
  team: TestTeam;
  threads: readonly [string, string];
}> {
  const stage = await discordPlatform();
  const team = await readyTeamOn(stage, { behave: { ruda: silent, eden: silent } });
  const one = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나", topic: "1" });
  const other = await collaborate(team, "ruda", { targetAgent: "eden", message: "둘", topic: "2" });
  await settled(team);
  await team.database.query(SLEEP);
  await team.stop();
  return { stage, team, threads: [one.threadId, other.threadId] };
}

const SLEEP = {
  text: "update dure.places set active_at = active_at - interval '25 hours' where kind = 'thread'",
};

describe("threads without a message for a day", { timeout: 60_000 }, () => {
  test.each([
    ["young", 600_000, "answered"],
    ["old", -1, "told to have been missed"],
  ])(
    "a %s mention there during an outage is read (age limit %i ms): it is %s",
    FULL,
    async (_age, missedMs, _what) => {
      const { stage, team, threads } = await twoThatSleep();
      const [calling, quiet] = stage.discord
        .threads(stage.places.general)
        .toSorted((a, b) => (a.name < b.name ? 1 : -1));
      stage.person("민준").post(calling!, `${stage.discord.mention(stage.bots.eden)} 거기 있어요?`);
      const since = stage.discord.requests.length;

      const second = await readyTeamOn(stage, {
        on: team,
        limits: { missedMs },
        behave: { ruda: silent, eden: () => "여기 있습니다" },
      });

      const expected =
        missedMs > 0
          ? "이든: 여기 있습니다"
          : "이든: 자리를 비운 사이에 온 부름이라 답하지 못했어요. 아직 필요하면 다시 불러 주세요.";
      await eventually(async () =>
        expect(stage.discord.messages(calling!).at(-1)).toMatchObject({
          author: "이든",
          text: expected.slice(4),
        }),
      );
      await settled(second);
      expect(threads).toHaveLength(2);
      const reads = stage.discord.requests
        .slice(since)
        .filter(
          ({ method, path }) =>
            method === "GET" && path.includes(`/channels/${quiet!.id}/messages`),
        );
      expect(reads).toEqual([]);
    },
  );

  test(
    "calls before the team's first start are history; several calls of one outage get one line",
    FULL,
    async () => {
      let daysAgo = 0.5; // the platform archives what sleeps for a day
      const stage = await discordPlatform({
        clock: { ...systemClock, now: () => systemClock.now() - daysAgo * 86_400_000 },
      });
      const minjun = stage.person("민준");
      const callTwice = (thread: FakePlace): void =>
        ["거기 있어요?", "정말 없어요?"].forEach(
          (text) => void minjun.post(thread, `${stage.discord.mention(stage.bots.eden)} ${text}`),
        );
      const before = minjun.startThread(stage.places.general, "옛 방");
      callTwice(before);
      daysAgo = 0;
      const first = await readyTeamOn(stage);
      const heard = async (team: TestTeam, count: number): Promise<void> =>
        eventually(async () =>
          expect(
            await team.database.query({
              text: `
              select
              from dure.room_messages
              where author_kind = 'person'
              and roles ? 'eden'`,
            }),
          ).toHaveLength(count),
        );
      await heard(first, 2);
      await settled(first);
      await first.stop();
      const meanwhile = minjun.startThread(stage.places.general, "그 사이의 방");
      callTwice(meanwhile);

      const second = await readyTeamOn(stage, { on: first, limits: { missedMs: -1 } });
      await heard(second, 4);
      await settled(second);

      const linesOf = (thread: FakePlace): readonly string[] =>
        stage.discord
          .messages(thread)
          .flatMap(({ author, authorIsBot, text }) =>
            authorIsBot ? [`${author}: ${text.slice(0, 12)}`] : [],
          );
      expect(linesOf(meanwhile)).toEqual(["이든: 자리를 비운 사이에 온"]);
      expect(linesOf(before)).toEqual([]);
      expect(second.calls("eden")).toBe(0);
    },
  );

  test("forget who took part: the page shows no agent, and the rows go with the next sweep", async () => {
    const team = await readyTeamOn(webPlatform(), { behave: { ruda: silent, eden: silent } });
    const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
    await settled(team);
    expect(await participantsOf(team, threadId)).toEqual(["eden", "ruda"]);

    await team.database.query(SLEEP);
    await team.database.query({
      text: "update dure.participants set since = since - interval '25 hours'",
    });
    await team.database.query({
      text: "update dure.thread_routes set renewed_at = renewed_at - interval '7 hours'",
    });
    expect((await team.rooms.reader.thread(threadId, ANONYMOUS))?.participants).toEqual([]);
    const retention = new Retention({
      database: team.database,
      leases: team.leases,
      logger: silentLogger,
      clock: systemClock,
      rules: team.rooms.retentionRules(),
    });
    await retention.sweep();

    expect(await team.database.query({ text: "select agent from dure.participants" })).toEqual([]);
    expect(await team.database.query({ text: "select thread from dure.thread_routes" })).toEqual(
      [],
    );
    expect((await team.rooms.reader.thread(threadId, ANONYMOUS))?.id).toBe(threadId);

    // The thread's own record is kept for a year.
    await team.database.query({
      text: `
        update dure.places
        set active_at = clock_timestamp() - interval '364 days'
        where kind = 'thread'`,
    });
    await retention.sweep();
    expect((await team.rooms.reader.thread(threadId, ANONYMOUS))?.id).toBe(threadId);
    await team.database.query({
      text: "update dure.places set active_at = active_at - interval '2 days' where kind = 'thread'",
    });
    await retention.sweep();
    expect(await team.rooms.reader.thread(threadId, ANONYMOUS)).toBeUndefined();
    expect(
      (await team.database.query<{ kind: string }>({ text: "select kind from dure.places" })).map(
        ({ kind }) => kind,
      ),
    ).toEqual(["channel", "channel"]);
  });

  test("what was heard follows an edit of what was said, which starts nothing, also when it names an agent", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    const posted = stage.person("민준").post(stage.places.general, "비밀번호는 1234");
    await eventually(async () =>
      expect(
        (await team.rooms.reader.observations({ agent: "dajim", tenant: "" })).map(
          ({ excerpt }) => excerpt,
        ),
      ).toEqual(["비밀번호는 1234"]),
    );
    await settled(team); // before an agent has begun an edit is decided anew

    stage
      .person("민준")
      .edit(posted, `${stage.discord.mention(stage.bots.eden)} 비밀번호는 지웠어요`);

    await eventually(async () =>
      expect(
        (await team.rooms.reader.observations({ agent: "dajim", tenant: "" })).map(
          ({ excerpt }) => excerpt,
        ),
      ).toEqual(["@이든 비밀번호는 지웠어요"]),
    );
    await settled(team);
    const [message] = await team.rooms.reader.messages("discord:general", {});
    expect(message).toMatchObject({
      text: "<@eden> 비밀번호는 지웠어요",
      editedAt: expect.any(Number) as number,
      roles: { eden: { role: "OBSERVER" } },
    });
    expect(team.calls("eden")).toBe(0);
    await stage.say(team, "그 다음 말"); // by now every bot has told of the edit
    expect(
      await team.database.query({ text: "select from dure.events where type = 'room.edited'" }),
    ).toHaveLength(1);
  });
});
