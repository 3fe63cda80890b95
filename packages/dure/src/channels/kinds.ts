/**
 * Marks of `defineTeam`: `rooms: { adapters: [web(), discord()] }`. Files write
 * `adapters: [web, discord]`.
 */
export function web(): { kind: "web" } {
  return { kind: "web" };
}

/**
 * Discord; tokens stand in the environment as `DISCORD_TOKEN_<AGENT>`. Needs the package
 * discord.js.
 */
export function discord(): { kind: "discord" } {
  return { kind: "discord" };
}
