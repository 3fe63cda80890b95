/** A place as its platform tells of it: found, made, opened, closed or lost. */

import { newId } from "../../kernel/ids.ts";
import type { ChannelAccount, PlaceAddress, Audience, PlaceChange } from "../channel-adapter.ts";
import { isMadePrivate, type Place, type OpenPlace } from "../place.ts";
import type { RoomsSetting } from "../talk.ts";
import type { Transaction } from "../../durable/database.ts";
import { type UnreadablePlaceReports, isShutOut } from "./unreadable-places.ts";
import { channelPlaceId } from "../named-place.ts";
import { roomReports } from "../out/reports.ts";
import { withdrawRequestsIn } from "../handover/requests.ts";
import { GONE } from "../texts.ts";
import type { StoredMessage } from "../room-store.ts";
import { threadTopic } from "../text.ts";

/**
 * How long a message of an unknown thread waits while its channel is making one, milliseconds.
 * Source: docs/spec/collaboration §6.
 */
const UNKNOWN_THREAD_MS = 10_000;
const UNKNOWN_THREAD_LOOK_MS = 200;

/** Finds the place of what comes in from one platform, and makes it where people opened it. */
export class IncomingPlaces {
  readonly #setting: RoomsSetting;
  readonly #adapter: string;
  readonly #signal: AbortSignal;

  /** `signal`: rooms were stopped. */
  constructor(setting: RoomsSetting, parts: { adapter: string; signal: AbortSignal }) {
    this.#setting = setting;
    this.#adapter = parts.adapter;
    this.#signal = parts.signal;
  }

  /**
   * Undefined: not on the allowlist, neither handled nor recorded. A thread that people opened
   * becomes a place here.
   */
  async find(
    account: ChannelAccount,
    address: PlaceAddress,
    threadName: string | undefined,
  ): Promise<Place | undefined> {
    const { store, database } = this.#setting;
    const known = await store.placeAt(address);
    if (known?.guild === null && address.guild !== undefined) {
      await database.query(LEARN_GUILD, [known.id, address.guild]);
    }
    if (known) return this.#unlessTooOpen(known, address);
    return address.direct
      ? this.#makeDirect(account, address)
      : this.#makeThread(address, threadName);
  }

  /** The configuration may take a direct message for a channel; its words stay out of an open place. */
  #unlessTooOpen(place: Place, { direct }: PlaceAddress): Place | undefined {
    if (direct !== true || isMadePrivate(place.id)) return place;
    this.#setting.logger.warn(
      { place: place.id },
      `${place.id} is a direct message of ${this.#adapter}: nothing in it is heard as a channel. ` +
        "Take its id out of rooms.channels",
    );
    return undefined;
  }

  /** Where a direct message has threads, each is a direct room of its own below the first one. */
  async #makeDirect(account: ChannelAccount, address: PlaceAddress): Promise<Place | undefined> {
    const { store } = this.#setting;
    await this.#insertDirect(account, address, { thread: null, parent: null });
    if (address.thread !== undefined) {
      const room = await store.placeAt({ ...address, thread: undefined });
      if (room && !this.#unlessTooOpen(room, address)) return undefined;
      const below = { thread: address.thread, parent: room?.id ?? null };
      await this.#insertDirect(account, address, below);
    }

    return store.placeAt(address);
  }

  async #insertDirect(
    { displayName, agent }: ChannelAccount,
    { channel }: PlaceAddress,
    { thread, parent }: { thread: string | null; parent: string | null },
  ): Promise<void> {
    const { database, clock } = this.#setting;
    const id = newId("direct", clock.now());
    await database.query(NEW_DIRECT, [
      id,
      this.#adapter,
      displayName,
      channel,
      thread,
      parent,
      agent,
    ]);
  }

  async #makeThread(
    address: PlaceAddress,
    threadName: string | undefined,
  ): Promise<Place | undefined> {
    const { store, directory, database, clock } = this.#setting;
    const channel = directory.channels.find(
      (allowed) => allowed.adapter === this.#adapter && allowed.channel === address.channel,
    );
    if (!channel || address.thread === undefined) return undefined;

    const parent = channelPlaceId(channel);
    const made = await this.#whenMade(address, parent);
    if (made) return made;
    await database.query(NEW_THREAD, [
      newId(address.private === true ? "private" : "thread", clock.now()),
      this.#adapter,
      parent,
      threadName ?? address.thread,
      address.guild ?? null,
      address.channel,
      address.thread,
    ]);
    return store.placeAt(address);
  }

  /** Perhaps it is a thread that dure is making right now, whose id is not recorded yet. */
  async #whenMade(address: PlaceAddress, parent: string): Promise<Place | undefined> {
    const { store, database, clock } = this.#setting;
    for (let waited = 0; waited < UNKNOWN_THREAD_MS; waited += UNKNOWN_THREAD_LOOK_MS) {
      const [open] = await database.query(BEING_MADE, [parent]);
      if (!open) return undefined;
      await clock.sleep(UNKNOWN_THREAD_LOOK_MS, { signal: this.#signal });
      const made = await store.placeAt(address);
      if (made) return made;
    }
    return undefined;
  }
}

/** The configuration names channels; which server they are in, the platform tells. */
const LEARN_GUILD = {
  name: "inbound.learn_guild",
  text: `
    update dure.places
    set guild = $2
    where id = $1 and guild is null`,
};
const NEW_DIRECT = {
  name: "inbound.new_direct",
  text: `
    insert into dure.places (id, adapter, kind, name, channel, thread, parent, person, agent)
    values ($1, $2, 'direct', $3, $4, $5, $6, $4 || coalesce('/' || $5, ''), $7)
    on conflict do nothing`,
};
const BEING_MADE = {
  name: "inbound.being_made",
  text: `
    select 1
    from dure.places
    where parent = $1 and kind = 'thread' and thread is null and state <> 'closed'
    limit 1`,
};
const NEW_THREAD = {
  name: "inbound.new_thread",
  text: `
    insert into dure.places (
      id, adapter, kind, parent, name, guild, channel, thread, away_from, away_until
    )
    select $1, $2, 'thread', $3, $4, $5, $6, $7, p.away_from, p.away_until
    from dure.places p
    where p.id = $3
    on conflict do nothing`,
};

/**
 * The thread below a message of a web room, made when it is asked for. Below a message that stands in
 * a thread, it is that thread.
 */
export async function threadBelow(
  { database, clock, store }: Pick<RoomsSetting, "database" | "clock" | "store">,
  place: Place,
  { id, text }: Pick<StoredMessage, "id" | "text">,
): Promise<Place> {
  if (place.kind === "thread") return place;
  const thread = newId(place.isPrivate ? "private" : "thread", clock.now());
  await database.query(NEW_THREAD_BELOW, [thread, place.id, id, threadTopic(undefined, text)]);
  const address = { adapter: place.adapter, channel: place.channel ?? place.id, thread: id };
  return (await store.placeAt(address))!;
}

/** A thread of a direct room is its person's, too. The page may ask twice at once. */
const NEW_THREAD_BELOW = {
  name: "inbound.new_thread_below",
  text: `
    insert into dure.places (
      id, adapter, kind, parent, name, tenant, guild, channel, thread, person
    )
    select $1, adapter, 'thread', id, $4, tenant, guild, coalesce(channel, id), $3, person
    from dure.places
    where id = $2
    on conflict do nothing`,
};

/** Records what happens to places on one platform. */
export class PlaceChanges {
  readonly #setting: RoomsSetting;
  readonly #adapter: string;
  readonly #unreadable: UnreadablePlaceReports;

  constructor(setting: RoomsSetting, parts: { adapter: string; deaf: UnreadablePlaceReports }) {
    this.#setting = setting;
    this.#adapter = parts.adapter;
    this.#unreadable = parts.deaf;
  }

  /** A place that is not known is not touched. */
  async record(account: ChannelAccount, change: PlaceChange): Promise<void> {
    const { database, store } = this.#setting;
    const known = await store.placeAt(change.place);
    if (!known) return;
    await database.transaction(async (tx) => {
      const place = await store.open(tx, known.id);
      if (place) await this.#recordIn(tx, place, account, change);
    });
  }

  /**
   * Who may read a channel, as its platform says. Pages and lists follow at once; one that the
   * configuration does not name is not recorded.
   */
  async recordAudience({ place, seenByAll }: Audience): Promise<void> {
    const { database, directory, logger } = this.#setting;
    const channel = directory.channels.find(
      ({ adapter, channel: id }) => adapter === place.adapter && id === place.channel,
    );
    if (!channel) return;
    const id = channelPlaceId(channel);
    const changed = await database.query(AUDIENCE, [id, seenByAll]);
    if (changed.length === 0) return;
    logger.info(
      { place: id },
      seenByAll
        ? `${id} may be read by its whole server`
        : `${id} is private: what is said there stays there`,
    );
  }

  async #recordIn(
    tx: Transaction,
    place: OpenPlace,
    account: ChannelAccount,
    change: PlaceChange,
  ): Promise<void> {
    switch (change.kind) {
      case "thread-deleted":
      case "channel-removed":
        return this.#close(tx, place, change.kind);
      case "access-lost":
        return this.#loseAccess(tx, place, account);
      case "thread-archived":
      case "thread-opened":
        await tx.query(ARCHIVE, [place.id, change.kind === "thread-archived"]);
        return;
      case "renamed":
        await tx.query(RENAME, [place.id, change.name]);
        return;
      case "thread-created":
        return; // it becomes a place with its first message
      default:
        change satisfies never;
    }
  }

  /** Every account is told; the first one closes. */
  async #close(
    tx: Transaction,
    place: OpenPlace,
    because: "thread-deleted" | "channel-removed",
  ): Promise<void> {
    const { store } = this.#setting;
    const closed = await tx.query<{ id: string }>(CLOSE, [place.id, GONE[because].en]);
    if (closed.length === 0) return;

    const ids = closed.map(({ id }) => id);
    await tx.query(FORGET_PARTICIPANTS, [place.id]);
    await store.emit(
      tx,
      ids.map((id) => ({ type: "room.closed", role: "system", room: id, data: { because } })),
    );
    await withdrawRequestsIn(tx, this.#setting, ids, { because });
    if (because === "channel-removed") await this.#reportGone(tx, place);
  }

  async #reportGone(tx: Transaction, place: OpenPlace): Promise<void> {
    const { store, locale } = this.#setting;
    await store.escalate(tx, {
      subject: `room:gone:${place.id}`,
      type: "delivery",
      severity: "medium",
      tenant: place.tenant,
      source: { room: place.id },
      ...roomReports(locale).channelGone(place.name),
      context: { place: place.id, adapter: this.#adapter },
    });
  }

  async #loseAccess(tx: Transaction, place: OpenPlace, account: ChannelAccount): Promise<void> {
    await tx.query(FORGET_PARTICIPANT, [place.id, account.agent]);
    if (await isShutOut(account.agent, place.id, tx)) return; // told before
    await this.#setting.store.emit(tx, [
      {
        type: "room.access_lost",
        role: "system",
        room: place.id,
        agent: account.agent,
        data: { account: account.id },
      },
    ]);
    await this.#unreadable.accessLost(tx, account, place);
  }
}

const AUDIENCE = {
  name: "inbound.audience",
  text: `
    update dure.places
    set seen_by_all = $2
    where id = $1 and seen_by_all is distinct from $2
    returning id`,
};
const CLOSE = {
  name: "inbound.close",
  text: `
    update dure.places
    set state = 'closed', closed_because = $2
    where (id = $1 or parent = $1) and state <> 'closed'
    returning id`,
};
const FORGET_PARTICIPANTS = {
  name: "inbound.forget",
  text: `
    delete from dure.participants
    where place = $1 or place in (select id from dure.places where parent = $1)`,
};
const FORGET_PARTICIPANT = {
  name: "inbound.forget_one",
  text: `
    delete from dure.participants
    where agent = $2
      and (place = $1 or place in (select id from dure.places where parent = $1))`,
};
const ARCHIVE = {
  name: "inbound.archive",
  text: "update dure.places set archived = $2 where id = $1",
};
const RENAME = { name: "inbound.rename", text: "update dure.places set name = $2 where id = $1" };
