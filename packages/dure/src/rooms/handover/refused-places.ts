/** Why a collaboration has no place, with the key that must change and what stands there. Pure. */

import {
  refuse,
  type HandOver,
  type RefusedCollaboration,
  type UndecidedChannel,
} from "./collaborate-call.ts";
import type { RoomChannel } from "../directory.ts";
import { fullNamesOf, type DefaultPlaces, type NamedChannel } from "../named-place.ts";

/** The call names a channel that there is not, that several platforms have, or that takes none. */
export function refuseNamed(
  name: string,
  named: NamedChannel,
  channels: readonly RoomChannel[],
): RefusedCollaboration {
  if (named.ok) {
    return refuse(
      "CHANNEL_NOT_ALLOWED",
      `Collaborations are not allowed in "${name}".`,
      `Allowed are: ${listed(channels.filter(({ collaborate }) => collaborate))}. ` +
        closingKey(named.channel),
    );
  }
  const allowed = named.allowed.join(", ") || "none";
  return named.because === "several"
    ? refuse(
        "CHANNEL_REQUIRED",
        `More than one platform has the channel "${name}".`,
        `Give channelId in full: ${allowed}.`,
      )
    : refuse(
        "CHANNEL_NOT_ALLOWED",
        `There is no channel "${name}" in rooms.channels.`,
        `Channels are: ${allowed}. Another one is added to rooms.channels.`,
      );
}

/** The thread is in a channel that takes no collaborations. `undefined`: in none of the team. */
export function refuseThreadOf(
  channel: RoomChannel | undefined,
  threadId: string,
): RefusedCollaboration {
  const why = channel ? closingKey(channel) : "Its channel is not in rooms.channels.";
  return refuse(
    "CHANNEL_NOT_ALLOWED",
    `Collaborations are not allowed in the channel of the thread "${threadId}".`,
    `Leave threadId out. ${why}`,
  );
}

/** Neither the agent nor the team has a default where the asker is. */
export function refuseUndecided(
  { from, channels, defaultChannel }: Pick<HandOver, "from" | "channels" | "defaultChannel">,
  { because, platforms }: UndecidedChannel,
): RefusedCollaboration {
  const where = platforms.join(" and ");
  const key = `agents.${from.id}.channel`;
  const found = `rooms.defaultChannel is ${shown(defaultChannel)}, ${key} is ${shown(from.channel)}`;
  if (where === "") {
    return refuse(
      "CHANNEL_REQUIRED",
      `The agents share no platform with a channel for collaborations (${found}).`,
      "Give channelId, or add a channel of a platform of both to rooms.channels.",
    );
  }
  const there = channels.filter(({ adapter }) => platforms.includes(adapter));
  return refuse(
    "CHANNEL_REQUIRED",
    because === "several-platforms"
      ? `Both agents are on ${where}, and this session is on none (${found}).`
      : `No default channel is on ${where} (${found}).`,
    there.length === 0
      ? `Add a channel on ${where} to rooms.channels, or give channelId.`
      : `Add one of these to rooms.defaultChannel or ${key}, or give channelId: ${listed(there)}.`,
  );
}

/** The key that keeps collaborations out of a channel, and what would let them in. */
function closingKey({ key }: RoomChannel): string {
  return `rooms.channels.${key}.collaborate is false; true allows them there.`;
}

function listed(channels: readonly RoomChannel[]): string {
  return fullNamesOf(channels).join(", ") || "none";
}

function shown(places: DefaultPlaces | undefined): string {
  return places === undefined ? "not set" : JSON.stringify(places);
}
