import type { Database } from "../../durable/database.ts";
import type { Lease } from "../../durable/leases.ts";
import type { Notifications } from "../../durable/notify.ts";
import { DureError } from "../../kernel/errors.ts";
import { channelTopic, messageEvent, payloadText, reportKeys } from "./channel-message.ts";
import { storable } from "../../durable/storable.ts";
import { emit, type RunRecords } from "./records.ts";
import type { ChannelMessage } from "../../wire/runs.ts";
import type { Member, ChannelSpeaker } from "../../kernel/plans.ts";
import {
  KNOWN,
  SEND,
  TAKE,
  PROCESSED,
  EMIT_RECORDED,
  RECORD,
  DELIVER_LETTERS,
  LETTERS,
  ANSWER,
  UNHEARD,
  REPORTS,
  WAITING,
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
  #look: Promise<readonly ChannelMessageRow[]> | undefined;

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
    notifications.publish(channelTopic(run, port));

    return id;
  }

  /**
   * Stores what a member has come to: its partner reads it in its next prompt, which is made from the
   * steps. Once per `key`.
   */
  async record(message: {
    key: string;
    from: ChannelMember;
    to: ChannelMember;
    type: "result" | "feedback";
    payload: unknown;
  }): Promise<void> {
    const { records, lease, run, port } = this.#options;
    const { key, from, to, type } = message;
    const payload = payloadText(message.payload);
    const event = messageEvent(run, { port, id: 0, from, to, kind: type });
    await records.put(lease, [
      { part: RECORD, values: [run, port, from, to, type, payload, key] },
      { part: EMIT_RECORDED, values: [storable([event])] },
    ]);
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

  async processed(...ids: readonly number[]): Promise<void> {
    const { records, lease } = this.#options;
    if (ids.length > 0) await records.put(lease, [{ part: PROCESSED, values: [[...ids]] }]);
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
      const look = async (): Promise<ChannelMessage | undefined> => {
        const isFor = (row: ChannelMessageRow): boolean => row.receiver === to && row.type === type;
        return (await this.#waiting()).some(isFor) ? this.take(to, type) : undefined;
      };
      const message = await this.#until(look, signal).catch(endsWith(signal));
      if (!message) return;
      yield message;
      await this.processed(message.id);
    }
  }

  /**
   * Questions of a step that its earlier start has left without an answer, oldest first, at most 10.
   * Those of other steps are not asked any more: their workers are gone.
   */
  async leftQuestions(step: number): Promise<readonly ChannelMessage[]> {
    const [asked, byTools] = questionKeys(step);
    const questions = (await this.#waiting()).filter(
      ({ type, receiver }) => type === "query" && receiver !== "orchestrator",
    );
    const isOfStep = ({ key }: ChannelMessageRow): boolean =>
      key.startsWith(asked) || key.startsWith(byTools);
    await this.processed(...questions.filter((one) => !isOfStep(one)).map(({ id }) => id));

    return questions.filter(isOfStep).slice(0, 10).map(messageOf);
  }

  /** What was not read yet. Who asks at the same time shares the answer. */
  #waiting(): Promise<readonly ChannelMessageRow[]> {
    const { database, run, port } = this.#options;
    return (this.#look ??= new Promise((resolve) => setImmediate(resolve)).then(() => {
      this.#look = undefined;
      return database.query<ChannelMessageRow>(WAITING, [run, port]);
    }));
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
      const isNew = (row: ChannelMessageRow): boolean =>
        row.receiver === to && row.sender === "operator" && row.delivered_at === null;
      if (!(await this.#waiting()).some(isNew)) return;
      await records.put(lease, [{ part: DELIVER_LETTERS, values: [run, port, to] }]);
    }, signal).catch(endsWith(signal));
  }

  /** Payloads of what tools have reported in a try, oldest first; the same when asked again. */
  async reports(tryNumber: number): Promise<readonly unknown[]> {
    const { database, run, port } = this.#options;
    const given = [run, port, reportKeys(tryNumber)];
    const rows = await database.query<ChannelMessageRow>(REPORTS, given);
    const unread = rows.filter(({ processed_at: at }) => at === null);
    await this.processed(...unread.map(({ id }) => id));

    return rows.map(({ payload }) => payload);
  }

  /** Undefined: it has none yet. */
  async answerTo(id: number): Promise<ChannelMessage | undefined> {
    const [row] = await this.#options.database.query<ChannelMessageRow>(ANSWER, [id]);

    return row && messageOf(row);
  }

  /** Looks, and looks again with each message. */
  async #until<T>(look: () => Promise<T | undefined>, signal: AbortSignal): Promise<T> {
    const { notifications, run, port } = this.#options;
    let wake = Promise.withResolvers<void>();
    const cancel = notifications.subscribe(channelTopic(run, port), () => wake.resolve());
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
