import type { Database, Transaction } from "../durable/database.ts";
import type { NewEntry, Outbox } from "../durable/outbox.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import type { NewPlatformEvent } from "../kernel/platform-events.ts";
import type { Attachment, ChannelAdapter } from "./channel-adapter.ts";
import type { Directory } from "./directory.ts";
import {
  agentSpoke,
  collaborateSpoke,
  LIFT_BUTTON,
  personSpoke,
  type GuardStep,
} from "./guards.ts";
import type { RoomLimits } from "./limits.ts";
import { findMentions, renderMentions } from "./mentions.ts";
import { sessionIdOf, type OpenPlace, type Place } from "./place.ts";
import { decideRoles, type RoleDecision } from "./role.ts";
import type {
  MessageButton,
  MessageMark,
  NewHandling,
  NewMessageRow,
  RoomStore,
  StoredMessage,
  StoredRole,
  WrittenMessage,
} from "./room-store.ts";
import { excerpt, splitMessage } from "./text.ts";
import { roomTexts, type RoomLocale } from "./texts.ts";

/** What rooms share: who is who, what is allowed, where it is kept. */
export interface RoomsSetting {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: RoomStore;
  readonly directory: Directory;
  readonly limits: RoomLimits;
  readonly locale: RoomLocale;
  /** Whether bots that are no agents of this team are heard. */
  readonly allowBots: boolean;
  /** Key of the channel where collaborations begin that have no channel of their own. */
  readonly defaultChannel?: string;
  readonly adapters: ReadonlyMap<string, ChannelAdapter>;
  /** Whether what an agent writes is shown as it comes, where the platform can edit. */
  readonly stream: boolean;
}

/** A message that shows what is being written. */
export interface Over {
  /** What it was posted under. */
  readonly key: string;
  /** Empty: nobody has recorded whether it was posted. */
  readonly platformId: string;
}

const MAX_WARNED = 10_000;

/** Wakes those who look for work of agents. */
export const HANDLINGS_TOPIC = "handlings";
const EVENTS_TOPIC = "events";

/** A message from outside. */
export interface Heard {
  readonly authorKind: "person" | "foreign";
  readonly author: string;
  readonly authorName: string;
  readonly text: string;
  /** An agent whose message is answered, where dure has no record of that message. */
  readonly repliedTo?: string;
  readonly platformId?: string;
  readonly clientId?: string;
  readonly replyTo?: string;
  readonly attachments?: readonly Attachment[];
  /** Milliseconds since the epoch. Default: now. */
  readonly at?: number;
}

/** An agent's words. */
export interface Saying {
  readonly author: string;
  readonly text: string;
  readonly mark?: MessageMark;
  /** Nobody shall go on from here. */
  readonly ends?: boolean;
  /** Whose answer it is. */
  readonly turn?: string;
  /** The turn whose tool says it. */
  readonly during?: string;
  readonly request?: string;
  readonly replyTo?: string;
  readonly buttons?: readonly MessageButton[];
  /** The message that has shown it while it was written: the first part takes its place. */
  readonly over?: Over;
  /** Default: those that the text names. */
  readonly mentions?: readonly string[];
}

/**
 * What is said in a place, and what follows from it. A person's message is stored and decided in
 * one transaction; an agent's is first queued to leave, and decided when its platform has it. A
 * place's row is locked meanwhile, so that messages of one place have one order and every guard
 * counts in one row.
 */
export class Talk {
  readonly #setting: RoomsSetting;
  /** Threads of which it was said that nobody takes part; bounded, oldest out. */
  readonly #warned = new Set<string>();

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /**
   * Stores a message from outside and decides for `agents`. The same message again decides for
   * those who had not seen it. `unheeded`: those whom it names, or speaks to alone, and who only
   * record it because of `only`.
   */
  async hear(
    placeId: string,
    heard: Heard,
    agents: readonly string[],
    options: { only?: "record" } = {},
  ): Promise<{ messageId: string; repeated: boolean; unheeded: readonly string[] }> {
    const { database, store } = this.#setting;
    const result = await database.transaction(async (tx) => {
      const place = await store.open(tx, placeId);
      if (!place) throw placeUnknown(placeId);
      const known = await this.#knownMessage(tx, place, heard);
      const fresh = agents.filter((agent) => !known?.roles[agent]);
      if (known && (fresh.length === 0 || heard.clientId !== undefined)) {
        return { messageId: known.id, repeated: true, unheeded: [] };
      }
      if (!known && place.state === "closed") {
        throw new DureError(
          "PLACE_CLOSED",
          `${place.name} is closed: ${place.closedBecause ?? "it is gone"}.`,
          { class: "conflict", hint: "Write somewhere else." },
        );
      }
      // Who heard it first may not have known yet whose account is mentioned.
      const mentions = await this.#mentionedIn(tx, heard);
      const message = known
        ? { ...known, mentions: [...new Set([...known.mentions, ...mentions])] }
        : messageOf(heard, place, mentions);
      const step = known
        ? unchanged(place)
        : heard.authorKind === "person"
          ? personSpoke(place)
          : this.#botSpoke(place, mentions);
      this.#warnOfLostRecord(place, message);
      const unheeded = await this.#write(tx, place, message, {
        known: known !== undefined,
        step,
        agents: fresh,
        row: this.#rowOf(message, heard),
        onlyRecord: options.only === "record",
      });
      return { messageId: message.id, repeated: known !== undefined, unheeded };
    });
    this.announce();
    return result;
  }

  /** Queues an agent's words. Call `announce` after the commit. */
  async say(
    tx: Transaction,
    place: OpenPlace,
    saying: Saying,
  ): Promise<{ messageId: string; seq: number }> {
    const { store, directory, adapters } = this.#setting;
    if (place.state === "closed") {
      throw new DureError(
        "PLACE_CLOSED",
        `${place.name} is closed: ${place.closedBecause ?? "it is gone"}.`,
        { class: "conflict" },
      );
    }
    const account = directory.account(place.adapter, saying.author);
    const adapter = adapters.get(place.adapter);
    if (!account || !adapter) {
      throw new DureError(
        "ACCOUNT_UNKNOWN",
        `${saying.author} has no account on ${place.adapter}.`,
        { class: "conflict", hint: directory.unknownHint(saying.author) },
      );
    }
    const id = newId("message", place.now);
    const mentions =
      saying.mentions ??
      (saying.mark === "notice"
        ? []
        : findMentions(saying.text, directory.names).agents.filter(
            (agent) => agent !== saying.author,
          ));
    const parts = splitMessage(saying.text, partLength(adapter.limits.messageLength));
    const entries = parts.map((_part, index): NewEntry => ({
      topic: topicOf(place.adapter, account.id, adapter.isLocal),
      ordering: orderingOf(account.id, place.id),
      key: partKey(id, index),
      payload: {
        kind: "post",
        message: id,
        part: index,
        parts: parts.length,
        ...(saying.over && index === 0 && { over: { ...saying.over } }),
      },
    }));
    const joins = place.kind === "thread" && saying.mark === undefined ? [saying.author] : [];
    const { seq } = await store.write(tx, {
      place: place.id,
      adapter: place.adapter,
      known: false,
      message: {
        id,
        author_kind: "agent",
        author: saying.author,
        author_name: directory.nameOf(saying.author),
        text: saying.text,
        mentions,
        delivery: "queued",
        ...(saying.mark && { mark: saying.mark }),
        ...(saying.ends && { ends: true }),
        ...(saying.turn !== undefined && { turn: saying.turn }),
        ...(saying.during !== undefined && { during: saying.during }),
        ...(saying.request !== undefined && { request: saying.request }),
        ...(saying.replyTo !== undefined && { reply_to: saying.replyTo }),
        ...(saying.buttons && { buttons: saying.buttons }),
      },
      roles: {},
      joins,
      handlings: [],
      change: {},
      outbox: entries,
      events: [
        messageEvent("room.message", place, {
          message: id,
          author: saying.author,
          author_kind: "agent",
          mark: saying.mark ?? null,
          delivery: "queued",
        }),
      ],
    });
    return { messageId: id, seq };
  }

  /**
   * The platform has all of an agent's message: guards count it, and the others decide. Runs in the
   * transaction that records the sending. Undefined: it was known, or its place is gone.
   */
  async posted(
    tx: Transaction,
    messageId: string,
  ): Promise<{ message: StoredMessage; place: OpenPlace } | undefined> {
    const { store, directory } = this.#setting;
    const stored = await store.message(messageId, tx);
    if (!stored || stored.delivery === "sent") return undefined;
    const place = await store.open(tx, stored.place);
    if (!place) return undefined;
    await tx.query(SENT, [messageId]);
    const counted =
      stored.mark === null ? this.#botSpoke(place, stored.mentions) : unchanged(place);
    const [asks] =
      stored.request !== null && stored.mark === null ? await tx.query(ASKS, [messageId]) : [];
    const step = asks ? collaborateSpoke(place, counted) : counted;
    const agents = directory.agents
      .filter((agent) => agent.accounts[place.adapter])
      .map((agent) => agent.id);
    await this.#write(tx, place, stored, {
      known: true,
      step,
      agents,
      row: { id: messageId },
      onlyRecord: false,
    });
    return { message: stored, place };
  }

  /**
   * After a commit in which something was said: who sends, who answers and who watches look at
   * once.
   */
  announce(): void {
    const { outbox, notifications } = this.#setting;
    outbox.announce();
    notifications.publish(HANDLINGS_TOPIC);
    notifications.publish(EVENTS_TOPIC);
  }

  async #knownMessage(
    tx: Transaction,
    place: OpenPlace,
    heard: Heard,
  ): Promise<StoredMessage | undefined> {
    if (heard.platformId !== undefined) {
      return this.#setting.store.messageAt(place.adapter, heard.platformId, tx);
    }
    if (heard.clientId === undefined) return undefined;
    await tx.query(FORGET_CLIENT_ID, [place.id, heard.author, heard.clientId]);
    const [row] = await tx.query<{ message: string }>(CLIENT_MESSAGE, [
      place.id,
      heard.author,
      heard.clientId,
    ]);
    return row && this.#setting.store.message(row.message, tx);
  }

  /**
   * T7: a thread that an agent has opened has lost who takes part in it. Said once, and again when
   * somebody takes part and is lost again.
   */
  #warnOfLostRecord(place: OpenPlace, { mentions }: DecidedMessage): void {
    if (place.kind !== "thread" || place.owner === null) return;
    if (place.participants.length > 0 || mentions.length > 0) {
      return void this.#warned.delete(place.id);
    }
    if (this.#warned.has(place.id)) return;
    this.#warned.add(place.id);
    if (this.#warned.size > MAX_WARNED) this.#warned.delete(this.#warned.values().next().value!);
    this.#setting.logger.warn(
      { place: place.id },
      `nobody takes part in the thread ${place.name} any more: agents answer there only when they are named, and take part again from then on`,
    );
  }

  /**
   * Whom the text names, in its order, then the agent whose message it answers: the same on every
   * platform. Source: docs/spec/collaboration §2.
   */
  async #mentionedIn(
    tx: Transaction,
    { text, replyTo, repliedTo }: Heard,
  ): Promise<readonly string[]> {
    const replied =
      replyTo === undefined ? undefined : await this.#setting.store.message(replyTo, tx);
    const author = replied
      ? replied.authorKind === "agent"
        ? replied.author
        : undefined
      : repliedTo;
    return [
      ...new Set([
        ...findMentions(text, this.#setting.directory.names).agents,
        ...(author === undefined ? [] : [author]),
      ]),
    ];
  }

  /**
   * In a channel only what agents and bots say to each other counts: answers to people are what it
   * is for. Source: docs/spec/collaboration §5.
   */
  #botSpoke(place: OpenPlace, mentions: readonly string[]): GuardStep {
    return place.kind === "thread" || mentions.length > 0
      ? agentSpoke(place, this.#setting.limits)
      : unchanged(place);
  }

  #rowOf(message: DecidedMessage, heard: Heard): NewMessageRow {
    return {
      id: message.id,
      author_kind: message.authorKind,
      author: message.author,
      author_name: message.authorName,
      text: message.text,
      mentions: message.mentions,
      ...(heard.platformId !== undefined && { platform_id: heard.platformId }),
      ...(heard.clientId !== undefined && { client_id: heard.clientId }),
      ...(heard.replyTo !== undefined && { reply_to: heard.replyTo }),
      ...(heard.attachments && { attachments: heard.attachments }),
      ...(heard.at !== undefined && { at: heard.at }),
    };
  }

  /**
   * Decides for `agents` and writes what follows. Returns those whom `onlyRecord` has kept from an
   * answer that they were asked for.
   */
  async #write(
    tx: Transaction,
    place: OpenPlace,
    message: DecidedMessage,
    given: {
      known: boolean;
      step: GuardStep;
      agents: readonly string[];
      row: WrittenMessage["message"];
      onlyRecord: boolean;
    },
  ): Promise<readonly string[]> {
    const { store, limits } = this.#setting;
    const { step } = given;
    const decisions = this.#decide(place, message, step, given.agents);
    const roles: Record<string, StoredRole> = {};
    const observers: string[] = [];
    const handlings: NewHandling[] = [];
    const joins: string[] = [];
    const unheeded: string[] = [];
    for (const [agent, decision] of decisions) {
      if (decision.role === "IGNORED") continue;
      if (
        given.onlyRecord &&
        (decision.because === "mentioned" || decision.because === "direct-message")
      ) {
        unheeded.push(agent);
      }
      const decided: RoleDecision = given.onlyRecord
        ? { role: "OBSERVER", because: "missed" }
        : decision;
      roles[agent] = {
        role: decided.role,
        because: decided.because,
        at: Math.round(place.now),
        ...(decided.rank && { rank: decided.rank }),
      };
      if (decided.joins) joins.push(agent);
      if (decided.role === "OBSERVER") observers.push(agent);
      else handlings.push(this.#handlingOf(agent, decided, place, message));
    }
    const { unrecorded } = await store.write(tx, {
      place: place.id,
      adapter: place.adapter,
      known: given.known,
      message: given.row,
      roles,
      joins,
      handlings,
      ...(observers.length > 0 && {
        observed: {
          sender: message.authorName,
          excerpt: recordOf(message.text, this.#setting.directory),
          agents: observers,
        },
      }),
      change: {
        state: step.state,
        agent_messages: step.agentMessages,
        recent_ms: step.recent,
        ...(step.trip === "thread-rate" && { suspend_ms: limits.suspendMs }),
      },
      events: [
        messageEvent(given.known ? "room.heard" : "room.message", place, {
          message: message.id,
          author: message.author,
          author_kind: message.authorKind,
          roles: Object.fromEntries(
            Object.entries(roles).map(([agent, { role }]) => [agent, role]),
          ),
        }),
        ...(step.state === place.state ? [] : [stateEvent(place, step)]),
      ],
    });
    if (unrecorded !== null) {
      this.#setting.logger.warn(
        { message: message.id, place: place.id, agents: observers, error: unrecorded },
        `what ${observers.join(", ")} overheard of ${message.id} is not recorded: ${unrecorded}`,
      );
    }
    for (const [agent, { role, rank, because }] of decisions) {
      this.#setting.logger.debug(
        { message: message.id, agent, role, rank, because },
        `${agent} is ${role} of ${message.id}: ${because}`,
      );
    }
    if (step.trip) await this.#tellTrip(tx, place, message, step.trip);
    return unheeded;
  }

  #decide(
    place: OpenPlace,
    message: DecidedMessage,
    step: GuardStep,
    agents: readonly string[],
  ): ReadonlyMap<string, RoleDecision> {
    const { directory, allowBots } = this.#setting;
    const channel = directory.channelOf(place.kind === "thread" ? (place.parent ?? "") : place.id);
    const defaultAgent = channel?.defaultAgent ?? directory.lead?.id;
    return decideRoles(
      {
        author: message.author,
        authorKind: message.authorKind,
        mentions: message.mentions,
        fromSink: message.mark === "sink" || place.isSink,
        isNotice: message.mark === "notice",
        isReminder: message.mark === "reminder",
        seen: false,
        place: {
          kind: place.kind,
          allowed: channel !== undefined || place.kind === "direct",
          // A message that ends a part is heard as in a place that rests: nobody goes on from it.
          state: message.ends && step.state === "open" ? "resting" : step.state,
          participants: place.participants,
          ...(place.agent !== null && { directWith: place.agent }),
          ...(defaultAgent !== undefined && { defaultAgent }),
        },
      },
      agents,
      { allowBots },
    );
  }

  #handlingOf(
    agent: string,
    decided: RoleDecision,
    place: OpenPlace,
    message: DecidedMessage,
  ): NewHandling {
    const primary = message.mentions[0];
    const waits = decided.rank === "SECONDARY" && primary !== undefined;
    return {
      id: handlingId(message.id, agent),
      agent,
      session: sessionIdOf(agent, place.id),
      ...(decided.rank && { rank: decided.rank }),
      ...(message.request !== null && { request: message.request }),
      ...(waits && {
        behind: handlingId(message.id, primary),
        wait_ms: this.#setting.limits.secondaryWaitMs,
      }),
    };
  }

  /** Once, by the one whose message it was, naming nobody. */
  async #tellTrip(
    tx: Transaction,
    place: OpenPlace,
    message: DecidedMessage,
    trip: NonNullable<GuardStep["trip"]>,
  ): Promise<void> {
    const { store, directory, limits, locale } = this.#setting;
    const texts = roomTexts(locale);
    const speaker = message.authorKind === "agent" ? message.author : directory.lead?.id;
    const text =
      trip === "thread-rate"
        ? texts.suspended(
            limits.threadPerMs / 1_000,
            Math.round(limits.suspendMs / 60_000),
            limits.threadMessages,
          )
        : texts.resting(limits.exchangeMessages);
    // What is suspended waits for a decision; what rests is woken by any word of a person, and by
    // the button.
    const lift =
      trip === "thread-rate"
        ? await this.#askToLift(tx, place, text)
        : { value: `${LIFT_BUTTON}:${place.id}`, label: LIFT.label };
    if (speaker === undefined || !directory.account(place.adapter, speaker)) return;
    const after = await store.open(tx, place.id);
    if (after) {
      await this.say(tx, after, { author: speaker, text, mark: "notice", buttons: [lift] });
    }
  }

  /** Gives the button that answers. */
  async #askToLift(
    tx: Transaction,
    place: OpenPlace,
    title: string,
  ): Promise<{ value: string; label: string }> {
    const id = await this.#setting.store.escalate(tx, {
      subject: `room:loop:${place.id}`,
      type: "conflict",
      severity: "medium",
      tenant: place.tenant,
      source: { room: place.id },
      title,
      context: { place: place.id, name: place.name, guard: "thread-rate" },
      suggestedActions: [LIFT, { value: "seen", code: "seen", label: "확인 / Seen" }],
    });
    return { value: `${id}:${LIFT.value}`, label: LIFT.label };
  }
}

/** The answer that lifts what a guard has stopped. */
export const LIFT = {
  value: "resume",
  code: "lift",
  label: "풀기 / Lift",
  style: "primary",
} as const;

/** What a decision needs to know of a message, stored or new. */
type DecidedMessage = Pick<
  StoredMessage,
  "id" | "authorKind" | "author" | "authorName" | "text" | "mentions" | "mark" | "ends" | "request"
>;

function messageOf(
  { authorKind, author, authorName, text }: Heard,
  place: OpenPlace,
  mentions: readonly string[],
): DecidedMessage {
  return {
    id: newId("message", place.now),
    authorKind,
    author,
    authorName,
    text,
    mentions,
    mark: null,
    ends: false,
    request: null,
  };
}

/** The id of the work that a message makes for an agent: the same wherever it is decided. */
function handlingId(message: string, agent: string): string {
  return `handling_${message.slice(message.indexOf("_") + 1)}_${agent}`;
}

/** One account's messages leave only where that account is connected. */
export function topicOf(adapter: string, account: string, isLocal: boolean): string {
  return isLocal ? `room.${adapter}` : `room.${adapter}.${account}`;
}

export function orderingOf(account: string, place: string): string {
  return `${account}@${place}`;
}

export function partKey(message: string, part: number): string {
  return `${message}/${part}`;
}

/** Room for mentions, which are longer on their platform than in dure's text. */
export function partLength(messageLength: number): number {
  return messageLength - Math.min(200, Math.floor(messageLength / 10));
}

export function placeUnknown(id: string): DureError {
  return new DureError("PLACE_UNKNOWN", `There is no room or thread "${id}".`, {
    class: "not-found",
    hint: "List them: GET /v1/rooms",
  });
}

/** What an observer keeps of a text. */
export function recordOf(text: string, directory: Directory): string {
  return excerpt(renderMentions(text, (agent) => directory.find(agent)?.displayName));
}

function unchanged(place: OpenPlace): GuardStep {
  return { state: place.state, agentMessages: place.agentMessages, recent: place.recent };
}

function messageEvent(
  type: string,
  place: Place,
  data: NewPlatformEvent["data"],
): NewPlatformEvent {
  return { type, role: "conversation", room: place.id, data: { ...data, parent: place.parent } };
}

function stateEvent(place: Place, step: GuardStep): NewPlatformEvent {
  return {
    type: step.state === "open" ? "room.resumed" : `room.${step.state}`,
    role: "system",
    room: place.id,
    data: { guard: step.trip ?? null, parent: place.parent },
  };
}

const SENT = {
  name: "room.sent",
  text: "update dure.room_messages set delivery = 'sent', delivery_error = null where id = $1",
};

/** The message opened a request; others only belong to one. */
const ASKS = { name: "room.asks", text: "select from dure.requests where message = $1" };

const CLIENT_MESSAGE = {
  name: "room.client_message",
  text: "select message from dure.room_client_ids where place = $1 and person = $2 and client_id = $3",
};

/**
 * One that holds no longer and was not swept yet would be in the way of its next use. Source:
 * docs/spec/collaboration §9.
 */
const FORGET_CLIENT_ID = {
  name: "room.forget_client_id",
  text: "delete from dure.room_client_ids where place = $1 and person = $2 and client_id = $3 and at <= clock_timestamp() - interval '24 hours'",
};
