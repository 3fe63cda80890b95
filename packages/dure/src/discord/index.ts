// The Discord adapter: needs discord.js beside dure.

export { DiscordAdapter, discordAdapter } from "./discord-adapter.ts";
export type { DiscordOptions } from "./discord-adapter.ts";
