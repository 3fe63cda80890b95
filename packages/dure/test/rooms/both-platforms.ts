import { expect } from "vitest";
import { discordPlatform, type DiscordStage } from "./discord-platform.ts";
import type { TestPlatform } from "./platform.ts";
import { slackPlatform, type SlackStage } from "./slack-platform.ts";
import { webPlatform } from "./web-platform.ts";
import { eventually } from "../until.ts";
import { sampled } from "../../src/kernel/test-tiers.ts";

/**
 * Web rooms and Discord at once, every agent on each, the web first. People speak on Discord, and
 * all that is agreed there must stay there.
 */
export async function bothPlatforms(): Promise<DiscordStage> {
  return together(await discordPlatform(), webPlatform());
}

/** The same with Slack. */
export async function webAndSlack(
  options: Parameters<typeof slackPlatform>[0] = {},
): Promise<SlackStage> {
  return together(await slackPlatform(options), webPlatform());
}

const STAGES: Readonly<Record<"web" | "discord" | "slack", () => Promise<TestPlatform>>> = {
  web: async () => webPlatform(),
  discord: () => discordPlatform(),
  slack: () => slackPlatform(),
};

/** Each pair of platforms both ways: where people speak, and what is there beside it. */
const PAIRS = [
  ["web", "discord"],
  ["discord", "slack"],
  ["slack", "web"],
  ["discord", "web"],
  ["slack", "discord"],
  ["web", "slack"],
] as const;

/** One of them in `npm test`, all else. */
export const PAIR = sampled(PAIRS, 1);

/** Both platforms of a pair at once. */
export async function pairOf([speaks, beside]: (typeof PAIRS)[number]): Promise<TestPlatform> {
  return together(await STAGES[speaks](), await STAGES[beside]());
}

/** Two platforms, every agent on each; people speak on the first, whose default it is. */
function together<Stage extends TestPlatform>(stage: Stage, beside: TestPlatform): Stage {
  const others = new Map(beside.agents.map(({ id, accounts }) => [id, accounts]));
  return {
    ...stage,
    agents: stage.agents.map((agent) => ({
      ...agent,
      accounts: { ...others.get(agent.id), ...agent.accounts },
    })),
    channels: [...beside.channels, ...stage.channels],
    defaultChannel: `${stage.name}:general`,
    adapter: (database) => [beside.adapter(database), stage.adapter(database)].flat(),
    ready: (team) =>
      eventually(async () => {
        const agents = await team.rooms.reader.agents();
        const states = agents.flatMap(({ accounts }) => accounts.map(({ state }) => state));
        expect(states).toEqual(states.map(() => "ready"));
        expect(states.length).toBeGreaterThan(agents.length - 1);
      }),
  };
}
