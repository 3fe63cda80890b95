import type { ChannelEnvironment, ChannelKind } from "../channel-kind.ts";
import { SLACK } from "./mapping.ts";
import { appTokenName, botTokenName } from "./names.ts";
import type { SlackTokens } from "./slack-adapter.ts";

const KIND: ChannelKind = {
  name: SLACK,
  channelIds: {
    of: () => undefined,
    hint: 'ids: { slack: "<channel id>" } (in Slack: the name of the channel, About, at the bottom)',
  },
  hasAccount: (agent, environment) => tokensOf(agent, environment) !== undefined,
  accountHint: (agent) =>
    `Set ${botTokenName(agent)} and ${appTokenName(agent)} to the tokens of its app, ` +
    "or SLACK_BOT_TOKEN and SLACK_APP_TOKEN to those of one app for all agents.",
  open: async ({ environment, accounts, channels }) => {
    const { SlackAdapter } = await loadAdapter();
    const tokens = Object.entries(accounts).flatMap(([agent, account]) => {
      const found = tokensOf(agent, environment);
      return found === undefined ? [] : [[account, found] as const];
    });
    const agents = Object.entries(accounts).map(([agent, account]) => [account, agent] as const);
    return new SlackAdapter({
      tokens: Object.fromEntries(tokens),
      agents: Object.fromEntries(agents),
      channels,
      apiUrl: environment.variable?.("SLACK_API_URL"),
    });
  },
};

/**
 * Slack: `rooms: { adapters: [web(), slack()] }`, in files `[web, slack]`. Tokens stand in the
 * environment: `SLACK_BOT_TOKEN_<AGENT>` and `SLACK_APP_TOKEN_<AGENT>` for an app of its own, without
 * the agent for one app of all. Needs the packages @slack/web-api and @slack/socket-mode.
 */
export function slack(): ChannelKind {
  return KIND;
}

/** Apart, for only teams on Slack load it. */
const loadAdapter = () => import("./slack-adapter.ts");

/** Its own app's, or those of the app that all agents speak through. */
function tokensOf(agent: string, environment: ChannelEnvironment): SlackTokens | undefined {
  const variable = (name: string): string | undefined => environment.variable?.(name);
  const pairs = [
    [variable(botTokenName(agent)), variable(appTokenName(agent)), false],
    [variable("SLACK_BOT_TOKEN"), variable("SLACK_APP_TOKEN"), true],
  ] as const;
  return pairs.flatMap(([bot, app, isShared]) => (bot && app ? [{ bot, app, isShared }] : []))[0];
}
