import type { Transaction } from "../durable/database.ts";
import type { Audience, ChannelAccount, PlaceChange } from "./channel-adapter.ts";
import { isShutOut } from "./account-cannot-read.ts";
import type { UnreadablePlaceReports } from "./unreadable-place-reports.ts";
import { channelPlaceId } from "./directory.ts";
import type { OpenPlace } from "./place.ts";
import { roomReports } from "./reports.ts";
import { withdrawRequestsIn } from "./requests.ts";
import type { RoomsSetting } from "./talk.ts";
import { GONE } from "./texts.ts";

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
