import type { Conversations, Page } from "../engine/api.ts";
import { AuditLog, type Deed } from "../durable/audit-log.ts";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { RetentionRule } from "../durable/retention.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { SuggestedAction } from "../kernel/escalation.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { Accounts } from "./accounts.ts";
import type { ChannelAdapter, PressingPerson } from "./channel-adapter.ts";
import {
  Collaboration,
  type CollaborateCall,
  type CollaborateCaller,
  type CollaborateResult,
} from "./collaborate.ts";
import { Delivery } from "./delivery.ts";
import { channelPlaceId, type Directory } from "./directory.ts";
import { Inbound } from "./inbound.ts";
import type { RoomLimits } from "./limits.ts";
import { LIFT_BUTTON } from "./guards.ts";
import { liftPairsIn, Lifts, RESUME } from "./lifts.ts";
import { NOTICE_TOPIC, noticeHandler } from "./notices.ts";
import { shownPlace, type Place, type ShownPlace } from "./place.ts";
import { RoomReader, type RoomSummary } from "./reading.ts";
import { ConversationSink, type ConversationOf, type SinkTargets } from "./sink.ts";
import { Requests, withdrawRequestsIn } from "./requests.ts";
import { Responder } from "./responder.ts";
import { RoomStore, type StoredMessage } from "./room-store.ts";
import { Talk, placeUnknown, type RoomsSetting } from "./talk.ts";
import { makeRoomsOf } from "./tenant-rooms.ts";
import { checkText, LONGEST_TEXT } from "./text.ts";
import { GONE, OTHER_KEY, roomTexts, type RoomLocale } from "./texts.ts";

export interface RoomsOptions {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly lease: ProcessLease;
  readonly leases: Leases;
  readonly conversations: Conversations;
  readonly inbox: Inbox;
  readonly directory: Directory;
  readonly adapters: readonly ChannelAdapter[];
  readonly limits: RoomLimits;
  readonly locale: RoomLocale;
  readonly allowBots?: boolean;
  /**
   * Whether what an agent writes is shown as it comes, where the platform can edit messages.
   * Default no.
   */
  readonly stream?: boolean;
  /**
   * Platform ids of users or roles that may answer what waits for a decision by buttons. Default:
   * whoever manages the server where the button stands.
   */
  readonly approvers?: readonly string[] | undefined;
  readonly defaultChannel?: string;
  /** What an agent is told of itself, for the directory that operators see. */
  readonly personaOf?: (agent: string) => Promise<string | undefined>;
  /** Where background work is reported; needs `events` and `conversationOf`. */
  readonly sink?: SinkTargets | undefined;
  readonly events?: Pick<EventLog, "read" | "now">;
  readonly conversationOf?: ConversationOf;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Who calls: a tenant's person. */
export interface RoomPerson {
  readonly tenant: string;
  /** An administrator without a tenant: sees the channels of all. Default no. */
  readonly seesAll?: boolean | undefined;
  /** Their name; what they write stands under it. */
  readonly person: string;
}

/**
 * Places where people and agents talk: what is said there, who answers, and who may not any more.
 */
export class Rooms {
  readonly reader: RoomReader;
  readonly collaboration: Collaboration;
  readonly #options: RoomsOptions;
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #requests: Requests;
  readonly #lifts: Lifts;
  readonly #responder: Responder;
  readonly #accounts: Accounts;
  readonly #inbound: readonly Inbound[];
  readonly #sink: ConversationSink | undefined;
  #started: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: RoomsOptions) {
    this.#options = options;
    const { database, outbox, notifications, clock, logger, directory, limits, locale } = options;
    const store = new RoomStore({ database, limits });
    const adapters = new Map(options.adapters.map((adapter) => [adapter.name, adapter]));
    this.#setting = {
      database,
      outbox,
      notifications,
      clock,
      logger,
      store,
      directory,
      limits,
      locale,
      allowBots: options.allowBots ?? false,
      adapters,
      stream: options.stream ?? false,
      ...(options.defaultChannel !== undefined && { defaultChannel: options.defaultChannel }),
    };
    this.#talk = new Talk(this.#setting);
    this.#requests = new Requests(this.#setting, this.#talk);
    const delivery = new Delivery(this.#setting, {
      talk: this.#talk,
      requests: this.#requests,
      threadFound: (adapter, place) => this.#threadFound(adapter, place),
    });
    this.#lifts = new Lifts(this.#setting, { talk: this.#talk, delivery });
    this.collaboration = new Collaboration(this.#setting, this.#talk);
    this.#responder = new Responder(this.#setting, {
      talk: this.#talk,
      conversations: options.conversations,
      lease: options.lease,
    });
    this.#accounts = new Accounts(this.#setting, {
      leases: options.leases,
      delivery,
      processId: options.lease.id,
    });
    this.#inbound = options.adapters.map(
      (adapter) =>
        new Inbound(this.#setting, {
          adapter,
          talk: this.#talk,
          accounts: this.#accounts,
          press: (id, value, by) => this.#press(id, value, by),
        }),
    );
    this.reader = new RoomReader({ database, directory, limits, personaOf: options.personaOf });
    const { sink, events, conversationOf } = options;
    if (sink && events && conversationOf) {
      this.#sink = new ConversationSink(this.#setting, {
        talk: this.#talk,
        targets: sink,
        events,
        leases: options.leases,
        conversationOf,
      });
    }
  }

  get directory(): Directory {
    return this.#options.directory;
  }

  /** Makes the places of configured channels, connects accounts and lets agents answer. */
  start(): Promise<void> {
    this.#started ??= this.#start();
    return this.#started;
  }

  /**
   * Rows for the channels and accounts of a directory that this one's is to be replaced by.
   * Connections stay as they are.
   */
  async enrol(directory: Directory): Promise<void> {
    await this.#makePlaces(directory, { isReload: true });
    await this.#accounts.enrol(directory);
  }

  /**
   * The directory has been replaced: threads that are open in its new channels are heard from here
   * on.
   */
  channelsChanged(): void {
    for (const adapter of this.#options.adapters) adapter.channelsChanged?.();
  }

  async stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    await this.#stopped;
  }

  /**
   * A person's words in a web room. Throws `PERSON_INVALID`, `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`,
   * `PLACE_UNKNOWN`, `PLACE_CLOSED`, `ROOM_NOT_OURS`.
   */
  async post(
    who: RoomPerson,
    message: { place: string; text: string; clientId?: string; replyTo?: string },
  ): Promise<{ messageId: string; repeated: boolean }> {
    checkPerson(who.person, this.directory);
    const place = await this.place(message.place, who);
    if (place.adapter !== "web") {
      throw new DureError(
        "ROOM_NOT_OURS",
        `${place.name} is on ${place.adapter}; people write there themselves.`,
        { class: "conflict", hint: `Write on ${place.adapter}.` },
      );
    }
    const checked = checkText(message.text);
    if (!checked.ok) throw textRefused(checked.because);
    const agents = this.directory.agents
      .filter((agent) => agent.accounts["web"])
      .map((agent) => agent.id);
    const heard = {
      authorKind: "person" as const,
      author: who.person,
      authorName: who.person,
      text: checked.text,
      ...(message.clientId !== undefined && { clientId: message.clientId }),
      ...(message.replyTo !== undefined && { replyTo: message.replyTo }),
    };
    return this.#talk.hear(place.id, heard, agents);
  }

  /** The direct room of a person and an agent; made when it is asked for. */
  async direct(who: RoomPerson, agent: string): Promise<ShownPlace> {
    checkPerson(who.person, this.directory);
    const { id, displayName } = this.directory.get(agent);
    const [row] = await this.#options.database.query<{ id: string }>(DIRECT, [
      newId("direct", this.#options.clock.now()),
      displayName,
      who.tenant,
      who.person,
      id,
    ]);
    return shownPlace((await this.#setting.store.place(row!.id))!);
  }

  /**
   * A place that this person may see; `PLACE_UNKNOWN` otherwise. A channel without a tenant's name
   * is that of the person's tenant.
   */
  async place(id: string, who: RoomPerson): Promise<Place> {
    const own = this.ownIdOf(id, who);
    if (own !== id) await makeRoomsOf(who.tenant, this.directory, this.#options.database);
    const place = await this.#setting.store.place(own);
    if (!place || !maySee(place, who)) throw placeUnknown(id);
    return place;
  }

  /**
   * The id of the tenant's own room where a channel is named as the configuration does; every other
   * id as it is.
   */
  ownIdOf(id: string, { tenant }: Pick<RoomPerson, "tenant">): string {
    const channel = this.directory.channelOf(id);
    return channel && channelPlaceId(channel) === id ? channelPlaceId(channel, tenant) : id;
  }

  /**
   * Channels of the person's tenant in the order in which they were made, then the person's direct
   * rooms.
   */
  async list(
    who: RoomPerson,
    page: { limit?: number | undefined; cursor?: string | undefined } = {},
  ): Promise<Page<RoomSummary>> {
    await makeRoomsOf(who.tenant, this.directory, this.#options.database);
    return this.reader.rooms(who, page);
  }

  async message(id: string, who: RoomPerson): Promise<StoredMessage> {
    const message = await this.#setting.store.message(id);
    const place = message && (await this.#setting.store.place(message.place));
    if (!message || !place || !maySee(place, who)) {
      throw new DureError("ROOM_MESSAGE_UNKNOWN", `There is no message "${id}".`, {
        class: "not-found",
        hint: "Check the id.",
      });
    }
    return message;
  }

  /**
   * Lifts what a guard has stopped; the agents may speak again. Resuming what is open changes
   * nothing.
   */
  async resume(id: string, who: RoomPerson): Promise<{ state: Place["state"] }> {
    const place = await this.place(id, who);
    const { database, store } = this.#setting;
    const state = await database.transaction(async (tx) => {
      const open = await store.open(tx, place.id);
      if (!open || open.state === "closed") {
        throw new DureError(
          "PLACE_CLOSED",
          `${place.name} is closed: ${open?.closedBecause ?? "it is gone"}.`,
          { class: "conflict" },
        );
      }
      await tx.query(RESUME, [place.id]);
      await store.settleEscalation(tx, `room:loop:${place.id}`, who.person);
      await liftPairsIn(tx, this.#setting, place.id, who.person);
      await store.emit(tx, [
        {
          type: "room.resumed",
          role: "system",
          room: place.id,
          data: { by: who.person, parent: place.parent },
        },
      ]);
      return "open" as const;
    });
    this.#talk.announce();
    return { state };
  }

  /** A person takes an agent out of a thread. */
  async removeParticipant(id: string, agent: string, who: RoomPerson): Promise<void> {
    const place = await this.place(id, who);
    const { database, store, directory, locale } = this.#setting;
    await database.transaction(async (tx) => {
      const open = await store.open(tx, place.id);
      const gone = await tx.query(REMOVE, [place.id, agent]);
      if (gone.length === 0) {
        throw new DureError("PARTICIPANT_UNKNOWN", `${agent} takes no part in ${place.name}.`, {
          class: "not-found",
        });
      }
      await store.emit(tx, [
        {
          type: "room.left",
          role: "system",
          room: place.id,
          agent,
          data: { by: who.person, parent: place.parent },
        },
      ]);
      if (!open || open.state === "closed" || !directory.account(place.adapter, agent)) return;
      await this.#talk.say(tx, open, {
        author: agent,
        text: roomTexts(locale).removed(directory.nameOf(agent), who.person),
        mark: "notice",
      });
    });
    this.#talk.announce();
  }

  /** Pauses or readies an account by hand. */
  async pause(adapter: string, agent: string, paused: boolean): Promise<void> {
    const account = this.directory.account(adapter, this.directory.get(agent).id);
    if (!account) {
      throw new DureError("ACCOUNT_UNKNOWN", `${agent} has no account on ${adapter}.`, {
        class: "not-found",
        hint: this.directory.unknownHint(agent),
      });
    }
    await this.#accounts.pause(adapter, account, paused);
  }

  async collaborate(
    caller: CollaborateCaller,
    call: CollaborateCall,
    options: { signal?: AbortSignal } = {},
  ): Promise<CollaborateResult> {
    return this.collaboration.collaborate(caller, call, options);
  }

  /** Rows of rooms age too. Source: docs/spec/collaboration §3, §7, §9. */
  retentionRules(): readonly RetentionRule[] {
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
        keep: this.#options.limits.observationsMs,
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
        keep: this.#options.limits.participantsMs,
        where: FORGOTTEN(this.#options.limits.participantsMs),
      },
      {
        name: "thread-routes",
        table: "dure.thread_routes",
        ageColumn: "renewed_at",
        keep: this.#options.limits.routeMs,
      },
      {
        name: "room-threads",
        table: "dure.places",
        ageColumn: "active_at",
        keep: "365d",
        where: "kind = 'thread'",
      },
      { name: "web-posts", table: "dure.web_posts", ageColumn: "at", keep: "24h" },
    ];
  }

  async #start(): Promise<void> {
    const { directory, adapters, outbox, logger } = this.#options;
    directory.log(
      logger,
      adapters.map((adapter) => adapter.name),
    );
    await this.#makePlaces(directory, { isReload: false });
    outbox.handle(NOTICE_TOPIC, noticeHandler(this.#setting, this.#talk));
    for (const [index, adapter] of adapters.entries()) await adapter.start(this.#inbound[index]!);
    await this.#accounts.start();
    this.#responder.start();
    this.#requests.start();
    this.#lifts.start();
    this.#sink?.start();
  }

  /**
   * Places of the allowlist, and of nothing else: a channel that is not configured any more is
   * closed with its threads, until it is again. What was said in a channel before a reload brought
   * it is nobody's; a start reads it like any gap.
   */
  async #makePlaces(directory: Directory, { isReload }: { isReload: boolean }): Promise<void> {
    const { database } = this.#options;
    const ids = directory.channels.map((channel) => channelPlaceId(channel));
    for (const channel of directory.channels) {
      const [renamed] = await database.query(FREE_CHANNEL, [
        channelPlaceId(channel),
        channel.adapter,
        channel.channel,
      ]);
      await database.query(CHANNEL, [
        channelPlaceId(channel),
        channel.adapter,
        channel.name,
        channel.guild ?? null,
        channel.channel,
        NOT_CONFIGURED,
        isReload && renamed === undefined,
      ]);
      await database.query(KEEP_THREADS, [
        channelPlaceId(channel),
        channel.adapter,
        channel.channel,
      ]);
      await database.query(TENANTS_CHANNEL, [
        channelPlaceId(channel),
        channel.name,
        NOT_CONFIGURED,
      ]);
      await database.query(OPEN_THREADS, [channelPlaceId(channel), NOT_CONFIGURED]);
    }
    await database.transaction(async (tx) => {
      const closed = await tx.query<{ id: string }>(CLOSE_OTHERS, [ids, NOT_CONFIGURED]);
      if (closed.length === 0) return;
      await this.#setting.store.emit(
        tx,
        closed.map(({ id }) => ({
          type: "room.closed",
          role: "system",
          room: id,
          data: { because: "not-configured" },
        })),
      );
      await withdrawRequestsIn(
        tx,
        this.#setting,
        closed.map(({ id }) => id),
        "not-configured",
      );
    });
  }

  async #stop(): Promise<void> {
    await this.#started?.catch(() => {});
    for (const inbound of this.#inbound) inbound.stop();
    await this.#sink?.stop();
    await this.#lifts.stop();
    await this.#requests.stop();
    await this.#responder.stop();
    await this.#accounts.stop();
    for (const adapter of this.#options.adapters) {
      await adapter
        .stop()
        .catch((error: unknown) =>
          this.#options.logger.warn(
            { adapter: adapter.name, error: String(error) },
            `the adapter ${adapter.name} did not stop in good order`,
          ),
        );
    }
  }

  #threadFound(name: string, place: string): void {
    const at = this.#options.adapters.findIndex((adapter) => adapter.name === name);
    this.#inbound[at]
      ?.threadFound(place)
      .catch((error: unknown) =>
        this.#options.logger.warn(
          { place, error: String(error) },
          `what was said in the thread ${place} before it was found could not be read`,
        ),
      );
  }

  /**
   * What stops agents' talk anybody may lift who can write there; what decides anything else, those
   * whom the team trusts with it.
   */
  async #press(
    id: string,
    value: string,
    by: PressingPerson & { readonly adapter: string },
  ): Promise<{ label: string }> {
    const { database, inbox, locale, approvers } = this.#options;
    const name = `${by.name} (${by.adapter}:${by.id})`;
    if (id === LIFT_BUTTON) {
      if (by.writes === false) throw mayNotLift(name, value);
      await this.#audited({ tenant: "", name, what: "thread.resume", subject: value }, () =>
        this.resume(value, { tenant: "", person: name }),
      );
      return { label: roomTexts(locale).lift() };
    }
    const [row] = await database.query<{
      tenant: string;
      subject: string;
      actions: readonly SuggestedAction[];
    }>(ACTIONS, [id]);
    const isStop = row?.subject.startsWith("room:loop:") === true;
    if (isStop && by.writes === false) throw mayNotLift(name, id);
    if (row && !isStop && !mayAnswer(by, approvers)) {
      throw new DureError("ANSWER_FORBIDDEN", `${name} may not answer ${id}.`, {
        class: "forbidden",
        hint: "Add the user's or a role's id to rooms.approvers.",
      });
    }
    const tenant = row?.tenant ?? "";
    await this.#audited({ tenant, name, what: `escalation.${value}`, subject: id }, () =>
      inbox.answer(id, { value }, { tenant, name }),
    );
    return { label: row?.actions.find((action) => action.value === value)?.label ?? value };
  }

  /**
   * As the server's routes do it: written down before it is done, and how it ended before the
   * person is answered.
   */
  async #audited(deed: Deed, work: () => Promise<unknown>): Promise<void> {
    const { database, logger } = this.#options;
    const log = new AuditLog({ database });
    const entry = await log.begin(deed);
    const end = (outcome: string): Promise<void> =>
      log
        .end(entry, { outcome })
        .catch((error: unknown) =>
          logger.error(
            { entry, code: codeOf(error) },
            "the outcome of an entry of the audit log could not be written",
          ),
        );
    try {
      await work();
    } catch (error) {
      await end(codeOf(error) ?? "INTERNAL");
      throw error;
    }
    await end("done");
  }
}

function mayNotLift(name: string, what: string): DureError {
  return new DureError("LIFT_FORBIDDEN", `${name} may not lift ${what}.`, {
    class: "forbidden",
    hint: "Only who may write there can let the agents go on.",
  });
}

/**
 * Whether a person's button decides. Without a list those who manage the server; the platform
 * vouches for ids and roles. Pure. Source: docs/spec/collaboration §9.
 */
function mayAnswer(
  { id, roles = [], manages = false }: PressingPerson,
  approvers: readonly string[] | undefined,
): boolean {
  return approvers === undefined ? manages : [id, ...roles].some((one) => approvers.includes(one));
}

/** Of threads that slept for too long, whether or not anybody looked there since. */
const FORGOTTEN = (ms: number): string =>
  `place in (select id from dure.places where kind = 'thread' and active_at < clock_timestamp() - ${Math.round(ms)} * interval '1 millisecond')`;

/**
 * A channel is everybody's of its tenant; a direct room its person's. What is said in private on
 * another platform is for the operators alone.
 */
function maySee(place: Place, who: RoomPerson): boolean {
  if (place.kind === "direct") {
    return place.tenant === who.tenant && (place.adapter !== "web" || place.person === who.person);
  }
  return who.seesAll === true || place.tenant === who.tenant;
}

/**
 * A name that looks like an agent's would let a person speak as one, whatever stands in it that
 * nobody sees.
 */
function checkPerson(name: string, directory: Directory): void {
  const shown = comparableName(name);
  if (shown === "" || /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(name)) {
    throw new DureError(
      "PERSON_INVALID",
      "The name holds nothing that people can read, or signs that they cannot see.",
      { class: "input", hint: "Choose a name of plain letters." },
    );
  }
  const taken = directory.agents.find(({ id, displayName }) =>
    [id, displayName].some((agent) => comparableName(agent) === shown),
  );
  if (taken) {
    throw new DureError("PERSON_INVALID", `"${name}" is the name of an agent.`, {
      class: "input",
      hint: "Choose another name.",
    });
  }
}

function comparableName(name: string): string {
  return name
    .normalize("NFKC")
    .replace(/[\p{Default_Ignorable_Code_Point}\s]/gu, "")
    .toLowerCase();
}

function textRefused(because: "empty" | "malformed" | "too-long"): DureError {
  if (because === "empty") {
    return new DureError("MESSAGE_INVALID", "The message is empty.", {
      class: "input",
      hint: "Write something that people can see.",
    });
  }
  if (because === "malformed") {
    return new DureError("MESSAGE_INVALID", "The message holds characters that cannot be stored.", {
      class: "input",
      hint: "Send plain text in UTF-8.",
    });
  }
  return new DureError(
    "MESSAGE_TOO_LONG",
    `The message is longer than ${LONGEST_TEXT} characters.`,
    { class: "input", hint: "Send it in parts, or as a link." },
  );
}

const CHANNEL = {
  name: "rooms.channel",
  text: `insert into dure.places (id, adapter, kind, name, guild, channel, away_from, away_until)
         values ($1, $2, 'channel', $3, $4, $5, case when $7::boolean then to_timestamp(0) end, case when $7 then clock_timestamp() end)
         on conflict (id) do update set name = $3, guild = coalesce($4, dure.places.guild), channel = $5, closed_because = null,
           away_until = case when dure.places.state = 'closed' and dure.places.closed_because = $6 then clock_timestamp() else dure.places.away_until end,
           state = case when dure.places.state = 'closed' then 'open' else dure.places.state end`,
};
/** The same channel stood under another key before. */
const FREE_CHANNEL = {
  name: "rooms.free_channel",
  text: `update dure.places set channel = null, state = 'closed', closed_because = '${OTHER_KEY}'
    where adapter = $2 and kind = 'channel' and channel = $3 and id <> $1 returning id`,
};
/** Why a place is closed that the configuration does not have any more. */
const NOT_CONFIGURED = GONE["not-configured"].en;
/** What holds for a channel holds for each tenant's room of it. */
const TENANTS_CHANNEL = {
  name: "rooms.tenants_channel",
  text: `update dure.places set name = $2, closed_because = null,
           away_until = case when state = 'closed' and closed_because = $3 then clock_timestamp() else away_until end,
           state = case when state = 'closed' then 'open' else state end
          where kind = 'channel' and tenant <> '' and split_part(id, '@', 1) = $1`,
};
const OPEN_THREADS = {
  name: "rooms.open_threads",
  text: "update dure.places set state = 'open', closed_because = null, away_until = clock_timestamp() where kind = 'thread' and split_part(parent, '@', 1) = $1 and state = 'closed' and closed_because = $2",
};
const CLOSE_OTHERS = {
  name: "rooms.close_others",
  text: `update dure.places set state = 'closed', closed_because = $2, away_from = clock_timestamp(), away_until = null
          where state <> 'closed' and (kind = 'channel' and not split_part(id, '@', 1) = any($1::text[]) or kind = 'thread' and not split_part(parent, '@', 1) = any($1::text[])) returning id`,
};
/** The threads of a channel stay with it. */
const KEEP_THREADS = {
  name: "rooms.keep_threads",
  text: "update dure.places set parent = $1 where adapter = $2 and kind = 'thread' and channel = $3 and parent <> $1",
};
const DIRECT = {
  name: "rooms.direct",
  text: `insert into dure.places (id, adapter, kind, name, tenant, person, agent, channel) values ($1, 'web', 'direct', $2, $3, $4, $5, $1)
         on conflict (adapter, tenant, person, agent) where kind = 'direct' do update set name = $2 returning id`,
};
const REMOVE = {
  name: "rooms.remove",
  text: "delete from dure.participants where place = $1 and agent = $2 returning agent",
};
const ACTIONS = {
  name: "rooms.actions",
  text: "select tenant, subject, actions from dure.escalations where id = $1",
};
