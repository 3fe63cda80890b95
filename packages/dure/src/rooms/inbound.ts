import type { CodedMessage } from "../kernel/coded-message.ts";
import { codeOf, messageOf } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Accounts } from "./accounts.ts";
import {
  ChannelError,
  type AccountState,
  type ChannelAccount,
  type ChannelAdapter,
  type ChannelPort,
  type InboundMessage,
  type PressingPerson,
  type PlaceAddress,
  type PlaceChange,
  type ThreadInUse,
} from "./channel-adapter.ts";
import { deafSubject, openReportsOf, SHUT_OUT } from "./deaf.ts";
import { enqueueNotice } from "./notices.ts";
import { withdrawRequestsIn } from "./requests.ts";
import { addressOf, wasAway, type Place } from "./place.ts";
import { roomReports } from "./reports.ts";
import { recordOf, type RoomsSetting, type Talk } from "./talk.ts";
import { checkText } from "./text.ts";
import { GONE, roomTexts } from "./texts.ts";

/**
 * How long a message of an unknown thread waits while its channel is making one, milliseconds.
 * Source: docs/spec/collaboration §6.
 */
const UNKNOWN_THREAD_MS = 10_000;
const UNKNOWN_THREAD_LOOK_MS = 200;
const MAX_TOLD = 10_000;
/**
 * Pauses before a place that could not be read after a gap is read again, milliseconds. Source: our
 * choice.
 */
const CATCH_UP_AGAIN_MS: readonly number[] = [5_000, 30_000, 120_000];

/** What platforms tell, brought into dure's words: the port of one adapter. */
export class Inbound implements ChannelPort {
  readonly #setting: RoomsSetting;
  readonly #adapter: ChannelAdapter;
  readonly #talk: Talk;
  readonly #accounts: Accounts;
  readonly #press: ButtonAnswer;
  readonly #over = new AbortController();
  /**
   * `agent:place` where an account was last known to hear or read nothing; the holder of an account
   * fills it when it begins.
   */
  readonly #deaf = new Set<string>();
  /**
   * By `agent@place`: when the last line about missed calls was given, milliseconds since the
   * epoch. It tells of all that came before it.
   */
  readonly #toldMissed = new Map<string, number>();
  /**
   * `account@place` with a gap that could not be read yet. What is heard meanwhile does not say
   * that the gap was read.
   */
  readonly #gaps = new Set<string>();

  constructor(
    setting: RoomsSetting,
    parts: { adapter: ChannelAdapter; talk: Talk; accounts: Accounts; press: ButtonAnswer },
  ) {
    this.#setting = setting;
    this.#adapter = parts.adapter;
    this.#talk = parts.talk;
    this.#accounts = parts.accounts;
    this.#press = parts.press;
  }

  get clock(): ChannelPort["clock"] {
    return this.#setting.clock;
  }

  get logger(): ChannelPort["logger"] {
    return this.#setting.logger;
  }

  stop(): void {
    this.#over.abort(new DOMException("Rooms were stopped.", "AbortError"));
  }

  /**
   * Also what was said in a thread before the account joined it, and what waited while nothing
   * could be stored: the same rule of age.
   */
  async received(account: ChannelAccount, message: InboundMessage): Promise<void> {
    const place = await this.#receive(account, message, this.#isOld(message));
    if (place) await this.#tellMissed(place, account, message.at);
  }

  async edited(
    _account: ChannelAccount,
    change: { platformId: string; place: PlaceAddress; text: string },
  ): Promise<void> {
    const { database, store, directory } = this.#setting;
    const checked = checkText(change.text);
    if (!checked.ok) return;
    await database.transaction(async (tx) => {
      const text = this.#inOurWords(checked.text);
      const [edited] = await tx.query<{ id: string; place: string; is_news: boolean }>(EDIT, [
        this.#adapter.name,
        change.platformId,
        text,
      ]);
      if (edited) await tx.query(EDIT_RECORD, [edited.place, edited.id, recordOf(text, directory)]);
      if (edited?.is_news) {
        await store.emit(tx, [
          {
            type: "room.edited",
            role: "conversation",
            room: edited.place,
            data: { message: edited.id },
          },
        ]);
      }
    });
    this.#talk.announce();
  }

  async placeChanged(account: ChannelAccount, change: PlaceChange): Promise<void> {
    const { database, store, locale } = this.#setting;
    const known = await store.placeAt(change.place);
    if (!known) return;
    await database.transaction(async (tx) => {
      const place = await store.open(tx, known.id);
      if (!place) return;
      if (change.kind === "thread-deleted" || change.kind === "channel-removed") {
        // Every account is told; the first one closes.
        const closed = await tx.query<{ id: string }>(CLOSE, [place.id, GONE[change.kind].en]);
        if (closed.length === 0) return;
        await tx.query(FORGET_PARTICIPANTS, [place.id]);
        await store.emit(
          tx,
          closed.map(({ id }) => ({
            type: "room.closed",
            role: "system",
            room: id,
            data: { because: change.kind },
          })),
        );
        await withdrawRequestsIn(
          tx,
          this.#setting,
          closed.map(({ id }) => id),
          change.kind,
        );
        if (change.kind === "channel-removed") {
          await store.escalate(tx, {
            subject: `room:gone:${place.id}`,
            type: "delivery",
            severity: "medium",
            tenant: place.tenant,
            source: { room: place.id },
            ...roomReports(locale).channelGone(place.name),
            context: { place: place.id, adapter: this.#adapter.name },
          });
        }
      }
      if (change.kind === "access-lost") {
        await tx.query(FORGET_PARTICIPANT, [place.id, account.agent]);
        await store.emit(tx, [
          {
            type: "room.access_lost",
            role: "system",
            room: place.id,
            agent: account.agent,
            data: { account: account.id },
          },
        ]);
        await store.escalate(tx, {
          subject: deafSubject(account.agent, place.id),
          type: "account",
          severity: "medium",
          tenant: place.tenant,
          source: { room: place.id },
          ...roomReports(locale).accessLost(account.displayName, place.name),
          context: {
            because: SHUT_OUT,
            place: place.id,
            agent: account.agent,
            account: account.id,
            adapter: this.#adapter.name,
          },
        });
        this.#deaf.add(deafSubject(account.agent, place.id));
      }
      if (change.kind === "thread-archived" || change.kind === "thread-opened") {
        await tx.query(ARCHIVE, [place.id, change.kind === "thread-archived"]);
      }
      if (change.kind === "renamed") await tx.query(RENAME, [place.id, change.name]);
    });
    this.#talk.announce();
  }

  async accountChanged(
    account: ChannelAccount,
    state: AccountState,
    detail?: string | CodedMessage,
  ): Promise<void> {
    if (account.platformId !== undefined) {
      this.#setting.directory.learnPlatformId(this.#adapter.name, account.id, account.platformId);
    }
    await this.#accounts.changed(this.#adapter.name, account, state, detail);
  }

  /**
   * Reads what came while nobody listened: young messages are decided as usual, older ones
   * recorded; an old mention is told to have been missed.
   */
  async mayHaveMissed(account: ChannelAccount): Promise<void> {
    const { database, limits } = this.#setting;
    for (const subject of await openReportsOf(account.agent, database)) this.#deaf.add(subject);
    const inUse = this.#adapter.threadsInUse?.(account) ?? [];
    const newest = new Map(inUse.map((thread) => [thread.place.thread ?? "", thread.newest]));
    const places = await database.query<Unread & { thread: string; is_idle: boolean }>(READABLE, [
      this.#adapter.name,
      account.id,
      account.agent,
      limits.participantsMs,
      [...newest.keys()],
    ]);
    for (const { is_idle, thread, ...unread } of places) {
      // Of the many threads that sleep only those are read in which somebody spoke meanwhile.
      if (!is_idle || isLater(newest.get(thread) ?? "", unread.last ?? "")) {
        await this.#catchUp(account, unread, 0);
      }
    }
    await this.#meetThreads(
      account,
      inUse.filter(({ wasAdded }) => wasAdded),
    );
  }

  /**
   * Threads that were opened while nobody heard, and in which the account was named: dure has not
   * read a word of them.
   */
  async #meetThreads(account: ChannelAccount, threads: readonly ThreadInUse[]): Promise<void> {
    const known = await this.#setting.database.query<{ thread: string }>(KNOWN_THREADS, [
      this.#adapter.name,
      threads.map(({ place }) => place.thread),
      account.id,
    ]);
    for (const { place, name } of threads) {
      if (known.some(({ thread }) => thread === place.thread)) continue;
      const met = await this.#placeOf(account, place, name);
      if (met) await this.#catchUp(account, { id: met.id, last: null }, 0);
    }
  }

  /**
   * A thread was there before it was known: what people wrote in it meanwhile has reached nobody
   * who connected in between.
   */
  async threadFound(place: string): Promise<void> {
    for (const account of this.#setting.directory.accountsOf(this.#adapter.name)) {
      await this.#catchUp(account, { id: place, last: null }, 0);
    }
  }

  /**
   * One place after a gap. What fails for a while is read later, beside what comes in; what is
   * refused is told.
   */
  async #catchUp(account: ChannelAccount, unread: Unread, tries: number): Promise<void> {
    const { clock, logger, store } = this.#setting;
    const { id } = unread;
    const place = await store.place(id);
    if (!place || place.channel === null || place.state === "closed") return;
    const gap = gapOf(account, id);
    this.#gaps.add(gap);
    try {
      const missed = await this.#missedIn(account, place, unread.last);
      let unheeded: number | undefined;
      for (const message of missed) {
        if (await this.#receive(account, message, this.#isOld(message))) unheeded = message.at;
        await this.#markRead(account, id, message.platformId, { inGap: true });
      }
      this.#gaps.delete(gap);
      if (unheeded !== undefined) await this.#tellMissed(place, account, unheeded);
      await this.#hearsAgain(account, place);
      if (missed.length > 0) {
        logger.info(
          { account: account.id, place: id, messages: missed.length },
          `${account.id} caught up with ${missed.length} messages in ${place.name}`,
        );
      }
    } catch (error) {
      if (this.#over.signal.aborted) return;
      // Told of the account, once; what is missed is read when it connects again, or when the
      // platform says that the outage is over.
      if (
        error instanceof ChannelError &&
        (error.failure === "credential" || error.failure === "unavailable")
      ) {
        return;
      }
      const wait = CATCH_UP_AGAIN_MS[tries];
      const isRefused =
        error instanceof ChannelError &&
        error.failure !== "transient" &&
        error.failure !== "rate-limited";
      logger.warn(
        { account: account.id, place: id, error: messageOf(error) },
        `${account.id} could not read what it missed in ${place.name}${isRefused || wait === undefined ? "" : `; again in ${wait / 1_000} s`}`,
      );
      if (isRefused || wait === undefined) {
        this.#gaps.delete(gap);
        return this.#tellUnread(account, place, messageOf(error));
      }
      clock.after(wait, () => {
        if (!this.#over.signal.aborted) {
          this.#catchUp(account, unread, tries + 1).catch((later: unknown) =>
            logger.warn(
              { account: account.id, place: id, error: messageOf(later) },
              `${account.id} could not catch up in ${place.name}`,
            ),
          );
        }
      });
    }
  }

  /**
   * What came since `last`, oldest first; of more than may be read the newest, which somebody still
   * waits for.
   */
  async #missedIn(
    account: ChannelAccount,
    place: Place,
    last: string | null,
  ): Promise<readonly InboundMessage[]> {
    const options = { limit: this.#setting.limits.missedPerPlace, signal: this.#over.signal };
    const missed = await this.#adapter.readSince(account, addressOf(place), {
      ...(last !== null && { after: last }),
      ...options,
    });
    if (last === null || missed.length < options.limit) return missed;
    const newest = await this.#adapter.readSince(account, addressOf(place), options);
    return newest.filter(({ platformId }) => isLater(platformId, last));
  }

  /**
   * What was reported of this place and account is over: nobody has to do anything about it any
   * more.
   */
  async #hearsAgain(account: ChannelAccount, place: Place): Promise<void> {
    const subject = deafSubject(account.agent, place.id);
    if (!this.#deaf.has(subject)) return;
    const { database, store } = this.#setting;
    await database.transaction((tx) => store.settleEscalation(tx, subject, account.id));
    this.#deaf.delete(subject);
    this.#talk.announce();
  }

  #isOld(message: InboundMessage): boolean {
    return this.#setting.clock.now() - message.at > this.#setting.limits.missedMs;
  }

  async #tellUnread(account: ChannelAccount, place: Place, why: string): Promise<void> {
    await this.#setting.database.transaction((tx) =>
      this.#setting.store.escalate(tx, {
        subject: deafSubject(account.agent, place.id),
        type: "account",
        severity: "medium",
        tenant: place.tenant,
        source: { room: place.id },
        ...roomReports(this.#setting.locale).unread(account.displayName, place.name, why),
        context: {
          place: place.id,
          agent: account.agent,
          account: account.id,
          adapter: this.#adapter.name,
        },
      }),
    );
    this.#deaf.add(deafSubject(account.agent, place.id));
  }

  async pressed(
    _account: ChannelAccount,
    press: { value: string; person: PressingPerson; place: PlaceAddress },
  ): Promise<string> {
    const texts = roomTexts(this.#setting.locale);
    const [escalation, value] = splitButton(press.value);
    try {
      const { label } = await this.#press(escalation, value, {
        adapter: this.#adapter.name,
        ...press.person,
      });
      return texts.answeredBy(press.person.name, label);
    } catch (error) {
      if (codeOf(error) === "ESCALATION_CLOSED") return texts.closedAlready();
      if (codeOf(error) === "ANSWER_FORBIDDEN") return texts.notYours();
      if (codeOf(error) === "LIFT_FORBIDDEN") return texts.notYoursToLift();
      this.#setting.logger.warn(
        { err: error, button: press.value, person: press.person.id },
        `a button pressed by ${press.person.name} did nothing (${messageOf(error)})`,
      );
      return texts.pressFailed();
    }
  }

  /**
   * Returns the place if the message came too late for the answer that it asked this account for.
   */
  async #receive(
    account: ChannelAccount,
    message: InboundMessage,
    isOld: boolean,
  ): Promise<Place | undefined> {
    const { directory, allowBots } = this.#setting;
    // An agent whose account another process has connected a moment ago is none.
    const strangers = [
      ...(message.author.isBot ? [message.author.platformId] : []),
      ...message.mentions.map(({ platformId }) => platformId),
    ].filter((platformId) => !directory.byPlatformId(this.#adapter.name, platformId));
    if (strangers.length > 0) await this.#accounts.learn();
    const own = directory.byPlatformId(this.#adapter.name, message.author.platformId);
    // A team agent's words are dure's own record; they are decided when their sending is recorded.
    if (own || (message.author.isBot && !allowBots)) {
      await this.#noteRead(account, message);
      return undefined;
    }
    const place = await this.#placeOf(account, message.place, message.threadName);
    // What was said before a place was closed may come after that: nobody is there to answer it.
    if (!place || place.state === "closed" || wasAway(place, message.at)) return undefined;
    let isUnheeded = false;
    const checked = checkText(
      message.text === "" && message.attachments.length > 0
        ? message.attachments.map(({ name }) => `[${name}]`).join(" ")
        : message.text,
    );
    if (checked.ok) {
      // Whom the text names is read from the text; a mention at −1 stands in none: it is whose
      // message is answered.
      const repliedTo = message.mentions
        .filter(({ at }) => at < 0)
        .flatMap(
          ({ platformId }) => directory.byPlatformId(this.#adapter.name, platformId)?.id ?? [],
        )[0];
      const replied =
        message.replyTo === undefined
          ? undefined
          : await this.#setting.store.messageAt(this.#adapter.name, message.replyTo);
      const { unheeded } = await this.#talk.hear(
        place.id,
        {
          authorKind: message.author.isBot ? "foreign" : "person",
          author: message.author.platformId,
          authorName: message.author.name,
          text: this.#inOurWords(checked.text),
          platformId: message.platformId,
          attachments: message.attachments,
          at: message.at,
          ...(replied && { replyTo: replied.id }),
          ...(repliedTo !== undefined && { repliedTo }),
        },
        [account.agent],
        isOld ? { only: "record" } : {},
      );
      isUnheeded = unheeded.length > 0;
    }
    await this.#markRead(account, place.id, message.platformId);
    await this.#hearsAgain(account, place);
    return isUnheeded ? place : undefined;
  }

  /** Mentions of the platform as `<@agent-id>`; those of strangers stay as they are. */
  #inOurWords(text: string): string {
    return text.replace(/<@!?(\d+)>/g, (mention, platformId: string) => {
      const agent = this.#setting.directory.byPlatformId(this.#adapter.name, platformId);
      return agent ? `<@${agent.id}>` : mention;
    });
  }

  /**
   * One line, however many there were. What was said before dure had the channel is history, which
   * nobody missed.
   */
  async #tellMissed(place: Place, account: ChannelAccount, at: number): Promise<void> {
    const { clock, database, locale } = this.#setting;
    const who = `${account.agent}@${place.id}`;
    if (at <= (this.#toldMissed.get(who) ?? 0)) return;
    const [known] = await database.query<{ since: number }>(KNOWN_SINCE, [place.id]);
    if (!known || at < known.since) return;
    this.#toldMissed.set(who, clock.now());
    if (this.#toldMissed.size > MAX_TOLD) {
      this.#toldMissed.delete(this.#toldMissed.keys().next().value!);
    }
    await database.transaction(async (tx) => {
      await enqueueNotice(tx, {
        place: place.id,
        author: account.agent,
        text: roomTexts(locale).missed(),
      });
      await this.#setting.store.emit(tx, [
        {
          type: "room.missed",
          role: "system",
          room: place.id,
          agent: account.agent,
          data: { parent: place.parent },
        },
      ]);
    });
    this.#talk.announce();
  }

  async #noteRead(account: ChannelAccount, message: InboundMessage): Promise<void> {
    const place = await this.#setting.store.placeAt(message.place);
    if (place) await this.#markRead(account, place.id, message.platformId);
  }

  /**
   * A process that dies before it has read a gap leaves it to the next one, which reads from this
   * mark on.
   */
  async #markRead(
    account: ChannelAccount,
    place: string,
    platformId: string,
    { inGap = false } = {},
  ): Promise<void> {
    if (!inGap && this.#gaps.has(gapOf(account, place))) return;
    await this.#setting.database.query(READ, [this.#adapter.name, account.id, place, platformId]);
  }

  /**
   * Undefined: not on the allowlist, neither handled nor recorded. A thread that people opened
   * becomes a place here.
   */
  async #placeOf(
    account: ChannelAccount,
    address: PlaceAddress,
    threadName: string | undefined,
  ): Promise<Place | undefined> {
    const { store, directory, database, clock } = this.#setting;
    const known = await store.placeAt(address);
    if (known?.guild === null && address.guild !== undefined) {
      await database.query(LEARN_GUILD, [known.id, address.guild]);
    }
    if (known) return known;
    if (address.direct) {
      await database.query(NEW_DIRECT, [
        newId("direct", clock.now()),
        this.#adapter.name,
        account.displayName,
        address.channel,
        account.agent,
      ]);
      return store.placeAt(address);
    }
    const channel = directory.channels.find(
      (allowed) => allowed.adapter === this.#adapter.name && allowed.channel === address.channel,
    );
    if (!channel || address.thread === undefined) return undefined;
    const parent = `${channel.adapter}:${channel.key}`;
    // Perhaps it is one that we are making right now, whose id is not recorded yet.
    for (let waited = 0; waited < UNKNOWN_THREAD_MS; waited += UNKNOWN_THREAD_LOOK_MS) {
      const [open] = await database.query(BEING_MADE, [parent]);
      if (!open) break;
      await clock.sleep(UNKNOWN_THREAD_LOOK_MS, { signal: this.#over.signal });
      const made = await store.placeAt(address);
      if (made) return made;
    }
    await database.query(NEW_THREAD, [
      newId("thread", clock.now()),
      this.#adapter.name,
      parent,
      threadName ?? address.thread,
      address.guild ?? null,
      address.channel,
      address.thread,
    ]);
    return store.placeAt(address);
  }
}

/** A place and up to where an account has read it. */
interface Unread {
  readonly id: string;
  /** Null: never. */
  readonly last: string | null;
}

function gapOf(account: ChannelAccount, place: string): string {
  return `${account.id}@${place}`;
}

/** Platform ids grow with time: the longer one is the later one. */
function isLater(platformId: string, than: string): boolean {
  return platformId.length === than.length ? platformId > than : platformId.length > than.length;
}

/**
 * Closes a question from a button; gives the label of the answer. Throws `ANSWER_FORBIDDEN`,
 * `LIFT_FORBIDDEN`.
 */
export type ButtonAnswer = (
  escalation: string,
  value: string,
  by: PressingPerson & { readonly adapter: string },
) => Promise<{ label: string }>;

/** `escalation_…:approve` in its two halves. */
function splitButton(value: string): readonly [string, string] {
  const colon = value.indexOf(":");
  return colon < 0 ? [value, ""] : [value.slice(0, colon), value.slice(colon + 1)];
}

/**
 * Every account tells of an edit, each after it has heard the message: the first one is the news.
 * In a place that is closed nothing is recorded.
 */
const EDIT = {
  name: "inbound.edit",
  text: `with old as (select m.id, m.text from dure.room_parts p join dure.room_messages m on m.id = p.message join dure.places at on at.id = m.place
                       where p.adapter = $1 and p.platform_id = $2 and m.author_kind <> 'agent' and at.state <> 'closed' for update of m)
         update dure.room_messages m set text = $3, edited_at = case when old.text = $3 then m.edited_at else clock_timestamp() end
           from old where m.id = old.id returning m.id, m.place, old.text <> $3 as is_news`,
};
/** What was heard is what stands there now. */
const EDIT_RECORD = {
  name: "inbound.edit_record",
  text: "update dure.observations set excerpt = $3 where place = $1 and message = $2",
};
const CLOSE = {
  name: "inbound.close",
  text: "update dure.places set state = 'closed', closed_because = $2 where (id = $1 or parent = $1) and state <> 'closed' returning id",
};
const FORGET_PARTICIPANTS = {
  name: "inbound.forget",
  text: "delete from dure.participants where place = $1 or place in (select id from dure.places where parent = $1)",
};
const FORGET_PARTICIPANT = {
  name: "inbound.forget_one",
  text: "delete from dure.participants where agent = $2 and (place = $1 or place in (select id from dure.places where parent = $1))",
};
const ARCHIVE = {
  name: "inbound.archive",
  text: "update dure.places set archived = $2 where id = $1",
};
const RENAME = { name: "inbound.rename", text: "update dure.places set name = $2 where id = $1" };
const READ = {
  name: "inbound.read",
  text: `insert into dure.account_reads as r (adapter, account, place, platform_id) values ($1, $2, $3, $4)
         on conflict (adapter, account, place) do update set platform_id = $4, at = clock_timestamp() where (length($4), $4) > (length(r.platform_id), r.platform_id)`,
};
const READABLE = {
  name: "inbound.readable",
  text: `select p.id, p.thread, p.is_idle,
                coalesce(r.platform_id, case when p.is_idle then (select o.platform_id from dure.account_reads o where o.place = p.id order by length(o.platform_id) desc, o.platform_id desc limit 1) end) as last
           from (select *, kind = 'thread' and active_at <= clock_timestamp() - $4::double precision * interval '1 millisecond' as is_idle from dure.places) p
           left join dure.account_reads r on r.adapter = p.adapter and r.account = $2 and r.place = p.id
          where p.adapter = $1 and p.state <> 'closed' and (p.kind = 'channel' or (p.kind = 'direct' and p.agent = $3)
             or (p.kind = 'thread' and p.thread is not null and (not p.is_idle or p.thread = any($5::text[]))))
          order by p.id`,
};
/** Those of which this account has read something. */
const KNOWN_THREADS = {
  name: "inbound.known_threads",
  text: "select p.thread from dure.places p join dure.account_reads r on r.place = p.id and r.account = $3 and r.adapter = $1 where p.adapter = $1 and p.thread = any($2::text[])",
};
/** Since when dure has a place, or the channel of a thread, milliseconds since the epoch. */
const KNOWN_SINCE = {
  name: "inbound.known_since",
  text: "select (extract(epoch from least(p.created_at, c.created_at)) * 1000)::double precision as since from dure.places p left join dure.places c on c.id = p.parent where p.id = $1",
};
/** The configuration names channels; which server they are in, the platform tells. */
const LEARN_GUILD = {
  name: "inbound.learn_guild",
  text: "update dure.places set guild = $2 where id = $1 and guild is null",
};
const NEW_DIRECT = {
  name: "inbound.new_direct",
  text: "insert into dure.places (id, adapter, kind, name, channel, person, agent) values ($1, $2, 'direct', $3, $4, $4, $5) on conflict do nothing",
};
const BEING_MADE = {
  name: "inbound.being_made",
  text: "select 1 from dure.places where parent = $1 and kind = 'thread' and thread is null and state <> 'closed' limit 1",
};
const NEW_THREAD = {
  name: "inbound.new_thread",
  text: `insert into dure.places (id, adapter, kind, parent, name, guild, channel, thread, away_from, away_until)
         select $1, $2, 'thread', $3, $4, $5, $6, $7, p.away_from, p.away_until from dure.places p where p.id = $3 on conflict do nothing`,
};
