import type { FailureVerdict, OutsideHandler } from "../durable/outbox-handler.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import { fetchAtOrigin } from "../kernel/fetch-at-origin.ts";
import { onWire } from "../kernel/wire.ts";
import type { EscalationJson } from "../wire/escalations.ts";
import type { Inbox } from "./inbox.ts";
import { webhookHeaders } from "./sign-webhook.ts";

export interface WebhookOptions {
  readonly inbox: Pick<Inbox, "get">;
  readonly url: string;
  /** Signs what is sent. Absent: it is not signed. */
  readonly secret?: string | undefined;
  readonly clock: Clock;
}

/** What an entry of the outbox holds. */
export interface ToldEscalation {
  readonly id: string;
  readonly tenant: string;
}

/**
 * POSTs `{"type": "escalation", "escalation": {…}}`, with the headers of Standard Webhooks:
 * `webhook-id` (the same for every attempt), `webhook-timestamp` and, with a secret,
 * `webhook-signature: v1,<base64 of HMAC-SHA256 over "id.timestamp.body">`.
 */
export function webhookHandler(options: WebhookOptions): OutsideHandler {
  return {
    send: async (payload, { key, signal }) => {
      const { id, tenant } = payload as unknown as ToldEscalation;
      const escalation = await options.inbox.get(id, { tenant }).catch((error: unknown) => {
        if (codeOf(error) === "ESCALATION_UNKNOWN") return undefined; // aged out meanwhile
        throw error;
      });

      if (escalation?.status !== "open") return;

      const shown = onWire<EscalationJson>(escalation);
      const body = JSON.stringify({ type: "escalation", escalation: shown });

      const response = await fetchAtOrigin(options.url, {
        method: "POST",
        headers: webhookHeaders(
          { id: key, body },
          { secret: options.secret, clock: options.clock },
        ),
        body,

        signal,
      });

      await response.body?.cancel();
      if (!response.ok) {
        throw new WebhookError(response.status, response.headers.get("retry-after"));
      }
    },
    classify: (error) => (error instanceof WebhookError ? error.verdict : undefined),
  };
}

/** What an address of a webhook has answered. */
export class WebhookError extends DureError {
  readonly verdict: FailureVerdict;

  constructor(status: number, retryAfter: string | null) {
    super("WEBHOOK_REFUSED", `The webhook answered ${status}.`, {
      class: "unavailable",
      hint: "Look at what the address of the webhook says.",
    });
    this.verdict = verdictOf(status, Number(retryAfter ?? Number.NaN));
  }
}

/** Longest wait that a webhook may ask for, milliseconds. */
const LONGEST_WAIT_MS = 3_600_000;

/** What an answer means for the next attempt. Pure. Source: docs/spec/collaboration §6. */
function verdictOf(status: number, retryAfterSec: number): FailureVerdict {
  if (status === 429) {
    const askedMs = Math.min(retryAfterSec * 1_000, LONGEST_WAIT_MS);
    const afterMs = askedMs > 0 ? askedMs : undefined;
    return { class: "rate-limited", notSent: true, afterMs };
  }

  if (status >= 400 && status < 500 && status !== 408) return { class: "permanent", notSent: true };
  return { class: "transient" };
}
