/** A message on its way out: its parts, its mentions, its key, and that it has not left. */

import { createHash } from "node:crypto";
import {
  ChannelError,
  type ChannelAccount,
  type ChannelAdapter,
  type OutgoingFile,
  type OutgoingPost,
  type OutgoingThread,
  type FoundOnPlatform,
} from "../channel-adapter.ts";
import type { Directory } from "../directory.ts";
import { namedAt } from "../decide/mentions.ts";
import { addressOf, type Place } from "../place.ts";
import { filesKeyOf, type PlaceAttachment } from "../look/place-files.ts";
import type { StoredMessage } from "../room-store.ts";
import type { EmptyThreadDeparture } from "./empty-thread.ts";
import { partKey, partLength } from "./notices.ts";
import type { Over, RoomsSetting } from "../talk.ts";
import { splitMessage } from "../text.ts";
import type { Transaction } from "../../durable/database.ts";
import type { GivenUp } from "../../durable/outbox-handler.ts";

/**
 * What leaves for a platform: a part of a message, a thread that is to be made, a preview that is
 * to go.
 */
export type Departure =
  | PostDeparture
  | ThreadDeparture
  /** What was shown while it was written, and was not said. */
  | { readonly kind: "unsay"; readonly place: string; readonly agent: string; readonly over: Over }
  | CallDeparture
  | SignDeparture
  | EmptyThreadDeparture;

/** An agent has ended its work on a message: 👀 goes, and ✅ comes where it has said nothing. */
export interface SignDeparture {
  readonly kind: "sign";
  readonly place: string;
  readonly agent: string;
  /** The platform's id of the message. */
  readonly platformId: string;
  readonly isDone: boolean;
}

/** An agent was named in a thread that its account is not in. */
export interface CallDeparture {
  readonly kind: "join";
  readonly place: string;
  readonly agent: string;
}

export interface PostDeparture {
  readonly kind: "post";
  readonly message: string;
  readonly part: number;
  readonly parts: number;
  /** This part is the files of the message. */
  readonly files?: boolean | undefined;
  readonly over?: Over | undefined;
}

export interface ThreadDeparture {
  readonly kind: "thread";
  readonly place: string;
  /**
   * A person says that it was made, and perhaps how it can be known: it is looked for and not made.
   */
  readonly exists?: { readonly named?: string | undefined } | undefined;
}

type ShownAttachment = Partial<PlaceAttachment>;

/** Milliseconds before a message looks again whether its thread has been made. */
const THREAD_WAIT_MS = 250;

/** Reads the rows of what leaves, as they are now, in the words of adapters. */
export class OutgoingSends {
  readonly #setting: RoomsSetting;

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
  }

  /** `after`: the platform's id of what the same account posted there before. */
  async post(
    adapter: ChannelAdapter,
    departure: PostDeparture,
    key: string,
  ): Promise<{ post: OutgoingPost; place: Place; after: string | undefined }> {
    const { directory } = this.#setting;
    const { message, place, account } = await this.#addressed(adapter, departure);
    const parts = splitMessage(message.text, partLength(adapter.limits.messageLength));
    const isLast = departure.part === departure.parts - 1;
    const post: OutgoingPost = {
      account,
      place: addressOf(place),
      text: linked(parts[departure.part] ?? "", message.mentions, directory),
      files: departure.files ? await this.#filesOf(place, message) : undefined,
      mentions: this.#mentionsOf(adapter, message),
      key: nonceOf(key),
      replyTo: departure.part === 0 ? await this.#replyTo(adapter, message) : undefined,
      buttons: isLast ? (message.buttons ?? undefined) : undefined,
    };
    return { post, place, after: await this.#lastPosted(adapter, message, departure.part) };
  }

  async #filesOf(
    { id }: Place,
    { attachments }: StoredMessage,
  ): Promise<NonNullable<OutgoingPost["files"]>> {
    const store = this.#setting.files;
    const files: OutgoingFile[] = [];
    for (const {
      name = "file",
      contentType = "",
      file,
    } of attachments as readonly ShownAttachment[]) {
      const session = filesKeyOf(id);
      const bytes = file === undefined ? undefined : await store?.read(file, { session });
      if (bytes) files.push({ name, type: contentType, bytes });
    }
    return files;
  }

  async thread(placeId: string, key: string): Promise<OutgoingThread> {
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

  /** The message, where it goes, and by which account. Throws where one of them is gone. */
  async #addressed(
    adapter: ChannelAdapter,
    departure: PostDeparture,
  ): Promise<{ message: StoredMessage; place: Place; account: ChannelAccount }> {
    const { store, directory } = this.#setting;
    const message = await store.message(departure.message);
    const place = message && (await store.place(message.place));
    if (!message || !place) {
      throw new ChannelError("not-found", "The message or its place is gone.");
    }
    if (place.state === "closed") {
      const why = place.closedBecause ?? "gone";
      throw new ChannelError("not-found", `${place.name} is closed: ${why}.`);
    }
    // Another account's message may be in line before the thread is made. If the thread could never
    // be made, the place would be closed.
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
    return { message, place, account };
  }

  #mentionsOf(adapter: ChannelAdapter, { mentions }: StoredMessage): OutgoingPost["mentions"] {
    const { directory } = this.#setting;
    return mentions.flatMap((agent) => {
      const platformId = directory.platformIdOf(adapter.name, agent);
      if (platformId === undefined) return [];
      return [{ agent, platformId, displayName: directory.nameOf(agent) }];
    });
  }

  async #replyTo(adapter: ChannelAdapter, { replyTo }: StoredMessage): Promise<string | undefined> {
    if (replyTo === null) return undefined;
    const [row] = await this.#setting.database.query<{ platform_id: string }>(PART_OF, [
      adapter.name,
      replyTo,
    ]);
    return row?.platform_id;
  }

  async #lastPosted(
    adapter: ChannelAdapter,
    message: StoredMessage,
    part: number,
  ): Promise<string | undefined> {
    const [last] = await this.#setting.database.query<{ platform_id: string }>(LAST_POSTED, [
      adapter.name,
      message.place,
      message.author,
      message.seq,
      part,
    ]);
    return last?.platform_id;
  }
}

/** What the outbox keys of all parts of a message begin with. */
export function allPartsOf(message: string): string {
  return partKey(message, 0).replace(/\d+$/, "");
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

const LAST_POSTED = {
  name: "room.last_posted",
  text: `
    select p.platform_id
    from dure.room_messages m
    join dure.room_parts p on p.message = m.id and p.adapter = $1
    where m.place = $2 and m.author = $3 and (m.seq < $4 or m.seq = $4 and p.part < $5)
    order by m.seq desc, p.part desc
    limit 1`,
};
const PART_OF = {
  name: "room.part_of",
  text: `
    select platform_id
    from dure.room_parts
    where adapter = $1 and message = $2
    order by part
    limit 1`,
};
const THREAD_OWNER = {
  name: "room.thread_owner",
  text: `
    select owner, created_at
    from dure.places
    where id = $1 and kind = 'thread'`,
};

/** Before what cannot be told now is looked for again, milliseconds. */
const LOOK_AGAIN_MS = 1000;

/**
 * Posts what may be there already under its key: a platform that knows keys gives it, on another one
 * it is looked for first.
 */
export async function postOnce(
  adapter: ChannelAdapter,
  post: OutgoingPost,
  { signal }: { signal: AbortSignal },
): Promise<{ platformId: string }> {
  if (adapter.limits.keyMemoryMs > 0) return adapter.post(post, { signal });
  const platformId = idOf(await adapter.findPost(post, { signal }));
  return platformId === undefined ? adapter.post(post, { signal }) : { platformId };
}

/**
 * Undefined: it is not there.
 *
 * @throws ChannelError `transient` where that cannot be told now
 */
export function idOf(found: FoundOnPlatform): string | undefined {
  if (found.found === "yes") return found.platformId;
  if (found.found === "no") return undefined;
  throw new ChannelError("transient", "Whether it is there already cannot be told.", {
    notSent: true,
    retryAfterMs: LOOK_AGAIN_MS,
  });
}

/** Why words have not left, as the outbox and their message keep it. */
export interface StoredError {
  readonly code?: string;
  readonly message?: string;
}

interface UnsentMessage {
  readonly id: string;
  readonly author: string;
  readonly place: string;
}

/** Records that a message has not left, or that this is unknown, and tells it. */
export async function failMessage(
  tx: Transaction,
  { store }: Pick<RoomsSetting, "store">,
  { id, author, place }: UnsentMessage,
  { outcome, error }: { outcome: GivenUp["outcome"]; error: StoredError },
): Promise<void> {
  await tx.query(FAILED, [id, outcome, JSON.stringify(error)]);
  const data = { message: id, outcome, code: error.code ?? null, detail: error.message ?? null };
  await store.emit(tx, [
    { type: "room.delivery_failed", role: "system", room: place, agent: author, data },
  ]);
}

/** No part of the message leaves that is still there. */
export async function dropParts(
  tx: Transaction,
  message: string,
  error: StoredError,
): Promise<void> {
  await tx.query(DROP_PARTS, [allPartsOf(message), JSON.stringify(error)]);
}

export const FAILED = {
  name: "room.failed",
  text: `
    update dure.room_messages
    set delivery = $2, delivery_error = $3
    where id = $1`,
};
const DROP_PARTS = {
  name: "room.drop_parts",
  text: `
    update dure.outbox
    set state = 'failed', settled_at = clock_timestamp(),
      error = $2
    where starts_with(key, $1) and state = 'pending'`,
};
