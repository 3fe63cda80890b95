import { createHash } from "node:crypto";
import type { Transaction } from "../durable/database.ts";
import type {
  FailureVerdict,
  GivenUp,
  OutsideHandler,
  ProbeAnswer,
  Sent,
} from "../durable/outbox.ts";
import type { Json } from "../kernel/json.ts";
import {
  ChannelError,
  type ChannelAdapter,
  type ChannelFailure,
  type FoundOnPlatform,
  type OutgoingPost,
  type OutgoingThread,
} from "./channel-adapter.ts";
import { adoptDouble } from "./adoption.ts";
import type { Directory } from "./directory.ts";
import { addressOf, type Place } from "./place.ts";
import type { Requests } from "./requests.ts";
import type { StoredMessage } from "./room-store.ts";
import { namedAt } from "./mentions.ts";
import { enqueueNotice } from "./notices.ts";
import { roomReports } from "./reports.ts";
import { partKey, partLength, type Over, type RoomsSetting, type Talk } from "./talk.ts";
import { splitMessage } from "./text.ts";
import { roomTexts, THREAD_NOT_MADE } from "./texts.ts";

/**
 * What leaves for a platform: a part of a message, a thread that is to be made, a preview that is
 * to go.
 */
export type Departure =
  | {
      readonly kind: "post";
      readonly message: string;
      readonly part: number;
      readonly parts: number;
      readonly over?: Over;
    }
  /**
   * `exists`: a person says that it was made, and perhaps how it can be known: it is looked for and
   * not made.
   */
  | {
      readonly kind: "thread";
      readonly place: string;
      readonly exists?: { readonly named?: string };
    }
  /** What was shown while it was written, and was not said. */
  | { readonly kind: "unsay"; readonly place: string; readonly agent: string; readonly over: Over };

/**
 * How long an answerless post may be sent again without looking: the platform remembers its nonce
 * for longer. Source: docs/spec/collaboration §6.
 */
const BLIND_MS = 60_000;

/** The first one and three retries. Source: docs/spec/collaboration §6, E4 and E5. */
const ATTEMPTS = 4;
/**
 * Before a message looks again whether its thread has been made, milliseconds. Source: our choice.
 */
const THREAD_WAIT_MS = 250;

/**
 * Brings what the outbox holds to the platform, finds what may have arrived, and tells what failed.
 */
export class Delivery {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #requests: Requests;
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
      threadFound: (adapter: string, place: string) => void;
    },
  ) {
    this.#setting = setting;
    this.#talk = parts.talk;
    this.#requests = parts.requests;
    this.#threadFound = parts.threadFound;
  }

  /** For `Outbox.handle`. */
  handler(adapter: ChannelAdapter): OutsideHandler {
    return {
      policy: { attempts: ATTEMPTS },
      send: (payload, { key, signal }) =>
        this.#send(adapter, payload as unknown as Departure, key, signal),
      probe: (payload, { key, signal }) =>
        this.#probe(adapter, payload as unknown as Departure, key, signal),
      classify: (error) => verdictOf(error),
      onSent: (sent, tx) => this.#sent(adapter, sent, tx),
      onGivenUp: (given, tx) => this.#givenUp(adapter, given, tx),
    };
  }

  async #send(
    adapter: ChannelAdapter,
    departure: Departure,
    key: string,
    signal: AbortSignal,
  ): Promise<Json> {
    this.#noteTry(key);
    if (departure.kind === "thread") {
      const thread = await this.#threadOf(departure.place, key);
      return adapter.createThread(thread, { signal });
    }
    if (departure.kind === "unsay") return this.#unsay(adapter, departure, signal);
    const { post } = await this.#postOf(adapter, departure, key);
    return departure.over && adapter.edit
      ? this.#sayOver(adapter, post, departure.over, key, signal)
      : adapter.post(post, { signal });
  }

  /** The whole text takes the place of what was shown of it. */
  async #sayOver(
    adapter: ChannelAdapter,
    post: OutgoingPost,
    over: Over,
    key: string,
    signal: AbortSignal,
  ): Promise<{ platformId: string }> {
    // Under the same key the platform gives the message that is there, if there is one.
    const platformId =
      over.platformId || (await adapter.post({ ...post, key: over.key }, { signal })).platformId;
    try {
      await adapter.edit!(post, platformId, { signal });
      return { platformId };
    } catch (error) {
      if (!(error instanceof ChannelError) || error.failure !== "not-found") throw error;
      await this.#setting.database.query(WITHOUT_OVER, [key]);
      throw new ChannelError(
        "rate-limited",
        "What was shown of it has been removed; it is posted.",
        { retryAfterMs: 0 },
      );
    }
  }

  async #unsay(
    adapter: ChannelAdapter,
    { place: placeId, agent, over }: Departure & { kind: "unsay" },
    signal: AbortSignal,
  ): Promise<Json> {
    const place = await this.#setting.store.place(placeId);
    const account = this.#setting.directory.account(adapter.name, agent);
    if (!place || place.state === "closed" || !account || !adapter.remove) return null;
    const address = addressOf(place);
    const found =
      over.platformId === ""
        ? await adapter.findPost(
            { account, place: address, text: "", mentions: [], key: over.key },
            { signal },
          )
        : { found: "yes" as const, platformId: over.platformId };
    if (found.found !== "yes") return null;
    await adapter.remove(account, address, found.platformId, { signal }).catch((error: unknown) => {
      if (!(error instanceof ChannelError) || error.failure !== "not-found") throw error;
    });
    return null;
  }

  /**
   * Looks whether an attempt without an answer has arrived. Shortly after it, here, the platform's
   * own memory of the key is enough.
   */
  async #probe(
    adapter: ChannelAdapter,
    departure: Departure,
    key: string,
    signal: AbortSignal,
  ): Promise<ProbeAnswer> {
    if (departure.kind === "thread") return this.#probeThread(adapter, departure, key, signal);
    // Edited or taken away twice is edited or taken away.
    if (departure.kind === "unsay" || departure.over) return "not_happened";
    const tried = this.#tried.get(key);
    // After the last attempt nothing is sent again that the platform could tell from the first:
    // then it has to be looked for.
    if (tried && tried.times < ATTEMPTS && this.#setting.clock.monotonic() - tried.at < BLIND_MS) {
      return "not_happened";
    }
    const { post, after } = await this.#postOf(adapter, departure, key);
    return answerOf(
      await adapter.findPost(post, { ...(after !== undefined && { after }), signal }),
    );
  }

  /**
   * A thread of the same owner and name that is another one of ours does not answer for this one.
   */
  async #probeThread(
    adapter: ChannelAdapter,
    { place, exists }: Departure & { kind: "thread" },
    key: string,
    signal: AbortSignal,
  ): Promise<ProbeAnswer> {
    const found = await adapter.findThread(
      {
        ...(await this.#threadOf(place, key)),
        ...(exists?.named !== undefined && { named: exists.named }),
      },
      { signal },
    );
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

  async #postOf(
    adapter: ChannelAdapter,
    departure: Departure & { kind: "post" },
    key: string,
  ): Promise<{ post: OutgoingPost; message: StoredMessage; after: string | undefined }> {
    const { store, directory, database } = this.#setting;
    const message = await store.message(departure.message);
    const place = message && (await store.place(message.place));
    if (!message || !place) {
      throw new ChannelError("not-found", "The message or its place is gone.");
    }
    if (place.state === "closed") {
      throw new ChannelError(
        "not-found",
        `${place.name} is closed: ${place.closedBecause ?? "gone"}.`,
      );
    }
    // Another account's message may be in line before the thread is made; were it never to be made,
    // the place would be closed.
    if (place.kind === "thread" && place.thread === null) {
      throw new ChannelError("rate-limited", `The thread ${place.name} is being made.`, {
        retryAfterMs: THREAD_WAIT_MS,
      });
    }
    const account = directory.account(adapter.name, message.author);
    if (!account) {
      throw new ChannelError(
        "credential",
        `${message.author} has no account on ${adapter.name} any more.`,
      );
    }
    const part =
      splitMessage(message.text, partLength(adapter.limits.messageLength))[departure.part] ?? "";
    const isLast = departure.part === departure.parts - 1;
    const [last] = await database.query<{ platform_id: string }>(LAST_POSTED, [
      adapter.name,
      place.id,
      message.author,
      message.seq,
      departure.part,
    ]);
    const replyTo =
      departure.part === 0 && message.replyTo !== null
        ? await this.#platformIdOf(adapter.name, message.replyTo)
        : undefined;
    const post: OutgoingPost = {
      account,
      place: addressOf(place),
      text: linked(part, message.mentions, directory),
      mentions: message.mentions.flatMap((agent) => {
        const platformId = directory.platformIdOf(adapter.name, agent);
        return platformId === undefined
          ? []
          : [{ agent, platformId, displayName: directory.nameOf(agent) }];
      }),
      key: nonceOf(key),
      ...(replyTo !== undefined && { replyTo }),
      ...(isLast && message.buttons && { buttons: message.buttons }),
    };
    return { post, message, after: last?.platform_id };
  }

  async #threadOf(placeId: string, key: string): Promise<OutgoingThread> {
    const { store, directory, database } = this.#setting;
    const place = await store.place(placeId);
    const parent = place?.parent ? await store.place(place.parent) : undefined;
    const [row] = await database.query<{ owner: string; created_at: Date }>(THREAD_OWNER, [
      placeId,
    ]);
    const account = row && directory.account(place!.adapter, row.owner);
    if (!place || !parent || parent.state === "closed" || !account) {
      throw new ChannelError(
        "not-found",
        "The channel of the thread, or the account that makes it, is gone.",
      );
    }
    return {
      account,
      channel: addressOf(parent),
      name: place.name,
      key: nonceOf(key),
      since: row.created_at.getTime(),
    };
  }

  async #platformIdOf(adapter: string, message: string): Promise<string | undefined> {
    const [row] = await this.#setting.database.query<{ platform_id: string }>(PART_OF, [
      adapter,
      message,
    ]);
    return row?.platform_id;
  }

  async #sent(adapter: ChannelAdapter, sent: Sent, tx: Transaction): Promise<() => void> {
    const departure = sent.payload as unknown as Departure;
    const platformId = (sent.result as { platformId?: string } | null)?.platformId;
    this.#tried.delete(sent.key);
    if (departure.kind === "thread") {
      // Somebody wrote in it before we knew that it is ours, and it was taken for a new one.
      if (platformId !== undefined) {
        await adoptDouble(tx, this.#setting, {
          place: departure.place,
          adapter: adapter.name,
          platformId,
        });
      }
      await tx.query(THREAD_MADE, [departure.place, platformId ?? null]);
      if (departure.exists) await this.#reviveThread(tx, departure.place);
      await this.#setting.store.emit(tx, [
        { type: "room.thread_made", role: "system", room: departure.place, data: {} },
      ]);
    } else if (departure.kind === "post") {
      if (platformId !== undefined) {
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

  /**
   * A person has said what became of a post that nobody could find: its later parts, its request
   * and those who wait for it go on from there.
   */
  async settleUnsure(
    tx: Transaction,
    unsure: { readonly message: string; readonly outbox: string },
    decision: UnsureDecision,
  ): Promise<void> {
    const { store, outbox } = this.#setting;
    const message = await store.message(unsure.message, tx);
    if (!message || !(await outbox.resolveIn(tx, unsure.outbox, decision))) return;
    if (decision === "failed") {
      return void (await tx.query(FAILED, [
        message.id,
        "failed",
        JSON.stringify(message.deliveryError),
      ]));
    }
    await tx.query(QUEUED_AGAIN, [message.id]);
    await tx.query(REVIVE_PARTS, [allPartsOf(message.id)]);
    await tx.query(REOPEN, [message.id, this.#setting.limits.reminderMs[0]]);
    const [later] = await tx.query(WAITING_PARTS, [allPartsOf(message.id)]);
    if (!later) await this.#posted(tx, message.id);
  }

  /**
   * A person has said what became of a thread that nobody could find. `sent`: it is there, and is
   * looked for once more, by what the person knows of it; `again`: it is not, and is made; in
   * either case what waited for it leaves then, in order.
   */
  async settleUnsureThread(
    tx: Transaction,
    unsure: { readonly place: string; readonly outbox: string },
    decision: UnsureDecision,
    note: string | undefined,
  ): Promise<void> {
    const { outbox } = this.#setting;
    if (!(await outbox.resolveIn(tx, unsure.outbox, decision === "sent" ? "again" : decision))) {
      return;
    }
    if (decision === "failed") return void (await tx.query(UNSURE_FAILED, [unsure.place]));
    if (decision === "again") {
      await tx.query(MAKE_THREAD, [unsure.outbox]);
      return this.#reviveThread(tx, unsure.place);
    }
    const [known] =
      note === undefined
        ? []
        : await tx.query<{ thread: string }>(THREAD_NAMED, [unsure.place, note]);
    const named = known?.thread ?? note;
    await tx.query(LOOK_FOR_THREAD, [
      unsure.outbox,
      JSON.stringify({ exists: { ...(named !== undefined && { named }) } }),
    ]);
  }

  /**
   * A thread that was given up as unsure is used after all: what waited for it leaves, and its
   * requests are open again.
   */
  async #reviveThread(tx: Transaction, place: string): Promise<void> {
    await tx.query(REOPEN_PLACE, [place]);
    for (const { id } of await tx.query<{ id: string }>(UNSURE_IN, [place])) {
      await tx.query(QUEUED_AGAIN, [id]);
      await tx.query(REVIVE_PARTS, [allPartsOf(id)]);
      await tx.query(REOPEN, [id, this.#setting.limits.reminderMs[0]]);
    }
  }

  /** All of a message has left: the others hear it, and what it answers is answered. */
  async #posted(tx: Transaction, messageId: string): Promise<void> {
    const posted = await this.#talk.posted(tx, messageId);
    if (!posted) return;
    await this.#requests.answeredBy(tx, posted.place, {
      agent: posted.message.author,
      message: messageId,
    });
    const [asks] =
      posted.message.request === null ? [] : await tx.query<Asked>(ASKED_BY, [messageId]);
    for (const code of asks ? (["PERMISSION_DENIED", "DELIVERY_FAILED"] as const) : []) {
      await this.#setting.store.settleEscalation(
        tx,
        undelivered(asks!, code),
        posted.message.author,
      );
    }
  }

  /**
   * Failed for good, or nobody knows: the message says so, its later parts stay, and somebody is
   * told.
   */
  async #givenUp(adapter: ChannelAdapter, given: GivenUp, tx: Transaction): Promise<void> {
    const departure = given.payload as unknown as Departure;
    // What was looked for and is still unsure has failed with no error of its own.
    const error = (given.error ?? {
      code: "DELIVERY_UNSURE",
      message: "nobody can tell whether it has arrived",
    }) as { code?: string; message?: string };
    this.#tried.delete(given.key);
    this.#found.delete(given.key);
    if (departure.kind === "unsay") return; // the outbox has said so in the log and in an event
    if (departure.kind === "thread") {
      await tx.query(CLOSE, [
        departure.place,
        `${THREAD_NOT_MADE}${error.message ?? given.outcome}`,
      ]);
      if (isUnsure(given, error)) {
        await this.#askAboutThread(adapter, departure.place, given, error, tx);
      }
      const messages = await tx.query<{ id: string }>(QUEUED_IN, [departure.place]);
      for (const { id } of messages) {
        await this.#failMessage(adapter, id, given, error, tx);
        await tx.query(DROP_PARTS, [allPartsOf(id)]);
      }
      return;
    }
    await this.#failMessage(adapter, departure.message, given, error, tx);
    for (let part = departure.part + 1; part < departure.parts; part++) {
      await tx.query(DROP_PART, [partKey(departure.message, part)]);
    }
  }

  /**
   * One question for the thread, whatever waits for it. Asked again when what a person said did not
   * find it.
   */
  async #askAboutThread(
    adapter: ChannelAdapter,
    placeId: string,
    given: GivenUp,
    error: { code?: string; message?: string },
    tx: Transaction,
  ): Promise<void> {
    const { store, locale } = this.#setting;
    const place = await store.place(placeId, tx);
    if (!place) return;
    await store.escalate(tx, {
      subject: `${UNSURE}${place.id}`,
      suggestedActions: UNSURE_THREAD_ACTIONS,
      type: "delivery",
      severity: "high",
      tenant: place.tenant,
      source: { room: place.id },
      ...roomReports(locale).unsureThread(place.name, error.message ?? ""),
      context: {
        place: place.id,
        account: place.owner,
        adapter: adapter.name,
        code: error.code ?? null,
        outcome: given.outcome,
        attempts: given.attempts,
        outbox: given.key,
      },
    });
  }

  async #failMessage(
    adapter: ChannelAdapter,
    messageId: string,
    given: GivenUp,
    error: { code?: string; message?: string },
    tx: Transaction,
  ): Promise<void> {
    const { store, directory, locale } = this.#setting;
    const message = await store.message(messageId, tx);
    const place = message && (await store.place(message.place, tx));
    if (!message || !place) return;
    await tx.query(FAILED, [messageId, given.outcome, JSON.stringify(error)]);
    const failure = failureOf(error.code);
    const [asks] = message.request === null ? [] : await tx.query<Asked>(ASKED_BY, [message.id]);
    const unsure = isUnsure(given, error);
    const reports = roomReports(locale);
    // What waits for a thread of which nobody knows is asked about once, with the thread.
    const isAsked = unsure && (given.payload as { kind?: string }).kind === "thread";
    if (!isAsked) {
      await store.escalate(tx, {
        subject: unsure
          ? `${UNSURE}${message.id}`
          : subjectOf(failure, message, place, { adapter: adapter.name, asks }),
        ...(unsure && { suggestedActions: UNSURE_ACTIONS }),
        type: failure === "credential" ? "account" : "delivery",
        severity:
          failure === "credential" ? "critical" : given.outcome === "unknown" ? "high" : "medium",
        tenant: place.tenant,
        source: { room: place.id },
        ...(unsure
          ? reports.unsure(directory.nameOf(message.author), place.name, error.message ?? "")
          : reports.undelivered(
              directory.nameOf(message.author),
              place.name,
              error.message ?? "",
              failure,
            )),
        context: {
          message: messageId,
          place: place.id,
          account: message.author,
          adapter: adapter.name,
          code: error.code ?? null,
          outcome: given.outcome,
          attempts: given.attempts,
          ...(unsure && { outbox: given.key }),
        },
      });
    }
    await store.emit(tx, [
      {
        type: "room.delivery_failed",
        role: "system",
        room: place.id,
        agent: message.author,
        data: {
          message: messageId,
          outcome: given.outcome,
          code: error.code ?? null,
          detail: error.message ?? null,
        },
      },
    ]);
    if (failure === "credential") {
      await tx.query(REFUSED, [
        adapter.name,
        directory.account(adapter.name, message.author)?.id ?? message.author,
        error.message ?? null,
      ]);
    }
    if (failure === "not-found" && place.kind !== "channel") {
      await tx.query(CLOSE, [place.id, error.message ?? "the platform does not know it any more"]);
    }
    if (message.request !== null) {
      await this.#withdraw(message, error, tx, roomTexts(locale).deliveryFailed);
    }
  }

  /** What could not be asked is no open request; the place where it began is told. */
  async #withdraw(
    message: StoredMessage,
    error: { message?: string },
    tx: Transaction,
    sentence: (who: string, why: string) => string,
  ): Promise<void> {
    const { store, directory } = this.#setting;
    const [request] = await tx.query<{
      to_agent: string;
      from_agent: string;
      origin: { place?: string; session?: string };
    }>(WITHDRAW, [message.request, message.id]);
    if (!request) return;
    await tx.query(FORGET_CALL, [request.from_agent, request.to_agent]);
    await store.emit(tx, [
      {
        type: "collaborate.failed",
        role: "delegation",
        agent: request.from_agent,
        ...(request.origin.session !== undefined && { session: request.origin.session }),
        data: { request: message.request, to: request.to_agent, why: error.message ?? null },
      },
    ]);
    if (request.origin.place === undefined || request.origin.place === message.place) return;
    await enqueueNotice(tx, {
      place: request.origin.place,
      author: request.from_agent,
      text: sentence(directory.nameOf(request.to_agent), error.message ?? "?"),
    });
  }

  #noteTry(key: string): void {
    const tried = this.#tried.get(key);
    if (tried) {
      tried.times += 1;
      return;
    }
    this.#tried.set(key, { at: this.#setting.clock.monotonic(), times: 1 });
    if (this.#tried.size > 10_000) this.#tried.delete(this.#tried.keys().next().value!);
  }
}

/** The platform's classes in the outbox's. Source: docs/spec/collaboration §6. */
const VERDICTS = {
  permission: "permanent",
  "not-found": "permanent",
  invalid: "permanent",
  credential: "permanent",
  "rate-limited": "rate-limited",
  unavailable: "rate-limited",
  transient: "transient",
} as const satisfies Record<ChannelFailure, FailureVerdict["class"]>;

function verdictOf(error: unknown): FailureVerdict | undefined {
  if (!(error instanceof ChannelError)) return undefined;
  return {
    class: VERDICTS[error.failure],
    notSent: error.notSent,
    ...(error.retryAfterMs !== undefined && { afterMs: error.retryAfterMs }),
  };
}

function failureOf(code: string | undefined): ChannelFailure | undefined {
  return (Object.keys(VERDICTS) as ChannelFailure[]).find(
    (failure) => code === new ChannelError(failure, "").code,
  );
}

/** Nobody knows, and a person can say. An account without a token is another matter. */
function isUnsure(given: GivenUp, error: { code?: string }): boolean {
  return given.outcome === "unknown" && failureOf(error.code) !== "credential";
}

/** What the outbox keys of all parts of a message begin with. */
function allPartsOf(message: string): string {
  return partKey(message, 0).replace(/\d+$/, "");
}

/**
 * Of escalations about a post or a thread of which nobody knows whether it has arrived; the message
 * or the place follows.
 */
export const UNSURE = "room:unsure:";
const UNSURE_ACTIONS = [
  { value: "sent", code: "arrived", label: "도착함 / It arrived" },
  { value: "again", code: "send-again", label: "다시 보내기 / Send again", style: "primary" },
  { value: "failed", code: "give-up", label: "그만두기 / Give up" },
] as const;
const UNSURE_THREAD_ACTIONS = [
  {
    value: "sent",
    code: "thread-there",
    label: "있음: 링크나 ID / It is there: its link or id",
    asks: "text",
  },
  {
    value: "again",
    code: "thread-missing",
    label: "없음: 새로 만들기 / It is not: make it",
    style: "primary",
  },
  { value: "failed", code: "give-up", label: "그만두기 / Give up" },
] as const;
export type UnsureDecision = (typeof UNSURE_ACTIONS)[number]["value"];

/** Who asks whom with a message. */
interface Asked {
  readonly from_agent: string;
  readonly to_agent: string;
}

/**
 * One open escalation per account and reason, and per pair and code of a `collaborate`, not one per
 * message. Source: docs/spec/collaboration §4.
 */
function subjectOf(
  failure: ChannelFailure | undefined,
  message: StoredMessage,
  place: Place,
  { adapter, asks }: { adapter: string; asks: Asked | undefined },
): string {
  if (failure === "credential") return `room:account:${adapter}:${message.author}`;
  if (asks) {
    return undelivered(asks, failure === "permission" ? "PERMISSION_DENIED" : "DELIVERY_FAILED");
  }
  // A thread that could not be made is another one each time; its channel is the same.
  const where = place.thread === null ? (place.parent ?? place.id) : place.id;
  if (failure === "permission" || failure === "not-found") {
    return `room:${failure}:${message.author}:${where}`;
  }
  return `room:delivery:${message.id}`;
}

function undelivered(
  { from_agent, to_agent }: Asked,
  code: "PERMISSION_DENIED" | "DELIVERY_FAILED",
): string {
  return `room:undelivered:${[from_agent, to_agent].sort().join(":")}:${code}`;
}

function answerOf(found: FoundOnPlatform): ProbeAnswer {
  if (found.found === "yes") {
    return { status: "happened", result: { platformId: found.platformId } };
  }
  return found.found === "no" ? "not_happened" : "unknown";
}

/**
 * The first name of each that is mentioned as `<@agent-id>`, which the adapter turns into its
 * platform's mention; not where the name begins a longer one.
 */
export function linked(text: string, mentions: readonly string[], directory: Directory): string {
  let linkedText = text;
  for (const agent of mentions) {
    const names = [directory.nameOf(agent), agent]
      .sort((a, b) => b.length - a.length)
      .map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    let isLinked = false;
    linkedText = linkedText.replace(
      new RegExp(`(?<![\\p{L}\\p{N}<\`])[@＠](?:${names.join("|")})`, "giu"),
      (name, at: number, all: string) => {
        if (isLinked || namedAt(all, at, directory.names) !== agent) return name;
        isLinked = true;
        return `<@${agent}>`;
      },
    );
  }
  return linkedText;
}

/**
 * At most 25 characters, the same for every attempt of one part. Source: docs/spec/collaboration
 * §6.
 */
export function nonceOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, 25);
}

const ASKED_BY = {
  name: "room.asked_by",
  text: "select from_agent, to_agent from dure.requests where message = $1",
};
/** A call that was refused does not count for its pair. */
const FORGET_CALL = {
  name: "room.forget_call",
  text: "update dure.agent_pairs set calls = calls[1:cardinality(calls) - 1] where (one = $1 and other = $2 or one = $2 and other = $1) and cardinality(calls) > 0",
};
const LAST_POSTED = {
  name: "room.last_posted",
  text: `select p.platform_id from dure.room_messages m join dure.room_parts p on p.message = m.id and p.adapter = $1
          where m.place = $2 and m.author = $3 and (m.seq < $4 or m.seq = $4 and p.part < $5) order by m.seq desc, p.part desc limit 1`,
};
const PART_OF = {
  name: "room.part_of",
  text: "select platform_id from dure.room_parts where adapter = $1 and message = $2 order by part limit 1",
};
const THREAD_OWNER = {
  name: "room.thread_owner",
  text: "select owner, created_at from dure.places where id = $1 and kind = 'thread'",
};
const ANOTHER_THREAD = {
  name: "room.another_thread",
  text: "select from dure.places where adapter = $1 and thread = $2 and id <> $3 and owner is not null",
};
const THREAD_MADE = {
  name: "room.thread_made",
  text: "update dure.places set thread = coalesce($2, id) where id = $1 and thread is null",
};
const PART_MADE = {
  name: "room.part_made",
  text: "insert into dure.room_parts (adapter, platform_id, message, part) values ($1, $2, $3, $4) on conflict do nothing",
};
const CLOSE = {
  name: "room.close",
  text: "update dure.places set state = 'closed', closed_because = $2 where id = $1 and state <> 'closed'",
};
const QUEUED_IN = {
  name: "room.queued_in",
  text: "select id from dure.room_messages where place = $1 and delivery = 'queued' order by seq",
};
const DROP_PART = {
  name: "room.drop_part",
  text: `update dure.outbox set state = 'failed', settled_at = clock_timestamp(), error = '{"code": "EARLIER_PART_FAILED", "message": "An earlier part of the same message failed."}' where key = $1 and state = 'pending'`,
};
/** Of a message whose thread was never made. */
const DROP_PARTS = {
  name: "room.drop_parts",
  text: `update dure.outbox set state = 'failed', settled_at = clock_timestamp(), error = '{"code": "THREAD_NOT_MADE", "message": "The thread could not be made."}' where starts_with(key, $1) and state = 'pending'`,
};
const WITHOUT_OVER = {
  name: "room.without_over",
  text: "update dure.outbox set payload = payload - 'over' where key = $1",
};
const QUEUED_AGAIN = {
  name: "room.queued_again",
  text: "update dure.room_messages set delivery = 'queued', delivery_error = null where id = $1",
};
const REVIVE_PARTS = {
  name: "room.revive_parts",
  text: `update dure.outbox set state = 'pending', settled_at = null, error = null, next_at = clock_timestamp()
          where starts_with(key, $1) and state = 'failed' and error->>'code' in ('EARLIER_PART_FAILED', 'THREAD_NOT_MADE')`,
};
/** Of a thread that was given up because nobody knew. */
const REOPEN_PLACE = {
  name: "room.reopen_place",
  text: `update dure.places set state = case when suspended_until > clock_timestamp() then 'suspended' else 'open' end, closed_because = null
          where id = $1 and state = 'closed' and starts_with(closed_because, 'the thread could not be made')`,
};
const UNSURE_IN = {
  name: "room.unsure_in",
  text: "select id from dure.room_messages where place = $1 and delivery = 'unknown' order by seq",
};
const UNSURE_FAILED = {
  name: "room.unsure_failed",
  text: "update dure.room_messages set delivery = 'failed' where place = $1 and delivery = 'unknown'",
};
const MAKE_THREAD = {
  name: "room.make_thread",
  text: "update dure.outbox set payload = payload - 'exists' where key = $1",
};
/** In doubt: the next attempt begins with looking. */
const LOOK_FOR_THREAD = {
  name: "room.look_for_thread",
  text: "update dure.outbox set payload = payload - 'exists' || $2::jsonb, in_doubt = true where key = $1",
};
/**
 * A person wrote in the thread, so that dure has it as a place of its own, and somebody names it by
 * that.
 */
const THREAD_NAMED = {
  name: "room.thread_named",
  text: `select other.thread from dure.places p join dure.places other on other.parent = p.parent and other.kind = 'thread' and other.thread is not null
          where p.id = $1 and strpos($2, other.id) > 0 limit 1`,
};
const WAITING_PARTS = {
  name: "room.waiting_parts",
  text: "select from dure.outbox where starts_with(key, $1) and state in ('pending', 'sending') limit 1",
};
const REOPEN = {
  name: "room.reopen",
  text: "update dure.requests set state = 'open', closed_at = null, next_at = clock_timestamp() + $2::double precision * interval '1 millisecond' where message = $1 and state = 'withdrawn'",
};
const FAILED = {
  name: "room.failed",
  text: "update dure.room_messages set delivery = $2, delivery_error = $3 where id = $1",
};
const REFUSED = {
  name: "room.refused",
  text: "update dure.accounts set state = 'refused', detail = $3, changed_at = clock_timestamp() where adapter = $1 and id = $2 and state <> 'refused'",
};
const WITHDRAW = {
  name: "room.withdraw",
  text: "update dure.requests set state = 'withdrawn', closed_at = clock_timestamp(), next_at = null where id = $1 and message = $2 and state = 'open' returning to_agent, from_agent, origin",
};
