import { botTokenOf } from "../../kernel/bot-tokens.ts";
import type { ChannelEnvironment, ChannelKind } from "../channel-kind.ts";
import { refuseSharedTokens } from "../shared-tokens.ts";
import { DISCORD } from "./mapping.ts";

const KIND: ChannelKind = {
  name: DISCORD,
  channelIds: {
    of: ({ discord: id }) => id,
    hint: 'discord: "<channel id>" (developer mode, right click, Copy Channel ID)',
  },
  hasAccount: (agent, environment) => tokenOf(agent, environment) !== undefined,
  accountHint: (agent) => `Set ${variableOf(agent)} to the token of its bot.`,
  open: async ({ environment, accounts, channels, joinsThreads }) => {
    refuseShared(Object.keys(accounts), environment);
    const { DiscordAdapter } = await loadAdapter();
    const tokens = Object.entries(accounts).flatMap(([agent, account]) => {
      const token = tokenOf(agent, environment);
      return token === undefined ? [] : [[account, token] as const];
    });
    return new DiscordAdapter({
      tokens: Object.fromEntries(tokens),
      channels: channels(),
      joinsThread: ({ channel }, { agent }) =>
        joinsThreads?.(agent) === true && channels().includes(channel),
      apiUrl: environment.discordApiUrl,
    });
  },
};

/**
 * Discord: `rooms: { adapters: [web(), discord()] }`, in files `[web, discord]`. Tokens stand in the
 * environment as `DISCORD_TOKEN_<AGENT>`. Needs the package discord.js.
 */
export function discord(): ChannelKind {
  return KIND;
}

/**
 * Apart, for the compiler leaves the path of an import as it stands in some functions; and only
 * teams on Discord load it.
 */
const loadAdapter = () => import("./discord-adapter.ts");

function refuseShared(agents: readonly string[], environment: ChannelEnvironment): void {
  const tokens = agents.flatMap((agent) => {
    const token = tokenOf(agent, environment);
    return token === undefined ? [] : [{ agent, variable: variableOf(agent), token }];
  });
  refuseSharedTokens(tokens, {
    platform: "Discord",
    hint: "One bot is one agent: make a bot for each, and set its variable to the token of its own.",
  });
}

function variableOf(agent: string): string {
  return botTokenOf(agent, "DISCORD_TOKEN");
}

function tokenOf(agent: string, { discordTokens }: ChannelEnvironment): string | undefined {
  return discordTokens[agent.toLowerCase().replaceAll("-", "_")];
}
