/** What was missed while a platform was away: the gap is read, and heard in order. */

import { messageOf } from "../../kernel/errors.ts";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelAdapter,
  type ChannelPort,
  type InboundMessage,
  type ThreadInUse,
} from "../channel-adapter.ts";
import { ChangedMeanwhile } from "./changed-meanwhile.ts";
import type { UnreadablePlaceReports } from "./unreadable-places.ts";
import { noticeAuthor } from "../directory.ts";
import type { IncomingPlaces } from "./platform-places.ts";
import { enqueueNotice } from "../out/notices.ts";
import { addressOf, type Place } from "../place.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";

const MAX_TOLD = 10_000;
/** Pauses before a place that could not be read after a gap is read again, milliseconds. */
const CATCH_UP_AGAIN_MS: readonly number[] = [5_000, 30_000, 120_000];

/** Hears one message. Gives the place where an answer came too late. */
type Receive = (account: ChannelAccount, message: InboundMessage) => Promise<Place | undefined>;

/** Reads what an account of one platform missed while it was not connected. */
export class CatchUp {
  readonly #setting: RoomsSetting;
  readonly #adapter: ChannelAdapter;
  readonly #talk: Talk;
  readonly #places: IncomingPlaces;
  readonly #unreadable: UnreadablePlaceReports;
  readonly #receive: Receive;
  readonly #changed: ChangedMeanwhile;
  readonly #signal: AbortSignal;
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

  /** `signal`: rooms were stopped. */
  constructor(
    setting: RoomsSetting,
    parts: {
      adapter: ChannelAdapter;
      talk: Talk;
      places: IncomingPlaces;
      deaf: UnreadablePlaceReports;
      receive: Receive;
      port: Pick<ChannelPort, "edited" | "deleted">;
      /** A text as it would be stored. Undefined: it cannot be. */
      wordsOf: (message: InboundMessage) => string | undefined;
      signal: AbortSignal;
    },
  ) {
    this.#setting = setting;
    this.#adapter = parts.adapter;
    this.#talk = parts.talk;
    this.#places = parts.places;
    this.#unreadable = parts.deaf;
    this.#receive = parts.receive;
    this.#changed = new ChangedMeanwhile(setting, parts);
    this.#signal = parts.signal;
  }

  /**
   * Reads what came while the account was not connected: young messages are decided as usual, older
   * ones recorded; an old mention is told to have been missed.
   */
  async readAll(account: ChannelAccount): Promise<void> {
    const { database, limits } = this.#setting;
    await this.#unreadable.load(account);
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
      // Of the many threads that sleep only those are read that have newer messages.
      if (!is_idle || isLater(newest.get(thread) ?? "", unread.last ?? "")) {
        await this.read(account, unread);
      }
    }
    await this.#meetThreads(
      account,
      inUse.filter(({ wasAdded }) => wasAdded),
    );
  }

  /** One place after a gap: all of it where nothing was read before. */
  async read(account: ChannelAccount, unread: Unread): Promise<void> {
    await this.#catchUp(account, unread, 0);
  }

  /**
   * One line, however many there were. What was said before dure had the channel is history, which
   * no agent missed.
   */
  async tellMissed(place: Place, account: ChannelAccount, at: number): Promise<void> {
    const { clock, database, locale } = this.#setting;
    const who = `${account.agent}@${place.id}`;
    if (at <= (this.#toldMissed.get(who) ?? 0)) return;
    const [known] = await database.query<{ since: number }>(KNOWN_SINCE, [place.id]);
    if (!known || at < known.since) return;
    this.#toldMissed.set(who, clock.now());
    if (this.#toldMissed.size > MAX_TOLD) {
      this.#toldMissed.delete(this.#toldMissed.keys().next().value!);
    }
    await this.#tell(place, account, roomTexts(locale).missed());
  }

  async #tell(place: Place, { agent }: ChannelAccount, text: string): Promise<void> {
    const { database, store } = this.#setting;
    await database.transaction(async (tx) => {
      await enqueueNotice(tx, { place: place.id, author: agent, text });
      await store.emit(tx, [
        {
          type: "room.missed",
          role: "system",
          room: place.id,
          agent,
          data: { parent: place.parent },
        },
      ]);
    });
    this.#talk.announce();
  }

  /**
   * A process that dies before it has read a gap leaves it to the next one, which reads from this
   * mark on.
   */
  async markRead(
    account: ChannelAccount,
    place: string,
    platformId: string,
    { inGap = false } = {},
  ): Promise<void> {
    if (!inGap && this.#gaps.has(gapOf(account, place))) return;
    await this.#setting.database.query(READ, [this.#adapter.name, account.id, place, platformId]);
  }

  /**
   * Threads that were opened while the account was away, and in which it was named: dure has not
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
      const met = await this.#places.find(account, place, name);
      if (met) await this.read(account, { id: met.id, last: null });
    }
  }

  /** What fails for a while is read later, beside what comes in; what is refused is told. */
  async #catchUp(account: ChannelAccount, unread: Unread, tries: number): Promise<void> {
    const place = await this.#setting.store.place(unread.id);
    if (!place || place.channel === null || place.state === "closed") return;
    this.#gaps.add(gapOf(account, unread.id));
    try {
      await this.#readGap(account, place, unread);
    } catch (error) {
      if (this.#signal.aborted || isToldOfAccount(error)) return;
      await this.#afterFailedRead(account, place, { unread, tries, error });
    }
  }

  async #readGap(account: ChannelAccount, place: Place, { id, last }: Unread): Promise<void> {
    await this.#hearChanges(account, place, 0);
    const { messages: missed, isCut } = await this.#missedIn(account, place, last);
    if (isCut) await this.#tellCut(account, place);
    let unheeded: number | undefined;
    for (const message of missed) {
      if (await this.#receive(account, message)) unheeded = message.at;
      await this.markRead(account, id, message.platformId, { inGap: true });
    }
    this.#gaps.delete(gapOf(account, id));
    if (unheeded !== undefined) await this.tellMissed(place, account, unheeded);
    await this.#unreadable.hearsAgain(account, place);
    if (missed.length > 0) {
      this.#setting.logger.info(
        { account: account.id, place: id, messages: missed.length },
        `${account.id} caught up with ${missed.length} messages in ${place.name}`,
      );
    }
  }

  /** What was missed is read all the same where changes cannot be told yet. */
  async #hearChanges(account: ChannelAccount, place: Place, tries: number): Promise<void> {
    const { logger, clock } = this.#setting;
    try {
      await this.#changed.hear(account, place);
    } catch (error) {
      if (this.#signal.aborted || isToldOfAccount(error)) return;
      const wait = isRefusedRead(error) ? undefined : CATCH_UP_AGAIN_MS[tries];
      const again = wait === undefined ? "" : `; again in ${wait / 1_000} s`;
      logger.warn(
        { account: account.id, place: place.id, error: messageOf(error) },
        `${account.id} could not tell what was edited or deleted in ${place.name}${again}`,
      );
      if (wait === undefined) return;
      clock.after(wait, () => void this.#againChanges(account, place, tries));
    }
  }

  async #againChanges(account: ChannelAccount, place: Place, tries: number): Promise<void> {
    if (!this.#signal.aborted) await this.#hearChanges(account, place, tries + 1);
  }

  /** Reads it again later, or tells the operators that it cannot be read. */
  async #afterFailedRead(
    account: ChannelAccount,
    place: Place,
    { unread, tries, error }: { unread: Unread; tries: number; error: unknown },
  ): Promise<void> {
    const { logger, clock } = this.#setting;
    const wait = isRefusedRead(error) ? undefined : CATCH_UP_AGAIN_MS[tries];
    const again = wait === undefined ? "" : `; again in ${wait / 1_000} s`;
    logger.warn(
      { account: account.id, place: unread.id, error: messageOf(error) },
      `${account.id} could not read what it missed in ${place.name}${again}`,
    );
    if (wait === undefined) {
      this.#gaps.delete(gapOf(account, unread.id));
      return this.#unreadable.unread(account, place, messageOf(error));
    }
    clock.after(wait, () => this.#catchUpAgain(account, place, { unread, tries: tries + 1 }));
  }

  #catchUpAgain(
    account: ChannelAccount,
    place: Place,
    { unread, tries }: { unread: Unread; tries: number },
  ): void {
    if (this.#signal.aborted) return;
    this.#catchUp(account, unread, tries).catch((error: unknown) =>
      this.#setting.logger.warn(
        { account: account.id, place: unread.id, error: messageOf(error) },
        `${account.id} could not catch up in ${place.name}`,
      ),
    );
  }

  /** What came since `last`, oldest first; of more than may be read the newest. */
  async #missedIn(account: ChannelAccount, place: Place, last: string | null): Promise<Missed> {
    const options = { limit: this.#setting.limits.missedPerPlace, signal: this.#signal };
    const missed = await this.#adapter.readSince(account, addressOf(place), {
      after: last ?? undefined,
      ...options,
    });
    if (last === null || missed.length < options.limit) return { messages: missed, isCut: false };
    const newest = await this.#adapter.readSince(account, addressOf(place), options);
    const messages = newest.filter(({ platformId }) => isLater(platformId, last));
    const [first] = missed;

    return {
      messages,
      isCut: messages.every(({ platformId }) => platformId !== first?.platformId),
    };
  }

  /**
   * More was written than is read: the agent that speaks for the team there says so. It is told
   * before anything is marked as read, so a process that dies in between tells it again.
   */
  async #tellCut(account: ChannelAccount, place: Place): Promise<void> {
    const { logger, directory, limits, locale } = this.#setting;
    logger.warn(
      { account: account.id, place: place.id, read: limits.missedPerPlace },
      `${account.id} missed more messages in ${place.name} than are read again: those before the ` +
        `newest ${limits.missedPerPlace} are left out`,
    );
    const speaker = place.agent ?? noticeAuthor(directory, place.adapter)?.id;
    if (speaker !== account.agent) return;
    await this.#tell(place, account, roomTexts(locale).leftOut(limits.missedPerPlace));
  }
}

interface Missed {
  readonly messages: readonly InboundMessage[];
  /** There are older ones that are not read. */
  readonly isCut: boolean;
}

/** A place and up to where an account has read it. */
export interface Unread {
  readonly id: string;
  /** Null: never. */
  readonly last: string | null;
}

function gapOf(account: ChannelAccount, place: string): string {
  return `${account.id}@${place}`;
}

/**
 * The operators are told of the account, once. What is missed is read when it connects again, or
 * when the platform says that the outage is over.
 */
function isToldOfAccount(error: unknown): boolean {
  return (
    error instanceof ChannelError &&
    (error.failure === "credential" || error.failure === "unavailable")
  );
}

/** The platform would refuse the same read again. */
function isRefusedRead(error: unknown): boolean {
  return (
    error instanceof ChannelError &&
    error.failure !== "transient" &&
    error.failure !== "rate-limited"
  );
}

/** Platform ids grow with time: the longer one is the later one. */
function isLater(platformId: string, than: string): boolean {
  return platformId.length === than.length ? platformId > than : platformId.length > than.length;
}

const READ = {
  name: "inbound.read",
  text: `
    insert into dure.account_reads as r (adapter, account, place, platform_id)
    values ($1, $2, $3, $4)
    on conflict (adapter, account, place)
    do update set platform_id = $4, at = clock_timestamp()
    where (length($4), $4) > (length(r.platform_id), r.platform_id)`,
};
const READABLE = {
  name: "inbound.readable",
  text: `
    select p.id, p.thread, p.is_idle,
      coalesce(
        r.platform_id,
        case
          when p.is_idle then (
            select o.platform_id
            from dure.account_reads o
            where o.place = p.id
            order by length(o.platform_id) desc, o.platform_id desc
            limit 1
          )
        end
      ) as last
    from (
      select *,
        (kind = 'thread' or thread is not null)
        and active_at
          <= clock_timestamp() - $4::double precision * interval '1 millisecond' as is_idle
      from dure.places
    ) p
    left join dure.account_reads r on r.adapter = p.adapter
      and r.account = $2
      and r.place = p.id
    where p.adapter = $1
      and p.state <> 'closed'
      and (
        p.kind = 'channel'
        or (p.kind = 'direct' and p.agent = $3 and not p.is_idle)
        or (
          p.kind = 'thread'
          and p.thread is not null
          and (not p.is_idle or p.thread = any($5::text[]))
        )
      )
    order by p.id`,
};
/** Those of which this account has read something. */
const KNOWN_THREADS = {
  name: "inbound.known_threads",
  text: `
    select p.thread
    from dure.places p
    join dure.account_reads r on r.place = p.id and r.account = $3 and r.adapter = $1
    where p.adapter = $1 and p.thread = any($2::text[])`,
};
/** Since when dure has a place, or the channel of a thread, milliseconds since the epoch. */
const KNOWN_SINCE = {
  name: "inbound.known_since",
  text: `
    select (
      extract(epoch from least(p.created_at, c.created_at)) * 1000
    )::double precision as since
    from dure.places p
    left join dure.places c on c.id = p.parent
    where p.id = $1`,
};
