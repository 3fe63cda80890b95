/** Variables with the tokens of bots, by kind of channel; behind each stands `_<AGENT>`. */
export const BOT_TOKENS = {
  web: [],
  discord: ["DISCORD_TOKEN"],
  slack: ["SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"],
} as const satisfies Record<string, readonly string[]>;

type BotToken = (typeof BOT_TOKENS)[keyof typeof BOT_TOKENS][number];

/** Variables know only capitals and underscores: `DISCORD_TOKEN_NIGHT_OWL` is that of `night-owl`. */
export function botTokenOf(agent: string, token: BotToken): string {
  return `${token}_${agent.toUpperCase().replaceAll("-", "_")}`;
}
