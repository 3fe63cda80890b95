/** Ways on which people are told: Web Push to their browsers, and a webhook of the team. */

import { createHash } from "node:crypto";
import type { Database } from "../durable/database.ts";
import type { FailureVerdict, OutsideHandler, RetryPolicy } from "../durable/outbox-handler.ts";
import { postGuarded, type Receivers } from "../engine/agent/public-post.ts";
import { webhookHeaders } from "../escalations/sign-webhook.ts";
import { WebhookError } from "../escalations/webhook.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";
import type { Json } from "../kernel/json.ts";
import type { Locale } from "../kernel/locales.ts";
import {
  alertNow,
  browserOf,
  dropLate,
  endBrowser,
  type AlertRow,
  type BrowserRow,
} from "./alert-rows.ts";
import { whereOf, wordsOfAlert, type AlertWords } from "./alert-words.ts";
import type { VapidKeys } from "./vapid-keys.ts";

/** Topics of the outbox. */
export const PUSH_TOPIC = "alert.push";
export const WEBHOOK_TOPIC = "alert.webhook";

/** What is older is told no more, milliseconds. */
const LIFETIME_MS = 24 * 3_600_000;
/** 5 s, doubled each time: the last attempt is 2 h 50 min after the first. */
const POLICY: RetryPolicy = { attempts: 12, firstRetryMs: 5_000, timeoutMs: 10_000 };

/** What has become of an attempt. */
export type AlertOutcome = "sent" | "over" | "late" | "gone";

export interface SendingOptions {
  readonly database: Database;
  readonly clock: Clock;
  readonly receivers: Receivers;
  readonly webhook: { readonly url: string; readonly secret: string | undefined } | undefined;
  /** For push services: a mail address or a page of the team. */
  readonly contact: string;
  readonly keys: () => Promise<VapidKeys>;
  /** Whether what was said may leave. */
  readonly showsText: boolean;
  /** Of the webhook. */
  readonly locale: Locale;
  readonly nameOf: (agent: string) => string | undefined;
  readonly count: (outcome: AlertOutcome) => void;
}

interface SendAttempt {
  readonly key: string;
  readonly signal: AbortSignal;
}

/** An entry of either topic. */
export interface AlertDelivery {
  readonly alert: string;
  /** Of Web Push. */
  readonly browser?: string;
}

/** The handler of a topic: it looks what the alert is now, and leaves out what is over or late. */
function handlerOf(
  options: SendingOptions,
  send: (alert: AlertRow, delivery: AlertDelivery, attempt: SendAttempt) => Promise<AlertOutcome>,
): OutsideHandler {
  const { database, count } = options;
  return {
    policy: POLICY,
    classify: verdictOf,
    send: async (payload, attempt): Promise<Json> => {
      const delivery = payload as unknown as AlertDelivery;
      const alert = await alertNow(database, delivery.alert);
      const outcome = await outcomeOf(alert, () => send(alert!, delivery, attempt));
      if (outcome === "late") await dropLate(database, delivery.alert);
      count(outcome);

      return { outcome };
    },
  };

  async function outcomeOf(
    alert: AlertRow | undefined,
    next: () => Promise<AlertOutcome>,
  ): Promise<AlertOutcome> {
    if (!alert || alert.is_over) return "over";
    return alert.age >= LIFETIME_MS ? "late" : next();
  }
}

/** An address inside stays one. */
function verdictOf(error: unknown): FailureVerdict | undefined {
  if (error instanceof WebhookError) return error.verdict;
  const code = codeOf(error);
  const isInside = code === "PUSH_ADDRESS" || code === "WEB_ADDRESS_PRIVATE";

  return isInside ? { class: "permanent", notSent: true } : undefined;
}

// --- Web Push

/** Encrypted for the browser alone; a double has the topic of the first one, and its tag. */
export function pushHandler(options: SendingOptions): OutsideHandler {
  return handlerOf(options, async (alert, { browser: id = "" }, attempt) => {
    const browser = await browserOf(options.database, id, alert);
    return browser ? pushTo(browser, alert, { ...options, ...attempt }) : "over";
  });
}

async function pushTo(
  browser: BrowserRow,
  alert: AlertRow,
  options: SendingOptions & SendAttempt,
): Promise<AlertOutcome> {
  const { database, clock, receivers, signal } = options;
  const { body, headers } = await pushOf(browser, alert, options);
  const { status, retryAfter } = await postGuarded(browser.endpoint, {
    ...receivers,
    ...{ headers, body, clock, signal },
  });
  if (status === 404 || status === 410) {
    await endBrowser(database, browser);
    return "gone";
  }
  if (status < 200 || status > 299) throw new WebhookError(status, retryAfter);

  return "sent";
}

async function pushOf(
  { endpoint, p256dh, auth, locale }: BrowserRow,
  alert: AlertRow,
  { keys, contact, key, showsText, nameOf }: SendingOptions & SendAttempt,
): Promise<{ body: Uint8Array; headers: Record<string, string> }> {
  const { buildPushPayload } = await import("@block65/webcrypto-web-push");
  const words = wordsOfAlert(alert, locale, { shows: showsText, nameOf });
  const topic = createHash("sha256").update(key).digest("base64url").slice(0, LONGEST_TOPIC);
  const ttl = Math.max(1, Math.ceil((LIFETIME_MS - alert.age) / 1_000));
  const { body, headers } = await buildPushPayload(
    {
      data: { ...shownOf(words, whereOf(alert, locale)), tag: alert.id },
      options: { ttl, topic, urgency: alert.kind === "mention" ? "normal" : "high" },
    },
    { endpoint, expirationTime: null, keys: { p256dh, auth } },
    { ...(await keys()), subject: contact },
  );

  return { body, headers };
}

/** Source: RFC 8030, section 5.4. */
const LONGEST_TOPIC = 32;

/** As the service worker reads it. */
function shownOf({ title, text, path }: AlertWords, where: string): Record<string, string> {
  return { title, body: [where, text].filter(Boolean).join("\n"), path };
}

// --- webhook

/**
 * POSTs `{"type": "notification", "notification": {…}}` with the headers of Standard Webhooks and
 * `idempotency-key`, which is the same for every attempt.
 */
export function webhookHandler(options: SendingOptions): OutsideHandler {
  const { webhook, clock, locale, showsText, nameOf } = options;
  return handlerOf(options, async (alert, _delivery, { key, signal }) => {
    if (!webhook) return "over";
    const words = wordsOfAlert(alert, locale, { shows: showsText, nameOf });
    const notification = notificationOf(alert, words, whereOf(alert, locale));
    const body = JSON.stringify({ type: "notification", notification });
    const signed = webhookHeaders({ id: key, body }, { secret: webhook.secret, clock });
    const response = await fetchAtOrigin(webhook.url, {
      method: "POST",
      headers: { ...signed, "idempotency-key": key },
      body,
      signal,
    });
    await response.body?.cancel();
    if (!response.ok) throw new WebhookError(response.status, response.headers.get("retry-after"));

    return "sent";
  });
}

function notificationOf(alert: AlertRow, words: AlertWords, where: string): Record<string, Json> {
  return {
    id: alert.id,
    kind: alert.kind,
    tenant: alert.tenant,
    person: alert.person,
    title: words.title,
    text: words.text,
    room: alert.place,
    where,
    message_id: alert.message,
    author: alert.author,
    author_kind: alert.author_kind,
    path: words.path,
    at: alert.made.getTime(),
  };
}
