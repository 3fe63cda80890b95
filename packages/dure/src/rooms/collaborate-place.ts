import type { Transaction } from "../durable/database.ts";
import { newId } from "../kernel/ids.ts";
import { refuse, topicKey, type Asking, type Refusal } from "./collaborate-call.ts";
import { channelPlaceId, type RoomChannel } from "./directory.ts";
import { decideChannel, isCalled, type Origin } from "./origin.ts";
import { isPrivateThread, placeOfSession, type Place } from "./place.ts";
import { orderingOf, topicOf } from "./outbox-keys.ts";
import type { RoomsSetting } from "./talk.ts";
import { channelsFor } from "./tenant-rooms.ts";
import { checkText, threadName, threadTopic } from "./text.ts";
import { threadSlot } from "./thread-slot.ts";

/** The channel of a collaboration, and its thread where there is one already. */
export interface Where {
  readonly ok: true;
  readonly channel: RoomChannel;
  readonly thread?: Place;
}

/** Finds where a collaboration takes place, and makes its thread. */
export class CollaborationPlaces {
  readonly #setting: RoomsSetting;

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /** The channel where a new thread would begin, or the thread that goes on. */
  async find(tx: Transaction, asking: Asking): Promise<Where | Refusal> {
    const { threadId, channelId } = asking.call;
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
    const id = place.kind === "thread" ? (place.parent ?? "") : place.id;
    return { adapter: place.adapter, channel: this.#setting.directory.channelOf(id) };
  }

  async makeThread(tx: Transaction, asking: Asking, channel: RoomChannel): Promise<Place> {
    const { call, from, target, text, tenant } = asking;
    const { store, adapters, locale, clock } = this.#setting;
    const adapter = adapters.get(channel.adapter)!;
    const parent = (await store.place(channelPlaceId(channel, tenant), tx))!;
    const name = threadName({
      from: from.displayName,
      to: target.displayName,
      topic: threadTopic(cleaned(call.threadName), text),
      locale,
      limit: adapter.limits.threadNameLength,
    });
    const id = newId("thread", clock.now());
    await tx.query(NEW_THREAD, [
      id,
      channel.adapter,
      parent.id,
      name,
      parent.tenant,
      parent.guild,
      parent.channel,
      from.id,
      topicKey(call),
    ]);
    await this.#enqueueThread(tx, { id, parent, agent: from.id });
    await store.emit(tx, [
      {
        type: "room.thread_opened",
        role: "delegation",
        room: id,
        agent: from.id,
        data: { name, parent: parent.id, from: from.id, to: target.id },
      },
    ]);
    return (await store.place(id, tx))!;
  }

  async #givenThread(tx: Transaction, asking: Asking, threadId: string): Promise<Where | Refusal> {
    const { store, directory } = this.#setting;
    const thread = await store.place(threadId, tx);
    const isThere = thread?.tenant === asking.tenant && isOpenThread(thread);
    if (!isThere || !(await this.#mayEnter(tx, asking, thread))) {
      return refuse(
        "THREAD_NOT_FOUND",
        `There is no open thread "${threadId}".`,
        "Leave threadId out, and a thread is found or made.",
      );
    }
    const channel = directory.channelOf(thread.parent ?? "");
    if (!channel?.collaborate) {
      return refuse(
        "CHANNEL_NOT_ALLOWED",
        `Collaborations are not allowed in the channel of the thread "${threadId}".`,
        "Leave threadId out.",
      );
    }
    return { ok: true, channel, thread };
  }

  /** A private thread takes words from its members alone; an operator speaks from no session. */
  async #mayEnter(tx: Transaction, { caller }: Asking, { id }: Place): Promise<boolean> {
    if (!isPrivateThread(id) || caller.session === undefined) return true;
    return (await this.ofSession(tx, caller.session))?.id === id;
  }

  async #givenChannel(
    tx: Transaction,
    asking: Asking,
    channelId: string,
  ): Promise<Where | Refusal> {
    const channels = channelsFor(asking.tenant, this.#setting.directory);
    const wanted = channels.find((channel) => isCalled(channel, channelId));
    if (wanted?.collaborate) {
      return (await this.#reusable(tx, asking, wanted)) ?? { ok: true, channel: wanted };
    }
    const allowed = channels
      .filter((channel) => channel.collaborate)
      .map((channel) => channelPlaceId(channel));
    return refuse(
      "CHANNEL_NOT_ALLOWED",
      `Collaborations are not allowed in "${channelId}".`,
      `Allowed are: ${allowed.join(", ") || "none"}. ` +
        "Set rooms.channels.<key>.collaborate to allow another one.",
    );
  }

  /** Where the asker is; a thread of the pair goes on only there. */
  async #ownChannel(tx: Transaction, asking: Asking): Promise<Where | Refusal> {
    const { from, target, caller, tenant } = asking;
    const { directory, defaultChannel } = this.#setting;
    const channels = channelsFor(tenant, directory).filter((channel) => channel.collaborate);
    const own = await this.#ownPrivateThread(tx, caller.session);
    if (own) return own;
    const origin = await this.originOf(tx, caller.session);
    const decided = decideChannel({ origin, from, target, channels, defaultChannel });
    if (decided.channel) {
      const { channel } = decided;
      return (await this.#reusable(tx, asking, channel)) ?? { ok: true, channel };
    }
    return refuse(
      "CHANNEL_REQUIRED",
      decided.because === "several-platforms"
        ? `Both agents are on ${decided.platforms.join(" and ")}, and this session is on none.`
        : `No channel is set for ${from.id} on ${decided.platforms.join(", ") || "any platform"}.`,
      `Give channelId, or set agents.${from.id}.channel or ` +
        "rooms.defaultChannel in dure.config.ts.",
    );
  }

  /** What is private stays so: another agent is asked where its members are. */
  async #ownPrivateThread(
    tx: Transaction,
    session: string | undefined,
  ): Promise<Where | undefined> {
    const thread = await this.ofSession(tx, session);
    if (!thread || !isPrivateThread(thread.id) || !isOpenThread(thread)) return undefined;
    const channel = this.#setting.directory.channelOf(thread.parent ?? "");
    return channel?.collaborate ? { ok: true, channel, thread } : undefined;
  }

  /** The newest thread of this pair and topic in the channel. */
  async #reusable(
    tx: Transaction,
    { call, from, target, tenant }: Asking,
    channel: RoomChannel,
  ): Promise<Where | undefined> {
    const { store, limits } = this.#setting;
    const [row] = await tx.query<{ thread: string }>(FIND_ROUTE, [
      from.id,
      target.id,
      topicKey(call),
      [channelPlaceId(channel, tenant)],
      limits.routeMs,
    ]);
    const thread = row && (await store.place(row.thread, tx));
    return thread && { ok: true, channel, thread };
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
      and p.parent = any($4::text[])
      and not starts_with(p.id, 'private_')
      and r.renewed_at > clock_timestamp() - $5::double precision * interval '1 millisecond'
      and p.state <> 'closed'
    order by r.renewed_at desc
    limit 1`,
};
const NEW_THREAD = {
  name: "collaborate.new_thread",
  text: `
    insert into dure.places (
      id, adapter, kind, parent, name, tenant, guild, channel, owner, topic
    )
    values ($1, $2, 'thread', $3, $4, $5, $6, $7, $8, $9)`,
};
const ENQUEUE_THREAD = { name: "collaborate.enqueue_thread", text: "select dure.enqueue($1)" };
