import type { Transaction } from "../durable/database.ts";
import { newId } from "../kernel/ids.ts";
import { isOffline, leaseName, LOST_AT, stateOf, type AccountRow } from "./accounts.ts";
import { isShutOut } from "./deaf.ts";
import { channelPlaceId, type RoomAgent, type RoomChannel } from "./directory.ts";
import { chainAllows, pairMayCall } from "./guards.ts";
import { enqueueNotice } from "./notices.ts";
import { placeOfSession, type Place } from "./place.ts";
import { roomReports } from "./reports.ts";
import {
  HANDLINGS_TOPIC,
  LIFT,
  orderingOf,
  topicOf,
  type RoomsSetting,
  type Talk,
} from "./talk.ts";
import { checkText, threadName, threadTopic } from "./text.ts";
import { channelsFor, makeRoomsOf, tenantOfSession } from "./tenant-rooms.ts";
import { threadSlot } from "./thread-slot.ts";
import { roomTexts } from "./texts.ts";

/**
 * One agent hands work to another, where everybody can see it. Source: docs/spec/collaboration §4.
 */
export interface CollaborateCall {
  /** Agent id, or account id. */
  readonly targetAgent: string;
  readonly message: string;
  /** Pairs have one thread per topic. Absent is a topic of its own. */
  readonly topic?: string | undefined;
  /** That thread, whatever its age. */
  readonly threadId?: string | undefined;
  /** A place id such as `web:general`, or a channel's key. */
  readonly channelId?: string | undefined;
  /** For a new thread; default: the beginning of the message. */
  readonly threadName?: string | undefined;
  readonly attachments?: readonly string[] | undefined;
  /** From outside: the same key within 5 min gives the first result. */
  readonly idempotencyKey?: string | undefined;
}

/** Who calls, and from where. */
export interface CollaborateCaller {
  readonly agent: string;
  /** Of any kind: a room's, HTTP, CLI, a job's. */
  readonly session?: string;
  readonly turn?: string;
  readonly job?: string;
  /** Of the call itself, the same after every crash; kept as long as the turn. */
  readonly callKey?: string;
}

export type CollaborateCode =
  | "INVALID_ARGUMENT"
  | "AGENT_UNKNOWN"
  | "AGENT_OFFLINE"
  | "CHANNEL_NOT_ALLOWED"
  | "CHANNEL_REQUIRED"
  | "THREAD_NOT_FOUND"
  | "LOOP_GUARD"
  | "PERMISSION_DENIED"
  | "DELIVERY_FAILED";

export type CollaborateResult =
  | {
      readonly ok: true;
      readonly threadId: string;
      readonly threadName: string;
      readonly channelId: string;
      readonly messageId: string;
      readonly reused: boolean;
      readonly delivery: "sent" | "queued";
      readonly note: string;
    }
  | {
      readonly ok: false;
      readonly code: CollaborateCode;
      readonly message: string;
      readonly hint: string;
      readonly escalated: boolean;
    };

/** Longest wait for a word that something was sent before one looks all the same, milliseconds. */
const LOOK_AGAIN_MS = 100;

type Refusal = Extract<CollaborateResult, { ok: false }>;
type Accepted = Extract<CollaborateResult, { ok: true }>;

/**
 * The tool's work: checks in order, finds the thread, posts, opens a request; all in one
 * transaction with what leaves.
 */
export class Collaboration {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;

  constructor(setting: RoomsSetting, talk: Talk) {
    this.#setting = setting;
    this.#talk = talk;
  }

  /** Never waits for the answer; for the platform at most 2.5 s. */
  async collaborate(
    caller: CollaborateCaller,
    call: CollaborateCall,
    options: { signal?: AbortSignal } = {},
  ): Promise<CollaborateResult> {
    const { database } = this.#setting;
    const result = await database.transaction((tx) => this.#decideAndPost(tx, caller, call));
    this.#talk.announce();
    if (!result.ok || result.delivery === "sent") return result;
    return this.#whenDelivered(result, caller, call, options);
  }

  async #decideAndPost(
    tx: Transaction,
    caller: CollaborateCaller,
    call: CollaborateCall,
  ): Promise<CollaborateResult> {
    const { directory, store } = this.#setting;
    const key = keyOf(caller, call);
    if (key !== undefined) {
      await tx.query(KEY_LOCK, [key]);
      const [known] = await tx.query<{ result: CollaborateResult }>(KNOWN, [
        key,
        caller.callKey === undefined ? this.#setting.limits.callKeyMs : null,
      ]);
      if (known) return known.result;
    }
    const from = directory.get(caller.agent);
    const checked = checkText(call.message);
    if (!checked.ok) {
      return refuse(
        "INVALID_ARGUMENT",
        checked.because === "empty" ? "The message is empty." : "The message cannot be posted.",
        "Say what you want done, in at most 100,000 characters.",
      );
    }
    const target = directory.find(call.targetAgent);
    if (target?.id === from.id) {
      return refuse(
        "INVALID_ARGUMENT",
        `${from.id} cannot hand work to itself.`,
        `Name another agent: ${directory.agents
          .filter((agent) => agent !== from)
          .map((agent) => agent.id)
          .join(", ")}.`,
      );
    }
    if (!target) {
      return refuse(
        "AGENT_UNKNOWN",
        `There is no agent "${call.targetAgent}".`,
        directory.unknownHint(call.targetAgent),
      );
    }

    const tenant = await tenantOfSession(caller.session, tx);
    await makeRoomsOf(tenant, directory, tx);
    const where = await this.#where(tx, { ...caller, tenant }, call, from, target);
    const offline = await this.#offline(
      tx,
      { channel: where.ok ? where.channel : undefined, tenant },
      from,
      target,
    );
    if (offline) return offline;
    if (!where.ok) return where;

    const handBack = await this.#handBack(
      tx,
      caller,
      { ...call, message: checked.text },
      from,
      target,
    );
    const result =
      handBack ??
      (await this.#ask(tx, { ...caller, tenant }, call, {
        from,
        target,
        text: checked.text,
        where,
      }));
    if (key !== undefined && result.ok) await tx.query(REMEMBER, [key, JSON.stringify(result)]);
    if (result.ok) {
      await store.emit(tx, [
        {
          type: "collaborate.asked",
          role: "delegation",
          agent: from.id,
          room: result.threadId,
          ...(caller.session !== undefined && { session: caller.session }),
          data: {
            from: from.id,
            to: target.id,
            thread: result.threadId,
            message: result.messageId,
            reused: result.reused,
          },
        },
      ]);
    }
    return result;
  }

  /** The platform of the place, the channel where a new thread would begin, or the given thread. */
  async #where(
    tx: Transaction,
    caller: OwnedCaller,
    call: CollaborateCall,
    from: RoomAgent,
    target: RoomAgent,
  ): Promise<Where | Refusal> {
    const { directory, store } = this.#setting;
    const { tenant } = caller;
    const channels = channelsFor(tenant, directory);
    if (call.threadId !== undefined) {
      const thread = await store.place(call.threadId, tx);
      if (
        !thread ||
        thread.tenant !== tenant ||
        thread.kind !== "thread" ||
        thread.state === "closed" ||
        thread.isSink
      ) {
        return refuse(
          "THREAD_NOT_FOUND",
          `There is no open thread "${call.threadId}".`,
          "Leave threadId out, and a thread is found or made.",
        );
      }
      const channel = directory.channelOf(thread.parent ?? "");
      if (!channel?.collaborate) {
        return refuse(
          "CHANNEL_NOT_ALLOWED",
          `Collaborations are not allowed in the channel of the thread "${call.threadId}".`,
          "Leave threadId out.",
        );
      }
      return { ok: true, channel, thread };
    }
    const topic = topicKey(call);
    if (call.channelId !== undefined) {
      const wanted = channels.find((channel) => isCalled(channel, call.channelId!));
      if (wanted?.collaborate) {
        return (
          (await this.#reusable(tx, {
            from: from.id,
            target: target.id,
            topic,
            channels: [wanted],
            tenant,
          })) ?? { ok: true, channel: wanted }
        );
      }
      const allowed = channels
        .filter((channel) => channel.collaborate)
        .map((channel) => channelPlaceId(channel));
      return refuse(
        "CHANNEL_NOT_ALLOWED",
        `Collaborations are not allowed in "${call.channelId}".`,
        `Allowed are: ${allowed.join(", ") || "none"}. Set rooms.channels.<key>.collaborate to allow another one.`,
      );
    }
    const common = (channel: RoomChannel): boolean =>
      channel.collaborate &&
      from.accounts[channel.adapter] !== undefined &&
      target.accounts[channel.adapter] !== undefined;
    const found = await this.#reusable(tx, {
      from: from.id,
      target: target.id,
      topic,
      channels: channels.filter(common),
      tenant,
    });
    if (found) return found;
    const place = await this.#placeOfSession(tx, caller.session);
    const own =
      place && directory.channelOf(place.kind === "thread" ? (place.parent ?? "") : place.id);
    if (own?.collaborate) return { ok: true, channel: own };
    const fallback =
      channels.find((channel) => channel.key === from.channel && common(channel)) ??
      channels.find((channel) => channel.key === this.#setting.defaultChannel && common(channel));
    if (fallback) return { ok: true, channel: fallback };
    return refuse(
      "CHANNEL_REQUIRED",
      `This session has no channel, and ${from.id} has no default channel.`,
      `Give channelId, or set agents.${from.id}.channel or rooms.defaultChannel in dure.config.ts.`,
    );
  }

  async #placeOfSession(tx: Transaction, session: string | undefined): Promise<Place | undefined> {
    const at = session === undefined ? undefined : placeOfSession(session);
    return at && this.#setting.store.place(at.place, tx);
  }

  /**
   * On the platform of the place, which the target has to see; where that is not known, on all of
   * them.
   */
  async #offline(
    tx: Transaction,
    { channel, tenant }: { channel: RoomChannel | undefined; tenant: string },
    from: RoomAgent,
    target: RoomAgent,
  ): Promise<Refusal | undefined> {
    const { store, limits, directory, locale } = this.#setting;
    const adapters = channel ? [channel.adapter] : [...this.#setting.adapters.keys()];
    const whys: string[] = [];
    for (const adapter of adapters) {
      const account = directory.account(adapter, target.id);
      if (!directory.account(adapter, from.id)) {
        if (adapters.length === 1) {
          return refuse(
            "AGENT_OFFLINE",
            `${from.id} has no account on ${adapter}.`,
            directory.unknownHint(from.id),
          );
        }
        continue;
      }
      const [row] = account
        ? await tx.query<AccountRow>(ACCOUNT, [adapter, account.id, leaseName(adapter, account.id)])
        : [];
      const state = row && stateOf(row);
      if (state && !isOffline(state, row.now.getTime(), limits.offlineAfterMs)) {
        if (!channel || !(await isShutOut(target.id, channelPlaceId(channel, tenant), tx))) {
          return undefined;
        }
        whys.push(`does not see ${channel.name} any more`);
        continue;
      }
      whys.push(
        !account
          ? `has no account on ${adapter}`
          : `is ${state?.state ?? "not connected"}${row?.detail ? ` (${row.detail})` : ""}`,
      );
    }
    const why = whys[0] ?? "shares no platform with it";
    await store.escalate(tx, {
      subject: `room:offline:${pairOf(from.id, target.id).join(":")}:AGENT_OFFLINE`,
      type: "agent_offline",
      severity: "medium",
      ...roomReports(locale).offline(from.displayName, target.displayName, why),
      context: { from: from.id, to: target.id, adapter: adapters.join(", ") },
    });
    return {
      ...refuse(
        "AGENT_OFFLINE",
        `${target.displayName} (${target.id}) ${why}.`,
        "Do it yourself, ask another agent, or tell the person; an operator has been told.",
      ),
      escalated: true,
    };
  }

  /** In a collaboration's own thread an answer to the asker is just a message (L3). */
  async #handBack(
    tx: Transaction,
    caller: CollaborateCaller,
    call: CollaborateCall,
    from: RoomAgent,
    target: RoomAgent,
  ): Promise<Accepted | undefined> {
    const place = await this.#placeOfSession(tx, caller.session);
    if (
      !place ||
      (call.threadId !== undefined &&
        (await this.#setting.store.place(call.threadId, tx))?.id !== place.id)
    ) {
      return undefined;
    }
    const [asked] = await tx.query(ASKED_HERE, [place.id, target.id, from.id]);
    const channel = this.#setting.directory.channelOf(place?.parent ?? "");
    if (
      !asked ||
      (call.channelId !== undefined && !(channel && isCalled(channel, call.channelId)))
    ) {
      return undefined;
    }
    return this.#sayPlainly(
      tx,
      { place: place.id, during: caller.turn },
      withLinks(call.message, call.attachments),
      from,
      target,
      "You are in the thread of this collaboration: just write there. It was posted as a message; no new request was opened.",
    );
  }

  /**
   * `request`: the chain that the message belongs to, for whoever handles it. `during`: the turn
   * that says it; the request for which that turn was started is answered by it.
   */
  async #sayPlainly(
    tx: Transaction,
    where: { place: string; request?: string; during: string | undefined },
    message: string,
    from: RoomAgent,
    target: RoomAgent,
    note: string,
  ): Promise<Accepted | undefined> {
    const { store } = this.#setting;
    const place = await store.open(tx, where.place);
    if (!place || place.state === "closed") return undefined;
    const { messageId } = await this.#talk.say(tx, place, {
      author: from.id,
      text: addressed(message, target),
      ...(where.request !== undefined && { request: where.request }),
      ...(where.during !== undefined && { during: where.during }),
    });
    return {
      ok: true,
      threadId: place.id,
      threadName: place.name,
      channelId: place.parent ?? place.id,
      messageId,
      reused: true,
      delivery: "queued",
      note,
    };
  }

  async #ask(
    tx: Transaction,
    caller: OwnedCaller,
    call: CollaborateCall,
    given: { from: RoomAgent; target: RoomAgent; text: string; where: Where },
  ): Promise<CollaborateResult> {
    const { store, limits } = this.#setting;
    const { from, target, text, where } = given;
    const topic = topicKey(call);
    const parent = await this.#requestOf(tx, caller);
    // Every hop counts, also one to an agent that is in the chain already: a ring would have no
    // depth otherwise.
    const chain = parent
      ? [...parent.chain, ...(parent.to === from.id ? [] : [parent.to]), from.id]
      : [from.id];
    const reusable = where.thread;

    const verdict = chainAllows(chain, target.id, (parent?.topic ?? "") === topic, limits);
    if (verdict === "cycle" && parent) {
      const said = await this.#sayPlainly(
        tx,
        { place: parent.thread, request: parent.id, during: caller.turn },
        withLinks(text, call.attachments),
        from,
        target,
        `${target.displayName} is already in this chain of requests; it was posted as a message in its thread.`,
      );
      if (said) return said;
    }
    if (verdict !== "ok") {
      return this.#trip(tx, {
        tenant: caller.tenant,
        from,
        target,
        place: reusable?.id ?? parent?.thread,
        message: `The chain of requests is ${chain.length} agents long (${[...chain, target.id].join(" → ")}).`,
        hint: "Answer with what you have, or ask a person.",
        kind: "chain",
        chain: [...chain, target.id],
      });
    }

    const pair = pairOf(from.id, target.id);
    const [row] = await tx.query<{ calls: number[] | null; now: number }>(PAIR, [...pair]);
    const may = pairMayCall(row?.calls ?? [], row!.now, limits);
    if (!may.ok) {
      const minutes = Math.max(1, Math.ceil(may.waitMs / 60_000));
      return this.#trip(tx, {
        tenant: caller.tenant,
        from,
        target,
        place: reusable?.id,
        message: `${from.id} and ${target.id} have called each other ${limits.pairCalls} times within ${Math.round(limits.pairPerMs / 60_000)} min.`,
        hint: `Wait ${minutes} min${reusable ? `, or go on in the thread ${reusable.id} (${reusable.name})` : ""}.`,
        kind: "pair",
        minutes,
      });
    }
    await tx.query(PAIR_CALLED, [...pair, JSON.stringify(may.calls)]);

    const thread =
      reusable ??
      (await this.#makeThread(tx, call, {
        from,
        target,
        text,
        topic,
        channel: where.channel,
        tenant: caller.tenant,
      }));
    const place = await store.open(tx, thread.id); // first: who took part in a thread that slept for too long goes with this
    await tx.query(JOIN, [thread.id, [from.id, target.id]]);
    const request = newId("request", place!.now);
    const { messageId } = await this.#talk.say(tx, place!, {
      author: from.id,
      text: addressed(withLinks(text, call.attachments), target),
      mentions: [target.id],
      request,
    });
    const began = await this.#placeOfSession(tx, caller.session);
    const origin = {
      ...(began && { place: began.id }),
      ...(caller.session !== undefined && { session: caller.session }),
      ...(caller.turn !== undefined && { turn: caller.turn }),
      ...(caller.job !== undefined && { job: caller.job }),
    };
    await tx.query(OPEN_REQUEST, [
      request,
      from.id,
      target.id,
      topic,
      thread.id,
      messageId,
      JSON.stringify(origin),
      chain,
      limits.reminderMs[0],
    ]);
    await tx.query(ROUTE, [
      from.id,
      target.id,
      topic,
      channelPlaceId(where.channel, caller.tenant),
      thread.id,
    ]);
    return {
      ok: true,
      threadId: thread.id,
      threadName: thread.name,
      channelId: channelPlaceId(where.channel, caller.tenant),
      messageId,
      reused: reusable !== undefined,
      delivery: "queued",
      note: `Handed over to ${target.displayName} (${target.id}) in “${thread.name}”. The answer comes there; go on serving your person and do not wait.`,
    };
  }

  /** What the caller's own turn was asked, so that chains are known. */
  async #requestOf(
    tx: Transaction,
    caller: CollaborateCaller,
  ): Promise<
    { id: string; to: string; chain: readonly string[]; topic: string; thread: string } | undefined
  > {
    if (caller.turn === undefined) return undefined;
    const [row] = await tx.query<{
      id: string;
      to: string;
      chain: string[];
      topic: string;
      thread: string;
    }>(REQUEST_OF_TURN, [caller.turn]);
    return row;
  }

  /** The newest thread of this pair and topic, in one of these channels. */
  async #reusable(
    tx: Transaction,
    about: {
      from: string;
      target: string;
      topic: string;
      channels: readonly RoomChannel[];
      tenant: string;
    },
  ): Promise<Where | undefined> {
    const { from, target, topic, channels, tenant } = about;
    const places = channels.map((channel) => channelPlaceId(channel, tenant));
    const [row] = await tx.query<{ thread: string }>(FIND_ROUTE, [
      from,
      target,
      topic,
      places,
      this.#setting.limits.routeMs,
    ]);
    const thread = row && (await this.#setting.store.place(row.thread, tx));
    const channel = channels.find((allowed) => channelPlaceId(allowed, tenant) === thread?.parent);
    return thread && channel && { ok: true, channel, thread };
  }

  async #makeThread(tx: Transaction, call: CollaborateCall, about: NewThread): Promise<Place> {
    const { from, target, text, topic, channel, tenant } = about;
    const { store, adapters, directory, locale, limits } = this.#setting;
    const adapter = adapters.get(channel.adapter)!;
    const parent = (await store.place(channelPlaceId(channel, tenant), tx))!;
    const name = threadName(
      from.displayName,
      target.displayName,
      threadTopic(cleaned(call.threadName), text),
      locale,
      adapter.limits.threadNameLength,
    );
    const id = newId("thread", this.#setting.clock.now());
    const account = directory.account(channel.adapter, from.id)!;
    const delayMs = await threadSlot(tx, parent, limits);
    await tx.query(NEW_THREAD, [
      id,
      channel.adapter,
      parent.id,
      name,
      parent.tenant,
      parent.guild,
      parent.channel,
      from.id,
      topic,
    ]);
    await tx.query(ENQUEUE_THREAD, [
      JSON.stringify([
        {
          topic: topicOf(channel.adapter, account.id, adapter.isLocal),
          ordering: orderingOf(account.id, id),
          key: `${id}/made`,
          payload: { kind: "thread", place: id },
          delay_ms: delayMs,
        },
      ]),
    ]);
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

  async #trip(
    tx: Transaction,
    trip: {
      tenant: string;
      from: RoomAgent;
      target: RoomAgent;
      place: string | undefined;
      message: string;
      hint: string;
    } & ({ kind: "pair"; minutes: number } | { kind: "chain"; chain: readonly string[] }),
  ): Promise<Refusal> {
    const { store, directory, locale } = this.#setting;
    const { from, target } = trip;
    const texts = roomTexts(locale);
    const subject = `room:loop:${pairOf(from.id, target.id).join(":")}:${trip.kind}`;
    await store.emit(tx, [
      {
        type: "room.guard_tripped",
        role: "system",
        tenant: trip.tenant,
        agent: from.id,
        ...(trip.place !== undefined && { room: trip.place }),
        data: { guard: trip.kind, from: from.id, to: target.id },
      },
    ]);
    const [told] = await tx.query(OPEN_ESCALATION, [subject]);
    const text =
      trip.kind === "pair"
        ? texts.pairBlocked(from.displayName, target.displayName, trip.minutes)
        : texts.chainStopped(trip.chain.map((agent) => directory.nameOf(agent)).join(" → "));
    const id = await store.escalate(tx, {
      subject,
      tenant: trip.tenant,
      type: "conflict",
      severity: "medium",
      ...(trip.place !== undefined && { source: { room: trip.place } }),
      title: text,
      context: { guard: trip.kind, from: from.id, to: target.id, place: trip.place ?? null },
      // A chain is nothing that goes on being stopped: what a person says begins a new one.
      ...(trip.kind === "pair" && {
        suggestedActions: [LIFT, { value: "seen", code: "seen", label: "확인 / Seen" }],
      }),
    });
    // Told once while its escalation is open, by the one who was refused.
    if (!told && trip.place !== undefined) {
      await enqueueNotice(tx, {
        place: trip.place,
        author: from.id,
        text,
        ...(trip.kind === "pair" && {
          buttons: [{ value: `${id}:${LIFT.value}`, code: LIFT.code, label: LIFT.label }],
        }),
      });
    }
    return { ...refuse("LOOP_GUARD", trip.message, trip.hint), escalated: true };
  }

  /** Up to 2.5 s for the platform's word; a permanent refusal is the answer. */
  async #whenDelivered(
    result: Accepted,
    caller: CollaborateCaller,
    call: CollaborateCall,
    options: { signal?: AbortSignal },
  ): Promise<CollaborateResult> {
    const { clock, limits, notifications } = this.#setting;
    const until = clock.monotonic() + limits.deliveryWaitMs;
    let told = new AbortController();
    const unsubscribe = notifications.subscribe(HANDLINGS_TOPIC, () => told.abort());
    try {
      while (clock.monotonic() < until) {
        told = new AbortController(); // what is told from here on is a reason to look again
        const delivered = await this.#delivered(result, caller, call);
        if (delivered) return delivered;
        const wait = Math.min(LOOK_AGAIN_MS, until - clock.monotonic());
        await clock
          .sleep(Math.max(0, wait), {
            signal: AbortSignal.any([told.signal, ...(options.signal ? [options.signal] : [])]),
          })
          .catch(() => {});
        options.signal?.throwIfAborted();
      }
    } finally {
      unsubscribe();
    }
    return result;
  }

  /** Undefined: it is still on its way. */
  async #delivered(
    result: Accepted,
    caller: CollaborateCaller,
    call: CollaborateCall,
  ): Promise<CollaborateResult | undefined> {
    const message = await this.#setting.store.message(result.messageId);
    if (message?.delivery === "sent") {
      const sent: CollaborateResult = { ...result, delivery: "sent" };
      const key = keyOf(caller, call);
      if (key !== undefined) {
        await this.#setting.database.query(UPDATE_RESULT, [key, JSON.stringify(sent)]);
      }
      return sent;
    }
    if (message?.delivery !== "failed") return undefined;
    const denied = message.deliveryError?.code === "CHANNEL_PERMISSION";
    return {
      ...refuse(
        denied ? "PERMISSION_DENIED" : "DELIVERY_FAILED",
        message.deliveryError?.message ?? "The message could not be delivered.",
        "An operator has been told. Go on without it, or tell the person.",
      ),
      escalated: true,
    };
  }
}

/** With whose session it is. */
interface OwnedCaller extends CollaborateCaller {
  readonly tenant: string;
}

interface NewThread {
  readonly from: RoomAgent;
  readonly target: RoomAgent;
  readonly text: string;
  readonly topic: string;
  readonly channel: RoomChannel;
  readonly tenant: string;
}

interface Where {
  readonly ok: true;
  readonly channel: RoomChannel;
  readonly thread?: Place;
}

function refuse(code: CollaborateCode, message: string, hint: string): Refusal {
  return { ok: false, code, message, hint, escalated: false };
}

/** Without signs that would let a name pose as another one. */
function cleaned(name: string | undefined): string | undefined {
  const checked = name === undefined ? undefined : checkText(name);
  return checked?.ok ? checked.text : undefined;
}

function withLinks(text: string, attachments: readonly string[] | undefined): string {
  return [text, ...(attachments ?? [])].join("\n");
}

function isCalled(channel: RoomChannel, id: string): boolean {
  const [ofNobody = id] = id.split("@", 1); // each tenant has a room of its own for a channel
  return [channelPlaceId(channel), channel.key, channel.channel].includes(ofNobody);
}

/** No topic is a topic of its own. */
function topicKey(call: CollaborateCall): string {
  return (call.topic ?? "").trim().slice(0, 200);
}

function keyOf(caller: CollaborateCaller, call: CollaborateCall): string | undefined {
  if (caller.callKey !== undefined) return `call:${caller.callKey}`;
  return call.idempotencyKey === undefined
    ? undefined
    : `key:${caller.agent}:${call.idempotencyKey}`;
}

function pairOf(one: string, other: string): readonly [string, string] {
  return one < other ? [one, other] : [other, one];
}

/** The target is named in the text itself, for platforms and people. */
function addressed(text: string, target: RoomAgent): string {
  return `<@${target.id}> ${text}`;
}

const KEY_LOCK = {
  name: "collaborate.lock",
  text: "select pg_advisory_xact_lock(hashtextextended('collaborate:' || $1, 0))",
};
const KNOWN = {
  name: "collaborate.known",
  text: "select result from dure.collaborations where key = $1 and ($2::double precision is null or at > clock_timestamp() - $2 * interval '1 millisecond')",
};
const REMEMBER = {
  name: "collaborate.remember",
  text: "insert into dure.collaborations (key, result) values ($1, $2) on conflict (key) do update set result = $2, at = clock_timestamp()",
};
const UPDATE_RESULT = {
  name: "collaborate.update_result",
  text: "update dure.collaborations set result = $2 where key = $1",
};
const ACCOUNT = {
  name: "collaborate.account",
  text: `select a.state, a.detail, a.changed_at, clock_timestamp() as now, ${LOST_AT} from dure.accounts a
           left join dure.leases l on l.name = $3 left join dure.processes p on p.id = l.holder where a.adapter = $1 and a.id = $2`,
};
const ASKED_HERE = {
  name: "collaborate.asked_here",
  text: "select 1 from dure.requests where thread = $1 and from_agent = $2 and to_agent = $3 and state <> 'withdrawn' limit 1",
};
const REQUEST_OF_TURN = {
  name: "collaborate.request_of_turn",
  text: 'select r.id, r.to_agent as "to", r.chain, r.topic, r.thread from dure.handlings h join dure.requests r on r.id = h.request where h.turn = $1',
};
/** Parameters: from, to, topic, the places of allowed channels, milliseconds. */
export const FIND_ROUTE = {
  name: "collaborate.find_route",
  text: `select r.thread from dure.thread_routes r join dure.places p on p.id = r.thread
          where r.from_agent = $1 and r.to_agent = $2 and r.topic = $3 and p.parent = any($4::text[])
            and r.renewed_at > clock_timestamp() - $5::double precision * interval '1 millisecond' and p.state <> 'closed'
          order by r.renewed_at desc limit 1`,
};
const ROUTE = {
  name: "collaborate.route",
  text: `insert into dure.thread_routes (from_agent, to_agent, topic, channel, thread) values ($1, $2, $3, $4, $5)
         on conflict (from_agent, to_agent, topic, channel) do update set thread = $5, renewed_at = clock_timestamp()`,
};
const PAIR = {
  name: "collaborate.pair",
  text: `insert into dure.agent_pairs as p (one, other) values ($1, $2) on conflict (one, other) do update set calls = p.calls
         returning (select array_agg((extract(epoch from at) * 1000)::double precision) from unnest(p.calls) at) as calls, (extract(epoch from clock_timestamp()) * 1000)::double precision as now`,
};
const PAIR_CALLED = {
  name: "collaborate.pair_called",
  text: "update dure.agent_pairs set calls = array(select to_timestamp(at::double precision / 1000) from jsonb_array_elements_text($3::jsonb) at) where one = $1 and other = $2",
};
const JOIN = {
  name: "collaborate.join",
  text: "insert into dure.participants (place, agent) select $1, agent from unnest($2::text[]) agent on conflict do nothing",
};
const OPEN_REQUEST = {
  name: "collaborate.open_request",
  text: `insert into dure.requests (id, from_agent, to_agent, topic, thread, message, origin, chain, next_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9::double precision * interval '1 millisecond')`,
};
const NEW_THREAD = {
  name: "collaborate.new_thread",
  text: "insert into dure.places (id, adapter, kind, parent, name, tenant, guild, channel, owner, topic) values ($1, $2, 'thread', $3, $4, $5, $6, $7, $8, $9)",
};
const ENQUEUE_THREAD = { name: "collaborate.enqueue_thread", text: "select dure.enqueue($1)" };
const OPEN_ESCALATION = {
  name: "collaborate.open_escalation",
  text: "select 1 from dure.escalations where subject = $1 and status = 'open'",
};
