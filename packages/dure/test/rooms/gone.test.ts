// @module-tag slow
import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import {
  accountStates,
  collaborate,
  ANONYMOUS,
  openTypes,
  participantsOf,
  readyTeamOn,
  rolesOf,
  HEARS_PLATFORM,
  settled,
  silent,
  stateOf,
  teamOn,
} from "./helpers.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, Name, TestTeam } from "./team.ts";

const GENERAL = "discord:general";

describe("what is gone on Discord", { timeout: 60_000 }, () => {
  test(
    "a deleted thread is closed for all, told once, and its open request is withdrawn",
    FULL,
    async () => {
      const { stage, team, threadId, asks } = await threadThatWaits();
      const since = stage.discord.requests.length;

      stage.discord.deleteThread(stage.discord.threads(stage.places.general)[0]!);

      await eventually(async () => expect(await stateOf(team, threadId)).toBe("closed"));
      await eventually(async () =>
        expect((await stage.shown(team, GENERAL)).at(-1)).toBe(
          "루다: 이든 님에게 한 부탁은 답을 받을 수 없게 됐어요: 스레드가 지워졌어요.",
        ),
      );
      await settled(team);
      expect(await participantsOf(team, threadId)).toEqual([]);
      expect(await requestStates(team)).toEqual(["withdrawn"]);
      expect(await eventsOf(team, "room.closed")).toHaveLength(1);
      expect(
        await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "다시", threadId },
        ),
      ).toMatchObject({ ok: false, code: "THREAD_NOT_FOUND" });
      expect(requestsSince(stage, since)).toBeLessThanOrEqual(4);
      expect(asks()).toBe(1);
      const again = await collaborate(team, "ruda", { targetAgent: "eden", message: "새로" });
      expect(again.reused).toBe(false);
    },
  );

  test(
    "what an agent still wants to say in a deleted thread is never said, with one request at most",
    FULL,
    async () => {
      const working = Promise.withResolvers<string>();
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { eden: () => working.promise } });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "오래 걸리는 일",
      });
      await eventually(() => expect(team.calls("eden")).toBe(1));

      stage.discord.deleteThread(stage.discord.threads(stage.places.general)[0]!);
      await eventually(async () => expect(await stateOf(team, threadId)).toBe("closed"));
      const since = stage.discord.requests.length;
      working.resolve("다 했어요");
      await settled(team);

      expect(requestsSince(stage, since)).toBeLessThanOrEqual(1);
      expect((await team.rooms.reader.messages(threadId, {})).map(({ text }) => text)).toEqual([
        "<@eden> 오래 걸리는 일",
      ]);
    },
  );

  test(
    "an archived thread keeps its participants; a collaborate in it brings it back",
    FULL,
    async () => {
      const { stage, team, threadId } = await threadThatWaits();

      stage.discord.archiveThread(stage.discord.threads(stage.places.general)[0]!);
      await eventually(async () =>
        expect((await team.rooms.reader.thread(threadId, ANONYMOUS))?.archived).toBe(true),
      );
      expect(await participantsOf(team, threadId)).toEqual(["eden", "ruda"]);
      await collaborate(team, "ruda", { targetAgent: "eden", message: "하나 더", threadId });

      expect((await stage.shown(team, threadId)).at(-1)).toBe("루다: @이든 하나 더");
      expect(stage.discord.threads(stage.places.general)[0]!.archived).toBe(false);
      await eventually(async () =>
        expect((await team.rooms.reader.thread(threadId, ANONYMOUS))?.archived).toBe(false),
      );
    },
  );

  test("a bot removed from the server leaves its threads, operators know, and its posts fail quietly", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
    await settled(team);

    stage.discord.kickBot(stage.bots.eden, stage.guild);
    await eventually(async () => expect(await participantsOf(team, threadId)).toEqual(["ruda"]));
    await eventually(async () => expect(await openTypes(team)).toContain("account"));
    const since = stage.discord.requests.length;
    await eventually(async () =>
      expect(
        await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "하나", channelId: GENERAL },
        ),
      ).toMatchObject({
        ok: false,
        code: "AGENT_OFFLINE",
        message: "이든 (eden) does not see general any more.",
        escalated: true,
      }),
    );
    await settled(team);

    expect(requestsSince(stage, since, "이든")).toBeLessThanOrEqual(3);
    expect(
      (await team.inbox.list({ tenant: "", status: "open" })).items.filter(
        ({ type }) => type === "delivery",
      ).length,
    ).toBeLessThanOrEqual(1);
    expect((await accountStates(team))["ruda"]).toBe("ready");
    expect(await reportsOf(team)).toContainEqual([
      "이든 → general: 이 에이전트는 이곳을 더는 볼 수 없어요.",
      expect.stringMatching(/`dure doctor`.*초대.*저절로 닫혀요/),
    ]);
  });

  test("what was reported of a bot that was removed is settled when it is let in again", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    stage.discord.kickBot(stage.bots.eden, stage.guild);
    await eventually(async () => expect(await openTypes(team)).toEqual(["account", "account"])); // one for each channel

    stage.discord.inviteBot(stage.bots.eden, stage.guild);

    await eventually(async () => expect(await openTypes(team)).toEqual([]));
    // A channel that was still being read is a report of its own, settled before.
    const { items } = await team.inbox.list({ tenant: "", status: "resolved" });
    const unseen = items.filter(({ title }) => title.endsWith("이곳을 더는 볼 수 없어요."));
    expect(unseen).toMatchObject([
      { type: "account", resolvedBy: "eden" },
      { type: "account", resolvedBy: "eden" },
    ]);
    expect(
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "하나", channelId: GENERAL },
      ),
    ).toMatchObject({ ok: true });
  });

  test("a channel that could not be read and is then not seen any more is one report, not two", async () => {
    const stage = await discordPlatform();
    stage.discord.fault(
      { route: `/channels/${stage.places.general.id}/messages`, method: "GET", bot: "이든" },
      { kind: "403" },
    );
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    await eventually(async () => expect(await openTypes(team)).toEqual(["account"]));

    stage.discord.kickBot(stage.bots.eden, stage.guild);

    await eventually(async () => expect(await eventsOf(team, "room.access_lost")).toHaveLength(2)); // one for each channel
    expect(await openTypes(team)).toEqual(["account", "account"]);
  });

  test("a channel that could not be read after a gap is reported until a message is heard there", async () => {
    const stage = await discordPlatform();
    stage.discord.fault(
      { route: `/channels/${stage.places.general.id}/messages`, method: "GET", bot: "이든" },
      { kind: "403" },
    );
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    await eventually(async () => expect(await openTypes(team)).toEqual(["account"]));
    const deaf = async (): Promise<unknown> =>
      (await team.rooms.reader.rooms({ tenant: "", person: "민준" })).items.map((room) => [
        room.name,
        room.deaf,
      ]);
    expect(await deaf()).toEqual(expect.arrayContaining([["general", ["eden"]]]));

    await stage.say(team, "들리나요");

    await eventually(async () => expect(await openTypes(team)).toEqual([]));
    expect((await deaf()) as unknown[]).toEqual(expect.arrayContaining([["general", []]]));
  });

  test(
    "words of an agent whose token is gone after a restart: told once, and settled when the token is back",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: () => "나중에 나갈 말" } });
      stage.fail("post", "rate-limited", { retryAfterMs: 60_000, times: 1 });
      await stage.say(team, "루다야");
      await eventually(async () =>
        expect(
          await team.database.query({
            text: "select from dure.outbox where state = 'pending' and next_at > clock_timestamp() + interval '20 seconds'",
          }),
        ).toHaveLength(1),
      );
      await team.stop();
      const others = stage.agents.filter(({ id }) => id !== "ruda");

      for (const _start of [1, 2]) {
        const without = await teamOn(stage, { on: team, agents: others });
        expect(await openTypes(without)).toEqual(["account"]);
        expect((await without.inbox.list({ tenant: "" })).items).toMatchObject([
          {
            title: "ruda (discord): 말 1건이 기다리는데 이 계정의 토큰이 없어요.",
            context: { waiting: 1 },
          },
        ]);
        await without.stop();
      }
      const again = await readyTeamOn(stage, { on: team });
      await eventually(async () => expect(await openTypes(again)).toEqual([]));
    },
  );

  test("a revoked token is refused with one critical escalation and never tried again", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage);

    stage.discord.revokeToken(stage.bots.eden);
    await eventually(async () =>
      expect(await accountStates(team)).toEqual({
        ruda: "ready",
        eden: "refused",
        seum: "ready",
        dajim: "ready",
      }),
    );
    const since = stage.discord.requests.length;
    const result = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "도와줘" },
    );
    stage
      .person("민준")
      .post(stage.places.general, `${stage.discord.mention(stage.bots.eden)} 거기 있어요?`);
    stage.person("민준").post(stage.places.general, "그럼 루다라도");
    await eventually(async () => expect(await stage.shown(team, GENERAL)).toHaveLength(3));
    await settled(team);

    expect(result).toMatchObject({ ok: false, code: "AGENT_OFFLINE", escalated: true });
    expect(await openTypes(team)).toEqual(["account", "agent_offline"]);
    const unauthorized = stage.discord.requests.slice(since).filter(({ status }) => status === 401);
    expect(unauthorized.length).toBeLessThanOrEqual(1);
    expect(await reportsOf(team)).toEqual(
      expect.arrayContaining([
        [
          "이든 (discord): 계정이 거부됐어요.",
          expect.stringMatching(
            /Discord does not accept the bot's token\.\n.*서버를 다시 시작해 주세요/,
          ),
        ],
        [
          "루다 → 이든: 이든 님이 연결되어 있지 않아요.",
          expect.stringMatching(/is refused.*\n.*에이전트 화면/),
        ],
      ]),
    );
  });

  test("a bot with hardly a session start left rests, and the operators are told once", async () => {
    const stage = await discordPlatform();
    stage.discord.gateway.useSessionStarts(stage.bots.eden, 960);
    const team = await teamOn(stage);

    await eventually(async () =>
      expect(await accountStates(team)).toMatchObject({ ruda: "ready", eden: "reconnecting" }),
    );
    await eventually(async () => expect(await openTypes(team)).toEqual(["account"]));

    expect(stage.discord.sessionsStarted(stage.bots.eden)).toBe(0);
    expect(await reportsOf(team)).toEqual([
      [expect.stringMatching(/이든 .*횟수가 거의 없어 쉬고 있어요/), expect.any(String)],
    ]);
  });

  test(
    "a removed channel is closed with its threads, told once to the operators; no agent posts there",
    FULL,
    async () => {
      const { stage, team, threadId } = await threadThatWaits();
      const since = stage.discord.requests.length;

      stage.discord.removeChannel(stage.places.general);

      await eventually(async () => expect(await stateOf(team, threadId)).toBe("closed"));
      const [general] = (await team.rooms.reader.rooms(ANONYMOUS)).items.filter(
        ({ id }) => id === GENERAL,
      );
      expect(general?.state).toBe("closed");
      await settled(team);
      expect(await openTypes(team)).toEqual(["delivery"]);
      expect(await reportsOf(team)).toEqual([
        ["general: 채널이 없어졌어요.", expect.stringMatching(/rooms\.channels.*dure reload/)],
      ]);
      expect(
        await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "seum", message: "여기서", channelId: GENERAL },
        ),
      ).toMatchObject({ ok: false });
      await settled(team);
      expect(requestsSince(stage, since)).toBeLessThanOrEqual(4);
    },
  );

  test("where an account may not write any more, messages fail at once and one escalation says why", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage);

    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {
      deny: ["SEND_MESSAGES"],
    });
    const since = stage.discord.requests.length;
    await stage.say(team, "하나");
    await stage.say(team, "둘");
    await eventually(async () =>
      expect(
        (await team.rooms.reader.messages(GENERAL, {})).filter(
          ({ delivery }) => delivery === "failed",
        ),
      ).toHaveLength(2),
    );
    await settled(team);

    expect(
      stage.discord.requests
        .slice(since)
        .filter(({ method, route }) => method === "POST" && route.endsWith("/messages")),
    ).toHaveLength(2);
    const {
      items: [escalation, ...others],
    } = await team.inbox.list({ tenant: "", status: "open" });
    expect(others).toEqual([]);
    expect(escalation).toMatchObject({
      title: "루다 → general: 말을 전하지 못했어요.",
      description: expect.stringMatching(
        /lacks the permission SEND_MESSAGES.*\n.*빠진 권한을 주면/,
      ) as string,
    });
  });

  test("a thread that may not be made: the caller is told the permission, once, and the thread is closed", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { limits: HEARS_PLATFORM });
    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {
      deny: ["CREATE_PUBLIC_THREADS"],
    });
    const since = stage.discord.requests.length;

    const result = await team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "검토" },
    );
    await settled(team);

    expect(result).toMatchObject({ ok: false, code: "PERMISSION_DENIED" });
    expect(await openTypes(team)).toEqual(["delivery"]);
    expect(await requestStates(team)).toEqual(["withdrawn"]);
    expect((await team.rooms.reader.threads(GENERAL, ANONYMOUS)).map(({ state }) => state)).toEqual(
      ["closed"],
    );
    expect(
      (
        await team.rooms.reader.messages(
          (await team.rooms.reader.threads(GENERAL, ANONYMOUS))[0]!.id,
          {},
        )
      ).map(({ deliveryError }) => deliveryError?.code),
    ).toEqual(["CHANNEL_PERMISSION"]);
    expect(requestsSince(stage, since, "루다")).toBeLessThanOrEqual(1);
  });

  test("a thread whose first words are refused is put away, and the next hand-over makes a new one", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { eden: silent }, limits: HEARS_PLATFORM });
    const ask = (message: string) =>
      team.rooms.collaboration.collaborate({ agent: "ruda" }, { targetAgent: "eden", message });
    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {
      deny: ["SEND_MESSAGES_IN_THREADS"],
    });

    expect(await ask("하나")).toMatchObject({ ok: false, code: "PERMISSION_DENIED" });
    await settled(team);

    const [closed] = await team.rooms.reader.threads(GENERAL, ANONYMOUS);
    expect(closed).toMatchObject({ state: "closed" });
    await eventually(() => expect(isArchived(stage, 0)).toBe(true));
    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {});
    expect(await ask("둘")).toMatchObject({ ok: true, reused: false });
    await eventually(async () => expect(await openTypes(team)).toEqual([]));
    expect(isArchived(stage, 1)).toBe(false);
  });

  test("an empty thread stays where a person has written in it meanwhile", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { eden: silent }, limits: HEARS_PLATFORM });
    stage.discord.fault(
      { method: "POST", route: "/channels/{channel}/messages" },
      { kind: "429", retryAfterMs: 4_000 }, // time for the person
    );
    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {
      deny: ["SEND_MESSAGES_IN_THREADS"],
    });
    const asked = team.rooms.collaboration.collaborate(
      { agent: "ruda" },
      { targetAgent: "eden", message: "하나" },
    );
    await eventually(() => expect(stage.discord.threads(stage.places.general)).toHaveLength(1));
    const [thread] = await team.rooms.reader.threads(GENERAL, ANONYMOUS);
    await stage.say(team, "여기서 할까요?", { thread: thread!.id });
    await asked;
    await eventually(async () => expect(await openTypes(team)).toContain("delivery"));
    await settled(team);

    expect(isArchived(stage, 0)).toBe(false);
    expect(await stateOf(team, thread!.id)).toBe("open");
  });

  test("however often a thread may not be made, one escalation names the pair, and no guard counts it", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { eden: silent }, limits: HEARS_PLATFORM });
    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {
      deny: ["CREATE_PUBLIC_THREADS"],
    });
    for (const message of ["하나", "둘", "셋", "넷"]) {
      expect(
        await team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message },
        ),
      ).toMatchObject({ ok: false, code: "PERMISSION_DENIED" });
    }
    expect(await openTypes(team)).toEqual(["delivery"]);

    stage.discord.setPermissions(stage.bots.ruda, stage.places.general, {});
    expect(
      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "다섯" },
      ),
    ).toMatchObject({ ok: true });

    await eventually(async () => expect(await openTypes(team)).toEqual([]));
  });

  test(
    "two threads of one name made within a minute are never taken for each other after a lost answer",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { eden: silent } });
      const first = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "하나",
        topic: "하나",
        threadName: "리뷰",
      });
      await settled(team);
      stage.fail("thread", "transient");

      await team.rooms.collaboration.collaborate(
        { agent: "ruda" },
        { targetAgent: "eden", message: "둘", topic: "둘", threadName: "리뷰" },
      );
      await settled(team);

      expect(await stage.shown(team, first.threadId)).toEqual(["루다: @이든 하나"]);
      const states = (await team.rooms.reader.threads(GENERAL, ANONYMOUS))
        .map(({ state }) => state)
        .sort();
      expect(states).toEqual(["closed", "open"]);
      expect(await openTypes(team)).toEqual(["delivery"]);
    },
  );
});

describe("a Discord server with an outage", { timeout: 60_000 }, () => {
  const OUTAGE = "Discord has an outage in the server 두레: what is said there waits.";
  const detailsOf = async (team: TestTeam): Promise<readonly (string | null)[]> =>
    (await team.rooms.reader.agents()).map(({ accounts: [account] }) => account!.detail);
  const NO_SERVER = "The bot is in no server: `dure doctor` gives the link that invites it.";
  const posted = (stage: DiscordStage, since: number): readonly string[] =>
    stage.discord.requests.slice(since).map(({ method, route }) => `${method} ${route}`);

  test(
    "is no loss: places stay as they are, words wait untried, and all comes when it is back",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const { discord, guild, places } = stage;
      const team = await readyTeamOn(stage, {
        behave: {
          ruda: (heard) => (heard.text.includes("거기") ? "여기 있습니다" : silent(heard)),
          eden: silent,
          seum: silent,
        },
      });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      await settled(team);

      discord.setOutage(guild, true);
      await eventually(async () =>
        expect(await detailsOf(team)).toEqual([OUTAGE, OUTAGE, OUTAGE, OUTAGE]),
      );
      const since = discord.requests.length;
      const [more, other] = await Promise.all([
        team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "하나 더", threadId },
        ),
        team.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "seum", message: "새로" },
        ),
      ]);
      expect([more, other]).toMatchObject([
        { ok: true, delivery: "queued" },
        { ok: true, delivery: "queued", reused: false },
      ]);
      stage.person("민준").post(places.general, "거기 있어요?");
      await eventually(async () =>
        expect(
          await team.database.query({
            text: "select attempts from dure.outbox where state = 'pending' and next_at > clock_timestamp() + interval '1 second'",
          }),
        ).not.toEqual([]),
      );

      expect(posted(stage, since)).toEqual([]);
      expect(Object.values(await accountStates(team))).toEqual([
        "ready",
        "ready",
        "ready",
        "ready",
      ]);
      expect(await openTypes(team)).toEqual([]);
      expect(
        (
          await team.database.query<{ state: string }>({
            text: "select distinct state from dure.places",
          })
        ).map(({ state }) => state),
      ).toEqual(["open"]);
      expect(await participantsOf(team, threadId)).toEqual(["eden", "ruda"]);
      discord.setOutage(guild, false);

      await eventually(async () =>
        expect(await stage.shown(team, GENERAL)).toEqual([
          "민준: 거기 있어요?",
          "루다: 여기 있습니다",
        ]),
      );
      await eventually(async () =>
        expect(await stage.shown(team, threadId)).toEqual([
          "루다: @이든 검토",
          "루다: @이든 하나 더",
        ]),
      );
      await eventually(() => expect(discord.threads(places.general)).toHaveLength(2));
      await eventually(async () => expect(await detailsOf(team)).toEqual([null, null, null, null]));
      await settled(team);
      expect(await openTypes(team)).toEqual([]);
      expect(await requestStates(team)).toEqual(["open", "open", "open"]);
      expect(
        discord
          .threads(places.general)
          .map(
            (thread) => discord.messages(thread).filter(({ author }) => author === "루다").length,
          ),
      ).toEqual([2, 1]);
    },
  );

  test("that has one when the team starts is ready all the same, and is read when it comes", async () => {
    const stage = await discordPlatform();
    const { discord, guild, places } = stage;
    discord.setOutage(guild, true);
    const team = await readyTeamOn(stage);
    await eventually(async () =>
      expect(
        (await detailsOf(team)).every((detail) =>
          detail?.startsWith("Discord has an outage in the server"),
        ),
      ).toBe(true),
    );
    stage.person("민준").post(places.general, "아침이에요");
    expect(posted(stage, 0).filter((request) => request.endsWith("/messages"))).toEqual([]);

    discord.setOutage(guild, false);

    await eventually(async () =>
      expect(await stage.shown(team, GENERAL)).toEqual([
        "민준: 아침이에요",
        "루다: 루다의 답입니다",
      ]),
    );
    expect(await detailsOf(team)).toEqual([null, null, null, null]);
    expect(await openTypes(team)).toEqual([]);
  });

  test("from which a bot is removed meanwhile has removed it", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    await stage.say(team, "다들 있나요"); // whatever was missed has been read
    stage.discord.setOutage(stage.guild, true);
    await eventually(async () =>
      expect(await detailsOf(team)).toEqual([OUTAGE, OUTAGE, OUTAGE, OUTAGE]),
    );

    stage.discord.kickBot(stage.bots.eden, stage.guild);

    await eventually(async () => expect(await openTypes(team)).toEqual(["account", "account"])); // one for each channel
    await eventually(async () =>
      expect(await detailsOf(team)).toEqual([OUTAGE, NO_SERVER, OUTAGE, OUTAGE]),
    );
  });
});

describe.each(PLATFORM.rows)(
  "who is gone on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;

    test("an agent that a person takes out of a thread is seen to go, and no agent answers to it", async () => {
      const platform = await makePlatform();
      const team = await readyTeamOn(platform, { behave: { eden: silent } });
      const { threadId } = await collaborate(team, "ruda", {
        targetAgent: "eden",
        message: "검토",
      });
      await settled(team);
      const calls = team.calls("eden") + team.calls("ruda");

      await team.rooms.removeParticipant(threadId, "eden", { tenant: "", person: "민준" });
      await settled(team);

      expect((await platform.shown(team, threadId)).at(-1)).toBe(
        "이든: 민준 님이 이든 님을 이 대화에서 내보냈어요. 부르면 다시 들어와요.",
      );
      expect(await participantsOf(team, threadId)).toEqual(["ruda"]);
      expect(
        await team.database.query({
          text: "select agent, data->>'by' as by from dure.events where type = 'room.left'",
        }),
      ).toEqual([{ agent: "eden", by: "민준" }]);
      expect(team.calls("eden") + team.calls("ruda")).toBe(calls);
    });

    test(
      "what waits for an agent that is no longer in the team ends, and the others go on",
      FULL,
      async () => {
        const never = Promise.withResolvers<string>();
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, { behave: { dajim: () => never.promise } });
        const { threadId } = await collaborate(team, "ruda", {
          targetAgent: "dajim",
          message: "맡아 줘",
        });
        await eventually(() => expect(team.calls("dajim")).toBe(1));
        await team.stop();

        const second = await teamOn(platform, {
          on: team,
          agents: platform.agents.filter(({ id }) => id !== "dajim"),
        });
        await eventually(async () =>
          expect(
            await second.database.query({
              text: "select from dure.handlings where state <> 'done'",
            }),
          ).toEqual([]),
        );
        expect(
          await second.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { targetAgent: "dajim", message: "거기 있나" },
          ),
        ).toMatchObject({ ok: false, code: "AGENT_UNKNOWN" });
        const asked = await second.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "대신 해 줘", threadId },
        );

        expect(asked).toMatchObject({ ok: true });
        await eventually(async () =>
          // Not by its place: the two go on talking behind it.
          expect(await platform.shown(second, threadId)).toContain("이든: 이든의 답입니다"),
        );
      },
    );

    test(
      "two mentioned agents that both hand over from one message open one thread each",
      FULL,
      async () => {
        const handOver =
          (target: Name): Behave =>
          (heard) =>
            heard.results.length > 0
              ? "맡겼습니다"
              : heard.text.includes("나눠서")
                ? {
                    toolCalls: [
                      {
                        name: "collaborate",
                        args: { targetAgent: target, message: `${target}의 몫` },
                      },
                    ],
                  }
                : { toolCalls: [{ name: "stay_silent", args: {} }] };
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          behave: {
            ruda: handOver("seum"),
            eden: handOver("dajim"),
            seum: () => "세움의 답입니다",
            dajim: () => "다짐의 답입니다",
          },
        });

        const message = await platform.say(team, "@루다 @이든 나눠서 맡겨 줘");
        await eventually(async () =>
          expect(await requestStates(team)).toEqual(["answered", "answered"]),
        );
        await settled(team);

        expect(await rolesOf(team, message)).toEqual({
          ruda: "HANDLER",
          eden: "HANDLER",
          seum: "OBSERVER",
          dajim: "OBSERVER",
        });
        const threads = await team.rooms.reader.threads(general, ANONYMOUS);
        const shown = await Promise.all(threads.map(async ({ id }) => platform.shown(team, id)));
        expect(shown.sort((one, other) => one[0]!.localeCompare(other[0]!, "ko"))).toEqual([
          ["루다: @세움 seum의 몫", "세움: 세움의 답입니다"],
          ["이든: @다짐 dajim의 몫", "다짐: 다짐의 답입니다"],
        ]);
      },
    );

    test(
      "both hand over to the same agent from one message: a thread per pair, each answered once",
      FULL,
      async () => {
        const handOver: Behave = (heard) =>
          heard.results.length > 0
            ? "맡겼습니다"
            : heard.text.includes("둘 다")
              ? {
                  toolCalls: [
                    { name: "collaborate", args: { targetAgent: "seum", message: "봐 줘" } },
                  ],
                }
              : { toolCalls: [{ name: "stay_silent", args: {} }] };
        const platform = await makePlatform();
        const team = await readyTeamOn(platform, {
          behave: { ruda: handOver, eden: handOver, seum: () => "봤습니다" },
        });

        await platform.say(team, "@루다 @이든 둘 다 세움에게 물어봐");
        await eventually(async () =>
          expect(await requestStates(team)).toEqual(["answered", "answered"]),
        );
        await settled(team);

        expect(await team.rooms.reader.threads(general, ANONYMOUS)).toHaveLength(2);
        expect(team.calls("seum")).toBe(2);
      },
    );
  },
);

test(
  "a channel that stands under another key after a restart keeps its threads",
  { ...FULL, timeout: 60_000 },
  async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { ruda: silent } });
    const { threadId } = await collaborate(team, "ruda", { targetAgent: "eden", message: "검토" });
    await settled(team);
    await team.stop();

    const second = await readyTeamOn(stage, {
      on: team,
      defaultChannel: "main",
      channels: stage.channels.map((channel) =>
        channel.key === "general" ? { ...channel, key: "main" } : channel,
      ),
    });
    const said = await stage.say(second, "계속해 줘", { thread: threadId });

    expect(await rolesOf(second, said)).toMatchObject({ eden: "HANDLER", ruda: "HANDLER" });
    expect(
      (await second.rooms.reader.threads("discord:main", ANONYMOUS)).map(({ id }) => id),
    ).toEqual([threadId]);
  },
);

/** 루다 has handed over to 이든 on behalf of a person in #general; 이든 says nothing. */
async function threadThatWaits(): Promise<{
  stage: DiscordStage;
  team: TestTeam;
  threadId: string;
  asks: () => number;
}> {
  const stage = await discordPlatform();
  const ruda: Behave = (heard) =>
    heard.results.length > 0
      ? "맡겼어요"
      : heard.text.includes("맡겨 줘")
        ? { toolCalls: [{ name: "collaborate", args: { targetAgent: "eden", message: "검토" } }] }
        : { toolCalls: [{ name: "stay_silent", args: {} }] };
  const behave = { ruda, eden: silent };
  const team = await readyTeamOn(stage, { behave, limits: HEARS_PLATFORM });
  await stage.say(team, "이든한테 맡겨 줘");
  await eventually(async () => expect(await stage.shown(team, GENERAL)).toHaveLength(2));
  await settled(team);
  const [thread] = await team.rooms.reader.threads(GENERAL, ANONYMOUS);
  return { stage, team, threadId: thread!.id, asks: () => team.calls("eden") - 1 };
}

/** Requests that were made since, without reading and typing signs. */
function isArchived(stage: DiscordStage, thread: number): boolean | undefined {
  return stage.discord.threads(stage.places.general)[thread]?.archived;
}

function requestsSince(stage: DiscordStage, since: number, bot?: string): number {
  return stage.discord.requests
    .slice(since)
    .filter(
      (request) =>
        request.method !== "GET" &&
        !request.route.endsWith("/typing") &&
        (bot === undefined || request.bot === bot),
    ).length;
}

/** What operators read: title and what to do. */
async function reportsOf(team: TestTeam): Promise<readonly unknown[]> {
  return (await team.inbox.list({ tenant: "", status: "open" })).items.map(
    ({ title, description }) => [title, description],
  );
}

async function requestStates(team: TestTeam): Promise<readonly string[]> {
  return (
    await team.database.query<{ state: string }>({
      text: "select state from dure.requests order by created_at",
    })
  ).map(({ state }) => state);
}

async function eventsOf(team: TestTeam, type: string): Promise<readonly unknown[]> {
  return team.database.query({ text: "select from dure.events where type = $1" }, [type]);
}
