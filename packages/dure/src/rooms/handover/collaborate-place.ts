/** Where a collaboration takes place, and which readers it has. */

import type { Transaction } from "../../durable/database.ts";
import { newId } from "../../kernel/ids.ts";
import {
  refuse,
  topicKey,
  type Asking,
  type RefusedCollaboration,
  decideChannel,
  type Origin,
} from "./collaborate-call.ts";
import type { RoomChannel } from "../directory.ts";
import { channelNamed, channelPlaceId, mayMean } from "../named-place.ts";
import { isMadePrivate, isPrivateThread, placeOfSession, type Place } from "../place.ts";
import type { RoomsSetting } from "../talk.ts";
import { channelsFor } from "../in/configured-places.ts";
import { checkText, threadName, threadTopic } from "../text.ts";
import { enqueueNotice, orderingOf, topicOf } from "../out/notices.ts";
import { roomTexts } from "../texts.ts";
import type { RoomLimits } from "../limits.ts";
import { refuseNamed, refuseThreadOf, refuseUndecided } from "./refused-places.ts";

/** Where a collaboration takes place, and its thread where there is one already. */
export interface Where {
  readonly ok: true;
  /** What its thread is under: a channel, or a direct room of the web. */
  readonly room: Place;
  /** Absent: a direct room, whose threads its person alone reads. */
  readonly channel?: RoomChannel | undefined;
  readonly thread?: Place | undefined;
}

/** Finds where a collaboration takes place, and makes its thread. */
export class CollaborationPlaces {
  readonly #setting: RoomsSetting;

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /** The channel where a new thread would begin, or the thread that goes on. */
  async find(tx: Transaction, asking: Asking): Promise<Where | RefusedCollaboration> {
    const { threadId, channelId } = asking.call;
    const began = await this.#privateOriginOf(tx, asking.caller.session);
    if (began !== undefined) {
      const where = await this.#inPrivate(tx, asking, began);
      if (!where.ok && began !== null) await tellKeptPrivate(tx, this.#setting, asking, began);
      return where;
    }
    if (threadId !== undefined) return this.#givenThread(tx, asking, threadId);
    if (channelId !== undefined) return this.#givenChannel(tx, asking, channelId);
    return this.#ownChannel(tx, asking);
  }

  /** The place in which the caller's session is. */
  async ofSession(tx: Transaction, session: string | undefined): Promise<Place | undefined> {
    const at = session === undefined ? undefined : placeOfSession(session);
    return at && this.#setting.store.place(at.place, tx);
  }

  /** The platform and the channel of the caller's session. Absent: it is in no room. */
  async originOf(tx: Transaction, session: string | undefined): Promise<Origin | undefined> {
    const place = await this.ofSession(tx, session);
    if (!place) return undefined;
    return {
      adapter: place.adapter,
      channel: this.#setting.directory.channelOf(roomOf(place)),
    };
  }

  async makeThread(tx: Transaction, asking: Asking, { room, channel }: Where): Promise<Place> {
    const { call, from, target, text } = asking;
    const { store, adapters, locale, clock } = this.#setting;
    const adapter = adapters.get(room.adapter)!;
    const { isPrivate } = room;
    const name = threadName({
      from: from.displayName,
      to: target.displayName,
      // Names are read in more places than words.
      topic: isPrivate ? "" : threadTopic(cleaned(call.threadName), text),
      locale,
      limit: adapter.limits.threadNameLength,
    });
    const id = newId(channel === undefined ? "private" : "thread", clock.now());
    await tx.query(NEW_THREAD, [id, room.id, name, from.id, topicKey(call)]);
    await this.#enqueueThread(tx, { id, parent: room, agent: from.id });
    await store.emit(tx, [
      {
        type: "room.thread_opened",
        role: "delegation",
        room: id,
        agent: from.id,
        data: { name, parent: room.id, from: from.id, to: target.id },
      },
    ]);
    return (await store.place(id, tx))!;
  }

  /** Undefined: the session's work began where others may read. Null: in private, at no place. */
  async #privateOriginOf(
    tx: Transaction,
    session: string | undefined,
  ): Promise<Place | null | undefined> {
    if (session === undefined) return undefined;
    const [row] = await tx.query<{ place: string | null }>(PRIVATE_PLACE_OF, [session]);
    const place = row?.place ?? undefined;
    return place === undefined ? undefined : ((await this.#setting.store.place(place, tx)) ?? null);
  }

  /**
   * What is private stays so: another agent is asked where the same people read. A thread of a
   * platform takes words from its members alone.
   */
  async #inPrivate(
    tx: Transaction,
    asking: Asking,
    began: Place | null,
  ): Promise<Where | RefusedCollaboration> {
    const { threadId, channelId } = asking.call;
    const isElsewhere = channelId !== undefined && !this.#isIn(began, channelId);
    if (began === null || isElsewhere) return refusePrivate(asking);
    if (began.adapter === "web") return this.#inDirectRoom(tx, asking, began);
    if (!isMadePrivate(began.id)) return this.#inPrivateChannel(tx, asking, began);
    const isMeant = threadId === undefined || threadId === began.id;
    const isOwn = (await this.ofSession(tx, asking.caller.session))?.id === began.id;
    const channel = this.#setting.directory.channelOf(began.parent ?? "");
    const isTaken = isPrivateThread(began.id) && isOpenThread(began) && isOwn && isMeant;
    if (!isTaken || !channel?.collaborate) return refusePrivate(asking);
    return this.#inChannel(tx, asking, channel, began);
  }

  /** Whether a channel that a call names is the one where its work began. */
  #isIn(began: Place | null, channelId: string): boolean {
    if (channelId === began?.parent) return true;
    const channel = began?.kind === "channel" || began?.kind === "thread" ? roomOf(began) : "";
    const named = this.#setting.directory.channelOf(channel);
    return named !== undefined && mayMean(channelId, named, began?.tenant);
  }

  /** All who may read the channel may read its threads, and those who may not read neither. */
  async #inPrivateChannel(
    tx: Transaction,
    asking: Asking,
    began: Place,
  ): Promise<Where | RefusedCollaboration> {
    const { store, directory } = this.#setting;
    const { threadId } = asking.call;
    const channel = directory.channelOf(roomOf(began));
    if (!channel?.collaborate) return refusePrivate(asking);
    if (threadId === undefined) return this.#inChannel(tx, asking, channel);
    const thread = await store.place(threadId, tx);
    const isThere = thread?.parent === roomOf(began) && !isPrivateThread(threadId);
    if (!isThere || !isOpenThread(thread)) return refusePrivate(asking);
    return this.#inChannel(tx, asking, channel, thread);
  }

  /** In the thread where the work began; else in a thread of the person's direct room. */
  async #inDirectRoom(
    tx: Transaction,
    asking: Asking,
    began: Place,
  ): Promise<Where | RefusedCollaboration> {
    const { store } = this.#setting;
    const { threadId } = asking.call;
    const room = began.kind === "direct" ? began : await store.place(began.parent ?? "", tx);
    if (!room || room.state === "closed") return refusePrivate(asking);
    if (threadId !== undefined) {
      const thread = await store.place(threadId, tx);
      const isThere = thread?.parent === room.id && isOpenThread(thread);
      return isThere ? { ok: true, room, thread } : refusePrivate(asking);
    }
    if (began !== room && isOpenThread(began)) return { ok: true, room, thread: began };
    return { ok: true, room, thread: await this.#reusable(tx, asking, room) };
  }

  /** `thread`: what goes on there; default: the newest one of the pair. */
  async #inChannel(
    tx: Transaction,
    asking: Asking,
    channel: RoomChannel,
    thread?: Place,
  ): Promise<Where> {
    const room = (await this.#setting.store.place(channelPlaceId(channel, asking.tenant), tx))!;
    return { ok: true, room, channel, thread: thread ?? (await this.#reusable(tx, asking, room)) };
  }

  async #givenThread(
    tx: Transaction,
    asking: Asking,
    threadId: string,
  ): Promise<Where | RefusedCollaboration> {
    const { store, directory } = this.#setting;
    const thread = await store.place(threadId, tx);
    const isThere = thread?.tenant === asking.tenant && isOpenThread(thread);
    // An operator speaks from no session; who is a member asks from there.
    const mayEnter = asking.caller.session === undefined || thread?.isPrivate === false;
    if (!isThere || !mayEnter) {
      return refuse(
        "THREAD_NOT_FOUND",
        `There is no open thread "${threadId}".`,
        "Leave threadId out, and a thread is found or made.",
      );
    }
    const channel = directory.channelOf(thread.parent ?? "");
    if (!channel?.collaborate) return refuseThreadOf(channel, threadId);
    return this.#inChannel(tx, asking, channel, thread);
  }

  async #givenChannel(
    tx: Transaction,
    asking: Asking,
    channelId: string,
  ): Promise<Where | RefusedCollaboration> {
    const channels = channelsFor(asking.tenant, this.#setting.directory);
    const named = channelNamed(channelId, channels, asking.tenant);
    return named.ok && named.channel.collaborate
      ? this.#inChannel(tx, asking, named.channel)
      : refuseNamed(channelId, named, channels);
  }

  /** Where the asker is; a thread of the pair goes on only there. */
  async #ownChannel(tx: Transaction, asking: Asking): Promise<Where | RefusedCollaboration> {
    const { from, target, caller, tenant } = asking;
    const { directory } = this.#setting;
    const { defaultChannel } = directory;
    const channels = channelsFor(tenant, directory).filter((channel) => channel.collaborate);
    const origin = await this.originOf(tx, caller.session);
    const decided = decideChannel({ origin, from, target, channels, defaultChannel });
    if (decided.channel) return this.#inChannel(tx, asking, decided.channel);
    return refuseUndecided({ from, channels, defaultChannel }, decided);
  }

  /** The newest thread of this pair and topic in the channel or direct room. */
  async #reusable(
    tx: Transaction,
    { call, from, target }: Asking,
    room: Place,
  ): Promise<Place | undefined> {
    const { store, limits } = this.#setting;
    const route = [from.id, target.id, topicKey(call), room.id, limits.routeMs];
    const [row] = await tx.query<{ thread: string }>(FIND_ROUTE, route);
    return row && store.place(row.thread, tx);
  }

  async #enqueueThread(
    tx: Transaction,
    { id, parent, agent }: { id: string; parent: Place; agent: string },
  ): Promise<void> {
    const { adapters, directory, limits } = this.#setting;
    const adapter = adapters.get(parent.adapter)!;
    const account = directory.account(parent.adapter, agent)!;
    const delayMs = await threadSlot(tx, parent, limits);
    await tx.query(ENQUEUE_THREAD, [
      JSON.stringify([
        {
          topic: topicOf(parent.adapter, account.id, adapter.isLocal),
          ordering: orderingOf(account.id, id),
          key: `${id}/made`,
          payload: { kind: "thread", place: id },
          delay_ms: delayMs,
        },
      ]),
    ]);
  }
}

/** What a place is, or is a thread of. */
function roomOf({ kind, parent, id }: Place): string {
  return kind === "thread" ? (parent ?? "") : id;
}

function isOpenThread({ kind, state, isSink }: Place): boolean {
  return kind === "thread" && state !== "closed" && !isSink;
}

/** Without signs that would let a name pose as another one. */
function cleaned(name: string | undefined): string | undefined {
  const checked = name === undefined ? undefined : checkText(name);
  return checked?.ok ? checked.text : undefined;
}

/**
 * Parameters: from, to, topic, the places of allowed channels, milliseconds. A private thread is
 * reused by those who are in it alone, and they need no route.
 */
export const FIND_ROUTE = {
  name: "collaborate.find_route",
  text: `
    select r.thread
    from dure.thread_routes r
    join dure.places p on p.id = r.thread
    where r.from_agent = $1
      and r.to_agent = $2
      and r.topic = $3
      and p.parent = $4
      -- only a direct room's own threads are as private as it is
      and starts_with(p.id, 'private_') = starts_with($4, 'direct_')
      and r.renewed_at > clock_timestamp() - $5::double precision * interval '1 millisecond'
      and p.state <> 'closed'
    order by r.renewed_at desc
    limit 1`,
};
/** The private place in which a session's work began, empty for none of rooms; null: not private. */
export const PRIVATE_PLACE_OF = {
  name: "rooms.private_place_of",
  text: "select dure.private_place_of($1) as place",
};
/** A thread of a direct room is that person's, too. */
const NEW_THREAD = {
  name: "collaborate.new_thread",
  text: `
    insert into dure.places (
      id, adapter, kind, parent, name, tenant, guild, channel, person, owner, topic
    )
    select $1, adapter, 'thread', id, $3, tenant, guild, channel, person, $4, $5
    from dure.places
    where id = $2`,
};
const ENQUEUE_THREAD = { name: "collaborate.enqueue_thread", text: "select dure.enqueue($1)" };

/** No place of the platform has just these readers. */
function refusePrivate({ from, target }: Asking): RefusedCollaboration {
  return refuse(
    "PRIVATE_ORIGIN",
    `This began in a private conversation, and no place here is read by its person, ${from.id} ` +
      `and ${target.id} alone. Nothing was handed over.`,
    `Answer yourself, or ask the person to write to ${target.id} directly, or to repeat it in a ` +
      "channel where all may read it.",
  );
}

/**
 * Tells the person of a direct message, which has no private thread, what to do instead, whatever the
 * agent makes of the refusal: once for each of the person's words and each agent.
 */
async function tellKeptPrivate(
  tx: Transaction,
  { locale }: Pick<RoomsSetting, "locale">,
  { from, target }: Asking,
  began: Place,
): Promise<void> {
  if (began.kind !== "direct" || began.adapter === "web") return;
  const [asked] = await tx.query<{ id: string }>(LAST_WORDS, [began.id]);
  if (!asked) return;
  await enqueueNotice(tx, {
    place: began.id,
    author: began.agent ?? from.id,
    text: roomTexts(locale).keptPrivate(target.displayName),
    key: `${asked.id}/kept-private/${target.id}`,
  });
}

const LAST_WORDS = {
  name: "kept_private.last_words",
  text: `
    select id
    from dure.room_messages
    where place = $1 and author_kind = 'person'
    order by seq desc
    limit 1`,
};

/**
 * Milliseconds until agents may make one more thread in the guild of this channel. Takes the slot.
 * Source: docs/spec/collaboration §5.
 */
export async function threadSlot(
  tx: Transaction,
  channel: Pick<Place, "adapter" | "guild">,
  limits: Pick<RoomLimits, "threadsPerMinute">,
): Promise<number> {
  const [made] = await tx.query<{ wait: number }>(THREAD_SLOT, [
    `${channel.adapter}:${channel.guild ?? ""}`,
    limits.threadsPerMinute,
  ]);
  return made!.wait;
}

const THREAD_SLOT = {
  name: "room.thread_slot",
  text: `
    insert into dure.guild_threads as g (guild, created)
    values ($1, array[clock_timestamp()])
    on conflict (guild)
    do update set created = (
      select array_agg(at order by at)
      from (
        select at
        from unnest(g.created) at
        where at > clock_timestamp() - interval '60 seconds'
        union all
        select greatest(
          clock_timestamp(),
          coalesce(
            (
              select at + interval '60 seconds'
              from unnest(g.created) at
              where at > clock_timestamp() - interval '60 seconds'
              order by at desc offset $2::integer - 1
              limit 1
            ),
            clock_timestamp()
          )
        )
      ) slots
    )
    returning greatest(
      0, extract(epoch from created[cardinality(created)] - clock_timestamp()) * 1000
    )::double precision as wait`,
};
