import type { ChannelEnvironment, ChannelKind } from "../channel-kind.ts";
import { DISCORD } from "./mapping.ts";

const KIND: ChannelKind = {
  name: DISCORD,
  channelIds: {
    of: ({ discord: id }) => id,
    hint: 'discord: "<channel id>" (developer mode, right click, Copy Channel ID)',
  },
  hasAccount: (agent, environment) => tokenOf(agent, environment) !== undefined,
  accountHint: (agent) => {
    const variable = `DISCORD_TOKEN_${agent.toUpperCase().replaceAll("-", "_")}`;
    return `Set ${variable} to the token of its bot.`;
  },
  open: async ({ environment, accounts, channels, joinsThreads }) => {
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

/**
 * Variables know only capitals and underscores: `DISCORD_TOKEN_NIGHT_OWL` is that of `night-owl`.
 */
function tokenOf(agent: string, { discordTokens }: ChannelEnvironment): string | undefined {
  return discordTokens[agent.toLowerCase().replaceAll("-", "_")];
}
