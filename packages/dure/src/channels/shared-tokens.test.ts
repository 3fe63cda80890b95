import { describe, expect, test } from "vitest";
import type { ChannelKind } from "./channel-kind.ts";
import { discord } from "./discord/discord.ts";
import { slack } from "./slack/slack.ts";

const AGENTS = { ruda: "ruda", eden: "eden" };

interface Row {
  readonly what: string;
  readonly kind: ChannelKind;
  readonly variables: Readonly<Record<string, string>>;
  /** Absent: it opens. */
  readonly refused?: string;
}

const ROWS: readonly Row[] = [
  {
    what: "two agents with one bot of Discord",
    kind: discord(),
    variables: { DISCORD_TOKEN_RUDA: "bot-1", DISCORD_TOKEN_EDEN: "bot-1" },
    refused: "ruda (DISCORD_TOKEN_RUDA) and eden (DISCORD_TOKEN_EDEN) have the same token",
  },
  {
    what: "two agents with a bot of Discord each",
    kind: discord(),
    variables: { DISCORD_TOKEN_RUDA: "bot-1", DISCORD_TOKEN_EDEN: "bot-2" },
  },
  {
    what: "two agents with one bot token of Slack",
    kind: slack(),
    variables: {
      SLACK_BOT_TOKEN_RUDA: "xoxb-1",
      SLACK_APP_TOKEN_RUDA: "xapp-1",
      SLACK_BOT_TOKEN_EDEN: "xoxb-1",
      SLACK_APP_TOKEN_EDEN: "xapp-2",
    },
    refused: "ruda (SLACK_BOT_TOKEN_RUDA) and eden (SLACK_BOT_TOKEN_EDEN) have the same token",
  },
  {
    what: "one app of Slack in two workspaces",
    kind: slack(),
    variables: {
      SLACK_BOT_TOKEN_RUDA: "xoxb-1",
      SLACK_APP_TOKEN_RUDA: "xapp-1",
      SLACK_BOT_TOKEN_EDEN: "xoxb-2",
      SLACK_APP_TOKEN_EDEN: "xapp-1",
    },
    refused: "ruda (SLACK_APP_TOKEN_RUDA) and eden (SLACK_APP_TOKEN_EDEN) have the same token",
  },
  {
    what: "an agent's own app that is the one of all others",
    kind: slack(),
    variables: {
      SLACK_BOT_TOKEN_RUDA: "xoxb-1",
      SLACK_APP_TOKEN_RUDA: "xapp-1",
      SLACK_BOT_TOKEN: "xoxb-1",
      SLACK_APP_TOKEN: "xapp-1",
    },
    refused: "ruda (SLACK_BOT_TOKEN_RUDA) and eden (SLACK_BOT_TOKEN) have the same token",
  },
  {
    what: "one app of Slack for all agents",
    kind: slack(),
    variables: { SLACK_BOT_TOKEN: "xoxb-1", SLACK_APP_TOKEN: "xapp-1" },
  },
];

describe("two accounts on one token", () => {
  test.each(ROWS.filter(({ refused }) => refused !== undefined))(
    "$what: refused before anything connects, without the token",
    async ({ kind, variables, refused }) => {
      const error = await open(kind, variables).catch((thrown: unknown) => thrown);

      expect(error).toMatchObject({
        code: "TOKEN_SHARED",
        message: expect.stringContaining(refused!) as string,
        hint: expect.stringMatching(/each/) as string,
      });
      expect(JSON.stringify(error)).not.toMatch(/xoxb-|xapp-|bot-1/);
    },
  );

  test.each(ROWS.filter(({ refused }) => refused === undefined))(
    "$what: opens",
    async ({ kind, variables }) => {
      expect((await open(kind, variables)).name).toBe(kind.name);
    },
  );
});

async function open(
  kind: ChannelKind,
  variables: Row["variables"],
): Promise<Awaited<ReturnType<ChannelKind["open"]>>> {
  const discordTokens = Object.entries(variables).flatMap(([name, token]) =>
    name.startsWith("DISCORD_TOKEN_") ? [[name.slice(14).toLowerCase(), token]] : [],
  );
  return kind.open({
    database: undefined,
    environment: {
      discordTokens: Object.fromEntries(discordTokens) as Record<string, string>,
      variable: (name) => variables[name],
    },
    accounts: AGENTS,
    channels: () => [],
  });
}
