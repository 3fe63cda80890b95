// @module-tag slow
import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { discordPlatform } from "./discord-platform.ts";
import { collaborate, readyTeamOn, settled, silent } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave } from "./team.ts";

const NOTICE = "루다: 답을 준비하고 있어요 …";
const ASKED = "민준: 오래 걸리는 일";
const SOON = { workingNoticeMs: 300 };

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

describe(
  "an answer that takes long, and is not shown as it is written",
  { timeout: 60_000 },
  () => {
    test.each([
      ["discord", discordPlatform],
      ["slack", slackPlatform],
    ] as const)(
      "on %s it is announced, and the notice goes when it is there",
      async (name, open) => {
        const ruda = held();
        const stage = await open();
        const team = await readyTeamOn(stage, { behave: { ruda: ruda.behave }, limits: SOON });
        const general = `${name}:general`;

        await stage.say(team, "오래 걸리는 일");
        await eventually(async () =>
          expect(await stage.shown(team, general)).toEqual([ASKED, NOTICE]),
        );
        ruda.goOn();
        await settled(team);

        await eventually(async () =>
          expect(await stage.shown(team, general)).toEqual([ASKED, "루다: 다 했어요"]),
        );
        const said = await team.rooms.reader.messages(general, {});
        expect(said.map(({ text }) => text)).toEqual(["오래 걸리는 일", "다 했어요"]);
      },
    );

    test("on Discord its button stops it; notice and answer are replies to who asked", async () => {
      const ruda = held();
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: ruda.behave }, limits: SOON });
      const shown = (): ReturnType<typeof stage.discord.messages> =>
        stage.discord.messages(stage.places.general);
      await stage.say(team, "오래 걸리는 일");
      await eventually(() => expect(shown().at(-1)?.buttons).toMatchObject([{ label: "멈추기" }]));
      expect(shown().at(-1)).toMatchObject({ type: 19, replyTo: shown()[0]!.id });

      const told = await stage.person("민준").press(shown().at(-1)!.buttons[0]!);

      expect(told).toEqual({ text: "멈췄어요: 답 1건.", ephemeral: true });
      await eventually(async () =>
        expect(await stage.shown(team, "discord:general")).toEqual([
          ASKED,
          "루다: 민준 님이 여기서 하던 일을 멈췄어요: 답 1건.",
        ]),
      );
      ruda.goOn();
    });

    test(
      "on Discord a notice whose posting was not answered goes too, when it is stopped",
      FULL,
      async () => {
        const ruda = held();
        const stage = await discordPlatform();
        const team = await readyTeamOn(stage, { behave: { ruda: ruda.behave }, limits: SOON });
        const shown = (): ReturnType<typeof stage.discord.messages> =>
          stage.discord.messages(stage.places.general);
        stage.discord.fault(
          { route: "/channels/{channel}/messages", method: "POST" },
          { kind: "timeout", after: "doing it" },
        );
        await stage.say(team, "오래 걸리는 일");
        await eventually(() =>
          expect(shown().at(-1)?.buttons).toMatchObject([{ label: "멈추기" }]),
        );

        await stage.person("민준").press(shown().at(-1)!.buttons[0]!);

        await eventually(async () =>
          expect(await stage.shown(team, "discord:general")).toEqual([
            ASKED,
            "루다: 민준 님이 여기서 하던 일을 멈췄어요: 답 1건.",
          ]),
        );
        ruda.goOn();
      },
    );

    test("on Slack its button stops it", FULL, async () => {
      const ruda = held();
      const stage = await slackPlatform();
      const team = await readyTeamOn(stage, { behave: { ruda: ruda.behave }, limits: SOON });
      const channel = stage.places.general;
      await stage.say(team, "오래 걸리는 일");
      await eventually(async () =>
        expect(await stage.shown(team, "slack:general")).toEqual([ASKED, NOTICE]),
      );

      const notice = stage.slack.messages({ channel }).at(-1)!;
      stage.person("민준").press({ ...notice, channel: channel.id }, "멈추기");

      await eventually(async () =>
        expect(await stage.shown(team, "slack:general")).toEqual([
          ASKED,
          "루다: 민준 님이 여기서 하던 일을 멈췄어요: 답 1건.",
        ]),
      );
      ruda.goOn();
    });

    test("agents that wait for each other get no notice", FULL, async () => {
      const eden = held();
      const ruda = held();
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, {
        behave: { ruda: ruda.behave, eden: eden.behave, seum: silent },
        limits: SOON,
      });
      const { threadId } = await collaborate(team, "seum", {
        targetAgent: "eden",
        message: "리뷰",
      });
      await eden.begun;

      await stage.say(team, "오래 걸리는 일");
      await eventually(async () =>
        expect(await stage.shown(team, "discord:general")).toContain(NOTICE),
      );
      expect(await stage.shown(team, threadId)).toEqual(["세움: @이든 리뷰"]);
      eden.goOn();
      ruda.goOn();
      await settled(team);

      await eventually(async () =>
        expect(await stage.shown(team, threadId)).toEqual(["세움: @이든 리뷰", "이든: 다 했어요"]),
      );
    });

    test(
      "left by a process that stopped, it goes when another process has the answer",
      FULL,
      async () => {
        const ruda = held();
        const stage = await discordPlatform();
        const team = await readyTeamOn(stage, { behave: { ruda: ruda.behave }, limits: SOON });
        await stage.say(team, "오래 걸리는 일");
        await eventually(async () =>
          expect(await stage.shown(team, "discord:general")).toEqual([ASKED, NOTICE]),
        );
        await team.stop();
        ruda.goOn();

        const second = await readyTeamOn(stage, {
          on: team,
          behave: { ruda: () => "이어서 했어요" },
        });
        await settled(second);

        await eventually(async () =>
          expect(await stage.shown(second, "discord:general")).toEqual([
            ASKED,
            expect.stringMatching(/^루다: (다|이어서) 했어요$/),
          ]),
        );
      },
    );

    test(
      "where it is shown as it is written, a late first word takes the notice's place",
      FULL,
      async () => {
        const gate = Promise.withResolvers<void>();
        const ruda: Behave = async () => {
          await gate.promise;
          return { chunks: ["다 ", "했어요"], chunkDelayMs: 50 };
        };
        const stage = await discordPlatform();
        const team = await readyTeamOn(stage, { stream: true, behave: { ruda }, limits: SOON });
        await stage.say(team, "오래 걸리는 일");
        await eventually(async () =>
          expect(await stage.shown(team, "discord:general")).toEqual([ASKED, NOTICE]),
        );
        const notice = stage.discord.messages(stage.places.general).at(-1)!;

        gate.resolve();
        await settled(team);

        await eventually(async () =>
          expect(await stage.shown(team, "discord:general")).toEqual([ASKED, "루다: 다 했어요"]),
        );
        expect(stage.discord.messages(stage.places.general).at(-1)?.id).toBe(notice.id);
      },
    );
  },
);
