import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { boundMs } from "../../src/kernel/test-bounds.ts";
import { eventually } from "../until.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import {
  NEVER_SILENT,
  ONE_BY_ONE,
  collaborate,
  readyTeamOn,
  rolesOf,
  settled,
  stateOf,
  teamOn,
} from "./helpers.ts";
import type { TestPlatform } from "./platform.ts";
import { PLATFORM } from "./platforms.ts";
import type { Behave, Name, TestTeam, TestTeamOptions } from "./team.ts";

/**
 * A dead process is noticed after 6 s; its accounts are connected within 10 s. Source:
 * docs/spec/collaboration §1.
 */
const TAKEN_OVER_MS = boundMs(10_000);
const BOTS: readonly Name[] = ["ruda", "eden", "seum", "dajim"];

describe.each(PLATFORM.rows)(
  "two processes of one team on %s",
  { ...PLATFORM.options, timeout: 60_000 },
  (name, makePlatform) => {
    const general = `${name}:general`;

    test(
      "when the process that answers is cut off, the other one answers, once",
      FULL,
      async () => {
        const never = Promise.withResolvers<string>();
        const platform = await makePlatform();
        const first = await readyTeamOn(platform, { behave: { ruda: () => never.promise } });
        await platform.say(first, "오늘 일정 알려줘");
        await eventually(() => expect(first.calls("ruda")).toBe(1));
        const second = await readyTeamOn(platform, { on: first });

        await fence(second, first);

        await eventually(
          async () =>
            expect(await platform.shown(second, general)).toEqual([
              "민준: 오늘 일정 알려줘",
              "루다: 루다의 답입니다",
            ]),
          { patienceMs: TAKEN_OVER_MS + 5_000 },
        );
        never.resolve("죽은 자의 답");
        await settled(second);
        expect(await platform.shown(second, general)).toHaveLength(2);
      },
    );

    test.each(NEVER_SILENT)(
      "%s, spread over both, fall silent after the exchange budget, with one notice",
      FULL,
      async (_who, behave) => {
        const options = { behave, limits: { threadMessages: 100, exchangeMessages: 10 } };
        const { platform, first, second } = await spread(await makePlatform(), options);

        const { threadId } = await collaborate(first, "ruda", {
          targetAgent: "eden",
          message: "이야기하자",
        });

        await eventually(async () => expect(await stateOf(second, threadId)).toBe("resting"));
        await settled(second);
        const shown = await platform.shown(second, threadId);
        expect(shown).toHaveLength(12); // the collaborate, ten more, and the notice
        expect(shown.filter((line) => line.includes("쉬어요"))).toHaveLength(1);
        expect(callsOf(first) + callsOf(second)).toBeLessThanOrEqual(11);
      },
    );

    test(
      "calls of a pair are counted for both: three pass, and one notice tells of the others",
      FULL,
      async () => {
        const { platform, first, second } = await spread(await makePlatform(), {
          behave: { ruda: () => "", eden: () => "" },
        });
        const { threadId } = await collaborate(first, "ruda", {
          targetAgent: "eden",
          message: "하나",
        });

        const results = await Promise.all(
          [first, second, first, second].map((team, index) =>
            team.rooms.collaboration.collaborate(
              { agent: "ruda" },
              { targetAgent: "eden", message: `더 ${index}` },
            ),
          ),
        );

        expect(results.map((result) => (result.ok ? "ok" : result.code)).sort()).toEqual([
          "LOOP_GUARD",
          "LOOP_GUARD",
          "ok",
          "ok",
        ]);
        await settled(second);
        await eventually(async () =>
          expect(
            (await platform.shown(second, threadId)).filter((line) => line.includes("막았어요")),
          ).toHaveLength(1),
        );
        expect(
          (await second.inbox.list({ tenant: "", status: "open" })).items.filter(
            ({ type }) => type === "conflict",
          ),
        ).toHaveLength(1);
      },
    );

    test("the same call in both processes at once is one call", FULL, async () => {
      const { first, second } = await spread(await makePlatform(), { behave: { eden: () => "" } });

      const results = await Promise.all(
        [first, second, first, second].map((team) =>
          team.rooms.collaboration.collaborate(
            { agent: "ruda" },
            { targetAgent: "eden", message: "한 번만", idempotencyKey: "k" },
          ),
        ),
      );

      expect(
        new Set(results.map((result) => (result.ok ? result.messageId : result.code))).size,
      ).toBe(1);
      expect(await first.database.query({ text: "select from dure.requests" })).toHaveLength(1);
    });
  },
);

describe("two processes of one team on Discord", { timeout: 60_000 }, () => {
  test(
    "an account is held by one of them; after its death the other has it within 10 s and repeats nothing",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const first = await readyTeamOn(stage);
      const second = await teamOn(stage, { on: first });
      await stage.say(first, "첫 물음");
      await eventually(async () =>
        expect(await stage.shown(first, "discord:general")).toHaveLength(2),
      );
      expect(BOTS.map((bot) => stage.discord.sessionsStarted(stage.bots[bot]))).toEqual([
        1, 1, 1, 1,
      ]);
      expect(await holders(second)).toEqual(BOTS.map(() => first.processId));

      await fence(second, first);
      stage.person("민준").post(stage.places.general, "둘째 물음");
      const diedAt = systemClock.monotonic();
      await eventually(
        async () => expect(await holders(second)).toEqual(BOTS.map(() => second.processId)),
        { patienceMs: TAKEN_OVER_MS },
      );
      await stage.ready(second);

      expect(systemClock.monotonic() - diedAt).toBeLessThan(TAKEN_OVER_MS);
      await eventually(async () =>
        expect(await stage.shown(second, "discord:general")).toEqual([
          "민준: 첫 물음",
          "루다: 루다의 답입니다",
          "민준: 둘째 물음",
          "루다: 루다의 답입니다",
        ]),
      );
      expect(BOTS.map((bot) => stage.discord.sessionsStarted(stage.bots[bot]))).toEqual([
        2, 2, 2, 2,
      ]);
    },
  );

  test(
    "a message that both processes see is decided once per agent and answered once",
    FULL,
    async () => {
      const { platform: stage, first, second } = await spread(await discordPlatform());

      const message = await stage.say(second, "@루다 @이든 둘 다 봐 줘");

      await eventually(async () =>
        expect(await stage.shown(second, "discord:general")).toHaveLength(3),
      );
      await settled(second);
      expect([...(await stage.shown(second, "discord:general"))].sort()).toEqual(
        ["루다: 루다의 답입니다", "민준: @루다 @이든 둘 다 봐 줘", "이든: 이든의 답입니다"].sort(),
      );
      expect(await rolesOf(first, message)).toEqual({
        ruda: "HANDLER",
        eden: "HANDLER",
        seum: "OBSERVER",
        dajim: "OBSERVER",
      });
    },
  );

  test(
    "an agent paused through another process is offline, also after a reconnection, until resumed",
    FULL,
    async () => {
      const { platform: stage, first, second } = await spread(await discordPlatform());

      await first.rooms.pauses.pause("eden", { by: "mina" });
      expect(
        await first.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "도와줘" },
        ),
      ).toMatchObject({ ok: false, code: "AGENT_OFFLINE" });
      stage.discord.dropGateway(stage.bots.eden, { resumable: false });
      await eventually(() => expect(stage.discord.sessionsStarted(stage.bots.eden)).toBe(2));
      await eventually(() => expect(stage.discord.isConnected(stage.bots.eden)).toBe(true));
      await stage.say(second, "다들 있나요");
      expect(second.rooms.pauses.get("eden")).toMatchObject({ by: "mina" });

      await first.rooms.pauses.resume("eden", { by: "mina" });
      expect(
        await first.rooms.collaboration.collaborate(
          { agent: "ruda" },
          { targetAgent: "eden", message: "이제 도와줘" },
        ),
      ).toMatchObject({ ok: true });
    },
  );
});

describe("what the gateway tells twice, or not at all", { timeout: 60_000 }, () => {
  test("an event that comes twice to every bot is one message and one answer", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage);
    for (const bot of BOTS) stage.discord.duplicateNext(stage.bots[bot]);

    const message = await stage.say(team, "@이든 확인해 줘");

    await eventually(async () =>
      expect(await stage.shown(team, "discord:general")).toEqual([
        "민준: @이든 확인해 줘",
        "이든: 이든의 답입니다",
      ]),
    );
    await settled(team);
    expect(await team.rooms.reader.messages("discord:general", {})).toHaveLength(2);
    expect(await rolesOf(team, message)).toEqual({
      ruda: "OBSERVER",
      eden: "HANDLER",
      seum: "OBSERVER",
      dajim: "OBSERVER",
    });
    expect(team.calls("eden")).toBe(1);
  });

  test.each([
    ["a resume", true],
    ["a new session", false],
  ])(
    "what was said while the connection was cut is answered after %s, once and in order",
    FULL,
    async (_what, resumable) => {
      const stage = await discordPlatform();
      const answers: Behave = (heard) => `답 ${/물음 (\d)/.exec(heard.text)?.[1]}`;
      const team = await readyTeamOn(stage, { behave: { ruda: answers }, gather: ONE_BY_ONE });
      await stage.say(team, "물음 1");
      await eventually(async () =>
        expect(await stage.shown(team, "discord:general")).toHaveLength(2),
      );

      for (const bot of BOTS) stage.discord.dropGateway(stage.bots[bot], { resumable });
      for (const number of [2, 3, 4]) {
        stage.person("민준").post(stage.places.general, `물음 ${number}`);
      }

      await eventually(async () =>
        expect(
          (await stage.shown(team, "discord:general")).filter((line) => line.startsWith("루다")),
        ).toEqual(["루다: 답 1", "루다: 답 2", "루다: 답 3", "루다: 답 4"]),
      );
      await settled(team);
      expect(await stage.shown(team, "discord:general")).toHaveLength(8);
      expect(team.calls("ruda")).toBe(4);
    },
  );

  test(
    "what the gateway never told is read after the next new session, also more than one page",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const answers: Behave = (heard) => `답 ${/물음 (\d+)/.exec(heard.text)?.[1]}`;
      const team = await readyTeamOn(stage, {
        behave: { ruda: answers },
        gather: ONE_BY_ONE,
        limits: { missedPerPlace: 5 },
      });
      await stage.say(team, "물음 0");
      await eventually(async () =>
        expect(await stage.shown(team, "discord:general")).toHaveLength(2),
      );

      for (const bot of BOTS) stage.discord.loseGatewayEvents(stage.bots[bot], true);
      for (let number = 1; number <= 8; number++) {
        stage.person("민준").post(stage.places.general, `물음 ${number}`);
      }
      for (const bot of BOTS) stage.discord.loseGatewayEvents(stage.bots[bot], false);
      for (const bot of BOTS) stage.discord.dropGateway(stage.bots[bot], { resumable: false });

      await eventually(async () =>
        expect(
          (await stage.shown(team, "discord:general"))
            .filter((line) => line.startsWith("루다"))
            .toSorted(),
        ).toEqual([
          ...["루다: 답 0", "루다: 답 4", "루다: 답 5", "루다: 답 6", "루다: 답 7", "루다: 답 8"],
          expect.stringMatching(/^루다: 자리를 비운 사이에 글이 많이 쌓여 최근 5개만 읽었어요/u),
        ]),
      );
    },
  );

  test("a mention that a bot without it saw first is still told to have been missed when it came too late", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { limits: { missedMs: 0 } });
    stage
      .person("민준")
      .post(stage.places.general, `${stage.discord.mention(stage.bots.dajim)} 봐 줘`);

    await eventually(async () =>
      expect((await stage.shown(team, "discord:general")).slice(1)).toEqual([
        expect.stringMatching(/^다짐: 자리를/),
      ]),
    );
    await settled(team);
    expect(team.calls("dajim")).toBe(0);
  });
});

/**
 * Two connected processes: on Discord 루다 and 세움 are connected by the first, the others by the
 * second.
 */
async function spread<P extends TestPlatform>(
  platform: P,
  options: Omit<Partial<TestTeamOptions>, "adapter"> = {},
): Promise<{ platform: P; first: TestTeam; second: TestTeam }> {
  const stage = "adapterOf" in platform ? (platform as unknown as DiscordStage) : undefined;
  const first = await teamOn(platform, {
    ...options,
    ...(stage && { adapter: () => stage.adapterOf(["ruda", "seum"]) }),
  });
  const second = await teamOn(platform, {
    ...options,
    on: first,
    ...(stage && { adapter: () => stage.adapterOf(["eden", "dajim"]) }),
  });
  await platform.ready(second);
  return { platform, first, second };
}

/** A process that the others think dead: from now on it may write nothing. */
async function fence(by: TestTeam, dead: TestTeam): Promise<void> {
  await by.database.query(
    {
      text: `
        update dure.processes
        set epoch = epoch + 1, ended_at = clock_timestamp(), ended_because = 'silent'
        where id = $1`,
    },
    [dead.processId],
  );
}

async function holders(team: TestTeam): Promise<readonly (string | null)[]> {
  return (
    await team.database.query<{ holder: string | null }>({
      text: "select holder from dure.leases where name like 'account:%' order by name",
    })
  ).map(({ holder }) => holder);
}

function callsOf(team: TestTeam): number {
  return BOTS.reduce((sum, bot) => sum + team.calls(bot), 0);
}
