import { createHmac } from "node:crypto";
import type { Clock } from "../kernel/clock.ts";

/** What a delivery says of itself. Source: standardwebhooks.com. */
export interface EscalationDelivery {
  /** The same for every attempt. */
  readonly id: string;
  /** Seconds since the epoch, as text. */
  readonly timestamp: string;
  readonly body: string | Uint8Array;
}

/** HMAC-SHA256 over `id.timestamp.body`. */
export function macOf({ id, timestamp, body }: EscalationDelivery, secret: string): Buffer {
  return createHmac("sha256", keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest();
}

/** Headers of a delivery; without a secret it is not signed. */
export function webhookHeaders(
  { id, body }: Omit<EscalationDelivery, "timestamp">,
  { secret, clock }: { secret: string | undefined; clock: Clock },
): Record<string, string> {
  const timestamp = String(Math.floor(clock.now() / 1_000));
  const plain = {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
  };
  if (secret === undefined) return plain;

  const signature = macOf({ id, timestamp, body }, secret).toString("base64");
  return { ...plain, "webhook-signature": `v1,${signature}` };
}

/** `whsec_` stands before base64; any other secret is its own bytes. */
function keyOf(secret: string): Buffer {
  const prefix = "whsec_";
  return secret.startsWith(prefix)
    ? Buffer.from(secret.slice(prefix.length), "base64")
    : Buffer.from(secret);
}
