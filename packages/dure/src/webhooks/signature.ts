import { timingSafeEqual } from "node:crypto";
import { macOf } from "../escalations/sign-webhook.ts";

/** What a sender says of a delivery. Source: standardwebhooks.com. */
export interface SignedDelivery {
  readonly id: string | undefined;
  /** Seconds since the epoch, as text. */
  readonly timestamp: string | undefined;
  /** `v1,<base64>`; several with spaces between them, while a secret is changed. */
  readonly signature: string | undefined;
  readonly body: Uint8Array;
}

export type SignatureProblem =
  | "headers-missing"
  | "id-invalid"
  | "timestamp-invalid"
  | "too-old"
  | "too-new"
  | "no-signature-fits";

export type SignatureDecision =
  | { readonly isSigned: true; readonly id: string }
  | {
      readonly isSigned: false;
      readonly because: SignatureProblem;
    };

/** A delivery may be so much older or newer than this clock, seconds. Source: standardwebhooks.com. */
export const WINDOW_SECONDS = 300;
/** Signatures of one delivery that are looked at. */
const MAX_SIGNATURES = 10;

/** Whether a delivery has the secret's signature. Pure. @param now seconds since the epoch */
export function decideSignature(
  { id, timestamp, signature, body }: SignedDelivery,
  secret: string,
  now: number,
): SignatureDecision {
  if (id === undefined || timestamp === undefined || signature === undefined) {
    return { isSigned: false, because: "headers-missing" };
  }
  if (!isId(id)) return { isSigned: false, because: "id-invalid" };
  if (!isTimestamp(timestamp)) return { isSigned: false, because: "timestamp-invalid" };

  const age = now - Number(timestamp);
  if (age > WINDOW_SECONDS) return { isSigned: false, because: "too-old" };
  if (age < -WINDOW_SECONDS) return { isSigned: false, because: "too-new" };

  const expected = macOf({ id, timestamp, body }, secret);
  const given = signature.split(" ", MAX_SIGNATURES);
  const isSigned = given.some((one) => isSame(one, expected));

  return isSigned ? { isSigned, id } : { isSigned, because: "no-signature-fits" };
}

function isId(id: string): boolean {
  return /^[\x21-\x7e]{1,255}$/.test(id);
}

function isTimestamp(timestamp: string): boolean {
  return /^\d{1,12}$/.test(timestamp);
}

/** Takes the same time for every signature of the right length. */
function isSame(given: string, expected: Buffer): boolean {
  if (!given.startsWith("v1,")) return false;
  const bytes = Buffer.from(given.slice(3), "base64");

  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}
