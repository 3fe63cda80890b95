// @module-tag slow
import { expect, describe, test } from "vitest";
import { recentAnswers } from "../../src/rooms/look/recent-answers.ts";
import { eventually } from "../until.ts";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { readyTeamOn, settled, silent, type TeamOptions } from "./helpers.ts";
import { wordsKnownTo } from "./known-words.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform, type SlackStage } from "./slack-platform.ts";
import type { TestTeam } from "./team.ts";

const SECRET = "SECRET-4444";
const MEMBER = { tenant: "", person: "서연" };
const OPERATOR = { tenant: "", person: "", seesAll: true };

/** A platform whose channel can be made private, and open again. */
interface Stage {
  readonly platform: TestPlatform;
  /** Before the team starts, or while it is at work. */
  readonly setPrivate: (channel: "general" | "quiet", isPrivate: boolean) => void;
  /** Names of the threads of a channel. */
  readonly threads: (channel: "general" | "quiet") => readonly string[];
}

const STAGES: readonly (readonly [string, () => Promise<Stage>])[] = [
  ["discord", async () => ofDiscord(await discordPlatform())],
  ["slack", async () => ofSlack(await slackPlatform())],
];

function ofDiscord(stage: DiscordStage): Stage {
  return {
    platform: stage,
    setPrivate: (channel, isPrivate) => {
      const change = isPrivate ? { deny: ["VIEW_CHANNEL"] as const } : {};
      for (const bot of Object.values(stage.bots)) {
        stage.discord.setPermissions(bot, stage.places[channel], { allow: ["VIEW_CHANNEL"] });
      }
      stage.discord.setPermissions("everyone", stage.places[channel], change);
    },
    threads: (channel) => stage.discord.threads(stage.places[channel]).map(({ name }) => name),
  };
}

function ofSlack(stage: SlackStage): Stage {
  return {
    platform: stage,
    setPrivate: (channel, isPrivate) =>
      stage.slack.convert(stage.places[channel], isPrivate ? "private" : "public"),
    threads: (channel) => stage.slack.threads(stage.places[channel]).map(({ text }) => text),
  };
}

/** 루다 hands over to 이든 what she is asked; `more` names another place. */
function relay(results: unknown[] = [], more: Record<string, string> = {}): TeamOptions {
  return {
    behave: {
      ruda: (heard) => {
        results.push(...heard.results);
        if (heard.results.length > 0) return "맡겼어요";
        if (!heard.text.includes("전해 줘")) return silent(heard);
        const args = { targetAgent: "eden", message: `${SECRET} 확인해 줘`, ...more };
        return { toolCalls: [{ name: "collaborate", args }] };
      },
      eden: () => `${SECRET} 봤어요`,
    },
  };
}

describe.each(STAGES)("a private channel of %s that the team has as a room", (name, open) => {
  test(
    "keeps a hand-over in it, under a title without its words",
    { timeout: 60_000 },
    async () => {
      const { platform, setPrivate, threads } = await open();
      setPrivate("general", true);
      const team = await readyTeamOn(platform, relay());

      await platform.say(team, "이든한테 전해 줘");

      await eventually(() => expect(threads("general")).toHaveLength(1));
      await settled(team);
      expect(threads("general").join()).not.toContain(SECRET);
      expect(threads("quiet")).toEqual([]);
      expect(await wordsKnownTo(team, MEMBER.person, SECRET)).toEqual([]);
      expect(await answersIn(team, MEMBER)).toEqual([]);
      expect(await answersIn(team, OPERATOR)).not.toEqual([]);
      expect(await roomsOf(team, MEMBER)).toEqual([`${name}:quiet`]);
      expect(await roomsOf(team, OPERATOR)).toContain(`${name}:general`);
      const heard = await team.rooms.reader.observations({ tenant: "" });
      expect(JSON.stringify(heard)).not.toContain(SECRET);
    },
  );

  test.each([
    ["to another channel", "general", "quiet"],
    ["where its own takes no hand-over", "quiet", undefined],
  ] as const)("hands nothing over %s", { timeout: 60_000 }, async (_what, from, to) => {
    const results: unknown[] = [];
    const { platform, setPrivate, threads } = await open();
    setPrivate(from, true);
    const named = to === undefined ? {} : { channelId: `${name}:${to}` };
    const team = await readyTeamOn(platform, relay(results, named));

    await platform.say(team, "@루다 이든한테 전해 줘", { channel: from });

    await eventually(() => expect(results).toHaveLength(1));
    await settled(team);
    expect(results).toMatchObject([{ ok: false, code: "PRIVATE_ORIGIN" }]);
    expect([...threads("general"), ...threads("quiet")]).toEqual([]);
    expect(await wordsKnownTo(team, MEMBER.person, SECRET)).toEqual([]);
  });

  test(
    "is private from when it was made so, and open again after",
    { timeout: 60_000 },
    async () => {
      const { platform, setPrivate } = await open();
      const team = await readyTeamOn(platform);
      const isKnown = async (): Promise<boolean> => {
        const rows = await team.database.query<{ known: boolean }>(
          {
            text: "select dure.may_know_place($1, '', '서연') as known",
          },
          [`${name}:general`],
        );
        return rows[0]!.known;
      };

      expect(await isKnown()).toBe(true);
      setPrivate("general", true);
      await platform.say(team, `@루다 ${SECRET}`);
      expect(await isKnown()).toBe(false);
      setPrivate("general", false);
      await eventually(async () => expect(await isKnown()).toBe(true));
    },
  );

  test(
    "was made so while no process ran: the next one knows it before it is ready",
    { timeout: 60_000 },
    async () => {
      const { platform, setPrivate } = await open();
      const first = await readyTeamOn(platform);
      expect(await roomsOf(first, MEMBER)).toContain(`${name}:general`);
      await first.stop();

      setPrivate("general", true);
      const second = await readyTeamOn(platform, { on: first });

      expect(await roomsOf(second, MEMBER)).toEqual([`${name}:quiet`]);
    },
  );
});

test("a role that lets all see no channel makes those of a Discord server private", async () => {
  const stage = await discordPlatform();
  const team = await readyTeamOn(stage);
  expect(await roomsOf(team, MEMBER)).toEqual(["discord:general", "discord:quiet"]);

  stage.discord.setEveryone(stage.guild, []);

  await eventually(async () => expect(await roomsOf(team, MEMBER)).toEqual([]));
});

test("a channel of Slack that an app may not ask about is private until a message tells", async () => {
  const stage = await slackPlatform();
  for (const app of Object.values(stage.apps)) {
    stage.slack.fault({ method: "conversations.info", app: app.name, times: 100 }, MISSING);
  }
  const team = await readyTeamOn(stage);
  expect(await roomsOf(team, MEMBER)).toEqual([]);

  await stage.say(team, "@루다 안녕");

  expect(await roomsOf(team, MEMBER)).toEqual(["slack:general"]);
});

const MISSING = { kind: "error", error: "missing_scope", needed: "channels:read" } as const;

async function roomsOf({ rooms }: TestTeam, who: typeof OPERATOR | typeof MEMBER) {
  const { items } = await rooms.reader.rooms(who);
  return items.map(({ id }) => id).toSorted();
}

async function answersIn({ database }: TestTeam, who: typeof OPERATOR | typeof MEMBER) {
  return recentAnswers(database, "eden", { who, limit: 50 });
}
