/** Where it is told what agents say to each other in the background. */

import { appendFile, mkdir } from "node:fs/promises";
import path from "node:path";
import type { EventLog } from "../../durable/event-log.ts";
import type { Leases } from "../../durable/leases.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import { enqueue, type NewEntry } from "../../durable/outbox.ts";
import { webhookHeaders } from "../../escalations/sign-webhook.ts";
import type { OutsideHandler } from "../../durable/outbox-handler.ts";
import type { Transaction } from "../../durable/database.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { newId } from "../../kernel/ids.ts";
import type { RoomChannel } from "../directory.ts";
import { channelPlaceId } from "../named-place.ts";
import { decideReport } from "./collaborate-call.ts";
import { placeOfSession } from "../place.ts";
import { PRIVATE_PLACE_OF, threadSlot } from "./collaborate-place.ts";
import { roomReports } from "../out/reports.ts";
import { orderingOf, topicOf } from "../out/notices.ts";
import type { RoomsSetting, Talk } from "../talk.ts";
import { cutText } from "../text.ts";
import type { PlatformEvent } from "../../wire/events.ts";

/**
 * Where it is told what agents say to each other in the background. Any of the three, or several.
 */
export interface SinkTargets {
  /**
   * One thread per conversation in this channel, by its platforms: the one where the work was asked
   * for. Work from a direct room or a private thread is reported in none.
   */
  readonly channels?: readonly RoomChannel[] | undefined;
  /**
   * POST of `{"items": [SinkLine, …]}`, at most 50 at once; the key of the batch is in
   * `Idempotency-Key` and `webhook-id`.
   */
  readonly webhook?: string | undefined;
  /** Signs what the webhook is sent. Absent: it is not signed. */
  readonly secret?: string | undefined;
  /**
   * NDJSON, one `SinkLine` per line. At least once: after a crash between writing and recording a
   * line may stand twice, with the same `id`.
   */
  readonly file?: string | undefined;
  /** Whether webhook and file get what agents say in private work, too. Absent: no. */
  readonly private?: boolean | undefined;
}

/** What an agent has said in a background exchange. */
export interface SinkLine {
  /** The same for every delivery. */
  readonly id: string;
  readonly conversation: string;
  readonly subject: string;
  readonly agent: string;
  readonly name: string;
  readonly text: string;
  readonly at: number;
}

interface ToldLine {
  readonly line: SinkLine;
  /** The work began in a direct room or a private thread. */
  readonly isPrivate: boolean;
  readonly channel: RoomChannel | undefined;
}

/** Whose exchange an event belongs to; handed in, for rooms know nothing of the rows of jobs. */
export type ConversationOf = (job: string) => Promise<Conversation | undefined>;

export interface Conversation {
  readonly id: string;
  readonly subject: string;
  /** In which the whole work was asked for. Absent: in none. */
  readonly session?: string | undefined;
}

const SINK_TOPIC = "room.sink";
const MAX_BATCH = 50;
/** How often the log is read when nothing has happened, milliseconds. */
const LOOK_EVERY_MS = 500;
/** Between two tries to hold the sink's lease or to go on after a failure, milliseconds. */
const AGAIN_MS = 1_000;
/** Milliseconds for one answer of a webhook. Source: docs/spec/collaboration §6 E5. */
const WEBHOOK_TIMEOUT_MS = 10_000;

/**
 * Reports background exchanges: follows the event log from where it stopped, one process at a time,
 * and writes each line together with the new position. Its threads and messages carry a mark, so
 * that no agent ever hears them.
 */
export class ConversationSink {
  readonly #setting: RoomsSetting;
  readonly #talk: Talk;
  readonly #targets: SinkTargets;
  readonly #events: Pick<EventLog, "read" | "now">;
  readonly #leases: Leases;
  readonly #conversationOf: ConversationOf;
  readonly #poller: Poller;

  constructor(
    setting: RoomsSetting,
    parts: {
      talk: Talk;
      targets: SinkTargets;
      events: Pick<EventLog, "read" | "now">;
      leases: Leases;
      conversationOf: ConversationOf;
    },
  ) {
    this.#setting = setting;
    this.#talk = parts.talk;
    this.#targets = parts.targets;
    this.#events = parts.events;
    this.#leases = parts.leases;
    this.#conversationOf = parts.conversationOf;
    this.#poller = new Poller({
      what: "what agents say in the background",
      poll: (signal) => this.#follow(signal),
      everyMs: AGAIN_MS,
      clock: setting.clock,
      logger: setting.logger,
    });
  }

  start(): void {
    this.#setting.outbox.handle(SINK_TOPIC, this.#handler());
    this.#poller.start();
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  /** As long as this process holds the sink's lease. */
  async #follow(signal: AbortSignal): Promise<PollResult> {
    await this.#leases.hold("room.sink", async (_lease, options) => this.#report(options.signal), {
      signal,
    });
    return "idle";
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { database, logger, clock } = this.#setting;
    const [known] = await database.query<{ position: string }>(POSITION);
    let after = known?.position;
    if (after === undefined) {
      after = await this.#events.now();
      await database.query(MOVE, [after]);
    }
    while (!signal.aborted) {
      const page = await this.#events.read(after, { types: ["job.turn"] }, MAX_BATCH);
      if (page.reset) {
        logger.warn(
          { oldest: page.reset.oldest },
          "the sink was away for longer than events are kept; what was said meanwhile is not reported",
        );
      }
      if (page.events.length > 0) await this.#write(page.events, page.next);
      else if (page.atEnd) await clock.sleep(LOOK_EVERY_MS, { signal });
      after = page.next;
    }
  }

  async #write(events: readonly PlatformEvent[], position: string): Promise<void> {
    const told: ToldLine[] = [];
    for (const event of events) told.push(...(await this.#lineOf(event)));
    const { webhook, file, private: takesPrivate = false } = this.#targets;
    const outside = told.filter(({ isPrivate }) => takesPrivate || !isPrivate);
    await this.#setting.database.transaction(async (tx) => {
      const [moved] = await tx.query(MOVE, [position]);
      if (!moved || told.length === 0) return;
      for (const { line, channel } of told) if (channel) await this.#post(tx, channel, line);
      if (outside.length === 0) return;
      const items = outside.map(({ line }) => ({ ...line }));
      const entry = (to: "webhook" | "file"): NewEntry => ({
        topic: SINK_TOPIC,
        ordering: to,
        key: `sink/${to}/${position}`,
        payload: { to, items },
      });
      await enqueue(tx, [
        ...(webhook === undefined ? [] : [entry("webhook")]),
        ...(file === undefined ? [] : [entry("file")]),
      ]);
    });
    this.#talk.announce();
  }

  async #lineOf(event: PlatformEvent): Promise<readonly ToldLine[]> {
    const { id, job, at } = event;
    if (job === undefined || event.type !== "job.turn" || event.data.text === "") return [];
    const { speaker, text } = event.data;
    const conversation = await this.#conversationOf(job);
    if (!conversation) return [];
    const line: SinkLine = {
      id,
      conversation: conversation.id,
      subject: conversation.subject,
      agent: speaker,
      name: this.#setting.directory.nameOf(speaker),
      text,
      at,
    };
    const isPrivate = await this.#isPrivate(conversation);
    const began = isPrivate ? undefined : placeOfSession(conversation.session ?? "")?.place;
    const place = began === undefined ? undefined : await this.#setting.store.place(began);
    const { channels = [] } = this.#targets;
    const channel = isPrivate ? undefined : decideReport(channels, place?.adapter);
    return [{ line, isPrivate, channel }];
  }

  async #isPrivate({ session = "" }: Conversation): Promise<boolean> {
    const { database } = this.#setting;
    const [row] = await database.query<{ place: string | null }>(PRIVATE_PLACE_OF, [session]);
    return row?.place !== null;
  }

  /**
   * In the conversation's own thread of the report channel; the thread is made with the first line,
   * and anew when it was closed.
   */
  async #post(tx: Transaction, channel: RoomChannel, line: SinkLine): Promise<void> {
    const { store, directory, adapters, locale, limits } = this.#setting;
    const adapter = adapters.get(channel.adapter);
    const speaker = directory.account(channel.adapter, line.agent)
      ? line.agent
      : directory.lead?.id;
    const account = speaker === undefined ? undefined : directory.account(channel.adapter, speaker);
    if (!adapter || !account || speaker === undefined) return;
    const [known] = await tx.query<{ place: string }>(THREAD_OF, [line.conversation]);
    let thread = known?.place;
    if (thread === undefined) {
      const parent = (await store.place(channelPlaceId(channel), tx))!;
      const delayMs = await threadSlot(tx, parent, limits);
      thread = newId("thread", line.at);
      const name = cutText(
        `${locale === "en" ? "[report]" : "[리포트]"} ${line.subject}`,
        adapter.limits.threadNameLength,
      );
      await tx.query(NEW_THREAD, [
        thread,
        channel.adapter,
        parent.id,
        name,
        parent.guild,
        parent.channel,
        speaker,
      ]);
      await tx.query(KEEP_THREAD, [line.conversation, thread]);
      await enqueue(tx, [
        {
          topic: topicOf(channel.adapter, account.id, adapter.isLocal),
          ordering: orderingOf(account.id, thread),
          key: `${thread}/made`,
          payload: { kind: "thread", place: thread },
          delayMs,
        },
      ]);
    }
    const place = await store.open(tx, thread);
    if (!place || place.state === "closed") return;
    await this.#talk.say(tx, place, {
      author: speaker,
      text: line.text,
      mark: "sink",
      mentions: [],
    });
  }

  #handler(): OutsideHandler {
    const { webhook, file, secret } = this.#targets;
    const { clock } = this.#setting;

    return {
      policy: { timeoutMs: WEBHOOK_TIMEOUT_MS },
      send: async (payload, { key, signal }) => {
        const { to, items } = payload as unknown as {
          to: "webhook" | "file";
          items: readonly SinkLine[];
        };
        if (to === "file" && file !== undefined) await append(file, items);
        if (to !== "webhook" || webhook === undefined) return;

        const body = JSON.stringify({ items });
        const headers = webhookHeaders({ id: key, body }, { secret, clock });
        await deliver(webhook, { body, headers: { ...headers, "idempotency-key": key } }, signal);
      },
      onGivenUp: async ({ payload, attempts, error }, tx) => {
        const { to, items } = payload as unknown as {
          to: "webhook" | "file";
          items: readonly SinkLine[];
        };
        await this.#setting.store.escalate(tx, {
          subject: `room:sink:${to}`,
          type: "delivery",
          severity: "medium",
          ...roomReports(this.#setting.locale).sinkFailed(
            to,
            (error as { message?: string } | null)?.message ?? "?",
          ),
          context: { to, attempts, lines: items.length, first: items[0]?.id ?? null },
        });
      },
    };
  }
}

async function append(file: string, lines: readonly SinkLine[]): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await appendFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
}

async function deliver(
  url: string,
  sent: { readonly body: string; readonly headers: Record<string, string> },
  signal: AbortSignal,
): Promise<void> {
  const response = await fetchAtOrigin(url, { method: "POST", ...sent, signal });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The webhook answered ${response.status}.`);
}

const POSITION = {
  name: "sink.position",
  text: "select position from dure.cursors where name = 'room.sink'",
};
const MOVE = {
  name: "sink.move",
  text: `
    insert into dure.cursors as c (name, position)
    values ('room.sink', $1)
    on conflict (name)
    do update set position = $1, at = clock_timestamp()
    where c.position <> $1
    returning name`,
};
/** Locked: one that is being closed would take the line with it. */
const THREAD_OF = {
  name: "sink.thread_of",
  text: `
    select s.place
    from dure.sink_threads s
    join dure.places p on p.id = s.place
    where s.conversation = $1 and p.state <> 'closed'
    for update of p`,
};
const KEEP_THREAD = {
  name: "sink.keep_thread",
  text: `
    insert into dure.sink_threads (conversation, place)
    values ($1, $2)
    on conflict (conversation)
    do update set place = $2`,
};
const NEW_THREAD = {
  name: "sink.new_thread",
  text: `
    insert into dure.places (
      id, adapter, kind, parent, name, guild, channel, owner, is_sink
    )
    values ($1, $2, 'thread', $3, $4, $5, $6, $7, true)`,
};
