import { describe, expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { readyTeamOn, settled } from "./helpers.ts";
import { slackPlatform } from "./slack-platform.ts";
import type { Behave } from "./team.ts";

const GENERAL = "discord:general";
const WORDS = Array.from(
  { length: 12 },
  (_none, index) => `${index === 0 ? "" : " "}${index + 1}번째 문장입니다.`,
);
/** Writes for about three and a half seconds. */
const slowly: Behave = () => ({ chunks: WORDS, chunkDelayMs: 300 });

/** Writes for about half a minute: longer than a busy machine needs to look. */
const endlessly: Behave = () => ({
  chunks: Array.from({ length: 100 }, (_none, index) => `${index + 1}번째 문장입니다. `),
  chunkDelayMs: 300,
});

/** When 루다's message of #general was posted and edited, and with which text. */
function shows(
  stage: DiscordStage,
): readonly { readonly method: string; readonly text: string; readonly at: number }[] {
  return stage.discord.requests
    .filter(
      ({ method, route, bot }) =>
        bot === "루다" &&
        ((method === "POST" && route.endsWith("/messages")) || method === "PATCH"),
    )
    .map(({ method, body, at }) => ({ method, text: (body as { content: string }).content, at }));
}

describe("an answer that is shown while it is written", { timeout: 60_000 }, () => {
  test(
    "is one message, edited at most once per second, whole in the end, and heard once",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { stream: true, behave: { ruda: slowly } });

      await stage.say(team, "긴 이야기를 해 줘");
      await eventually(async () =>
        expect((await stage.shown(team, GENERAL)).at(-1)).toBe(`루다: ${WORDS.join("")}`),
      );
      await settled(team);

      expect(await stage.shown(team, GENERAL)).toHaveLength(2);
      const [first, ...edits] = shows(stage);
      expect(first).toMatchObject({
        method: "POST",
        text: expect.stringMatching(/^1번째 문장입니다\..* …$/) as string,
      });
      const [asked, answer] = stage.discord.messages(stage.places.general);
      expect(answer).toMatchObject({ type: 19, replyTo: asked!.id });
      expect(edits.length).toBeGreaterThanOrEqual(2);
      expect(edits.every(({ method }) => method === "PATCH")).toBe(true);
      const previews = [first!, ...edits.slice(0, -1)];
      for (const [index, { at }] of previews.slice(1).entries()) {
        expect(at - previews[index]!.at).toBeGreaterThan(900);
      }
      expect(
        (await team.rooms.reader.messages(GENERAL, {}))
          .map(({ author, delivery }) => [author, delivery])
          .at(-1),
      ).toEqual(["ruda", "sent"]);
      expect(
        (await team.rooms.reader.observations({ agent: "dajim", place: GENERAL, tenant: "" })).map(
          ({ sender }) => sender,
        ),
      ).toEqual(["민준", "루다"]);
    },
  );

  test("is taken away when the agent says nothing in the end", FULL, async () => {
    const stage = await discordPlatform();
    const ruda: Behave = (heard) =>
      heard.results.length > 0
        ? "."
        : { chunks: WORDS, chunkDelayMs: 300, toolCalls: [{ name: "stay_silent", args: {} }] };
    const team = await readyTeamOn(stage, { stream: true, behave: { ruda } });

    await stage.say(team, "말할 것이 있나요");
    await eventually(() => expect(shows(stage).length).toBeGreaterThan(0));
    await settled(team);

    await eventually(async () =>
      expect(await stage.shown(team, GENERAL)).toEqual(["민준: 말할 것이 있나요"]),
    );
    expect(
      await team.database.query({
        text: "select state from dure.outbox where payload->>'kind' = 'unsay'",
      }),
    ).toEqual([{ state: "sent" }]);
  });

  test("is posted anew when a person has removed it meanwhile", FULL, async () => {
    const stage = await discordPlatform();
    const team = await readyTeamOn(stage, { stream: true, behave: { ruda: slowly } });

    await stage.say(team, "긴 이야기를 해 줘");
    const shown = await eventually(() => {
      const message = stage.discord.messages(stage.places.general).at(-1)!;
      expect(message.authorIsBot).toBe(true);
      return message;
    });
    stage.person("민준").remove(shown);

    await eventually(async () =>
      expect((await stage.shown(team, GENERAL)).at(-1)).toBe(`루다: ${WORDS.join("")}`),
    );
    await settled(team);
    expect(await stage.shown(team, GENERAL)).toHaveLength(2);
  });

  test(
    "left by a process that stopped in the middle, it becomes the answer of the one that goes on",
    FULL,
    async () => {
      const stage = await discordPlatform();
      const team = await readyTeamOn(stage, { stream: true, behave: { ruda: slowly } });
      await stage.say(team, "긴 이야기를 해 줘");
      await eventually(() => expect(shows(stage).length).toBeGreaterThan(0));
      await team.stop();

      const second = await readyTeamOn(stage, {
        on: team,
        stream: true,
        behave: { ruda: () => "짧게 말하겠습니다" },
      });

      await eventually(async () =>
        expect((await second.rooms.reader.messages(GENERAL, {})).at(-1)).toMatchObject({
          author: "ruda",
          delivery: "sent",
        }),
      );
      await settled(second);
      const lines = await stage.shown(second, GENERAL);
      expect(lines).toHaveLength(2);
      expect(lines[1]).not.toMatch(/…$/);
    },
  );

  test("on Slack it is one message too, which another process finishes", FULL, async () => {
    const stage = await slackPlatform();
    const general = "slack:general";
    const team = await readyTeamOn(stage, { stream: true, behave: { ruda: endlessly } });
    await stage.say(team, "긴 이야기를 해 줘");
    await eventually(async () =>
      expect((await stage.shown(team, general)).at(-1)).toMatch(/^루다: 1번째 문장입니다\..* …$/),
    );
    const shown = stage.slack.messages({ channel: stage.places.general }).at(-1)!;
    await team.stop();

    const second = await readyTeamOn(stage, {
      on: team,
      stream: true,
      behave: { ruda: () => "짧게 말하겠습니다" },
    });
    await settled(second);

    await eventually(async () => {
      const lines = await stage.shown(second, general);
      expect(lines).toHaveLength(2);
      expect(lines[1]).not.toMatch(/…$/);
    });
    expect(stage.slack.messages({ channel: stage.places.general }).at(-1)?.ts).toBe(shown.ts);
  });
});
