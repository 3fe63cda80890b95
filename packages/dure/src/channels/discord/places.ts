import type { PlaceAddress, ThreadInUse } from "../../rooms/channel-adapter.ts";
import { DISCORD } from "./mapping.ts";
import type { WirePlace } from "./wire-forms.ts";

export interface KnownPlace {
  readonly address: PlaceAddress;
  readonly name: string;
  readonly archived: boolean;
  /** The platform's number of its kind. */
  readonly type?: number | undefined;
  /** Of a thread: the bot hears what is said there. */
  readonly joined?: boolean;
  readonly owner?: string | undefined;
  /** When it was last described; messages do not move it. */
  readonly newest?: string | undefined;
  /** The bot may not view it. */
  readonly isHidden?: boolean;
}

/** Source: "Channel: Channel Types": DM, group DM; announcement, public and private thread. */
const DIRECT: readonly number[] = [1, 3];
const THREADS: readonly number[] = [10, 11, 12];
const PRIVATE_THREAD = 12;

/**
 * Places that are remembered per account; the oldest is forgotten, and looked up when it is needed
 * again.
 */
const KEPT_PLACES = 20_000;

/** Source: "Channel Object: Channel Flags". */
const OBFUSCATED = 1 << 17;

/**
 * A channel that the bot may not view: the platform tells its id, and a name that stands for all
 * such names. Pure. Source: "Channel Object: Obfuscated Channels".
 */
export function isHidden({ flags = 0 }: WirePlace): boolean {
  return (flags & OBFUSCATED) !== 0;
}

export function isThread(place: WirePlace): boolean {
  return THREADS.includes(place.type);
}

/**
 * The address of a channel or thread. Pure. @param guild when the description itself does not name
 * it.
 */
export function addressOf(
  place: WirePlace,
  guild: string | undefined = place.guild_id,
): PlaceAddress {
  if (DIRECT.includes(place.type)) return { adapter: DISCORD, channel: place.id, direct: true };
  const inGuild = guild === undefined ? {} : { guild };
  if (!isThread(place)) return { adapter: DISCORD, ...inGuild, channel: place.id };
  const channel = place.parent_id ?? place.id;
  const address = { adapter: DISCORD, ...inGuild, channel, thread: place.id };

  return place.type === PRIVATE_THREAD ? { ...address, private: true } : address;
}

/** The id under which the platform knows a place: a thread is a channel there. */
export function channelIdOf(place: PlaceAddress): string {
  return place.thread ?? place.channel;
}

/** What the gateway told of channels and threads: an event of a message names only the id. */
export class PlaceDirectory {
  readonly #places = new Map<string, KnownPlace>();

  /** Returns what was known before. */
  learn(place: WirePlace, guild: string | undefined = place.guild_id): KnownPlace | undefined {
    const known = this.#places.get(place.id);
    const hidden = isHidden(place);
    this.#places.delete(place.id); // so that it counts as the youngest
    this.#places.set(place.id, {
      address: addressOf(place, guild),
      name: (hidden ? known?.name : place.name) ?? "",
      isHidden: hidden,
      type: place.type,
      archived: place.thread_metadata?.archived === true,
      joined: place.member !== undefined || known?.joined === true,
      owner: place.owner_id,
      newest: place.last_message_id ?? undefined,
    });
    const [oldest] = this.#places.keys();
    if (this.#places.size > KEPT_PLACES && oldest !== undefined) this.#places.delete(oldest);

    return known;
  }

  /** Whether the bot hears what is said in this thread from now on. */
  joined(id: string, joined = true): void {
    const known = this.#places.get(id);
    if (known !== undefined) this.#places.set(id, { ...known, joined });
  }

  /** Threads in use that the bot does not hear. */
  unheard(): readonly KnownPlace[] {
    return [...this.#places.values()].filter(
      ({ address, archived, joined }) =>
        address.thread !== undefined && !archived && joined !== true,
    );
  }

  get(id: string): KnownPlace | undefined {
    return this.#places.get(id);
  }

  forget(id: string): KnownPlace | undefined {
    const known = this.#places.get(id);
    this.#places.delete(id);

    return known;
  }

  /**
   * Threads that are not archived and in which something was said. @param self who sees them: its
   * own ones it is in from their beginning.
   */
  threadsInUse(self: string | undefined): readonly ThreadInUse[] {
    return [...this.#places.values()].flatMap(
      ({ address, name, archived, joined, owner, newest }) =>
        address.thread === undefined || archived || newest === undefined
          ? []
          : [{ place: address, name, newest, wasAdded: joined === true && owner !== self }],
    );
  }

  /** Forgets a guild and returns its channels, threads not among them. */
  forgetGuild(guild: string): PlaceAddress[] {
    const gone = [...this.#places].filter(([, { address }]) => address.guild === guild);
    for (const [id] of gone) this.#places.delete(id);

    return gone.map(([, { address }]) => address).filter(({ thread }) => thread === undefined);
  }
}
