import { describe, expect, test } from "vitest";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { collaborate, ANONYMOUS, readyTeamOn, settled, silent, stateOf } from "./helpers.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

const GENERAL = "discord:general";

/** A bot that is no agent of the team says something. */
async function botSays(
  stage: DiscordStage,
  token: string,
  place: { id: string },
  text: string,
): Promise<void> {
  const response = await fetch(`${stage.discord.url}/v10/channels/${place.id}/messages`, {
    method: "POST",
    headers: { authorization: `Bot ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ content: text }),
  });
  expect(response.status).toBe(200);
}

describe("bots that are no agents of the team", { timeout: 60_000 }, () => {
  test(
    "are heard where they are allowed; in a channel only what they say to agents counts for its guard",
    FULL,
    async () => {
      const stage = await discordPlatform();
      stage.discord.addBot({ name: "CI", token: "token-ci" });
      const team = await readyTeamOn(stage, { allowBots: true, behave: { ruda: silent } });

      for (let index = 1; index <= 9; index++) {
        await botSays(stage, "token-ci", stage.places.general, `빌드 ${index} 통과`);
      }
      await eventually(async () =>
        expect(await team.rooms.reader.messages(GENERAL, {})).toHaveLength(9),
      );
      await settled(team);
      expect(
        (await team.rooms.reader.rooms(ANONYMOUS)).items.find(({ id }) => id === GENERAL)?.state,
      ).toBe("open");

      for (let index = 1; index <= 7; index++) {
        await botSays(
          stage,
          "token-ci",
          stage.places.general,
          `${stage.discord.mention(stage.bots.ruda)} 빌드 ${index} 실패`,
        );
      }
      await eventually(async () =>
        expect(
          (await team.rooms.reader.rooms(ANONYMOUS)).items.find(({ id }) => id === GENERAL)?.state,
        ).toBe("suspended"),
      );
    },
  );

  test("count in a thread like agents", FULL, async () => {
    const stage = await discordPlatform();
    stage.discord.addBot({ name: "CI", token: "token-ci" });
    const team = await readyTeamOn(stage, {
      allowBots: true,
      behave: { ruda: silent, eden: silent },
    });
    const { threadId } = await collaborate(team, "ruda", {
      targetAgent: "eden",
      message: "빌드를 봐 줘",
    });
    await settled(team);

    for (let index = 1; index <= 6; index++) {
      await botSays(
        stage,
        "token-ci",
        stage.discord.threads(stage.places.general)[0]!,
        `빌드 ${index} 통과`,
      );
    }

    await eventually(async () => expect(await stateOf(team, threadId)).toBe("suspended"));
  });

  test("are not heard at all unless they are allowed", FULL, async () => {
    const stage = await discordPlatform();
    stage.discord.addBot({ name: "CI", token: "token-ci" });
    const team = await readyTeamOn(stage);

    await botSays(
      stage,
      "token-ci",
      stage.places.general,
      `${stage.discord.mention(stage.bots.ruda)} 빌드 실패`,
    );
    await stage.say(team, "@세움 들었나요");
    await settled(team);

    expect(
      (await team.rooms.reader.messages(GENERAL, {})).map(({ authorKind }) => authorKind),
    ).toEqual(["person", "agent"]);
  });
});
