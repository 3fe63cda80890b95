/** The request that a call opens, and the guards that it passes. */

import { inLocale } from "../../escalations/action-words.ts";
import type { Transaction } from "../../durable/database.ts";
import { newId } from "../../kernel/ids.ts";
import {
  pairOf,
  refuse,
  topicKey,
  type AcceptedCollaboration,
  type Asking,
  type CollaborateResult,
  type RefusedCollaboration,
  isElsewhere,
} from "./collaborate-call.ts";
import type { CollaborationPlaces, Where } from "./collaborate-place.ts";
import type { RoomAgent } from "../directory.ts";
import { channelPlaceId, mayMean } from "../named-place.ts";
import { chainAllows, pairMayCall, type PairStop } from "../decide/guards.ts";
import { enqueueNotice } from "../out/notices.ts";
import type { Place } from "../place.ts";
import { LIFT } from "../decide/guard-stop.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";

/** The request that the caller's own turn was asked with. */
interface ParentRequest {
  readonly id: string;
  readonly to: string;
  readonly chain: readonly string[];
  readonly topic: string;
  readonly thread: string;
}

/** A guard that stops a call. `place`: where it is told. */
type Trip = {
  readonly place: string | undefined;
  readonly message: string;
  readonly hint: string;
} &
  /** `minutes`: until it may call again; undefined: until a person leads it. */
  (
    | { readonly kind: "pair"; readonly minutes: number | undefined }
    | { readonly kind: "chain"; readonly chain: readonly string[] }
  );

/** Opens the request of a collaboration, within the guards; or just says the message. */
export class CollaborationRequests {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #places: CollaborationPlaces;

  constructor(setting: RoomsSetting, parts: { talk: Talk; places: CollaborationPlaces }) {
    this.#setting = setting;
    this.#talk = parts.talk;
    this.#places = parts.places;
  }

  /**
   * In a collaboration's own thread an answer to the asker is just a message (L3). Undefined: this
   * is no such answer.
   */
  async handBack(tx: Transaction, asking: Asking): Promise<AcceptedCollaboration | undefined> {
    const { caller, call, from, target } = asking;
    const place = await this.#places.ofSession(tx, caller.session);
    if (!place || !(await this.#isMeant(tx, asking, place))) return undefined;
    const [asked] = await tx.query(ASKED_HERE, [place.id, target.id, from.id]);
    if (!asked) return undefined;

    return this.#sayPlainly(tx, asking, {
      place: place.id,
      text: withLinks(asking.text, call.attachments),
      note:
        "You are in the thread of this collaboration: just write there. " +
        "It was posted as a message; no new request was opened.",
    });
  }

  /** Opens a request in the thread of `where`, or in a new one. */
  async ask(tx: Transaction, asking: Asking, where: Where): Promise<CollaborateResult> {
    const suspended = where.thread && (await this.#refuseSuspended(tx, where.thread));
    if (suspended) return suspended;
    const { turn } = asking.caller;
    // What the caller's own turn was asked, so that chains are known.
    const [parent] =
      turn === undefined ? [] : await tx.query<ParentRequest>(REQUEST_OF_TURN, [turn]);
    const chain = chainOf(parent, asking.from);
    const stopped =
      (await this.#checkChain(tx, asking, { parent, chain, thread: where.thread })) ??
      (await this.#countCall(tx, asking, where.thread));
    if (stopped) return stopped;

    const thread = where.thread ?? (await this.#places.makeThread(tx, asking, where));
    const messageId = await this.#open(tx, asking, { thread, where, chain });
    const { target, caller } = asking;
    const origin = await this.#places.originOf(tx, caller.session);
    const { channel } = where;
    const elsewhere =
      channel && isElsewhere(origin, channel)
        ? ` That is ${channelPlaceId(channel)}, not where you are: tell your person so.`
        : "";
    return {
      ok: true,
      threadId: thread.id,
      threadName: thread.name,
      channelId: where.room.id,
      messageId,
      reused: where.thread !== undefined,
      delivery: "queued",
      note:
        `Handed over to ${target.displayName} (${target.id}) in “${thread.name}”.${elsewhere} ` +
        "The answer comes there; go on serving your person and do not wait.",
    };
  }

  /** No agent would hear the request there. The thread is locked from here on. */
  async #refuseSuspended(
    tx: Transaction,
    thread: Place,
  ): Promise<RefusedCollaboration | undefined> {
    const place = await this.#setting.store.open(tx, thread.id);
    if (place?.state !== "suspended") return undefined;
    return refuse(
      "THREAD_SUSPENDED",
      `The agents wrote too fast in “${place.name}”, so it is suspended for a few minutes.`,
      "Go on with what you have and call again later, or ask a person to lift it: " +
        `dure rooms resume ${place.id}`,
    );
  }

  /** Whether a call from this place means the place itself. */
  async #isMeant(tx: Transaction, { call }: Asking, place: Place): Promise<boolean> {
    const { store, directory } = this.#setting;
    if (call.threadId !== undefined) {
      const meant = await store.place(call.threadId, tx);
      if (meant?.id !== place.id) return false;
    }
    if (call.channelId === undefined) return true;
    const channel = directory.channelOf(place.parent ?? "");
    return channel !== undefined && mayMean(call.channelId, channel, place.tenant);
  }

  /**
   * Says the message without a request. `request`: the chain that the message belongs to, for the
   * agent that handles it. The request for which the caller's turn was started is answered by it.
   */
  async #sayPlainly(
    tx: Transaction,
    { caller, from, target, files }: Asking,
    words: { place: string; request?: string; text: string; note: string },
  ): Promise<AcceptedCollaboration | undefined> {
    const place = await this.#setting.store.open(tx, words.place);
    if (!place || place.state === "closed") return undefined;
    const { messageId } = await this.#talk.say(tx, place, {
      author: from.id,
      text: addressed(words.text, target),
      files,
      request: words.request,
      during: caller.turn,
    });
    return {
      ok: true,
      threadId: place.id,
      threadName: place.name,
      channelId: place.parent ?? place.id,
      messageId,
      reused: true,
      delivery: "queued",
      note: words.note,
    };
  }

  /** Undefined: the chain of requests may go on. */
  async #checkChain(
    tx: Transaction,
    asking: Asking,
    given: {
      parent: ParentRequest | undefined;
      chain: readonly string[];
      thread: Place | undefined;
    },
  ): Promise<CollaborateResult | undefined> {
    const { parent, chain, thread } = given;
    const { call, target } = asking;
    const isSameTopic = (parent?.topic ?? "") === topicKey(call);
    const verdict = chainAllows(chain, target.id, isSameTopic, this.#setting.limits);
    if (verdict === "ok") return undefined;

    if (verdict === "cycle" && parent) {
      const said = await this.#sayPlainly(tx, asking, {
        place: parent.thread,
        request: parent.id,
        text: withLinks(asking.text, call.attachments),
        note:
          `${target.displayName} is already in this chain of requests; ` +
          "it was posted as a message in its thread.",
      });
      if (said) return said;
    }
    const whole = [...chain, target.id];
    return this.#trip(tx, asking, {
      place: thread?.id ?? parent?.thread,
      message: `The chain of requests is ${chain.length} agents long (${whole.join(" → ")}).`,
      hint: "Answer with what you have, or ask a person.",
      kind: "chain",
      chain: whole,
    });
  }

  /** Counts this call of the pair. A refusal: the pair has called too often. */
  async #countCall(
    tx: Transaction,
    asking: Asking,
    thread: Place | undefined,
  ): Promise<RefusedCollaboration | undefined> {
    const { limits } = this.#setting;
    const { from, target } = asking;
    const pair = pairOf(from.id, target.id);
    const [row] = await tx.query<{ calls: number[] | null; now: number }>(PAIR, [...pair]);
    const isLed = await this.#isLed(tx, asking);
    const may = pairMayCall(row?.calls ?? [], { now: row!.now, isLed }, limits);
    if (!may.ok) return this.#stopPair(tx, asking, { stop: may, thread });
    await tx.query(PAIR_CALLED, [...pair, JSON.stringify(may.calls)]);
    return undefined;
  }

  /** Whether no other agent's words have started the turn that calls. */
  async #isLed(tx: Transaction, { caller }: Asking): Promise<boolean> {
    if (caller.turn === undefined) return true;
    return (await tx.query(STARTED_BY_AGENT, [caller.turn])).length === 0;
  }

  async #stopPair(
    tx: Transaction,
    asking: Asking,
    { stop, thread }: { stop: PairStop; thread: Place | undefined },
  ): Promise<RefusedCollaboration> {
    const { limits } = this.#setting;
    const names = `${asking.from.id} and ${asking.target.id}`;
    if (stop.because === "unled") {
      return this.#trip(tx, asking, {
        place: thread?.id,
        message: `${names} have called each other ${limits.exchangeMessages} times without a person.`,
        hint: "Answer with what you have, or ask a person to go on.",
        kind: "pair",
        minutes: undefined,
      });
    }
    const minutes = Math.max(1, Math.ceil(stop.waitMs / 60_000));
    const perMinutes = Math.round(limits.pairPerMs / 60_000);
    const instead = thread ? `, or go on in the thread ${thread.id} (${thread.name})` : "";
    return this.#trip(tx, asking, {
      place: thread?.id,
      message: `${names} have called each other ${limits.pairCalls} times within ${perMinutes} min.`,
      hint: `Wait ${minutes} min${instead}.`,
      kind: "pair",
      minutes,
    });
  }

  /** Says the message in the thread and records the request. Gives the message's id. */
  async #open(
    tx: Transaction,
    asking: Asking,
    given: { thread: Place; where: Where; chain: readonly string[] },
  ): Promise<string> {
    const { call, from, target } = asking;
    const { thread, where, chain } = given;
    const { store, limits } = this.#setting;
    // First: this forgets who took part in a thread that slept for too long.
    const place = (await store.open(tx, thread.id))!;
    await tx.query(JOIN, [thread.id, [from.id, target.id]]);
    const request = newId("request", place.now);
    const { messageId } = await this.#talk.say(tx, place, {
      author: from.id,
      text: addressed(withLinks(asking.text, call.attachments), target),
      mentions: [target.id],
      files: asking.files,
      request,
    });

    const topic = topicKey(call);
    await tx.query(OPEN_REQUEST, [
      request,
      from.id,
      target.id,
      topic,
      thread.id,
      messageId,
      JSON.stringify(await this.#originOf(tx, asking)),
      chain,
      limits.reminderMs[0],
    ]);
    await tx.query(ROUTE, [from.id, target.id, topic, where.room.id, thread.id]);
    return messageId;
  }

  async #originOf(
    tx: Transaction,
    { caller: { session, turn, job } }: Asking,
  ): Promise<Readonly<Record<string, string | undefined>>> {
    const began = await this.#places.ofSession(tx, session);
    return { place: began?.id, session, turn, job };
  }

  async #trip(tx: Transaction, asking: Asking, trip: Trip): Promise<RefusedCollaboration> {
    const { store, locale } = this.#setting;
    const { from, target, tenant } = asking;
    const subject = `room:loop:${pairOf(from.id, target.id).join(":")}:${trip.kind}`;
    await store.emit(tx, [
      {
        type: "room.guard_tripped",
        role: "system",
        tenant,
        agent: from.id,
        room: trip.place,
        data: { guard: trip.kind, from: from.id, to: target.id },
      },
    ]);
    const [told] = await tx.query(OPEN_ESCALATION, [subject]);
    const text = this.#textOf(asking, trip);
    // A chain is not stopped for good: what a person says begins a new one.
    const isLiftable = trip.kind === "pair";
    const id = await store.escalate(tx, {
      subject,
      tenant,
      type: "conflict",
      severity: "medium",
      source: trip.place === undefined ? undefined : { room: trip.place },
      title: text,
      context: { guard: trip.kind, from: from.id, to: target.id, place: trip.place ?? null },
      suggestedActions: isLiftable
        ? [LIFT, { value: "seen", code: "seen", label: "Seen" }]
        : undefined,
    });
    // Told once while its escalation is open, by the agent that was refused.
    if (!told && trip.place !== undefined) {
      const lift = inLocale({ ...LIFT, value: `${id}:${LIFT.value}` }, locale);
      await enqueueNotice(tx, {
        place: trip.place,
        author: from.id,
        text,
        buttons: isLiftable ? [lift] : undefined,
      });
    }
    return { ...refuse("LOOP_GUARD", trip.message, trip.hint), escalated: true };
  }

  #textOf({ from, target }: Asking, trip: Trip): string {
    const { directory, locale } = this.#setting;
    const texts = roomTexts(locale);
    if (trip.kind === "pair") {
      const names = [from.displayName, target.displayName] as const;
      return trip.minutes === undefined
        ? texts.pairUnled(...names, this.#setting.limits.exchangeMessages)
        : texts.pairBlocked(...names, trip.minutes);
    }
    const names = trip.chain.map((agent) => directory.nameOf(agent));
    return texts.chainStopped(names.join(" → "));
  }
}

/**
 * The agents that asked before, up to the caller. Every hop counts, also one to an agent that is in
 * the chain already: a ring would have no depth otherwise.
 */
function chainOf(parent: ParentRequest | undefined, from: RoomAgent): readonly string[] {
  if (!parent) return [from.id];
  const asked = parent.to === from.id ? [] : [parent.to];
  return [...parent.chain, ...asked, from.id];
}

function withLinks(text: string, attachments: readonly string[] | undefined): string {
  return [text, ...(attachments ?? [])].join("\n");
}

/** The target is named in the text itself, for platforms and people. */
function addressed(text: string, target: RoomAgent): string {
  return `<@${target.id}> ${text}`;
}

const ASKED_HERE = {
  name: "collaborate.asked_here",
  text: `
    select 1
    from dure.requests
    where thread = $1 and from_agent = $2 and to_agent = $3 and state <> 'withdrawn'
    limit 1`,
};
const REQUEST_OF_TURN = {
  name: "collaborate.request_of_turn",
  text: `
    select r.id, r.to_agent as "to", r.chain, r.topic, r.thread
    from dure.handlings h
    join dure.requests r on r.id = h.request
    where h.turn = $1`,
};
const ROUTE = {
  name: "collaborate.route",
  text: `
    insert into dure.thread_routes (from_agent, to_agent, topic, channel, thread)
    values ($1, $2, $3, $4, $5)
    on conflict (from_agent, to_agent, topic, channel)
    do update set thread = $5, renewed_at = clock_timestamp()`,
};
const PAIR = {
  name: "collaborate.pair",
  text: `
    insert into dure.agent_pairs as p (one, other)
    values ($1, $2)
    on conflict (one, other)
    do update set calls = p.calls
    returning (
      select array_agg((extract(epoch from at) * 1000)::double precision)
      from unnest(p.calls) at
    ) as calls,
      (extract(epoch from clock_timestamp()) * 1000)::double precision as now`,
};
/** What a person answers in the inbox starts a turn without a message. */
const STARTED_BY_AGENT = {
  name: "collaborate.started_by_agent",
  text: `
    select 1
    from dure.handlings h
    join dure.room_messages m on m.id = h.message
    where h.turn = $1 and m.author_kind <> 'person'`,
};
const PAIR_CALLED = {
  name: "collaborate.pair_called",
  text: `
    update dure.agent_pairs
    set calls = array(
      select to_timestamp(at::double precision / 1000)
      from jsonb_array_elements_text($3::jsonb) at
    )
    where one = $1 and other = $2`,
};
const JOIN = {
  name: "collaborate.join",
  text: `
    insert into dure.participants (place, agent)
    select $1, agent
    from unnest($2::text[]) agent
    on conflict do nothing`,
};
const OPEN_REQUEST = {
  name: "collaborate.open_request",
  text: `
    insert into dure.requests (
      id, from_agent, to_agent, topic, thread, message, origin, chain, next_at
    )
    values (
      $1, $2, $3, $4, $5, $6, $7, $8,
      clock_timestamp() + $9::double precision * interval '1 millisecond'
    )`,
};
const OPEN_ESCALATION = {
  name: "collaborate.open_escalation",
  text: `
    select 1
    from dure.escalations
    where subject = $1 and status = 'open'`,
};
