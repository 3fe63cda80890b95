/** The channels that a configuration names, on each platform where they are. */

import type { ChannelKind } from "../channels/channel-kind.ts";
import { channelIdOf, kindOf } from "../channels/kinds.ts";
import type { RoomChannel } from "../rooms/directory.ts";
import type { DefaultPlaces } from "../rooms/named-place.ts";
import type { TeamConfig } from "./config.ts";

/** The platforms of a team: what its configuration names, once each. */
export function kindsOf({ rooms }: Pick<TeamConfig, "rooms">): readonly ChannelKind[] {
  const kinds = (rooms?.adapters ?? ["web"]).map((choice) => kindOf(choice)!);
  return [...new Map(kinds.map((kind) => [kind.name, kind])).values()];
}

/** Every channel on every platform that has it, in the order of the configuration. Pure. */
export function roomChannelsOf(config: Pick<TeamConfig, "rooms">): readonly RoomChannel[] {
  const kinds = kindsOf(config);
  return Object.entries(channelsOf(config)).flatMap(([key, channel]) => {
    const { name = key, collaborate = true, defaultAgent, adapters } = channel;
    return kinds.flatMap((kind): readonly RoomChannel[] => {
      const id = channelIdOf(kind, key, channel);
      if (id === undefined || !(adapters?.includes(kind.name) ?? true)) return [];
      return [{ key, adapter: kind.name, name, collaborate, defaultAgent, channel: id }];
    });
  });
}

/** Where collaborations begin that have no channel of their own. Pure. */
export function defaultChannelOf(config: Pick<TeamConfig, "rooms">): DefaultPlaces {
  return config.rooms?.defaultChannel ?? Object.keys(channelsOf(config))[0]!;
}

/** A setting that names a default place, as it is given. */
interface PlaceSetting {
  readonly path: readonly string[];
  readonly places: DefaultPlaces;
  /** Collaborations begin there. */
  readonly forCollaborations: boolean;
}

/** The settings of a team that name default places. Pure. */
export function placeSettingsOf({
  agents,
  rooms,
  escalations,
}: TeamConfig): readonly PlaceSetting[] {
  const ofAgents = Object.entries(agents ?? {}).map(([id, { channel }]) => ({
    path: ["agents", id, "channel"],
    places: channel,
    forCollaborations: true,
  }));
  const all = [
    { path: ["rooms", "defaultChannel"], places: rooms?.defaultChannel, forCollaborations: true },
    ...ofAgents,
    { path: ["rooms", "sink", "channel"], places: rooms?.sink?.channel, forCollaborations: false },
    { path: ["escalations", "room"], places: escalations?.room, forCollaborations: false },
  ];
  return all.flatMap(({ places, ...setting }) =>
    places === undefined ? [] : [{ ...setting, places }],
  );
}

/** The rooms that dure serves itself: the only ones where others may speak as a person. Pure. */
export function webRoomsOf(config: Pick<TeamConfig, "rooms">): readonly RoomChannel[] {
  return roomChannelsOf(config).filter(({ adapter }) => adapter === "web");
}

function channelsOf({
  rooms,
}: Pick<TeamConfig, "rooms">): NonNullable<NonNullable<TeamConfig["rooms"]>["channels"]> {
  const given = rooms?.channels ?? {};
  return Object.keys(given).length > 0 ? given : { general: {} };
}
