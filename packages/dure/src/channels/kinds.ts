/** The platforms that there are. */

import type { BOT_TOKENS } from "../kernel/bot-tokens.ts";
import type { ChannelKind, RoomIds } from "./channel-kind.ts";
import { discord } from "./discord/discord.ts";
import { slack } from "./slack/slack.ts";
import { web } from "./web/web.ts";

const OF_DURE = { web: web(), discord: discord(), slack: slack() } as const satisfies Record<
  keyof typeof BOT_TOKENS,
  ChannelKind
>;
/**
 * The kinds that a team can name without an import. A new one is its folder, its line here, and its
 * tokens.
 */
const KINDS: readonly ChannelKind[] = Object.values(OF_DURE);

/** What stands in `rooms.adapters`: the name of a kind of dure, or a kind. */
export type ChannelChoice = string | ChannelKind;

/** The names of the kinds of dure. */
export const KIND_NAMES: readonly string[] = KINDS.map(({ name }) => name);

/** Undefined: there is no kind of this name. */
export function kindOf(choice: ChannelChoice): ChannelKind | undefined {
  return typeof choice === "string" ? KINDS.find(({ name }) => name === choice) : choice;
}

/** The platform's id of a room's channel; undefined: the room is not there. Pure. */
export function channelIdOf(kind: ChannelKind, key: string, room: RoomIds): string | undefined {
  const own = room.ids?.[kind.name];
  if (own !== undefined) return own;
  return kind.channelIds ? kind.channelIds.of(room) : key;
}
