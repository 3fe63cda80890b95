import type { Database } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { Notifications } from "../../durable/notify.ts";
import { storable } from "../../durable/storable.ts";
import { DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { emit, type RunRecords } from "./records.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";
import type { ChannelMessage } from "../../wire/runs.ts";
import type { Member, ChannelSpeaker } from "../../kernel/plans.ts";
import {
  KNOWN,
  SEND,
  TAKE,
  PROCESSED,
  FORGET_QUESTIONS,
  ANSWER,
  UNHEARD,
  REPORTS,
  SEND_FROM_OUTSIDE,
  MAX_MESSAGES,
  messageOf,
  type MessageRow,
} from "./channel-rows.ts";

/** Wakes processes that wait for messages in a run. */
export const CHANNEL_TOPIC = "plan-channel";

/**
 * The two members of a channel. The operator may write to both. Both may write to the operator and,
 * about files that all share, to the orchestrator.
 */
export type ChannelMember = Extract<Member, "implementer" | "tester">;

export interface DirectChannelOptions {
  readonly database: Database;
  readonly records: RunRecords;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  /** Of the run; a leader that has lost it writes nothing more. */
  readonly lease: Lease;
  readonly run: string;
  readonly port: string;
}

/** Characters of a payload as JSON. A report of 100 failures fits. */
const MAX_PAYLOAD = 256_000;

/**
 * Messages between the two members of a port's pair. Messages are rows: stored, then announced; taken
 * in order, each once, also after a restart. It is open while its port is worked
 * on.
 */
export class DirectChannel {
  readonly #options: DirectChannelOptions;

  constructor(options: DirectChannelOptions) {
    this.#options = options;
  }

  /**
   * Stored once per `key`; said again it is the same message. Throws `CHANNEL_FOREIGN`,
   * `CHANNEL_FULL`, `CHANNEL_TOO_LONG`.
   */
  async send(message: {
    key: string;
    from: ChannelSpeaker;
    to: ChannelSpeaker;
    type: ChannelMessage["type"];
    payload: unknown;
    replyTo?: number;
  }): Promise<number> {
    const { records, lease, run, port, notifications } = this.#options;
    if (message.from === message.to) {
      throw new DureError(
        "CHANNEL_FOREIGN",
        `The ${message.from} of ${port} cannot write to itself.`,
        { class: "input" },
      );
    }
    const payload = storable(message.payload);
    if (payload.length > MAX_PAYLOAD) {
      throw new DureError(
        "CHANNEL_TOO_LONG",
        `A message of ${payload.length} characters is longer than ${MAX_PAYLOAD}.`,
        { class: "input", hint: "Say less, or leave the output out." },
      );
    }
    const id = await records.write(lease, async (tx) => {
      const [known] = await tx.query<{ id: number }>(KNOWN, [run, port, message.key]);
      if (known) return known.id;
      const [made] = await tx.query<{ id: number; many: number }>(SEND, [
        run,
        port,
        message.from,
        message.to,
        message.type,
        payload,
        message.replyTo ?? null,
        message.key,
      ]);
      if (made!.many > MAX_MESSAGES) {
        throw new DureError(
          "CHANNEL_FULL",
          `The members of ${port} have exchanged ${MAX_MESSAGES} messages.`,
          { class: "conflict", hint: "They talk in circles; look at their words." },
        );
      }
      const { from, to, type } = message;
      await emit(tx, [messageEvent(run, { port, id: made!.id, from, to, kind: type })]);
      return made!.id;
    });
    notifications.publish(CHANNEL_TOPIC);
    return id;
  }

  /**
   * The oldest message for `to` that was not processed yet, now delivered; undefined when there is
   * none.
   */
  async take(
    to: ChannelSpeaker,
    type?: ChannelMessage["type"],
  ): Promise<ChannelMessage | undefined> {
    const { records, lease, run, port } = this.#options;
    const [row] = await records.write(lease, (tx) =>
      tx.query<MessageRow>(TAKE, [run, port, to, type ?? null]),
    );
    return row && messageOf(row);
  }

  async processed(id: number): Promise<void> {
    const { records, lease } = this.#options;
    await records.write(lease, (tx) => tx.query(PROCESSED, [id]));
  }

  /**
   * Asks and waits for the answer; asked again under the same key it is the same question. Rejects
   * with the abort of `signal`.
   */
  async query(
    question: { key: string; from: ChannelMember; to: ChannelSpeaker; text: string },
    { signal }: { signal: AbortSignal },
  ): Promise<{ id: number; answer: unknown }> {
    const id = await this.send({
      key: question.key,
      from: question.from,
      to: question.to,
      type: "query",
      payload: { text: question.text },
    });
    const answer = await this.#until(() => this.#answerTo(id), signal);
    await this.processed(answer.id);
    return { id, answer: answer.payload };
  }

  /**
   * Messages for `to` as they come. One is processed when the next one is asked for. Ends with the
   * abort of `signal`.
   */
  async *inbox(
    to: ChannelSpeaker,
    type: ChannelMessage["type"],
    { signal }: { signal: AbortSignal },
  ): AsyncGenerator<ChannelMessage, void, undefined> {
    while (!signal.aborted) {
      const message = await this.#until(() => this.take(to, type), signal).catch(() => undefined);
      if (!message) return;
      yield message;
      await this.processed(message.id);
    }
  }

  /** Questions that wait for an answer are not asked any more. */
  async forgetQuestions(): Promise<void> {
    const { records, lease, run, port } = this.#options;
    await records.write(lease, (tx) => tx.query(FORGET_QUESTIONS, [run, port]));
  }

  /**
   * What the operator has said to `to` and was not read yet, oldest first. The reader calls
   * `processed`.
   */
  async unheard(to: ChannelMember): Promise<readonly ChannelMessage[]> {
    const { database, run, port } = this.#options;
    return (await database.query<MessageRow>(UNHEARD, [run, port, to])).map(messageOf);
  }

  /** Payloads of what tools have reported in a try, oldest first; the same when asked again. */
  async reports(tryNumber: number): Promise<readonly unknown[]> {
    const { records, lease, run, port } = this.#options;
    const rows = await records.write(lease, (tx) =>
      tx.query<MessageRow>(REPORTS, [run, port, reportKeys(tryNumber)]),
    );
    return rows.toSorted((one, other) => one.id - other.id).map(({ payload }) => payload);
  }

  async #answerTo(id: number): Promise<ChannelMessage | undefined> {
    const [row] = await this.#options.database.query<MessageRow>(ANSWER, [id]);
    return row && messageOf(row);
  }

  /** Looks, and looks again with each message. */
  async #until<T>(look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
    let wake = Promise.withResolvers<void>();
    const cancel = this.#options.notifications.subscribe(CHANNEL_TOPIC, () => wake.resolve());
    const onAbort = (): void => wake.resolve();
    signal.addEventListener("abort", onAbort);
    try {
      for (;;) {
        signal.throwIfAborted();
        const found = await look();
        if (found !== undefined) return found;
        await wake.promise;
        wake = Promise.withResolvers();
      }
    } finally {
      cancel();
      signal.removeEventListener("abort", onAbort);
    }
  }
}

/** The text of a question, an answer, or what the operator said; empty for other payloads. Pure. */
export function wordsIn(payload: unknown): string {
  return isObject(payload) && typeof payload["text"] === "string" ? payload["text"] : "";
}

/** How keys of reports begin that tools made: in a try, or in all of them. */
export function reportKeys(tryNumber?: number): string {
  return tryNumber === undefined ? "hook:" : `hook:${tryNumber}:`;
}

/** A message of a process that does not lead the run. */
export interface OutsideMessage {
  readonly run: string;
  readonly port: string;
  readonly from: ChannelSpeaker;
  readonly to: ChannelMember | "orchestrator";
  /** Default `feedback`. */
  readonly type?: "feedback" | "query";
  readonly payload: unknown;
  /** Said again under it, it is the same message. */
  readonly key: string;
  /**
   * At most so many whose keys begin like this: more would fill the members' own channel.
   */
  readonly most: { readonly keys: string; readonly count: number };
}

/**
 * Stores a message from outside of the run's leader: the operator's words, a tool's report, what
 * the orchestrator is asked for. Any process may write it, so it needs no lease; the leader finds
 * it there. Gives its id. Throws `CHANNEL_FULL`, `CHANNEL_TOO_LONG`.
 */
export async function sendFromOutside(
  parts: { readonly database: Database; readonly notifications: Pick<Notifications, "publish"> },
  message: OutsideMessage,
): Promise<number> {
  const { run, port, from, to, type = "feedback", key, most } = message;
  const payload = storable(message.payload);
  if (payload.length > MAX_PAYLOAD) {
    throw new DureError(
      "CHANNEL_TOO_LONG",
      `A message of ${payload.length} characters is longer than ${MAX_PAYLOAD}.`,
      { class: "input", hint: "Say less, or leave the output out." },
    );
  }
  const id = await parts.database.transaction(async (tx) => {
    const [made] = await tx.query<{ id: number }>(SEND_FROM_OUTSIDE, [
      run,
      port,
      from,
      to,
      payload,
      key,
      most.keys,
      most.count,
      type,
    ]);
    if (made) {
      await emit(tx, [messageEvent(run, { port, id: made.id, from, to, kind: type })]);
      return made.id;
    }
    const [known] = await tx.query<{ id: number }>(KNOWN, [run, port, key]);
    return known?.id;
  });
  if (id === undefined) {
    throw new DureError(
      "CHANNEL_FULL",
      `${most.count} messages of this kind were sent to the ${to} of ${port}.`,
      { class: "limit", hint: "Wait for the next try; it reads them." },
    );
  }
  parts.notifications.publish(CHANNEL_TOPIC);
  return id;
}

/** The event of a message that was stored. Pure. */
export function messageEvent(
  run: string,
  data: {
    readonly port: string;
    readonly id: number;
    readonly from: ChannelSpeaker;
    readonly to: ChannelSpeaker;
    readonly kind: ChannelMessage["type"];
  },
): NewPlatformEvent {
  return { type: "direct.message", role: "delegation", run, data };
}
