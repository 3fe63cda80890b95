import { DureError, messageOf, ulid, type DureClient, type RoomMessage } from "dure/client";
import { ownCode } from "../unreachable.ts";
import type { PageSpeaker } from "./room-data.ts";

/** Words that were sent and are not seen in their place yet. */
export interface Posting {
  /** The server takes the same one once. */
  readonly clientId: string;
  readonly who: PageSpeaker;
  readonly place: string;
  readonly text: string;
  /** Ids of files of the place. */
  readonly files?: readonly string[] | undefined;
  /** The message that it answers. */
  readonly replyTo?: string | undefined;
  /** `seq` of the newest message of the place when it was written: it stands behind that one. */
  readonly after: number;
  /** Called when the server has it, before its row goes; shows it. */
  readonly onPosted?: (() => Promise<void>) | undefined;
  readonly status: "sending" | "failed";
  readonly problem?: DureError;
}

/**
 * Those that do not stand in their place yet. A message may be seen before its sending is known to
 * have worked, also when the answer to it was lost; each message stands for one posting. Whose
 * token speaks is not known here, so there a failed one is never taken for another person's same words.
 * Pure.
 */
export function unseenOf(
  postings: readonly Posting[],
  messages: readonly RoomMessage[],
): readonly Posting[] {
  const taken = new Set<string>();
  return postings.filter(({ who, text, after, status }) => {
    if (who === undefined && status === "failed") return true;

    const found = messages.find(
      (message) =>
        message.seq > after &&
        message.authorKind === "person" &&
        message.text === text &&
        (who === undefined || message.author === who) &&
        !taken.has(message.id),
    );

    if (found !== undefined) taken.add(found.id);

    return found === undefined;
  });
}

/**
 * What this page says in rooms. It outlives the page of a room: a person who goes elsewhere has still
 * said it.
 */
export class RoomPosts {
  readonly #client: DureClient;
  readonly #listeners = new Set<() => void>();
  /**
   * One place's messages are sent one after the other, so that they stand in the order in which
   * they were written.
   */
  readonly #lines = new Map<string, Promise<void>>();
  #all: readonly Posting[] = [];

  constructor(client: DureClient) {
    this.#client = client;
  }

  readonly snapshot = (): readonly Posting[] => this.#all;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  send(written: Omit<Posting, "clientId" | "status" | "problem">): void {
    const posting: Posting = { ...written, clientId: ulid(), status: "sending" };
    this.#change([...this.#all, posting]);
    this.#enqueue(posting);
  }

  /** The same message again: whether or not the first try arrived, it stands there once. */
  retry(clientId: string): void {
    const posting = this.#all.find((one) => one.clientId === clientId);
    if (posting?.status !== "failed") return;

    this.#put(clientId, { status: "sending" });
    this.#enqueue(posting);
  }

  /** Sends again what found no server, or one without its database: it is back. */
  retryLost(): void {
    for (const { clientId, problem } of this.#all) {
      if (problem?.code === "UNREACHABLE" || problem?.class === "unavailable") this.retry(clientId);
    }
  }

  discard(clientId: string): void {
    this.#change(this.#all.filter((one) => one.clientId !== clientId));
  }

  #enqueue(posting: Posting): void {
    const { place } = posting;
    const line = (this.#lines.get(place) ?? Promise.resolve()).then(() => this.#post(posting));
    this.#lines.set(place, line);
    void line.then(() => this.#lines.get(place) === line && this.#lines.delete(place));
  }

  async #post({ clientId, who, place, text, replyTo, files, onPosted }: Posting): Promise<void> {
    try {
      await this.#client.rooms(who).post(place, { text, clientId, replyTo, files });
    } catch (error) {
      const problem =
        error instanceof DureError ? error : new DureError(ownCode(error), messageOf(error));
      return this.#put(clientId, { status: "failed", problem });
    }

    await onPosted?.().catch(() => {}); // it is said; the log of events brings it
    this.discard(clientId);
  }

  #put(clientId: string, part: Partial<Posting>): void {
    this.#change(this.#all.map((one) => (one.clientId === clientId ? { ...one, ...part } : one)));
  }

  #change(all: readonly Posting[]): void {
    this.#all = all;
    for (const listener of this.#listeners) listener();
  }
}
