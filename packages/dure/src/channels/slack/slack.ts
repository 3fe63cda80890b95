import { botTokenOf } from "../../kernel/bot-tokens.ts";
import type { ChannelEnvironment, ChannelKind } from "../channel-kind.ts";
import { refuseSharedTokens, type SharedToken } from "../shared-tokens.ts";
import { SLACK } from "./mapping.ts";
import type { SlackTokens } from "./slack-adapter.ts";

const KIND: ChannelKind = {
  name: SLACK,
  channelIds: {
    of: () => undefined,
    hint: 'ids: { slack: "<channel id>" } (in Slack: the name of the channel, About, at the bottom)',
  },
  hasAccount: (agent, environment) => tokensOf(agent, environment) !== undefined,
  accountHint: (agent) =>
    `Set ${botTokenOf(agent, "SLACK_BOT_TOKEN")} and ${botTokenOf(agent, "SLACK_APP_TOKEN")} to the tokens of its app, ` +
    "or SLACK_BOT_TOKEN and SLACK_APP_TOKEN to those of one app for all agents.",
  open: async ({ environment, accounts, channels }) => {
    refuseShared(Object.keys(accounts), environment);
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

/**
 * An app of its own is of one agent, by both tokens: two connections of one app would each get only
 * a part of its events, also where it is installed in two workspaces.
 */
function refuseShared(agents: readonly string[], environment: ChannelEnvironment): void {
  const variable = (name: string): string | undefined => environment.variable?.(name);
  const own = agents.filter((agent) => tokensOf(agent, environment)?.isShared === false);
  const shared = agents.filter((agent) => tokensOf(agent, environment)?.isShared === true);
  const named = (agent: string | undefined, name: string): readonly SharedToken[] => {
    const token = variable(name);
    return agent === undefined || !token ? [] : [{ agent, variable: name, token }];
  };
  const refused = {
    platform: "Slack",
    hint:
      "Give each of them an app of its own. Or set SLACK_BOT_TOKEN and SLACK_APP_TOKEN alone: " +
      "then one app speaks for all agents that have none of their own.",
  };
  const bots = own.flatMap((agent) => named(agent, botTokenOf(agent, "SLACK_BOT_TOKEN")));
  const apps = own.flatMap((agent) => named(agent, botTokenOf(agent, "SLACK_APP_TOKEN")));
  refuseSharedTokens([...bots, ...named(shared[0], "SLACK_BOT_TOKEN")], refused);
  refuseSharedTokens([...apps, ...named(shared[0], "SLACK_APP_TOKEN")], refused);
}

/** Its own app's, or those of the app that all agents speak through. */
function tokensOf(agent: string, environment: ChannelEnvironment): SlackTokens | undefined {
  const variable = (name: string): string | undefined => environment.variable?.(name);
  const pairs = [
    [
      variable(botTokenOf(agent, "SLACK_BOT_TOKEN")),
      variable(botTokenOf(agent, "SLACK_APP_TOKEN")),
      false,
    ],
    [variable("SLACK_BOT_TOKEN"), variable("SLACK_APP_TOKEN"), true],
  ] as const;
  return pairs.flatMap(([bot, app, isShared]) => (bot && app ? [{ bot, app, isShared }] : []))[0];
}
