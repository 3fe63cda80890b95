/** People are told of what waits for them, also while no page is open. */

import type { Database, Transaction } from "../durable/database.ts";
import { enqueue, type NewEntry, type Outbox } from "../durable/outbox.ts";
import type { TransactionalHandler } from "../durable/outbox-handler.ts";
import type { RetentionRule } from "../durable/retention.ts";
import type { ToldEscalation } from "../escalations/webhook.ts";
import type { AlertKind } from "../kernel/alerts.ts";
import type { Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import type { Directory } from "../rooms/directory.ts";
import { ALERT_TOPIC, type AlertEntry } from "../rooms/out/alert-entry.ts";
import { AlertBook } from "./alert-choices.ts";
import {
  addAlert,
  decidersOf,
  messageOf,
  peopleIn,
  peopleNow,
  type AlertedMessageRow,
  type PersonRow,
} from "./alert-rows.ts";
import {
  PUSH_TOPIC,
  pushHandler,
  WEBHOOK_TOPIC,
  webhookHandler,
  type AlertDelivery,
  type AlertOutcome,
  type SendingOptions,
} from "./alert-sending.ts";
import { decideAlerts, decideTelling } from "./decide-alerts.ts";
import { keptVapidKeys, type VapidKeys } from "./vapid-keys.ts";

export interface AlertsOptions extends Omit<SendingOptions, "keys" | "count" | "nameOf"> {
  readonly database: Database;
  readonly outbox: Outbox;
  readonly directory: Directory;
  readonly clock: Clock;
  /** Absent: those of the database. */
  readonly vapidKeys: VapidKeys | undefined;
  /** What one person is told within an hour. */
  readonly perHour: number;
}

/** What became of alerts in this process, since its start. */
export type AlertCounts = Record<AlertOutcome | "many", number>;

/**
 * From a message or an escalation to the people for whom it waits, to their browsers and the webhook:
 * each step is an entry of the outbox, which the one before it commits with what it tells.
 */
export class Alerts {
  readonly book: AlertBook;
  readonly counts: AlertCounts = { sent: 0, over: 0, late: 0, gone: 0, many: 0 };
  readonly #options: AlertsOptions;
  #keys: Promise<VapidKeys> | undefined;

  constructor(options: AlertsOptions) {
    this.#options = options;
    this.book = new AlertBook(options.database, options.receivers);
  }

  /** By which browsers subscribe. */
  async publicKey(): Promise<string> {
    return (await this.#vapidKeys()).publicKey;
  }

  /** The keys are there before the first page asks for them: who reads writes nothing. */
  async start(): Promise<void> {
    const { outbox, directory } = this.#options;
    await this.#vapidKeys();
    const sending = {
      ...this.#options,
      keys: () => this.#vapidKeys(),
      count: (outcome: AlertOutcome) => void this.counts[outcome]++,
      nameOf: (agent: string) => directory.find(agent)?.displayName,
    };
    outbox.handle(ALERT_TOPIC, this.#messageHandler());
    outbox.handle(PUSH_TOPIC, pushHandler(sending));
    outbox.handle(WEBHOOK_TOPIC, webhookHandler(sending));
  }

  stop(): void {
    const { outbox } = this.#options;
    for (const topic of [ALERT_TOPIC, PUSH_TOPIC, WEBHOOK_TOPIC]) outbox.unhandle(topic);
  }

  /** For the router of escalations: those who decide are told. */
  escalationHandler(): TransactionalHandler {
    return {
      transactional: true,
      run: async (payload, { key, tx }) => {
        const { id } = payload as unknown as ToldEscalation;
        for (const { tenant, person, subscriptions } of await decidersOf(tx, id)) {
          const at = { tenant, place: null, parent: null, seq: null };
          const [now] = await peopleNow(tx, [person], at);
          const about = { key, tenant, kind: "escalation", escalation: id } as const;
          if (now) await this.#tell(tx, { ...now, subscriptions }, about);
        }
        this.#announce();
      },
    };
  }

  retentionRules(): readonly RetentionRule[] {
    return [
      { name: "alerts", table: "dure.alerts", ageColumn: "at", keep: "7d" },
      {
        name: "push-subscriptions",
        table: "dure.push_subscriptions",
        ageColumn: "renewed_at",
        keep: "90d",
      },
    ];
  }

  #messageHandler(): TransactionalHandler {
    const { webhook, directory } = this.#options;
    return {
      transactional: true,
      run: async (payload, { key, tx }) => {
        const { message: id } = payload as unknown as AlertEntry;
        const message = await messageOf(tx, id);
        if (!message) return;
        const named = /[@＠]/u.test(message.text)
          ? await peopleIn(tx, message, webhook !== undefined)
          : [];
        const agents = directory.agents.map((one) => ({ agent: one.id, names: [one.displayName] }));
        const kinds = decideAlerts(spokenIn(message), named, agents);
        if (kinds.size === 0) return;
        const { tenant } = message;
        for (const now of await peopleNow(tx, [...kinds.keys()], message)) {
          const kind = kinds.get(now.person)!;
          await this.#tell(tx, now, { key, tenant, kind, message: id });
        }
        this.#announce();
      },
    };
  }

  /** Its row, and an entry for each way: once for each person, whatever happens in between. */
  async #tell(tx: Transaction, now: PersonRow, about: AlertSubject): Promise<void> {
    const { perHour, webhook } = this.#options;
    const { kind, tenant, message = null, escalation = null } = about;
    const { person, subscriptions } = now;
    // Escalations have a webhook of their own.
    const toWebhook = webhook !== undefined && kind !== "escalation";
    const standing = { ...now, isMuted: now.is_muted, hasRead: now.has_read };
    const hasWay = toWebhook || subscriptions.length > 0;
    const because = decideTelling(kind, { ...standing, hasWay }, perHour);
    if (because !== "told" && because !== "many") return;

    const id = newId("alert", this.#options.clock.now());
    const key = `${about.key}/${tenant}/${person}`;
    const dropped = because === "many" ? "many" : null;
    const row = { id, key, tenant, person, kind, message, escalation, dropped } as const;
    const isNew = await addAlert(tx, row);
    if (isNew && dropped !== null) this.counts.many++;
    if (!isNew || dropped !== null) return;
    await enqueue(tx, entriesOf(id, subscriptions, toWebhook ? `${tenant}/${person}` : undefined));
  }

  #announce(): void {
    const { clock, outbox } = this.#options;
    clock.after(0, () => outbox.announce());
  }

  #vapidKeys(): Promise<VapidKeys> {
    const { vapidKeys, database } = this.#options;
    if (vapidKeys) return Promise.resolve(vapidKeys);
    this.#keys ??= keptVapidKeys(database).catch((error: unknown) => {
      this.#keys = undefined;
      throw error;
    });
    return this.#keys;
  }
}

/** What one person is told of. */
interface AlertSubject {
  /** Of the entry that tells of it. */
  readonly key: string;
  readonly tenant: string;
  readonly kind: AlertKind;
  readonly message?: string;
  readonly escalation?: string;
}

function spokenIn(row: AlertedMessageRow): Parameters<typeof decideAlerts>[0] {
  const { author_kind: authorKind, author, text, buttons, replied_to: repliedTo } = row;
  const { adapter, kind, tenant, person, is_private: isPrivate } = row;
  const place = { adapter, kind, tenant, person, isPrivate };
  return { authorKind, author, text, buttons, repliedTo, place };
}

/** @param line of the webhook; undefined: there is none */
function entriesOf(
  alert: string,
  browsers: readonly string[],
  line: string | undefined,
): readonly NewEntry[] {
  const entry = (
    topic: string,
    ordering: string,
    key: string,
    payload: AlertDelivery,
  ): NewEntry => ({
    topic,
    ordering,
    key,
    payload: { ...payload },
  });
  const pushes = browsers.map((browser) =>
    entry(PUSH_TOPIC, browser, `${alert}/${browser}`, { alert, browser }),
  );
  if (line === undefined) return pushes;
  return [...pushes, entry(WEBHOOK_TOPIC, line, `${alert}/webhook`, { alert })];
}
