import type * as discordJs from "discord.js";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";

export type DiscordJs = typeof discordJs;

/**
 * discord.js, loaded when it is first needed: it is an optional peer of dure. @throws
 * DISCORD_JS_MISSING
 */
export async function loadDiscordJs(
  load: () => Promise<DiscordJs> = () => import("discord.js"),
): Promise<DiscordJs> {
  try {
    return await load();
  } catch (error) {
    if (codeOf(error) !== "ERR_MODULE_NOT_FOUND" || !messageOf(error).includes("discord.js")) {
      throw error;
    }
    throw new DureError(
      "DISCORD_JS_MISSING",
      "The Discord adapter needs the package discord.js, which is not installed.",
      {
        hint: "Install it beside dure: npm install discord.js@^14.28.1",
        cause: error,
      },
    );
  }
}
