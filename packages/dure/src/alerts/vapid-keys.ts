/** The keys by which push services know the team. Source: RFC 8292. */

import { createECDH } from "node:crypto";
import type { Database } from "../durable/database.ts";

/** Of P-256, in base64url: 65 bytes and 32 bytes. */
export interface VapidKeys {
  readonly publicKey: string;
  readonly privateKey: string;
}

const CURVE = "prime256v1";

/** Undefined: it is no private key of P-256. */
export function vapidKeysOf(privateKey: string): VapidKeys | undefined {
  const bytes = Buffer.from(privateKey, "base64url");
  if (bytes.length !== 32) return undefined;
  const pair = createECDH(CURVE);
  try {
    pair.setPrivateKey(bytes);
  } catch {
    return undefined; // zero, or beyond the order of the curve
  }

  return encoded(pair);
}

/** Those of the database, made at the first start: each process has the same. */
export async function keptVapidKeys(database: Database): Promise<VapidKeys> {
  const pair = createECDH(CURVE);
  pair.generateKeys();
  const made = encoded(pair);
  await database.query(MAKE, [made.publicKey, made.privateKey]);
  const [kept] = await database.query<{ public_key: string; private_key: string }>(KEPT);

  return { publicKey: kept!.public_key, privateKey: kept!.private_key };
}

function encoded(pair: ReturnType<typeof createECDH>): VapidKeys {
  // A private key may begin with zeros, which are left out.
  const secret = pair.getPrivateKey();
  const whole = Buffer.concat([Buffer.alloc(32 - secret.length), secret]);
  return {
    publicKey: pair.getPublicKey().toString("base64url"),
    privateKey: whole.toString("base64url"),
  };
}

const MAKE = {
  name: "alerts.make_vapid",
  text: `
    insert into dure.vapid_keys (public_key, private_key)
    values ($1, $2)
    on conflict do nothing`,
};
const KEPT = {
  name: "alerts.vapid",
  text: "select public_key, private_key from dure.vapid_keys",
};
