/** How a message is heard: one transaction stores it, decides who answers, and makes their work. */

import type { Locale } from "../kernel/locales.ts";
import type { Database, Transaction } from "../durable/database.ts";
import type { Files } from "../durable/files/files.ts";
import type { NewEntry, Outbox } from "../durable/outbox.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { FileRef } from "../kernel/files.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Attachment, ChannelAdapter } from "./channel-adapter.ts";
import {
  consequencesOf,
  decideIn,
  type Consequences,
  type DecidedMessage,
  type SpokenMessage,
} from "./decide/consequences.ts";
import { begunBy, endOthers, interruptAnswers } from "./answer/gathering.ts";
import type { Directory } from "./directory.ts";
import { agentSpoke, collaborateSpoke, personSpoke, type GuardStep } from "./decide/guards.ts";
import { stopTalkIn, tellTrip } from "./decide/guard-stop.ts";
import type { GatherRule, RoomLimits } from "./limits.ts";
import { alertEntries } from "./out/alert-entry.ts";
import { orderingOf, partKey, partLength, sayAnew, topicOf } from "./out/notices.ts";
import { findMentions, renderMentions, takesBack } from "./decide/mentions.ts";
import { tellFormerName } from "./out/former-name-notice.ts";
import { asideOf, listenersIn, membersAmong } from "./decide/bystanders.ts";
import { addressedBy, takingPart, type Addressed } from "./decide/continuing.ts";
import type { HeardPlace, OpenPlace, Place } from "./place.ts";
import { carryFiles, showFiles, type PlaceAttachment } from "./look/place-files.ts";
import type { RoleDecision } from "./decide/role.ts";
import { nameFromOutside } from "./look/room-person.ts";
import type {
  MessageButton,
  NewMessageRow,
  RoomStore,
  StoredMessage,
  WrittenMessage,
} from "./room-store.ts";
import { excerpt, splitMessage } from "./text.ts";
import type { NewPlatformEvent, EventType } from "../wire/events.ts";
import type { MessageMark, PlaceState } from "../kernel/rooms.ts";

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
  readonly gather: GatherRule;
  /** Whether agents set signs below messages that they work on, where the platform has them. */
  readonly signs: boolean;
  readonly locale: Locale;
  /** Whether bots that are no agents of this team are heard. */
  readonly allowBots: boolean;
  readonly adapters: ReadonlyMap<string, ChannelAdapter>;
  /** Absent: files of messages stay where they are. */
  readonly files?: Files | undefined;
  /** Whether what an agent writes is shown as it comes, where the platform can edit. */
  readonly stream: boolean;
  /** How long people have to read what waits for them, before they are told. Absent: they are not. */
  readonly alertAfterMs?: number | undefined;
}

/** A message that shows what is being written. */
export interface Over {
  /** What it was posted under. */
  readonly key: string;
  /** Empty: it is not recorded whether it was posted. */
  readonly platformId: string;
}

const MAX_KNOWN = 10_000;

/** Wakes the processes that look for work of agents. */
export const HANDLINGS_TOPIC = "handlings";
const EVENTS_TOPIC = "events";

/** A message from outside. */
export interface IncomingMessage {
  readonly authorKind: "person" | "foreign";
  readonly author: string;
  readonly authorName: string;
  readonly text: string;
  /** Agents whose message is answered, where dure has no record of that message. */
  readonly repliedTo?: readonly string[] | undefined;
  readonly platformId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly attachments?: readonly (Attachment | PlaceAttachment)[] | undefined;
  /** Milliseconds since the epoch. Default: now. */
  readonly at?: number | undefined;
  /**
   * Agents that may read it and whose accounts are not told of it: they record it, and are called
   * where it names them.
   */
  readonly bystanders?: readonly string[] | undefined;
}

/** An agent's words. */
export interface OutgoingMessage {
  readonly author: string;
  readonly text: string;
  readonly mark?: MessageMark | undefined;
  /** No agent shall go on from here. */
  readonly ends?: boolean | undefined;
  /** Whose answer it is. */
  readonly turn?: string | undefined;
  /** The turn whose tool says it. */
  readonly during?: string | undefined;
  readonly request?: string | undefined;
  readonly replyTo?: string | undefined;
  readonly buttons?: readonly MessageButton[] | undefined;
  /** The message that has shown it while it was written: the first part takes its place. */
  readonly over?: Over | undefined;
  /** Of its session. */
  readonly files?: readonly FileRef[] | undefined;
  /** Default: those that the text names. */
  readonly mentions?: readonly string[] | undefined;
}

/** Outcome of a message from outside. */
export interface HeardResult {
  readonly messageId: string;
  readonly repeated: boolean;
  /** Agents that it names, or speaks to alone, and that only record it because of `only`. */
  readonly unheeded: readonly string[];
}

/**
 * What is said in a place, and what follows from it. A person's message is stored and decided in
 * one transaction; an agent's is first queued to leave, and decided when its platform has it. A
 * place's row is locked meanwhile, so that messages of one place have one order and every guard
 * counts in one row.
 */
export class Talk {
  readonly #setting: RoomsSetting;
  /** Threads that are known to have no agent; it was logged if they had. Bounded, oldest out. */
  readonly #withoutAgents = new Set<string>();

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /**
   * Stores a message from outside and decides for `agents`. The same message again decides for the
   * agents that had not seen it.
   */
  async hear(
    placeId: string,
    heard: IncomingMessage,
    agents: readonly string[],
    options: { only?: "record" } = {},
  ): Promise<HeardResult> {
    const onlyRecord = options.only === "record";
    const { isRecordOnly, ...result } = await this.#setting.database.transaction(async (tx) => {
      const { author, platformId: message } = heard;
      const wanted = { author, message, seeksLost: !this.#withoutAgents.has(placeId) };
      const place = await this.#setting.store.openFor(tx, placeId, wanted);
      if (!place) throw placeUnknown(placeId);
      return this.#hearIn(tx, place, heard, { agents, onlyRecord });
    });
    if (isRecordOnly) this.#setting.notifications.publish(EVENTS_TOPIC);
    else this.announce();
    return result;
  }

  /** Queues an agent's words. Call `announce` after the commit. */
  async say(
    tx: Transaction,
    place: OpenPlace,
    saying: OutgoingMessage,
  ): Promise<{ messageId: string; seq: number }> {
    const { store, directory, adapters } = this.#setting;
    if (place.state === "closed") throw placeClosed(place);
    const account = directory.account(place.adapter, saying.author);
    const adapter = adapters.get(place.adapter);
    if (!account || !adapter) throw accountUnknown(saying.author, place, directory);

    const id = newId("message", place.now);
    const attachments = await showFiles(tx, place, { message: id, files: saying.files ?? [] });
    const words = splitMessage(saying.text, partLength(adapter.limits.messageLength)).length;
    const parts = words + (attachments && !adapter.isLocal ? FILES_PART : 0);
    const entries = Array.from({ length: parts }, (_part, index): NewEntry => ({
      topic: topicOf(place.adapter, account.id, adapter.isLocal),
      ordering: orderingOf(account.id, place.id),
      key: partKey(id, index),
      payload: {
        kind: "post",
        message: id,
        part: index,
        parts,
        files: index >= words || undefined,
        // Only the first part takes the place of what was shown before.
        ...(index === 0 ? overOf(saying) : {}),
      },
    }));
    const { seq } = await store.write(tx, {
      place: place.id,
      adapter: place.adapter,
      known: false,
      message: { ...rowOfSaying(id, saying, directory), attachments },
      roles: {},
      joins: place.kind === "thread" && saying.mark === undefined ? [saying.author] : [],
      handlings: [],
      change: {},
      outbox: entries,
      events: [
        {
          type: "room.message",
          role: "conversation",
          room: place.id,
          data: {
            message: id,
            author: saying.author,
            author_kind: "agent",
            mark: saying.mark ?? null,
            delivery: "queued",
            parent: place.parent,
          },
        },
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
    await recordSent(tx, this.#setting, messageId, place);
    const counted =
      stored.mark === null ? this.#botSpoke(place, stored.mentions) : unchanged(place);
    const [asks] =
      stored.request !== null && stored.mark === null ? await tx.query(ASKS, [messageId]) : [];
    const step = asks ? collaborateSpoke(place, counted) : counted;
    const agents = await listenersIn(tx, place, { message: stored, directory });
    const spoken: SpokenMessage = { place, message: stored, step, agents };
    const alerts = alertEntries(place, stored, this.#setting.alertAfterMs);
    const row = { id: messageId };
    await this.#write(tx, spoken, { known: true, row, onlyRecord: false, alerts });
    return { message: stored, place };
  }

  /**
   * After a commit in which something was said: the processes that send, answer or watch look at
   * once.
   */
  announce(): void {
    const { outbox, notifications } = this.#setting;
    outbox.announce();
    notifications.publish(HANDLINGS_TOPIC);
    notifications.publish(EVENTS_TOPIC);
    if (this.#setting.gather.policy === "interrupt") notifications.publish("stops");
  }

  async #hearIn(
    tx: Transaction,
    found: HeardPlace,
    heard: IncomingMessage,
    { agents, onlyRecord }: { agents: readonly string[]; onlyRecord: boolean },
  ): Promise<HeardResult & { readonly isRecordOnly: boolean }> {
    const { directory, gather } = this.#setting;
    const known = await this.#knownMessage(tx, found, heard);
    const fresh = agents.filter((agent) => !known?.roles[agent]);
    if (known && (fresh.length === 0 || heard.clientId !== undefined)) {
      return { messageId: known.id, repeated: true, unheeded: [], isRecordOnly: true };
    }
    if (!known && found.state === "closed") {
      throw placeClosed(found, "Write somewhere else.");
    }

    // The account that heard it first may not have known yet whose account is mentioned.
    const replied =
      heard.replyTo === undefined
        ? undefined
        : await this.#setting.store.message(heard.replyTo, tx);
    const rule = { names: directory.names, gather };
    const addressed = await addressedBy(tx, found, { ...heard, replied }, rule);
    const { mentions, toPerson } = addressed;
    const { place, joins } = await takingPart(tx, found, heard, { ...addressed, directory, known });
    const message = known
      ? { ...known, mentions: [...new Set([...known.mentions, ...mentions])] }
      : messageOf({ ...heard, authorName: nameFromOutside(heard, this.#setting) }, place, mentions);
    this.#warnOfLostRecord(place, message);
    const isPerson = heard.authorKind === "person";
    const spoke = (): GuardStep =>
      isPerson ? personSpoke(place) : this.#botSpoke(place, mentions);
    const step = known ? unchanged(place) : spoke();
    const bystanders = (heard.bystanders ?? []).filter((agent) => !known?.roles[agent]);
    const hearing = await membersAmong(fresh, { tx, place, message, directory });
    const alerts = known ? [] : alertEntries(place, message, this.#setting.alertAfterMs);
    const row = rowOfHeard(message, heard);
    const written = await this.#write(
      tx,
      { place, message, step, agents: hearing, joins, toPerson },
      { known: known !== undefined, row, onlyRecord, bystanders, alerts },
    );
    if (!known) await this.#redecideBefore(tx, place, message);
    const files = (heard.attachments ?? []).flatMap((one) => ("file" in one ? [one.file] : []));
    if (files.length > 0) await carryFiles(tx, message.id, { place: place.id, files });
    return { messageId: message.id, repeated: known !== undefined, ...written };
  }

  async #knownMessage(
    tx: Transaction,
    place: OpenPlace,
    heard: IncomingMessage,
  ): Promise<StoredMessage | undefined> {
    if (heard.platformId !== undefined) {
      return this.#setting.store.messageAt(place.adapter, heard.platformId, tx);
    }
    if (heard.clientId === undefined) return undefined;
    const key = [place.id, heard.author, heard.clientId];
    await tx.query(FORGET_CLIENT_ID, key);
    const [row] = await tx.query<{ message: string }>(CLIENT_MESSAGE, key);
    return row && this.#setting.store.message(row.message, tx);
  }

  /**
   * T7: a thread where agents took part has lost who takes part in it. Logged once, and again
   * when an agent takes part and is lost again.
   */
  #warnOfLostRecord(place: HeardPlace, { mentions }: DecidedMessage): void {
    if (place.kind !== "thread") return;
    const known = this.#withoutAgents;
    if (place.participants.length > 0 || mentions.length > 0) return void known.delete(place.id);
    if (known.has(place.id)) return;
    known.add(place.id);
    if (known.size > MAX_KNOWN) known.delete(known.values().next().value!);
    if (!place.hadAgents) return;
    this.#setting.logger.warn(
      { place: place.id },
      `no agent takes part in the thread ${place.name} any more: ` +
        "agents answer there only when they are named, and take part again from then on",
    );
  }

  /**
   * Decides anew about a message of a person that is for others than before: its words were edited, or
   * the next ones name an agent. What an agent has begun stays.
   */
  async redecide(
    tx: Transaction,
    place: OpenPlace,
    stored: StoredMessage,
    { mentions, toPerson }: Addressed,
  ): Promise<void> {
    const begun = await begunBy(tx, stored.id);
    const agents = Object.keys(stored.roles).filter((agent) => !begun.includes(agent));
    const message = { ...stored, mentions };
    const spoken = { place, message, step: unchanged(place), agents, toPerson };
    const handlers = [...decideIn(spoken, this.#setting)].flatMap(([agent, { role }]) =>
      role === "HANDLER" ? [agent] : [],
    );
    await endOthers(tx, this.#setting, place, { message: stored.id, handlers });
    await tx.query(MENTION, [stored.id, mentions]);
    await this.#write(tx, spoken, { known: true, row: { id: stored.id }, onlyRecord: false });
  }

  /**
   * What a person said just before to no agent by name, or to one that is taken back now, is for the
   * agents that are named now.
   */
  async #redecideBefore(
    tx: Transaction,
    place: OpenPlace,
    { id, author, authorKind, mentions, text }: DecidedMessage,
  ): Promise<void> {
    if (authorKind !== "person" || mentions.length === 0 || place.kind !== "channel") return;
    const { names } = this.#setting.directory;
    const before = await tx.query<GatheredMessage>(GATHERED, [place.id, author, id]);
    for (const { message, mentions: named } of before) {
      if (!named.every((agent) => takesBack(text, agent, names))) continue;
      const stored = await this.#setting.store.message(message, tx);
      if (stored) await this.redecide(tx, place, stored, { mentions, toPerson: false });
    }
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

  /**
   * Decides for the agents and writes what follows. Returns those that `onlyRecord` has kept from
   * an answer that they were asked for, and whether it made no work: then processes that send or
   * answer need not look.
   */
  async #write(
    tx: Transaction,
    spoken: SpokenMessage,
    given: {
      known: boolean;
      row: WrittenMessage["message"];
      onlyRecord: boolean;
      bystanders?: readonly string[];
      /** Of people who may be told of the message. */
      alerts?: readonly NewEntry[];
    },
  ): Promise<{ readonly unheeded: readonly string[]; readonly isRecordOnly: boolean }> {
    const { store, limits, gather, directory } = this.#setting;
    const { place, message, step } = spoken;
    const aside = asideOf(spoken, given.bystanders ?? [], this.#setting);
    const decisions = new Map([...aside.records, ...decideIn(spoken, this.#setting)]);
    const consequences = consequencesOf(decisions, spoken, {
      onlyRecord: given.onlyRecord,
      secondaryWaitMs: limits.secondaryWaitMs,
      gather,
      directory,
    });
    const { roles, joins, observers, handlings, unheeded } = consequences;
    const observed = {
      sender: message.authorName,
      excerpt: recordOf(withFileNames(message.text, given.row), directory),
      agents: observers,
    };
    const outbox = [...aside.calls, ...(given.alerts ?? [])];
    const { unrecorded } = await store.write(tx, {
      place: place.id,
      adapter: place.adapter,
      known: given.known,
      message: given.row,
      roles,
      joins,
      handlings,
      observed: observers.length > 0 ? observed : undefined,
      change: {
        state: step.state,
        agent_messages: step.agentMessages,
        recent_ms: step.recent,
        suspend_ms: step.trip === "thread-rate" ? limits.suspendMs : undefined,
      },
      outbox: outbox.length > 0 ? outbox : undefined,
      events: eventsOf(spoken, given.known ? "room.heard" : "room.message", roles),
    });
    if (gather.policy === "interrupt" && message.authorKind === "person") {
      const sessions = handlings.map(({ session }) => session);
      await interruptAnswers(tx, this.#setting, place, { sessions, author: message.author });
    }
    if (unrecorded !== null) this.#warnUnrecorded(spoken, observers, unrecorded);
    this.#logDecisions(message, decisions);
    const isTold = !given.onlyRecord && (await tellFormerName(tx, spoken, this.#setting));
    if (step.trip) {
      await stopTalkIn(tx, this.#setting, place);
      await tellTrip(tx, this.#setting, this, { place, message, trip: step.trip });
    }
    const isRecordOnly = !isTold && !makesWork(spoken, handlings.length + outbox.length);
    return { unheeded, isRecordOnly };
  }

  #warnUnrecorded(
    { place, message }: SpokenMessage,
    observers: readonly string[],
    unrecorded: string,
  ): void {
    this.#setting.logger.warn(
      { message: message.id, place: place.id, agents: observers, error: unrecorded },
      `what ${observers.join(", ")} overheard of ${message.id} is not recorded: ${unrecorded}`,
    );
  }

  #logDecisions(message: DecidedMessage, decisions: ReadonlyMap<string, RoleDecision>): void {
    for (const [agent, { role, rank, because }] of decisions) {
      this.#setting.logger.debug(
        { message: message.id, agent, role, rank, because },
        `${agent} is ${role} of ${message.id}: ${because}`,
      );
    }
  }
}

/** What was changed before it was known to be there is said anew: a button was pressed at once. */
async function recordSent(
  tx: Transaction,
  setting: RoomsSetting,
  message: string,
  place: OpenPlace,
): Promise<void> {
  const [sent] = await tx.query<{ is_edited: boolean }>(SENT, [message]);
  if (sent?.is_edited) await sayAnew(tx, setting, message, place);
}

function accountUnknown(agent: string, { adapter }: Place, directory: Directory): DureError {
  return new DureError("ACCOUNT_UNKNOWN", `${agent} has no account on ${adapter}.`, {
    class: "conflict",
    hint: directory.unknownHint(agent),
  });
}

/**
 * Whether somewhere there is something to do behind a message: an answer, a word to send, a place that
 * goes on or rests. Pure.
 */
function makesWork({ place, message, step }: SpokenMessage, queued: number): boolean {
  return queued > 0 || message.mentions.length > 0 || step.state !== place.state;
}

/** Files leave behind the words, in a part of their own. */
const FILES_PART = 1;

function messageOf(
  { authorKind, author, authorName, text }: IncomingMessage,
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

function rowOfHeard(message: DecidedMessage, heard: IncomingMessage): NewMessageRow {
  return {
    id: message.id,
    author_kind: message.authorKind,
    author: message.author,
    author_name: message.authorName,
    text: message.text,
    mentions: message.mentions,
    platform_id: heard.platformId,
    client_id: heard.clientId,
    reply_to: heard.replyTo,
    attachments: heard.attachments,
    at: heard.at,
  };
}

function rowOfSaying(id: string, saying: OutgoingMessage, directory: Directory): NewMessageRow {
  return {
    id,
    author_kind: "agent",
    author: saying.author,
    author_name: directory.nameOf(saying.author),
    text: saying.text,
    mentions: saying.mentions ?? mentionsOf(saying, directory),
    delivery: "queued",
    mark: saying.mark,
    ends: saying.ends ? true : undefined,
    turn: saying.turn,
    during: saying.during,
    request: saying.request,
    reply_to: saying.replyTo,
    buttons: saying.buttons,
  };
}

/** The agents that an agent's words name; a notice names none. */
function mentionsOf(
  { text, mark, author }: OutgoingMessage,
  directory: Directory,
): readonly string[] {
  if (mark === "notice") return [];
  return findMentions(text, directory.names).agents.filter((agent) => agent !== author);
}

/** The preview whose place the first part takes. */
function overOf({ over }: OutgoingMessage): { over?: { key: string; platformId: string } } {
  return over ? { over: { ...over } } : {};
}

function placeClosed({ name, closedBecause }: OpenPlace, hint?: string): DureError {
  return new DureError("PLACE_CLOSED", `${name} is closed: ${closedBecause ?? "it is gone"}.`, {
    class: "conflict",
    hint,
  });
}

export function placeUnknown(id: string): DureError {
  return new DureError("PLACE_UNKNOWN", `There is no room or thread "${id}".`, {
    class: "not-found",
    hint: "List them: GET /v1/rooms",
  });
}

/** Those who only overhear a message know its files by name. */
function withFileNames(text: string, row: WrittenMessage["message"]): string {
  const attachments = (row && "attachments" in row && row.attachments) || [];
  const names = (attachments as readonly Attachment[]).map(({ name }) => `[${name}]`);
  return [text, ...names.filter((name) => !text.includes(name))].join(" ");
}

/** What an observer keeps of a text. */
export function recordOf(text: string, directory: Directory): string {
  return excerpt(renderMentions(text, (agent) => directory.find(agent)?.displayName));
}

function unchanged(place: OpenPlace): GuardStep {
  return { state: place.state, agentMessages: place.agentMessages, recent: place.recent };
}

function eventsOf(
  { place, message, step }: SpokenMessage,
  type: "room.heard" | "room.message",
  roles: Consequences["roles"],
): readonly NewPlatformEvent[] {
  const data = {
    message: message.id,
    author: message.author,
    author_kind: message.authorKind,
    roles: Object.fromEntries(Object.entries(roles).map(([agent, { role }]) => [agent, role])),
    parent: place.parent,
  };
  const said: NewPlatformEvent = { type, role: "conversation", room: place.id, data };
  if (step.state === place.state || step.state === "closed") return [said];
  return [said, stateEvent(place, step.state, step.trip)];
}

/** No guard closes a place. */
const STATE_EVENTS = {
  open: "room.resumed",
  resting: "room.resting",
  suspended: "room.suspended",
} as const satisfies Record<Exclude<PlaceState, "closed">, EventType>;

function stateEvent(
  { id, parent }: Place,
  state: keyof typeof STATE_EVENTS,
  trip: GuardStep["trip"],
): NewPlatformEvent {
  const data = { guard: trip ?? null, parent };
  return { type: STATE_EVENTS[state], role: "system", room: id, data };
}

const MENTION = {
  name: "room.mention",
  text: `
    update dure.room_messages
    set mentions = $2
    where id = $1`,
};
/** Messages of a person that name no agent and that no agent has begun to answer. */
interface GatheredMessage {
  readonly message: string;
  readonly mentions: readonly string[];
}
const GATHERED = {
  name: "room.gathered",
  text: `
    select distinct h.message, m.mentions
    from dure.handlings h
    join dure.room_messages m on m.id = h.message
    where h.place = $1
      and h.state = 'waiting'
      and h.rests_at > clock_timestamp()
      and h.input is null
      and m.author = $2
      and m.author_kind = 'person'
      and m.id <> $3
    limit 10`,
};
const SENT = {
  name: "room.sent",
  text: `
    update dure.room_messages
    set delivery = 'sent', delivery_error = null
    where id = $1
    returning edited_at is not null as is_edited`,
};

/** The message opened a request; others only belong to one. */
const ASKS = { name: "room.asks", text: "select from dure.requests where message = $1" };

const CLIENT_MESSAGE = {
  name: "room.client_message",
  text: `
    select message
    from dure.room_client_ids
    where place = $1 and person = $2 and client_id = $3`,
};

/**
 * One that holds no longer and was not swept yet would be in the way of its next use. Source:
 * docs/spec/collaboration §9.
 */
const FORGET_CLIENT_ID = {
  name: "room.forget_client_id",
  text: `
    delete from dure.room_client_ids
    where place = $1
      and person = $2
      and client_id = $3
      and at <= clock_timestamp() - interval '24 hours'`,
};
