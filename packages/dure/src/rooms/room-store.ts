/** The rows of rooms, read and written inside of a transaction, and how long they are kept. */

import type { RowOf } from "../durable/rows.ts";
import type { Database, Queryable, Transaction } from "../durable/database.ts";
import type { NewEntry } from "../durable/outbox.ts";
import { storable } from "../durable/storable.ts";
import { raiseEscalations, settleEscalation } from "../escalations/inbox.ts";
import type { NewEscalation } from "../kernel/escalation.ts";
import type { PlaceAddress } from "./channel-adapter.ts";
import type { RoomChannel } from "./directory.ts";
import type { RoomLimits } from "./limits.ts";
import {
  heardPlaceOf,
  openPlaceOf,
  placeOf,
  type HeardPlace,
  type HeardPlaceRow,
  type OpenPlace,
  type OpenPlaceRow,
  type Place,
  type PlaceRow,
} from "./place.ts";
import type { NewPlatformEvent } from "../wire/events.ts";
import type {
  AuthorKind,
  Delivery,
  HandlingOutcome,
  MessageMark,
  PlaceState,
  Rank,
  Role,
} from "../kernel/rooms.ts";
import type { RoomMessage } from "../wire/rooms.ts";
import type { RetentionRule } from "../durable/retention.ts";

/** The rows of rooms, as seen from inside a transaction. Decisions are made elsewhere. */
export class RoomStore {
  readonly #database: Database;
  readonly #limits: RoomLimits;

  constructor(options: { database: Database; limits: RoomLimits }) {
    this.#database = options.database;
    this.#limits = options.limits;
  }

  /**
   * Locks a place until `tx` ends, or the one that it was found to be. Undefined: there is no such
   * place. Lock one place per transaction, or the smaller id first.
   */
  async open(tx: Transaction, place: string): Promise<OpenPlace | undefined> {
    const [row] = await tx.query<{ place: OpenPlaceRow | null }>(OPEN, [
      place,
      this.#limits.participantsMs,
    ]);
    return row?.place ? openPlaceOf(row.place) : undefined;
  }

  /**
   * Locks it for a message, with what the message may go on with, in one statement. `message`: its id,
   * here or on its platform, if it may stand there already. `seeksLost`: also whether the thread has
   * lost its agents.
   */
  async openFor(
    tx: Transaction,
    place: string,
    {
      author,
      message,
      seeksLost,
    }: {
      readonly author: string;
      readonly message: string | undefined;
      readonly seeksLost: boolean;
    },
  ): Promise<HeardPlace | undefined> {
    const [row] = await tx.query<{ place: HeardPlaceRow | null }>(OPEN_FOR, [
      place,
      this.#limits.participantsMs,
      author,
      message ?? null,
      seeksLost,
    ]);
    return row?.place ? heardPlaceOf(row.place) : undefined;
  }

  /** The place of an id, or the one that it was found to be. */
  async place(id: string, tx: Queryable = this.#database): Promise<Place | undefined> {
    const [row] = await tx.query<PlaceRow>(PLACE, [id]);
    return row && placeOf(row);
  }

  /**
   * The id of a thread that is called as its platform calls it: `discord:123456789`, or the number
   * alone. Undefined: none of these channels has such a thread, or several have.
   */
  async threadNamed(
    name: string,
    channels: readonly Pick<RoomChannel, "adapter" | "channel">[],
    tx: Queryable = this.#database,
  ): Promise<string | undefined> {
    const asked = channels.map(({ adapter, channel }) => ({
      adapter,
      channel,
      thread: name.startsWith(`${adapter}:`) ? name.slice(adapter.length + 1) : name,
    }));
    const found = await tx.query<{ id: string }>(THREAD_NAMED, [JSON.stringify(asked)]);
    return found.length === 1 ? found[0]!.id : undefined;
  }

  /** The place of an address that the platform gave. */
  async placeAt(address: PlaceAddress, tx: Queryable = this.#database): Promise<Place | undefined> {
    const [row] = await tx.query<PlaceRow>(PLACE_AT, [
      address.adapter,
      address.channel,
      address.thread ?? "",
    ]);
    return row && placeOf(row);
  }

  /**
   * What followed from one message, all of it or nothing. Only the record of the agents that
   * overheard it may fail (`unrecorded`: why).
   */
  async write(
    tx: Transaction,
    written: WrittenMessage,
  ): Promise<{ seq: number; unrecorded: string | null }> {
    const outbox = written.outbox?.map(({ delayMs, ...entry }) => ({
      ...entry,
      delay_ms: delayMs,
    }));
    const [row] = await tx.query<{ result: { seq: number; unrecorded: string | null } }>(WRITE, [
      storable({ ...written, outbox }),
    ]);
    return row!.result;
  }

  async message(id: string, tx: Queryable = this.#database): Promise<StoredMessage | undefined> {
    const [row] = await tx.query<MessageRow>(MESSAGE, [id]);
    return row && messageOf(row);
  }

  /** Our message of a platform's id. */
  async messageAt(
    adapter: string,
    platformId: string,
    tx: Queryable = this.#database,
  ): Promise<StoredMessage | undefined> {
    const [row] = await tx.query<MessageRow>(MESSAGE_AT, [adapter, platformId]);
    return row && messageOf(row);
  }

  /** The message of an id, which is its platform's or, on the web, ours: so threads below it are called. */
  async messageCalled(adapter: string, id: string): Promise<StoredMessage | undefined> {
    const [row] = await this.#database.query<MessageRow>(MESSAGE_CALLED, [adapter, id]);
    return row && messageOf(row);
  }

  /** Whether the agent took part in the thread. It does no more, until it is named there again. */
  async depart(tx: Transaction, thread: string, agent: string): Promise<boolean> {
    return (await tx.query(DEPART, [thread, agent])).length > 0;
  }

  /** A message has other words, or other buttons. */
  async emitEdited(tx: Queryable, room: string, message: string): Promise<void> {
    await this.emit(tx, [{ type: "room.edited", role: "conversation", room, data: { message } }]);
  }

  async emit(tx: Queryable, events: readonly NewPlatformEvent[]): Promise<void> {
    if (events.length > 0) await tx.query(EMIT, [storable(events)]);
  }

  /** One open escalation per subject; a repeat changes nothing. Gives the open one's id. */
  async escalate(tx: Queryable, escalation: RoomEscalation): Promise<string> {
    const suggestedActions = escalation.suggestedActions ?? SEEN;
    const [open] = await raiseEscalations(tx, [{ ...escalation, suggestedActions }]);
    return open!.id;
  }

  /** Closes what waits for a decision that is not needed any more. */
  async settleEscalation(tx: Queryable, subject: string, by: string): Promise<void> {
    await settleEscalation(tx, subject, { by });
  }
}

/** A message by its platform's id, or by dure's. */
export type MessageName =
  | { readonly adapter: string; readonly platformId: string }
  | { readonly id: string };

/** Parameters of a statement that finds it. Pure. */
export function namesOf(message: MessageName): readonly (string | null)[] {
  return "id" in message ? [null, null, message.id] : [message.adapter, message.platformId, null];
}

/** What an operator can say to something that only wants to be known. */
const SEEN = [{ value: "seen", code: "seen", label: "Seen" }] as const;

/** A button of a message: an answer to an escalation, or `lift:<place>`. */
export interface MessageButton {
  readonly value: string;
  readonly label: string;
  /** As in `SuggestedAction`. */
  readonly code?: string | undefined;
  /** Who alone may press it, by the platform's id. Absent: those who decide for the team. */
  readonly for?: string | undefined;
}

/** Default: an operator can only say that it has been seen. */
export type RoomEscalation = Omit<NewEscalation, "suggestedActions"> & {
  readonly suggestedActions?: NewEscalation["suggestedActions"] | undefined;
};

/** The parameter of dure.write_message. */
export interface WrittenMessage {
  readonly place: string;
  readonly adapter: string;
  /** The message is stored already; its roles grow. */
  readonly known: boolean;
  readonly message: { readonly id: string; readonly ends?: boolean } | NewMessageRow | undefined;
  readonly roles: Readonly<Record<string, StoredRole>>;
  readonly joins: readonly string[];
  readonly handlings: readonly NewHandling[];
  readonly observed?:
    | {
        readonly sender: string;
        readonly excerpt: string;
        readonly agents: readonly string[];
      }
    | undefined;
  readonly change: {
    readonly state?: PlaceState | undefined;
    readonly suspend_ms?: number | undefined;
    readonly agent_messages?: number | undefined;
    readonly recent_ms?: readonly number[] | undefined;
  };
  readonly outbox?: readonly NewEntry[] | undefined;
  readonly events: readonly NewPlatformEvent[];
}

export interface NewMessageRow {
  readonly id: string;
  readonly author_kind: AuthorKind;
  readonly author: string;
  readonly author_name: string;
  readonly text: string;
  readonly mentions: readonly string[];
  readonly mark?: MessageMark | undefined;
  readonly ends?: boolean | undefined;
  readonly reply_to?: string | undefined;
  readonly turn?: string | undefined;
  readonly during?: string | undefined;
  readonly request?: string | undefined;
  readonly delivery?: "sent" | "queued" | undefined;
  readonly attachments?: readonly unknown[] | undefined;
  readonly buttons?: readonly MessageButton[] | undefined;
  readonly at?: number | undefined;
  readonly platform_id?: string | undefined;
  readonly client_id?: string | undefined;
}

export interface StoredRole {
  readonly role: Role;
  readonly rank?: Rank | undefined;
  readonly because: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The message that answered. */
  readonly answer?: string | undefined;
  /** How the work ended, where it did without an answer. */
  readonly outcome?: HandlingOutcome | undefined;
}

export interface NewHandling {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly rank?: Rank | undefined;
  readonly request?: string | undefined;
  readonly behind?: string | undefined;
  readonly wait_ms?: number | undefined;
  /** Its person is taken to say no more after this; the first message waits for `most_ms` at most. */
  readonly rest_ms?: number | undefined;
  readonly most_ms?: number | undefined;
}

export interface StoredMessage {
  readonly id: string;
  readonly place: string;
  readonly seq: number;
  readonly authorKind: AuthorKind;
  readonly author: string;
  readonly authorName: string;
  readonly text: string;
  readonly mentions: readonly string[];
  readonly mark: MessageMark | null;
  readonly ends: boolean;
  readonly replyTo: string | null;
  readonly request: string | null;
  readonly roles: Readonly<Record<string, StoredRole>>;
  readonly delivery: Delivery;
  readonly deliveryError: { readonly code?: string; readonly message?: string } | null;
  readonly attachments: RoomMessage["attachments"];
  readonly buttons: readonly MessageButton[] | null;
  readonly at: number;
  readonly editedAt: number | null;
  /** Its words are gone since then. */
  readonly deletedAt: number | null;
}

/** A message as people look at it: roles are a list, since agents' ids are no keys. Pure. */
export function shownMessage(
  { roles, ...message }: StoredMessage,
  { reactions, thread }: Pick<RoomMessage, "reactions" | "thread"> = {
    reactions: [],
    thread: null,
  },
): RoomMessage {
  const list = Object.entries(roles).map(
    ([agent, { role, rank, because, at, answer, outcome }]) => ({
      agent,
      role,
      because,
      rank: rank || undefined,
      observedAt: role === "OBSERVER" ? at : undefined,
      answeredBy: answer,
      outcome,
    }),
  );
  return { ...message, roles: list, reactions, thread };
}

export type MessageRow = RowOf<StoredMessage, "at" | "editedAt" | "deletedAt">;

export function messageOf(row: MessageRow): StoredMessage {
  return {
    id: row.id,
    place: row.place,
    seq: row.seq,
    authorKind: row.author_kind,
    author: row.author,
    authorName: row.author_name,
    text: row.text,
    mentions: row.mentions,
    mark: row.mark,
    ends: row.ends,
    replyTo: row.reply_to,
    request: row.request,
    roles: row.roles,
    delivery: row.delivery,
    deliveryError: row.delivery_error,
    attachments: row.attachments,
    buttons: row.buttons,
    at: row.at.getTime(),
    editedAt: row.edited_at?.getTime() ?? null,
    deletedAt: row.deleted_at?.getTime() ?? null,
  };
}

const OPEN = { name: "room.open", text: "select dure.open_place($1, $2) as place" };
const OPEN_FOR = {
  name: "room.open_for",
  text: "select dure.open_place_for($1, $2, $3, $4, $5) as place",
};
const WRITE = { name: "room.write", text: "select dure.write_message($1) as result" };
const EMIT = { name: "room.emit", text: "select dure.emit($1)" };
const PLACE = {
  name: "room.place",
  text: `
    select p.*, dure.is_private(p) as is_private
    from dure.places p
    where id = coalesce((select moved_to from dure.places where id = $1), $1)`,
};
const THREAD_NAMED = {
  name: "room.thread_named",
  text: `
    select p.id
    from jsonb_to_recordset($1) as asked (adapter text, channel text, thread text)
    join dure.places p on p.adapter = asked.adapter
      and p.channel = asked.channel
      and coalesce(p.thread, '') = asked.thread
    where p.kind = 'thread' and p.thread is not null
    limit 2`,
};
const PLACE_AT = {
  name: "room.place_at",
  text: `
    select p.*, dure.is_private(p) as is_private
    from dure.places p
    where adapter = $1
      and channel = $2
      and coalesce(thread, '') = $3
      and (kind <> 'thread' or thread is not null)`,
};
const MESSAGE = { name: "room.message", text: "select * from dure.room_messages where id = $1" };
const MESSAGE_AT = {
  name: "room.message_at",
  text: `
    select m.*
    from dure.room_parts p
    join dure.room_messages m on m.id = p.message
    where p.adapter = $1 and p.platform_id = $2`,
};

const MESSAGE_CALLED = {
  name: "room.message_called",
  text: "select * from dure.message_called($1, $2)",
};

const DEPART = {
  name: "room.depart",
  text: `
    with gone as (
      delete from dure.participants
      where place = $1 and agent = $2
      returning place, agent
    )
    update dure.places p
    set departed = array_append(array_remove(departed, gone.agent), gone.agent)
    from gone
    where p.id = gone.place
    returning p.id`,
};

/** Rows of rooms age too. Source: docs/spec/collaboration §3, §7, §9. */
export function roomRetention(limits: RoomLimits): readonly RetentionRule[] {
  return [
    // Not since it was said: what was read late has been seen all the same.
    { name: "room-messages", table: "dure.room_messages", ageColumn: "heard_at", keep: "90d" },
    {
      name: "handlings",
      table: "dure.handlings",
      ageColumn: "finished_at",
      keep: "7d",
      where: "state = 'done'",
    },
    {
      name: "observations",
      table: "dure.observations",
      ageColumn: "at",
      keep: limits.observationsMs,
    },
    { name: "room-client-ids", table: "dure.room_client_ids", ageColumn: "at", keep: "24h" },
    {
      name: "requests",
      table: "dure.requests",
      ageColumn: "closed_at",
      keep: "7d",
      where: "state <> 'open'",
    },
    { name: "collaborations", table: "dure.collaborations", ageColumn: "at", keep: "7d" },
    {
      name: "participants",
      table: "dure.participants",
      ageColumn: "since",
      keep: limits.participantsMs,
      where: FORGOTTEN(limits.participantsMs),
    },
    {
      name: "thread-routes",
      table: "dure.thread_routes",
      ageColumn: "renewed_at",
      keep: limits.routeMs,
    },
    {
      name: "room-threads",
      table: "dure.places",
      ageColumn: "active_at",
      keep: "365d",
      where: "kind = 'thread'",
    },
    {
      name: "stops",
      table: "dure.stops",
      ageColumn: "done_at",
      keep: "7d",
      where: "done_at is not null",
    },
    { name: "room-visits", table: "dure.room_visits", ageColumn: "seen_at", keep: "1h" },
    { name: "web-posts", table: "dure.web_posts", ageColumn: "at", keep: "24h" },
  ];
}

/** Of threads that slept for too long, whether or not they were looked at since. */
const FORGOTTEN = (ms: number): string =>
  `place in (
    select id from dure.places
    where kind = 'thread'
      and active_at < clock_timestamp() - ${Math.round(ms)} * interval '1 millisecond')`;
