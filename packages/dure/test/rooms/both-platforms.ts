import { expect, vi } from "vitest";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import { webPlatform } from "./web-platform.ts";

/**
 * Web rooms and Discord at once, every agent on each, the web first. People speak on Discord, and
 * all that is agreed there must stay there.
 */
export async function bothPlatforms(): Promise<DiscordStage> {
  const web = webPlatform();
  const discord = await discordPlatform();
  return {
    ...discord,
    agents: discord.agents.map((agent) => ({
      ...agent,
      accounts: { web: { id: agent.id }, ...agent.accounts },
    })),
    channels: [...web.channels, ...discord.channels],
    defaultChannel: "discord:general",
    adapter: (database) => [web.adapter(database), discord.adapter(database)].flat(),
    ready: (team) =>
      vi.waitFor(
        async () => {
          const agents = await team.rooms.reader.agents();
          const states = agents.flatMap(({ accounts }) => accounts.map(({ state }) => state));
          expect(states).toEqual(states.map(() => "ready"));
          expect(states.length).toBeGreaterThan(agents.length - 1);
        },
        { timeout: 20_000, interval: 30 },
      ),
  };
}
