/** Variables know only capitals and underscores: `SLACK_BOT_TOKEN_NIGHT_OWL` is of `night-owl`. */
export function botTokenName(agent: string): string {
  return `SLACK_BOT_TOKEN_${suffixOf(agent)}`;
}

export function appTokenName(agent: string): string {
  return `SLACK_APP_TOKEN_${suffixOf(agent)}`;
}

function suffixOf(agent: string): string {
  return agent.toUpperCase().replaceAll("-", "_");
}
