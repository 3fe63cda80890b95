import { FULL } from "../../src/kernel/test-tiers.ts";
import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { readyTeamOn } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave, TestTeam } from "./team.ts";

const STOP_SIGN = "\u{1f6d1}";
const READING = ["VIEW_CHANNEL", "READ_MESSAGE_HISTORY", "ADD_REACTIONS"] as const;

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

const deeds = (team: TestTeam): Promise<readonly object[]> =>
  team.database.query({
    text: "select what, subject, outcome, name from dure.audit order by at, id",
  });

const open = async (team: TestTeam): Promise<number> => {
  const [row] = await team.database.query<{ open: number }>({
    text: "select count(*)::integer as open from dure.handlings where state <> 'done'",
  });
  return row!.open;
};

describe("orders on Discord", { timeout: 60_000 }, () => {
  test(
    "/dure stop ends what runs for a person who may write there, and tells that person alone",
    FULL,
    async () => {
      const eden = held();
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { eden: eden.behave } });
      await stage.say(team, "@이든 오래 걸리는 일");
      await eden.begun;
      const reader = stage.discord.addPerson("서연", { permissions: READING });

      const refused = await reader.command(stage.bots.ruda, stage.places.general, "stop");
      expect(refused).toEqual({
        text: expect.stringContaining("글을 쓸 수 있는 분만"),
        ephemeral: true,
      });
      expect(await open(team)).toBe(1);

      const told = await stage
        .person("민준")
        .command(stage.bots.ruda, stage.places.general, "stop");
      expect(told).toEqual({ text: "멈췄어요: 답 1건.", ephemeral: true });
      await eventually(() =>
        expect(stage.discord.messages(stage.places.general).at(-1)?.text).toContain(
          "민준 님이 여기서 하던 일을 멈췄어요",
        ),
      );
      await eventually(() => expect(team.engine.running).toBe(0));
      eden.goOn();
      await eventually(async () =>
        expect(await deeds(team)).toMatchObject([{ what: "room.stop", outcome: "done" }]),
      );
    },
  );

  test("/dure pause is of its bot and for those who decide; who and jobs tell how it is", async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage);
    const writer = stage.discord.addPerson("서연", {
      permissions: [...READING, "SEND_MESSAGES"],
    });
    const boss = stage.discord.addPerson("지우", { permissions: [...READING, "MANAGE_GUILD"] });
    const { eden } = stage.bots;
    const { general } = stage.places;

    expect((await writer.command(eden, general, "pause")).text).toContain("서버 관리자나");
    expect(team.rooms.pauses.get("eden")).toBeUndefined();
    expect((await boss.command(eden, general, "pause")).text).toContain("이든 님을 멈춰 두었어요");
    expect(team.rooms.pauses.get("eden")).toMatchObject({ by: "지우" });
    expect((await boss.command(eden, general, "pause")).text).toContain("이미 멈춰 있어요");
    expect((await writer.command(eden, general, "who")).text).toContain("이든: 멈춰 둠 (지우)");
    expect((await writer.command(eden, general, "jobs")).text).toContain("작업이 없어요");

    expect((await boss.command(eden, general, "resume")).text).toContain("다시 시작했어요");
    await eventually(() => {
      const said = stage.discord.messages(general).map(({ text }) => text);
      expect(said.filter((text) => text.includes("멈춰 두었어요"))).toHaveLength(1);
      expect(said.filter((text) => text.includes("다시 시작했어요"))).toHaveLength(1);
    });
  });

  test("🛑 below a message stops once, although every bot hears of it; other signs do nothing", async () => {
    const eden = held();
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { behave: { eden: eden.behave } });
    await stage.say(team, "@이든 오래 걸리는 일");
    await eden.begun;
    const asked = stage.discord.messages(stage.places.general).at(-1)!;

    stage.person("민준").react(asked, "👍");
    stage.person("민준").react(asked, STOP_SIGN);

    await eventually(async () => expect(await open(team)).toBe(0));
    await eventually(() =>
      expect(stage.discord.messages(stage.places.general).at(-1)?.text).toContain("답 1건"),
    );
    eden.goOn();
    await eventually(async () =>
      expect(await deeds(team)).toMatchObject([{ what: "room.stop", outcome: "done" }]),
    );
  });

  test("what is being written has a button that stops it, and goes away", FULL, async () => {
    const stage = await discordPlatform();
    const chunks = Array.from({ length: 100 }, (_none, at) => `${at + 1}번째 문장입니다. `);
    const team = await readyTeamOn(stage, {
      stream: true,
      behave: { ruda: () => ({ chunks, chunkDelayMs: 300 }) },
    });
    await stage.say(team, "아주 긴 이야기를 해 줘");
    const shown = (): ReturnType<typeof stage.discord.messages> =>
      stage.discord.messages(stage.places.general);
    await eventually(() => expect(shown().at(-1)?.buttons).toMatchObject([{ label: "멈추기" }]));

    const told = await stage.person("민준").press(shown().at(-1)!.buttons[0]!);

    expect(told).toEqual({ text: "멈췄어요: 답 1건.", ephemeral: true });
    await eventually(() => expect(team.engine.running).toBe(0));
    await eventually(() => {
      const texts = shown().map(({ text }) => text);
      expect(texts.filter((text) => text.includes("번째 문장입니다"))).toEqual([]);
      expect(texts.at(-1)).toContain("답 1건");
    });
  });

  test("an answer that was shown while it was written has no button in the end", FULL, async () => {
    const stage = await discordPlatform();
    const chunks = Array.from({ length: 6 }, (_none, at) => `${at + 1}번째 문장입니다. `);
    const team = await readyTeamOn(stage, {
      stream: true,
      behave: { ruda: () => ({ chunks, chunkDelayMs: 400 }) },
    });
    await stage.say(team, "긴 이야기를 해 줘");
    const last = () => stage.discord.messages(stage.places.general).at(-1);

    await eventually(() => {
      expect(last()?.text).toContain("6번째 문장입니다");
      expect(last()?.buttons).toEqual([]);
    });
    const asked = stage.discord.requests.map(({ body }) => JSON.stringify(body) ?? "");
    expect(asked.filter((body) => body.includes("멈추기"))).not.toEqual([]);
  });
});

describe("orders on Slack", { timeout: 60_000 }, () => {
  test(
    "/dure stop ends what runs in the channel, and /dure pause waits for one who decides",
    FULL,
    async () => {
      const eden = held();
      const stage = await slackPlatform();
      const team = await readyTeamOn(stage, { behave: { eden: eden.behave } });
      await stage.say(team, "@이든 오래 걸리는 일");
      await eden.begun;
      const boss = stage.slack.addPerson("지우", { isAdmin: true });

      stage.person("민준").command(stage.apps.ruda, stage.places.general, "stop");
      await eventually(async () => expect(await open(team)).toBe(0));
      eden.goOn();
      stage.person("민준").command(stage.apps.eden, stage.places.general, "pause 이든");
      boss.command(stage.apps.eden, stage.places.general, "pause 이든");

      await eventually(() => expect(team.rooms.pauses.get("eden")).toMatchObject({ by: "지우" }));
      await eventually(async () =>
        expect(await deeds(team)).toMatchObject([
          { what: "room.stop", outcome: "done" },
          { what: "agent.pause", subject: "eden", outcome: "done" },
        ]),
      );
    },
  );

  test("the stop sign below a message stops once, in its thread alone", FULL, async () => {
    const eden = held();
    const stage = await slackPlatform();
    const team = await readyTeamOn(stage, { behave: { eden: eden.behave } });
    await stage.say(team, "@이든 오래 걸리는 일");
    await eden.begun;
    const asked = stage.slack.messages({ channel: stage.places.general }).at(-1)!;

    stage.person("민준").react(asked, "thumbsup");
    stage.person("민준").react(asked, "octagonal_sign");

    await eventually(async () => expect(await open(team)).toBe(0));
    eden.goOn();
    await eventually(async () =>
      expect(await deeds(team)).toMatchObject([{ what: "room.stop", outcome: "done" }]),
    );
  });
});
