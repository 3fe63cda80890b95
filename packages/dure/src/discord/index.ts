// The Discord adapter: needs discord.js beside dure.

export { discord, DiscordAdapter } from "./discord-adapter.ts";
export type { DiscordOptions } from "./discord-adapter.ts";
