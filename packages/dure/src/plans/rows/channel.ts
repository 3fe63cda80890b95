import type { Database } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { Notifications } from "../../durable/notify.ts";
import { DureError } from "../../kernel/errors.ts";
import { CHANNEL_TOPIC, messageEvent, payloadText, reportKeys } from "./channel-message.ts";
import { emit, type RunRecords } from "./records.ts";
import type { ChannelMessage } from "../../wire/runs.ts";
import type { Member, ChannelSpeaker } from "../../kernel/plans.ts";
import {
  KNOWN,
  SEND,
  TAKE,
  PROCESSED,
  ANSWERING_SESSION,
  FORGET_QUESTIONS,
  LEFT_QUESTIONS,
  DELIVER_LETTERS,
  LETTERS,
  ANSWER,
  UNHEARD,
  REPORTS,
  MAX_MESSAGES,
  messageOf,
  type ChannelMessageRow,
} from "./channel-rows.ts";

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
    const payload = payloadText(message.payload);
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
      tx.query<ChannelMessageRow>(TAKE, [run, port, to, type ?? null]),
    );

    return row && messageOf(row);
  }

  async processed(id: number): Promise<void> {
    const { records, lease } = this.#options;
    await records.write(lease, (tx) => tx.query(PROCESSED, [id]));
  }

  /** Waits for the answer to a question. Rejects with the abort of `signal`. */
  async answer(question: number, { signal }: { signal: AbortSignal }): Promise<unknown> {
    const answer = await this.#until(() => this.answerTo(question), signal);
    await this.processed(answer.id);

    return answer.payload;
  }

  /**
   * Messages for `to` as they come. One is processed when the next one is asked for. Ends with the
   * abort of `signal`; rejects when they cannot be read.
   */
  async *inbox(
    to: ChannelSpeaker,
    type: ChannelMessage["type"],
    { signal }: { signal: AbortSignal },
  ): AsyncGenerator<ChannelMessage, void, undefined> {
    while (!signal.aborted) {
      const message = await this.#until(() => this.take(to, type), signal).catch(endsWith(signal));
      if (!message) return;
      yield message;
      await this.processed(message.id);
    }
  }

  /**
   * Questions that wait for an answer are not asked any more, but those of a step that is begun
   * again.
   */
  async forgetQuestions(step: number): Promise<void> {
    const { records, lease, run, port } = this.#options;
    await records.write(lease, (tx) =>
      tx.query(FORGET_QUESTIONS, [run, port, ...questionKeys(step)]),
    );
  }

  /** Questions of a step that its earlier start has left without an answer, oldest first. */
  async leftQuestions(step: number): Promise<readonly ChannelMessage[]> {
    const { database, run, port } = this.#options;
    const given = [run, port, ...questionKeys(step)];

    return (await database.query<ChannelMessageRow>(LEFT_QUESTIONS, given)).map(messageOf);
  }

  /**
   * What the operator has said to `to` and its next prompt has to tell, oldest first. The reader
   * calls `processed`.
   */
  async unheard(to: Member): Promise<readonly ChannelMessage[]> {
    const { database, run, port } = this.#options;

    return (await database.query<ChannelMessageRow>(UNHEARD, [run, port, to])).map(messageOf);
  }

  /**
   * What the operator has said to `to` by now and it has not read, oldest first, at most 50. The
   * reader calls `processed`.
   */
  async letters(to: Member): Promise<readonly ChannelMessage[]> {
    const { database, run, port } = this.#options;

    return (await database.query<ChannelMessageRow>(LETTERS, [run, port, to])).map(messageOf);
  }

  /**
   * Stores of what the operator says to `to` that it has reached the process in which `to` works.
   * Resolves with the abort of `signal`.
   */
  async deliverLetters(to: Member, { signal }: { signal: AbortSignal }): Promise<void> {
    const { records, lease, run, port } = this.#options;
    await this.#until(async (): Promise<undefined> => {
      await records.write(lease, (tx) => tx.query(DELIVER_LETTERS, [run, port, to]));
    }, signal).catch(endsWith(signal));
  }

  /** The conversation in which a member by this kind of worker gave its last answer. */
  async answeringSession(
    member: Member,
    worker: string,
  ): Promise<{ readonly session: string; readonly at: number } | undefined> {
    const { database, run, port } = this.#options;
    const given = [run, port, member, worker];
    const [row] = await database.query<{ session: string; created_at: Date }>(
      ANSWERING_SESSION,
      given,
    );

    return row && { session: row.session, at: row.created_at.getTime() };
  }

  /** Payloads of what tools have reported in a try, oldest first; the same when asked again. */
  async reports(tryNumber: number): Promise<readonly unknown[]> {
    const { records, lease, run, port } = this.#options;
    const rows = await records.write(lease, (tx) =>
      tx.query<ChannelMessageRow>(REPORTS, [run, port, reportKeys(tryNumber)]),
    );

    return rows.toSorted((one, other) => one.id - other.id).map(({ payload }) => payload);
  }

  /** Undefined: it has none yet. */
  async answerTo(id: number): Promise<ChannelMessage | undefined> {
    const [row] = await this.#options.database.query<ChannelMessageRow>(ANSWER, [id]);

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

/** What becomes of an error while messages are waited for: with the abort of `signal` there are no more. */
function endsWith(signal: AbortSignal): (error: unknown) => undefined {
  return (error) => {
    if (!signal.aborted) throw error;
  };
}

/** How keys of questions begin that were asked in a step: by its worker's tool, by its programs. */
function questionKeys(step: number): readonly [string, string] {
  return [`${step}.`, `asked:${step}:`];
}
