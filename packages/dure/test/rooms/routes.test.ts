import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import {
  collaborate,
  ANONYMOUS,
  openTypes,
  readyTeamOn,
  settled,
  silent,
  type TeamOptions,
} from "./helpers.ts";
import { discordPlatform } from "./discord-platform.ts";
import { PLATFORMS } from "./platforms.ts";
import type { Behave, TestTeam } from "./team.ts";
import { webPlatform } from "./web-platform.ts";

const CHANNELS = (["general", "lab", "quiet"] as const).map((key) => ({
  key,
  adapter: "web",
  name: key,
  channel: key,
  collaborate: key !== "quiet",
}));

/** Two channels where agents may collaborate, one where they may not. */
async function twoChannels(options: TeamOptions = {}): Promise<TestTeam> {
  const platform = webPlatform();
  return readyTeamOn(platform, {
    behave: { ruda: silent, eden: silent },
    channels: CHANNELS,
    limits: { pairCalls: 10 },
    ...options,
  });
}

describe("where a collaboration goes", { timeout: 60_000 }, () => {
  test("a thread goes on in its own channel alone, and is reported with it", FULL, async () => {
    const team = await twoChannels();
    const inLab = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "하나",
      channelId: "web:lab",
    });

    const again = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "둘",
      channelId: "web:lab",
    });
    const inGeneral = await collaborate(team, "ruda", { targetAgent: "eden", message: "셋" });

    expect(again).toMatchObject({ threadId: inLab.threadId, channelId: "web:lab", reused: true });
    expect(inGeneral).toMatchObject({ channelId: "web:general", reused: false });
    expect(await parentOf(team, inGeneral.threadId)).toBe("web:general");
  });

  test("a thread whose channel is not allowed any more is not found again", FULL, async () => {
    const team = await twoChannels();
    const inLab = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "하나",
      channelId: "web:lab",
    });
    await team.stop();

    const second = await twoChannels({
      on: team,
      channels: CHANNELS.map((channel) => ({ ...channel, collaborate: channel.key === "general" })),
    });
    const again = await collaborate(second, "ruda", { targetAgent: "eden", message: "둘" });

    expect(again).toMatchObject({ channelId: "web:general", reused: false });
    expect(again.threadId).not.toBe(inLab.threadId);
  });

  test(
    "begins where the session is, if allowed, else in the caller's channel; no topic is a topic too",
    FULL,
    async () => {
      const ruda: Behave = (heard) =>
        heard.results.length === 0 && heard.text.includes("맡겨")
          ? { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "검토" } }] }
          : silent(heard);
      const platform = webPlatform();
      const team = await twoChannels({
        behave: { ruda, eden: silent },
        agents: platform.agents.map((agent) =>
          agent.id === "seum" ? { ...agent, channel: "lab" } : agent,
        ),
      });
      const threadsIn = async (channel: string): Promise<readonly string[]> =>
        (await team.rooms.reader.threads(channel, ANONYMOUS)).map(({ name }) => name);

      for (const channel of ["lab", "quiet"]) {
        await team.rooms.post(
          { tenant: "", person: "민준" },
          { place: `web:${channel}`, text: "@루다 이든한테 맡겨 줘" },
        );
        await settled(team);
        await team.database.query({ text: "delete from dure.thread_routes" });
      }
      expect([
        await threadsIn("web:lab"),
        await threadsIn("web:general"),
        await threadsIn("web:quiet"),
      ]).toEqual([["[협업] 루다 → 이든 · 검토"], ["[협업] 루다 → 이든 · 검토"], []]);

      const own = await team.rooms.collaboration.collaborate(
        { agent: "seum", session: "http-1" },
        { targetAgent: "eden", message: "하나" },
      );
      const withTopic = await team.rooms.collaboration.collaborate(
        { agent: "seum", session: "http-1" },
        { targetAgent: "eden", message: "둘", topic: "배포" },
      );
      const again = await team.rooms.collaboration.collaborate(
        { agent: "seum", session: "http-1" },
        { targetAgent: "eden", message: "셋" },
      );

      expect([own, withTopic]).toMatchObject([
        { channelId: "web:lab", reused: false },
        { channelId: "web:lab", reused: false },
      ]);
      expect(again).toMatchObject({
        threadId: (own as { threadId: string }).threadId,
        reused: true,
      });
    },
  );

  test("a given thread that was silent for a day has both agents in it from the call on", async () => {
    const platform = webPlatform();
    const team = await readyTeamOn(platform, {
      behave: { ruda: silent, eden: silent },
      limits: { deliveryWaitMs: 0 },
    });
    const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "하나" });
    await settled(team);
    await team.database.query({
      text: "update dure.places set active_at = active_at - interval '25 hours' where kind = 'thread'",
    });
    platform.fail("post", "rate-limited", { retryAfterMs: 60_000, agent: "ruda" });

    const again = await collaborate(team, "ruda", { targetAgent: "eden", message: "둘", threadId });

    expect(again.delivery).toBe("queued");
    expect(
      await team.database.query({ text: "select agent from dure.participants order by agent" }),
    ).toEqual([{ agent: "eden" }, { agent: "ruda" }]);
    expect(
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "셋", threadId: "thread_nowhere" },
      ),
    ).toMatchObject({ ok: false, code: "THREAD_NOT_FOUND", escalated: false });
  });

  test("whether the target is online is asked before whether the channel is allowed", async () => {
    const team = await twoChannels();
    await team.rooms.pauses.pause("eden", { by: "mina" });

    const result = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "하나", channelId: "web:quiet" },
    );

    expect(result).toMatchObject({ ok: false, code: "AGENT_OFFLINE" });
    expect(await openTypes(team)).toEqual(["agent_offline"]);
  });

  test("an agent whose process was killed is offline half a minute later, whatever its account's row says", async () => {
    const team = await twoChannels();
    const lostFor = async (seconds: number): Promise<void> =>
      void (await team.database.query(
        {
          text: `
            insert into dure.leases (name, holder, renewed_at)
            values ('account:web:eden', 'process_gone',
            clock_timestamp() - $1 * interval '1 second')
            on conflict (name) do update
            set renewed_at = excluded.renewed_at`,
        },
        [seconds],
      ));

    await lostFor(20);
    const moving = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "하나" },
    );
    await lostFor(31);
    const gone = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "둘" },
    );

    expect(moving.ok).toBe(true);
    expect(gone).toMatchObject({ ok: false, code: "AGENT_OFFLINE" });
    expect(
      (await team.rooms.reader.agents()).find(({ id }) => id === "eden")?.accounts[0]?.state,
    ).toBe("reconnecting");
  });

  test("threads are counted per guild, which the platform tells", FULL, async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, {
      behave: { ruda: silent, eden: silent },
      channels: stage.channels.map(({ guild: _guild, ...channel }) => channel),
    });
    await stage.say(team, "안녕");

    await collaborate(team, "ruda", { targetAgent: "eden", message: "일" });

    expect(await team.database.query({ text: "select guild from dure.guild_threads" })).toEqual([
      { guild: `discord:${stage.guild.id}` },
    ]);
  });

  test(
    "the sixth thread within a minute is queued, and made when its time has come",
    FULL,
    async () => {
      const team = await twoChannels();

      const results = [];
      for (const topic of ["1", "2", "3", "4", "5", "6"]) {
        results.push(
          await collaborate(team, "ruda", { targetAgent: "eden", message: "일", topic }),
        );
      }

      expect(results.map(({ delivery }) => delivery)).toEqual([
        "sent",
        "sent",
        "sent",
        "sent",
        "sent",
        "queued",
      ]);
      const [waiting] = await team.database.query<{ wait: number }>({
        text: `
        select extract(epoch
        from next_at - clock_timestamp())::double precision as wait
        from dure.outbox
        where state = 'pending'
        and payload->>'kind' = 'thread'`,
      });
      expect(waiting!.wait).toBeGreaterThan(40);
      expect(waiting!.wait).toBeLessThanOrEqual(60);
    },
  );

  test.each(PLATFORMS)(
    "on %s a report thread beyond the slots is queued with its reports, and nothing is lost",
    FULL,
    async (name, makePlatform) => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, {
        behave: { ruda: silent, eden: silent },
        limits: { threadsPerMinute: 1 },
        sink: {
          channels: platform.channels.filter(
            ({ adapter, key }) => adapter === name && key === "quiet",
          ),
        },
      });
      await eventually(async () =>
        expect(
          await team.database.query({ text: "select from dure.cursors where name = 'room.sink'" }),
        ).toHaveLength(1),
      );
      const inGeneral = await collaborate(team, "ruda", { targetAgent: "eden", message: "일" });

      await team.database.query({ text: "select dure.emit($1)" }, [
        JSON.stringify(
          ["금요일이 좋습니다", "오후가 낫습니다"].map((text) => ({
            type: "job.turn",
            role: "delegation",
            job: "job_1",
            data: { speaker: "eden", text },
          })),
        ),
      ]);

      const [thread] = await eventually(async () => {
        const threads = await team.rooms.reader.threads(`${name}:quiet`, ANONYMOUS);
        expect(threads.map(({ messages }) => messages)).toEqual([2]);
        return threads;
      });
      await eventually(async () =>
        expect(await platform.shown(team, inGeneral.threadId)).toHaveLength(1),
      );
      const WAITING =
        "from dure.outbox where state = 'pending' and payload->>'kind' = 'thread' and payload->>'place' = $1";
      const [waiting] = await team.database.query<{ wait: number }>(
        {
          text: `select extract(epoch from next_at - clock_timestamp())::double precision as wait ${WAITING}`,
        },
        [thread!.id],
      );
      expect(waiting!.wait).toBeGreaterThan(20);
      expect(await platform.shown(team, thread!.id)).toEqual([]);

      await team.database.query(
        {
          text: `update dure.outbox set next_at = clock_timestamp() where id in (select id ${WAITING})`,
        },
        [thread!.id],
      );
      team.outbox.wake();
      await eventually(async () =>
        expect(await platform.shown(team, thread!.id)).toEqual([
          "이든: 금요일이 좋습니다",
          "이든: 오후가 낫습니다",
        ]),
      );
    },
  );
});

async function parentOf(team: TestTeam, thread: string): Promise<string | null> {
  return (await team.rooms.reader.thread(thread, { tenant: "", person: "" }))?.parent ?? null;
}
