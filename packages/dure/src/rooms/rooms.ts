/**
 * The rooms of a team as its server sees them: what is said, who answers, and what people order.
 */

import type { Stopped } from "../wire/rooms.ts";
import type { Locale } from "../kernel/locales.ts";
import type { RowPage } from "../durable/page.ts";
import type { Conversations } from "../engine/api.ts";
import type { Database } from "../durable/database.ts";
import type { Files } from "../durable/files/files.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { Leases } from "../durable/leases.ts";
import type { Notifications } from "../durable/notify.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { Pauses } from "../durable/pauses.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { RetentionRule } from "../durable/retention.ts";
import type { Inbox } from "../escalations/inbox.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { FileRef } from "../kernel/files.ts";
import { newId } from "../kernel/ids.ts";
import type { Logger } from "../kernel/logger.ts";
import { Accounts } from "./in/accounts.ts";
import { AgentPauses } from "./orders/agent-pauses.ts";
import { Buttons } from "./orders/buttons.ts";
import type { ChannelAdapter } from "./channel-adapter.ts";
import { Collaboration } from "./handover/collaborate.ts";
import { OwnMessages } from "./in/changes.ts";
import { FORGET_TOPIC, forgetHandler } from "./in/forgetting.ts";
import { channelsFor, makeConfiguredPlaces, makeRoomsOf } from "./in/configured-places.ts";
import { threadBelow } from "./in/platform-places.ts";
import { Delivery } from "./out/delivery.ts";
import type { Directory } from "./directory.ts";
import { channelNamed, channelPlaceId } from "./named-place.ts";
import { Inbound } from "./in/inbound.ts";
import { GATHER, type GatherRule, type RoomLimits } from "./limits.ts";
import { GuardResumes, resumeTalk } from "./decide/guard-stop.ts";
import { NOTICE_TOPIC, noticeHandler } from "./out/notices.ts";
import { shownPlace, type Place, type ShownPlace } from "./place.ts";
import { RoomReader, type RoomSummary } from "./look/reading.ts";
import { ConversationSink, type ConversationOf, type SinkTargets } from "./handover/sink.ts";
import { Orders } from "./orders/orders.ts";
import { QUESTION_TOPIC, Questions } from "./answer/questions.ts";
import { Requests } from "./handover/requests.ts";
import { Responder } from "./answer/responder.ts";
import { AnswerRetries } from "./answer/answer-retries.ts";
import { RETRY_MODELS_TOPIC } from "../engine/outage-reports.ts";
import { Stops, takeOut } from "./orders/stops.ts";
import { checkPerson, maySee, type RoomPerson } from "./look/room-person.ts";
import { PeopleHere } from "./look/people-here.ts";
import { PlaceFiles } from "./look/place-files.ts";
import type { RoomRoles } from "./orders/pressed-by.ts";
import { RoomStore, type StoredMessage, roomRetention } from "./room-store.ts";
import { Talk, placeUnknown, type RoomsSetting } from "./talk.ts";
import { checkText, LONGEST_TEXT, textOf } from "./text.ts";

export interface RoomsOptions {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly lease: ProcessLease;
  readonly leases: Leases;
  readonly pauses: Pauses;
  readonly conversations: Conversations;
  readonly inbox: Inbox;
  readonly directory: Directory;
  readonly adapters: readonly ChannelAdapter[];
  readonly limits: RoomLimits;
  /** Whether what a person says in a row is answered once. Default `GATHER`. */
  readonly gather?: GatherRule | undefined;
  /** Whether agents set 👀 and ✅ below what they work on, where the platform has it. Default yes. */
  readonly signs?: boolean | undefined;
  readonly locale: Locale;
  readonly allowBots?: boolean;
  /**
   * Whether what an agent writes is shown as it comes, where the platform can edit messages.
   * Default no.
   */
  readonly stream?: boolean;
  /**
   * How long people of web rooms have to read what waits for them, before they are told elsewhere,
   * milliseconds. Absent: they are not told.
   */
  readonly alertAfterMs?: number | undefined;
  /**
   * Platform ids of users or roles that may answer what waits for a decision by buttons. Default:
   * users who manage the server where the button stands.
   */
  readonly approvers?: readonly string[] | undefined;
  /** Who has a role that an approval asks for: ids of users or roles of platforms, by role. */
  readonly roles?: RoomRoles | undefined;
  /** Where files of messages are kept. Absent: they stay where they are. */
  readonly files?: Files | undefined;
  /** What an agent is told of itself, for the directory that operators see. */
  readonly personaOf?: (agent: string) => Promise<string | undefined>;
  /** Where background work is reported; needs `events` and `conversationOf`. */
  readonly sink?: SinkTargets | undefined;
  readonly events?: Pick<EventLog, "read" | "now">;
  readonly conversationOf?: ConversationOf;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Places where people and agents talk: what is said there, who answers, and who may not any more.
 */
export class Rooms {
  readonly reader: RoomReader;
  readonly collaboration: Collaboration;
  readonly own: OwnMessages;
  readonly files: PlaceFiles;
  readonly people: PeopleHere;
  /** Agents for which people allow no model call. */
  readonly pauses: AgentPauses;
  readonly #options: RoomsOptions;
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #requests: Requests;
  readonly #questions: Questions;
  readonly #buttons: Buttons;
  readonly #lifts: GuardResumes;
  readonly #stops: Stops;
  readonly #retries: AnswerRetries;
  readonly #responder: Responder;
  readonly #accounts: Accounts;
  readonly #inbound: readonly Inbound[];
  readonly #sink: ConversationSink | undefined;
  #started: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: RoomsOptions) {
    this.#options = options;
    const { database, directory, limits } = options;
    this.#setting = settingOf(options);
    this.#talk = new Talk(this.#setting);
    this.files = new PlaceFiles(this.#setting);
    this.people = new PeopleHere(options);
    this.#requests = new Requests(this.#setting, this.#talk);
    this.#questions = new Questions(this.#setting, this.#talk);
    const delivery = new Delivery(this.#setting, {
      talk: this.#talk,
      requests: this.#requests,
      questions: this.#questions,
      threadFound: (adapter, place) => hearThread(this.#inbound, options, { adapter, place }),
    });
    this.#lifts = new GuardResumes(this.#setting, { talk: this.#talk, unsure: delivery.unsure });
    this.own = new OwnMessages(this.#setting, this.#talk, {
      find: (id, who) => ownRoomMessage(this, id, who),
      wordsOf,
    });
    this.#stops = new Stops(this.#setting, this.#talk);
    this.#retries = new AnswerRetries(this.#setting, this.#talk);
    this.pauses = new AgentPauses(this.#setting, options.pauses);
    this.collaboration = new Collaboration(this.#setting, this.#talk);
    this.#responder = new Responder(this.#setting, {
      talk: this.#talk,
      questions: this.#questions,
      conversations: options.conversations,
      lease: options.lease,
      pauses: options.pauses,
    });
    this.#accounts = new Accounts(this.#setting, {
      leases: options.leases,
      delivery,
      processId: options.lease.id,
    });
    this.reader = new RoomReader({ database, directory, limits, personaOf: options.personaOf });
    this.#buttons = new Buttons({
      ...options,
      questions: this.#questions,
      resume: (place, person) => this.resume(place, { tenant: "", person }),
      retryAnswer: (handling, person) => this.#retries.retryAnywhere(handling, person),
    });
    const orders = new Orders(this.#setting, {
      pauses: this.pauses,
      reader: this.reader,
      approvers: options.approvers,
      stopIn: (place, by) => this.#stops.stopIn(place, by),
    });
    this.#inbound = options.adapters.map(
      (adapter) =>
        new Inbound(this.#setting, {
          adapter,
          talk: this.#talk,
          accounts: this.#accounts,
          press: (id, value, by, at) => this.#buttons.press(id, value, by, at),
          order: (order, by, at) => orders.carryOut(order, by, at),
        }),
    );
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
    await makeConfiguredPlaces(this.#setting, directory, { isReload: true });
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
   * A person's words in a web room, or below one of its messages. Throws `PERSON_INVALID`,
   * `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`, `PLACE_UNKNOWN`, `PLACE_CLOSED`, `ROOM_NOT_OURS`,
   * `ROOM_MESSAGE_UNKNOWN`.
   */
  async post(
    who: RoomPerson,
    message: {
      place: string;
      text: string;
      clientId?: string;
      replyTo?: string;
      /** A message of the place: the words go to the thread below it, made when it is not there. */
      below?: string;
      files?: readonly string[];
    },
  ): Promise<{ messageId: string; place: string; repeated: boolean }> {
    checkPerson(who.person, this.directory);
    const place = assertOurs(await spokenIn(this, this.#setting, { to: message, who }));
    const attachments = await this.files.attachmentsOf(place, message.files ?? []);
    const text = wordsOf(textOf({ text: message.text, attachments }));
    const agents = this.directory.agents
      .filter((agent) => agent.accounts["web"])
      .map((agent) => agent.id);
    const heard = {
      authorKind: "person" as const,
      author: who.person,
      authorName: who.person,
      text,
      clientId: message.clientId,
      replyTo: message.replyTo,
      attachments,
    };
    return { ...(await this.#talk.hear(place.id, heard, agents)), place: place.id };
  }

  /**
   * A file for a message of a web room. Throws what `post` throws of the place, and what `Files.put`
   * does.
   */
  async upload(
    who: RoomPerson,
    file: { place: string; name: string; bytes: Uint8Array },
  ): Promise<FileRef> {
    checkPerson(who.person, this.directory);
    return this.files.upload(assertOurs(await this.place(file.place, who)), file);
  }

  /** A page of the person shows a web room. Throws what `post` throws of the place. */
  async visit(who: RoomPerson, visit: { place: string; writes: boolean }): Promise<void> {
    checkPerson(who.person, this.directory);
    await this.people.visit(assertOurs(await this.place(visit.place, who)), { ...visit, ...who });
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
   * A place that this person may see, by its id or a name of it; throws `PLACE_UNKNOWN` and
   * `PLACE_AMBIGUOUS`. A channel without a tenant's name is that of the person's tenant.
   */
  async place(name: string, who: RoomPerson): Promise<Place> {
    const { store } = this.#setting;
    const id = await this.idOf(name, who);
    if (id !== name) await makeRoomsOf(who.tenant, this.directory, this.#options.database);
    const place = (await store.place(id)) ?? (await this.#threadNamed(name, who));
    if (!place || !maySee(place, who)) throw placeUnknown(name);
    return place;
  }

  async #threadNamed(name: string, { tenant }: RoomPerson): Promise<Place | undefined> {
    const { store } = this.#setting;
    const id = await store.threadNamed(name, channelsFor(tenant, this.directory));
    return id === undefined ? undefined : store.place(id);
  }

  /**
   * The id of a channel that is named, in the person's tenant; every other name as it is. Throws
   * `PLACE_AMBIGUOUS`.
   */
  async idOf(name: string, who: RoomPerson): Promise<string> {
    const { tenant } = who;
    const named = channelNamed(name, channelsFor(tenant, this.directory), tenant);
    if (named.ok) return channelPlaceId(named.channel, tenant);
    if (named.because === "unknown") return name;

    const places = await Promise.all(named.allowed.map((id) => this.#setting.store.place(id)));
    const seen = places.flatMap((place) => (place && maySee(place, who) ? place.id : []));
    if (seen.length > 1) throw placeAmbiguous(name, seen);
    return seen[0] ?? name;
  }

  /**
   * Channels of the person's tenant in the order in which they were made, then the person's direct
   * rooms.
   */
  async list(
    who: RoomPerson,
    page: { limit?: number | undefined; cursor?: string | undefined } = {},
  ): Promise<RowPage<RoomSummary>> {
    await makeRoomsOf(who.tenant, this.directory, this.#options.database);
    return this.reader.rooms(who, page);
  }

  /** Undefined: it is not private, or there is no such place. */
  async privatePlace(id: string): Promise<Place | undefined> {
    const place = await this.#setting.store.place(id);
    return place?.isPrivate === true ? place : undefined;
  }

  async message(id: string, who: RoomPerson): Promise<StoredMessage> {
    const message = await this.#setting.store.message(id);
    const place = message && (await this.#setting.store.place(message.place));
    if (!message || !place || !maySee(place, who)) throw messageUnknown(id);
    return message;
  }

  /**
   * Lifts what a guard has stopped; the agents may speak again. Resuming what is open changes
   * nothing.
   */
  async resume(id: string, who: RoomPerson): Promise<{ state: "open" }> {
    const place = await this.place(id, who);
    await resumeTalk(this.#setting, place, who.person);
    this.#talk.announce();
    return { state: "open" };
  }

  /** A person takes an agent out of a thread. */
  async removeParticipant(id: string, agent: string, who: RoomPerson): Promise<void> {
    const place = await this.place(id, who);
    await takeOut(this.#setting, this.#talk, { place, agent, by: who.person });
    this.#talk.announce();
  }

  /** Ends what runs in a place and its threads; see `Stops`. Throws `PLACE_UNKNOWN`. */
  async stopIn(id: string, who: RoomPerson): Promise<Stopped> {
    return this.#stops.stopIn(await this.place(id, who), who.person);
  }

  /**
   * Goes on with an answer whose model was away; without one, agents that wait for their models
   * call them now. Throws `PLACE_UNKNOWN`, `TURN_UNKNOWN`, `TURN_NOT_RETRYABLE`, `TURN_PASSED`.
   */
  async retryIn(id: string, who: RoomPerson, answer: string | undefined): Promise<void> {
    const place = await this.place(id, who);
    if (answer !== undefined) return void (await this.#retries.retry(answer, place, who.person));
    this.#setting.notifications.publish(RETRY_MODELS_TOPIC);
  }

  /**
   * What a person of a web room says to what they were asked there. Throws `PLACE_UNKNOWN`,
   * `ESCALATION_UNKNOWN`, `ESCALATION_CLOSED`, `ANSWER_FORBIDDEN`, `ANSWER_INVALID`.
   */
  async answerIn(id: string, who: RoomPerson, answer: RoomAnswer): Promise<void> {
    const place = await this.place(id, who);
    await this.#buttons.answer(answer.question, answer.value, { ...who, place: place.id });
    this.#talk.announce();
  }

  /** The adapter of a platform; undefined: the team is not there. */
  adapter(name: string): ChannelAdapter | undefined {
    return this.#setting.adapters.get(name);
  }

  retentionRules(): readonly RetentionRule[] {
    return roomRetention(this.#options.limits);
  }

  async #start(): Promise<void> {
    const { directory, adapters, outbox, logger } = this.#options;
    directory.log(logger, adapters);
    await makeConfiguredPlaces(this.#setting, directory, { isReload: false });
    outbox.handle(NOTICE_TOPIC, noticeHandler(this.#setting, this.#talk));
    outbox.handle(FORGET_TOPIC, forgetHandler());
    outbox.handle(QUESTION_TOPIC, this.#questions.handler());
    for (const [index, adapter] of adapters.entries()) await adapter.start(this.#inbound[index]!);
    await this.#accounts.start();
    this.#responder.start();
    this.#requests.start();
    this.#lifts.start();
    this.#stops.start();
    this.pauses.start();
    this.people.start();
    this.#sink?.start();
  }

  async #stop(): Promise<void> {
    await this.#started?.catch(() => {});
    for (const inbound of this.#inbound) inbound.stop();
    await this.#sink?.stop();
    await this.people.stop();
    await this.pauses.stop();
    await this.#stops.stop();
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
}

/** What was said in a thread before it was found. */
function hearThread(
  inbound: readonly Inbound[],
  { adapters, logger }: Pick<RoomsOptions, "adapters" | "logger">,
  { adapter: name, place }: { adapter: string; place: string },
): void {
  const at = adapters.findIndex((adapter) => adapter.name === name);
  inbound[at]
    ?.threadFound(place)
    .catch((error: unknown) =>
      logger.warn(
        { place, error: String(error) },
        `what was said in the thread ${place} before it was found could not be read`,
      ),
    );
}

function settingOf(options: RoomsOptions): RoomsSetting {
  const { database, outbox, notifications, clock, logger, directory, limits, locale } = options;
  return {
    database,
    outbox,
    notifications,
    clock,
    logger,
    store: new RoomStore({ database, limits }),
    directory,
    limits,
    gather: options.gather ?? GATHER,
    signs: options.signs ?? true,
    locale,
    allowBots: options.allowBots ?? false,
    adapters: new Map(options.adapters.map((adapter) => [adapter.name, adapter])),
    files: options.files,
    stream: options.stream ?? false,
    alertAfterMs: options.alertAfterMs,
  };
}

function placeAmbiguous(name: string, allowed: readonly string[]): DureError {
  return new DureError("PLACE_AMBIGUOUS", `More than one platform has the room "${name}".`, {
    class: "input",
    hint: `Name it in full: ${allowed.join(", ")}.`,
  });
}

function assertOurs(place: Place): Place {
  if (place.adapter === "web") return place;
  throw new DureError(
    "ROOM_NOT_OURS",
    `${place.name} is on ${place.adapter}; people write there themselves.`,
    { class: "conflict", hint: `Write on ${place.adapter}.` },
  );
}

/** A message of a web room that the person may see. */
async function ownRoomMessage(rooms: Rooms, id: string, who: RoomPerson): Promise<StoredMessage> {
  checkPerson(who.person, rooms.directory);
  const message = await rooms.message(id, who);
  assertOurs(await rooms.place(message.place, who));
  return message;
}

/** Where a person's words go: to a place, or to the thread below a message of it. */
async function spokenIn(
  rooms: Rooms,
  setting: RoomsSetting,
  { to, who }: { to: { place: string; below?: string }; who: RoomPerson },
): Promise<Place> {
  const place = await rooms.place(to.place, who);
  if (to.below === undefined) return place;
  const above = await rooms.message(to.below, who);
  if (above.place !== place.id) throw messageUnknown(to.below);
  return threadBelow(setting, assertOurs(place), above);
}

function messageUnknown(id: string): DureError {
  return new DureError("ROOM_MESSAGE_UNKNOWN", `There is no message "${id}".`, {
    class: "not-found",
    hint: "Check the id.",
  });
}

/** What a button of a question names. */
interface RoomAnswer {
  readonly question: string;
  readonly value: string;
}

/** A text that can be stored and shown. Throws `MESSAGE_INVALID`, `MESSAGE_TOO_LONG`. */
function wordsOf(text: string): string {
  const checked = checkText(text);
  if (!checked.ok) throw textRefused(checked.because);
  return checked.text;
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

const DIRECT = {
  name: "rooms.direct",
  text: `
    insert into dure.places (id, adapter, kind, name, tenant, person, agent, channel)
    values ($1, 'web', 'direct', $2, $3, $4, $5, $1)
    on conflict (adapter, tenant, person, agent)
    where kind = 'direct'
    do update set name = $2
    returning id`,
};
