/**
 * Which channel a name means. One rule for the configuration, the command line, the API and tools:
 *
 * | name                | means                                                       |
 * | ------------------- | ----------------------------------------------------------- |
 * | `discord:general`   | the channel `general` on Discord                            |
 * | `web:general@acme`  | the room of the tenant `acme`, for its own callers          |
 * | `discord:123456789` | the channel that has this id on Discord                     |
 * | `general`           | the same as in full, where exactly one platform has it      |
 */

import { createHash } from "node:crypto";
import type { RoomChannel } from "./directory.ts";

export type NamedChannel =
  | { readonly ok: true; readonly channel: RoomChannel }
  | {
      readonly ok: false;
      /** `several`: more than one platform has it, and the name does not say which is meant. */
      readonly because: "unknown" | "several";
      /** Names in full: those that it may mean, or all that there are. */
      readonly allowed: readonly string[];
    };

/** A setting that names a default place: one, or one for each platform. */
export type DefaultPlaces = string | readonly string[];

/** The channel that a name means. `tenant`: of the caller. Pure. */
export function channelNamed(
  name: string,
  channels: readonly RoomChannel[],
  tenant = "",
): NamedChannel {
  const inFull = channels.find((channel) => isNamedInFull(channel, name, tenant));
  if (inFull) return { ok: true, channel: inFull };

  const [found, ...others] = channels.filter((channel) => isNamedInShort(channel, name));
  if (found && others.length === 0) return { ok: true, channel: found };
  return found
    ? { ok: false, because: "several", allowed: fullNamesOf([found, ...others]) }
    : { ok: false, because: "unknown", allowed: fullNamesOf(channels) };
}

/** Whether a name may mean this channel. Pure. */
export function mayMean(name: string, channel: RoomChannel, tenant = ""): boolean {
  return isNamedInFull(channel, name, tenant) || isNamedInShort(channel, name);
}

/**
 * The default place on one platform. In a default a name without a platform means the channel on
 * each platform that has it; a name in full goes before it. Pure.
 */
export function defaultOn(
  adapter: string,
  places: DefaultPlaces | undefined,
  channels: readonly RoomChannel[],
): RoomChannel | undefined {
  const there = channels.filter((channel) => channel.adapter === adapter);
  const [inFull] = defaultsInFull(places, there);
  return inFull ?? there.find((channel) => namesIn(places).some((name) => mayMean(name, channel)));
}

/** The default places that are named with their platform, in the order of their names. Pure. */
export function defaultsInFull(
  places: DefaultPlaces | undefined,
  channels: readonly RoomChannel[],
): readonly RoomChannel[] {
  return namesIn(places).flatMap(
    (name) => channels.find((channel) => isNamedInFull(channel, name)) ?? [],
  );
}

/** One default place for each platform that has one, in the order of the channels. Pure. */
export function defaultPlaces(
  places: DefaultPlaces | undefined,
  channels: readonly RoomChannel[],
): readonly RoomChannel[] {
  const adapters = [...new Set(channels.map(({ adapter }) => adapter))];
  return adapters.flatMap((adapter) => defaultOn(adapter, places, channels) ?? []);
}

/** The names of a default, however they were given. Pure. */
export function namesIn(places: DefaultPlaces | undefined): readonly string[] {
  return places === undefined ? [] : [places].flat();
}

/** As a person writes them: `discord:general`. Pure. */
export function fullNamesOf(channels: readonly RoomChannel[]): readonly string[] {
  return channels.map((channel) => channelPlaceId(channel));
}

function isNamedInFull(channel: RoomChannel, name: string, tenant = ""): boolean {
  const byPlatform = `${channel.adapter}:${channel.channel}`;
  return [channelPlaceId(channel), channelPlaceId(channel, tenant), byPlatform].includes(name);
}

function isNamedInShort({ key, channel }: RoomChannel, name: string): boolean {
  return key === name || channel === name;
}

/**
 * Id of the place of a configured channel: `web:general`, for a tenant `web:general@acme`. On other
 * platforms a channel is the same place for all. A name that cannot stand in a session's id is told
 * by its hash.
 */
export function channelPlaceId(channel: Pick<RoomChannel, "adapter" | "key">, tenant = ""): string {
  const id = `${channel.adapter}:${channel.key}`;
  if (tenant === "" || channel.adapter !== "web") return id;
  if (/^[A-Za-z0-9._-]{1,60}$/.test(tenant)) return `${id}@${tenant}`;
  const hash = createHash("sha256").update(tenant).digest("hex");
  return `${id}@sha256:${hash.slice(0, 32)}`;
}
