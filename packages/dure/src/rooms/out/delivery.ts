/** Brings what is said to its platform, each message once and in order. */

import type { Transaction } from "../../durable/database.ts";
import type { OutsideHandler, OutboxProbeAnswer, Sent } from "../../durable/outbox-handler.ts";
import type { Json } from "../../kernel/json.ts";
import { mergeDuplicateThread } from "./merge-duplicate-thread.ts";
import {
  ChannelError,
  SIGNS,
  type ChannelAccount,
  type ChannelAdapter,
  type ChannelFailure,
  type FoundOnPlatform,
  type OutgoingPost,
  type PlaceAddress,
} from "../channel-adapter.ts";
import { removeEmptyThread, type EmptyThreadDeparture } from "./empty-thread.ts";
import { askedBy, DeliveryFailures, undelivered, verdictOf } from "./delivery-failure.ts";
import {
  OutgoingSends,
  type CallDeparture,
  type SignDeparture,
  type Departure,
  type ThreadDeparture,
  idOf,
  postOnce,
} from "./outgoing.ts";
import { addressOf } from "../place.ts";
import { refuseStopped } from "../decide/guard-stop.ts";
import type { Questions } from "../answer/questions.ts";
import type { Requests } from "../handover/requests.ts";
import type { Over, RoomsSetting, Talk } from "../talk.ts";
import { roomTexts } from "../texts.ts";
import { UnsureDeliveries } from "./unsure.ts";

/** The first one and three retries. Source: docs/spec/collaboration §6, E4 and E5. */
const ATTEMPTS = 4;
const MAX_TRIED = 10_000;

/** One attempt of the outbox to bring something to a platform. */
interface DeliveryAttempt {
  readonly adapter: ChannelAdapter;
  /** Of the outbox entry. */
  readonly key: string;
  readonly signal: AbortSignal;
}

/** Brings what the outbox holds to the platform, and finds what may have arrived. */
export class Delivery {
  /** Decisions of people about what could not be found. */
  readonly unsure: UnsureDeliveries;
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #requests: Requests;
  readonly #questions: Questions;
  readonly #departures: OutgoingSends;
  readonly #failures: DeliveryFailures;
  readonly #threadFound: (adapter: string, place: string) => void;
  /** Keys of entries whose thread was found, until that is recorded. */
  readonly #found = new Set<string>();
  /**
   * When this process first tried an entry, on the monotonic clock, and how often; bounded, oldest
   * out.
   */
  readonly #tried = new Map<string, { readonly at: number; times: number }>();

  /** `threadFound`: a thread that was made before a crash is known from now on. */
  constructor(
    setting: RoomsSetting,
    parts: {
      talk: Talk;
      requests: Requests;
      questions: Questions;
      threadFound: (adapter: string, place: string) => void;
    },
  ) {
    this.#setting = setting;
    this.#talk = parts.talk;
    this.#requests = parts.requests;
    this.#questions = parts.questions;
    this.#threadFound = parts.threadFound;
    this.#departures = new OutgoingSends(setting);
    this.#failures = new DeliveryFailures(setting);
    this.unsure = new UnsureDeliveries(setting, {
      posted: (tx, message) => this.#posted(tx, message),
    });
  }

  /** For `Outbox.handle`. */
  handler(adapter: ChannelAdapter): OutsideHandler {
    return {
      policy: { attempts: ATTEMPTS },
      send: (payload, { inDoubt, ...attempt }) =>
        this.#send({ adapter, ...attempt }, payload as unknown as Departure, inDoubt),
      probe: (payload, { key, signal }) =>
        this.#probe({ adapter, key, signal }, payload as unknown as Departure),
      classify: (error) => verdictOf(error),
      onSent: (sent, tx) => this.#sent(adapter, sent, tx),
      onGivenUp: async (given, tx) => {
        this.#tried.delete(given.key);
        this.#found.delete(given.key);
        await this.#failures.record(adapter, given, tx);
      },
    };
  }

  async #send(attempt: DeliveryAttempt, departure: Departure, inDoubt: boolean): Promise<Json> {
    const { adapter, key, signal } = attempt;
    this.#noteTry(key);
    if (departure.kind === "thread") {
      const thread = await this.#departures.thread(departure.place, key);
      return adapter.createThread(thread, { signal });
    }
    if (departure.kind === "unsay") return this.#unsay(attempt, departure);
    if (departure.kind === "join") return this.#call(attempt, departure);
    if (departure.kind === "sign") return this.#sign(attempt, departure);
    if (departure.kind === "unthread") return this.#unthread(attempt, departure);

    const { post, place } = await this.#departures.post(adapter, departure, key);
    const isBegun = inDoubt || departure.part > 0;
    if (!isBegun) await refuseStopped(this.#setting.database, place, departure.message);
    if (departure.files) return this.#sendFiles(attempt, post);
    return departure.over && adapter.edit
      ? this.#sayOver(attempt, post, departure.over)
      : adapter.post(post, { signal });
  }

  /** Files that the platform does not take are named: their words have left already. */
  async #sendFiles({ adapter, signal }: DeliveryAttempt, post: OutgoingPost): Promise<Json> {
    const most = adapter.limits.fileBytes ?? 0;
    const files = (post.files ?? []).filter(({ bytes }) => bytes.length <= most);
    const isAll = files.length > 0 && files.length === post.files?.length;
    try {
      if (isAll) return await adapter.post(post, { signal });
    } catch (error) {
      if (!(error instanceof ChannelError) || !REFUSES_FILES.has(error.failure)) throw error;
      this.#setting.logger.warn(
        { place: post.place, failure: error.failure, error: error.message },
        `${adapter.name} did not take a file of ${post.account.agent}: ${error.message}`,
      );
    }
    const names = (post.files ?? []).map(({ name }) => name).join(", ");
    const text = roomTexts(this.#setting.locale).filesStay(names);
    return adapter.post({ ...post, text, files: undefined }, { signal });
  }

  /** The whole text takes the place of what was shown of it. */
  async #sayOver(
    { adapter, key, signal }: DeliveryAttempt,
    post: OutgoingPost,
    over: Over,
  ): Promise<{ platformId: string }> {
    const platformId =
      over.platformId ||
      (await postOnce(adapter, { ...post, key: over.key }, { signal })).platformId;
    try {
      await adapter.edit!(post, platformId, { signal });
      return { platformId };
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#setting.database.query(WITHOUT_OVER, [key]);
      throw new ChannelError(
        "rate-limited",
        "What was shown of it has been removed; it is posted.",
        { retryAfterMs: 0 },
      );
    }
  }

  async #unsay(
    attempt: DeliveryAttempt,
    { place: placeId, agent, over }: Departure & { kind: "unsay" },
  ): Promise<Json> {
    const { adapter, signal } = attempt;
    const place = await this.#setting.store.place(placeId);
    const account = this.#setting.directory.account(adapter.name, agent);
    if (!place || place.state === "closed" || !account || !adapter.remove) return null;

    const address = addressOf(place);
    const platformId =
      over.platformId || (await this.#shownUnder(attempt, { account, address, key: over.key }));
    if (platformId === undefined) return null;
    await adapter.remove(account, address, platformId, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    return null;
  }

  /**
   * What may be there under a key; undefined: it is not. A platform that knows keys gives the id
   * alone to one who posts under it again: it shows a new message for a moment if there was none.
   */
  async #shownUnder(
    { adapter, signal }: DeliveryAttempt,
    { account, address, key }: { account: ChannelAccount; address: PlaceAddress; key: string },
  ): Promise<string | undefined> {
    const text = roomTexts(this.#setting.locale).working();
    const post = { account, place: address, text, mentions: [], key };
    if (adapter.limits.keyMemoryMs > 0) return (await adapter.post(post, { signal })).platformId;
    return idOf(await adapter.findPost(post, { signal }));
  }

  async #call(
    { adapter, signal }: DeliveryAttempt,
    { place: id, agent }: CallDeparture,
  ): Promise<Json> {
    const place = await this.#setting.store.place(id);
    const account = this.#setting.directory.account(adapter.name, agent);
    if (place && place.state !== "closed" && account) {
      await adapter.joinThread?.(account, addressOf(place), { signal });
    }
    return null;
  }

  /** What the platform does not let the account do is no failure: the answer is there without it. */
  async #sign(
    { adapter, signal }: DeliveryAttempt,
    { place: id, agent, platformId, isDone }: SignDeparture,
  ): Promise<Json> {
    const place = await this.#setting.store.place(id);
    const account = this.#setting.directory.account(adapter.name, agent);
    if (!place || place.state === "closed" || !account || !adapter.react) return null;
    const signs = [
      { platformId, emoji: SIGNS.seen, isSet: false },
      ...(isDone ? [{ platformId, emoji: SIGNS.done, isSet: true }] : []),
    ];
    for (const sign of signs) {
      await adapter.react(account, addressOf(place), sign, { signal }).catch(ignoreRefusal);
    }
    return null;
  }

  /** What the platform does not let the account take away stays, and is closed here. */
  async #unthread({ signal }: DeliveryAttempt, thread: EmptyThreadDeparture): Promise<Json> {
    await removeEmptyThread(this.#setting, thread, signal).catch(ignoreRefusal);
    return null;
  }

  /**
   * Looks whether an attempt without an answer has arrived. Shortly after it, here, the platform's
   * own memory of the key is enough.
   */
  async #probe(attempt: DeliveryAttempt, departure: Departure): Promise<OutboxProbeAnswer> {
    const { adapter, key, signal } = attempt;
    if (departure.kind === "thread") return this.#probeThread(attempt, departure);
    // Edited, taken away, called or signed twice is as once: thread or message.
    if (departure.kind !== "post" || departure.over) {
      return "not_happened";
    }
    if (this.#maySendBlindly(attempt)) return "not_happened";

    const { post, after } = await this.#departures.post(adapter, departure, key);
    return answerOf(await adapter.findPost(post, { after, signal }));
  }

  /**
   * As long as the platform remembers the key. After the last attempt nothing is sent again that
   * the platform could tell from the first: then it has to be looked for. Source:
   * docs/spec/collaboration §6.
   */
  #maySendBlindly({ adapter, key }: DeliveryAttempt): boolean {
    const tried = this.#tried.get(key);
    if (!tried || tried.times >= ATTEMPTS) return false;
    return this.#setting.clock.monotonic() - tried.at < adapter.limits.keyMemoryMs;
  }

  /**
   * A thread of the same owner and name that is another one of ours does not answer for this one.
   */
  async #probeThread(
    { adapter, key, signal }: DeliveryAttempt,
    { place, exists }: ThreadDeparture,
  ): Promise<OutboxProbeAnswer> {
    const thread = await this.#departures.thread(place, key);
    const found = await adapter.findThread({ ...thread, named: exists?.named }, { signal });
    if (found.found !== "yes") return exists ? "unknown" : answerOf(found);

    const [other] = await this.#setting.database.query(ANOTHER_THREAD, [
      adapter.name,
      found.platformId,
      place,
    ]);
    if (other) return "unknown";
    this.#found.add(key);
    return answerOf(found);
  }

  async #sent(adapter: ChannelAdapter, sent: Sent, tx: Transaction): Promise<() => void> {
    const departure = sent.payload as unknown as Departure;
    const platformId = (sent.result as { platformId?: string } | null)?.platformId;
    this.#tried.delete(sent.key);
    if (departure.kind === "thread") await this.#threadMade(adapter, departure, platformId, tx);
    if (departure.kind === "post") {
      if (platformId) {
        await tx.query(PART_MADE, [adapter.name, platformId, departure.message, departure.part]);
      }
      if (departure.part === departure.parts - 1) await this.#posted(tx, departure.message);
    }
    return () => {
      this.#talk.announce();
      if (this.#found.delete(sent.key) && departure.kind === "thread") {
        this.#threadFound(adapter.name, departure.place);
      }
    };
  }

  async #threadMade(
    adapter: ChannelAdapter,
    { place, exists }: ThreadDeparture,
    platformId: string | undefined,
    tx: Transaction,
  ): Promise<void> {
    if (platformId !== undefined) {
      // A person may have written in it before dure knew it as its own: then it was taken for a
      // new thread.
      await mergeDuplicateThread(tx, this.#setting, { place, adapter: adapter.name, platformId });
    }
    await tx.query(THREAD_MADE, [place, platformId ?? null]);
    if (exists) await this.unsure.reviveThread(tx, place);
    await this.#setting.store.emit(tx, [
      { type: "room.thread_made", role: "system", room: place, data: {} },
    ]);
  }

  /** All of a message has left: the others hear it, and what it answers is answered. */
  async #posted(tx: Transaction, messageId: string): Promise<void> {
    const posted = await this.#talk.posted(tx, messageId);
    if (!posted) return;
    const { place, message } = posted;
    await this.#questions.posted(tx, message, place);
    await this.#requests.answeredBy(tx, place, { agent: message.author, message: messageId });

    const asks = await askedBy(message, tx);
    if (!asks) return;
    for (const code of ["PERMISSION_DENIED", "DELIVERY_FAILED"] as const) {
      await this.#setting.store.settleEscalation(tx, undelivered(asks, code), message.author);
    }
  }

  #noteTry(key: string): void {
    const tried = this.#tried.get(key);
    if (tried) {
      tried.times += 1;
      return;
    }
    this.#tried.set(key, { at: this.#setting.clock.monotonic(), times: 1 });
    if (this.#tried.size > MAX_TRIED) this.#tried.delete(this.#tried.keys().next().value!);
  }
}

/** Then its words have left, and what stays here is told. */
const REFUSES_FILES: ReadonlySet<ChannelFailure> = new Set(["permission", "invalid", "full"]);

const REFUSES_DECOR: ReadonlySet<ChannelFailure> = new Set(["permission", "not-found", "invalid"]);

/** Of what is shown beside the words. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof ChannelError) || !REFUSES_DECOR.has(error.failure)) throw error;
}

function isNotFound(error: unknown): boolean {
  return error instanceof ChannelError && error.failure === "not-found";
}

function answerOf(found: FoundOnPlatform): OutboxProbeAnswer {
  if (found.found === "yes") {
    return { status: "happened", result: { platformId: found.platformId } };
  }
  return found.found === "no" ? "not_happened" : "unknown";
}

const ANOTHER_THREAD = {
  name: "room.another_thread",
  text: `
    select
    from dure.places
    where adapter = $1 and thread = $2 and id <> $3 and owner is not null`,
};
const THREAD_MADE = {
  name: "room.thread_made",
  text: `
    update dure.places
    set thread = coalesce($2, id)
    where id = $1 and thread is null`,
};
const PART_MADE = {
  name: "room.part_made",
  text: `
    insert into dure.room_parts (adapter, platform_id, message, part)
    values ($1, $2, $3, $4)
    on conflict do nothing`,
};
const WITHOUT_OVER = {
  name: "room.without_over",
  text: `
    update dure.outbox
    set payload = payload - 'over'
    where key = $1`,
};
