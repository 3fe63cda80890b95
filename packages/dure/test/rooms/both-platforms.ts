import { expect } from "vitest";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform, type SlackStage } from "./slack-platform.ts";
import { webPlatform } from "./web-platform.ts";
import { eventually } from "../until.ts";

/**
 * Web rooms and Discord at once, every agent on each, the web first. People speak on Discord, and
 * all that is agreed there must stay there.
 */
export async function bothPlatforms(): Promise<DiscordStage> {
  return besideWeb(await discordPlatform());
}

/** The same with Slack. */
export async function webAndSlack(
  options: Parameters<typeof slackPlatform>[0] = {},
): Promise<SlackStage> {
  return besideWeb(await slackPlatform(options));
}

function besideWeb<Stage extends TestPlatform>(stage: Stage): Stage {
  const web = webPlatform();
  return {
    ...stage,
    agents: stage.agents.map((agent) => ({
      ...agent,
      accounts: { web: { id: agent.id }, ...agent.accounts },
    })),
    channels: [...web.channels, ...stage.channels],
    defaultChannel: `${stage.name}:general`,
    adapter: (database) => [web.adapter(database), stage.adapter(database)].flat(),
    ready: (team) =>
      eventually(async () => {
        const agents = await team.rooms.reader.agents();
        const states = agents.flatMap(({ accounts }) => accounts.map(({ state }) => state));
        expect(states).toEqual(states.map(() => "ready"));
        expect(states.length).toBeGreaterThan(agents.length - 1);
      }),
  };
}
