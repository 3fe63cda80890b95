import { createHash, createPrivateKey, createPublicKey, sign, type KeyObject } from "node:crypto";
import { DureError } from "../kernel/errors.ts";
import { canonicalJson, isObject } from "../kernel/json.ts";

/** Gives a card with its signature. */
export type SignCard = (card: object) => object;

/**
 * Signs cards with a private key of the curve P-256, in PEM. The name of the key is its thumbprint
 * (RFC 7638). Throws `A2A_KEY_INVALID`. Source: A2A 1.0 §8.4.
 */
export function cardSigner(pem: string): SignCard {
  const key = readKey(pem);
  const kid = thumbprintOf(createPublicKey(key));
  const header = encoded(JSON.stringify({ alg: "ES256", typ: "JOSE", kid }));

  return (card) => {
    const payload = encoded(canonicalJson(withoutEmpty(card)));
    const bytes = Buffer.from(`${header}.${payload}`);
    const signature = sign("sha256", bytes, { key, dsaEncoding: "ieee-p1363" });

    return { ...card, signatures: [{ protected: header, signature: encoded(signature) }] };
  };
}

function readKey(pem: string): KeyObject {
  let key: KeyObject | undefined;
  try {
    key = createPrivateKey(pem);
  } catch {
    // Told below: what it is not.
  }
  if (key?.asymmetricKeyDetails?.namedCurve === "prime256v1") return key;

  throw new DureError("A2A_KEY_INVALID", "DURE_A2A_KEY_FILE holds no private key of P-256.", {
    class: "input",
    hint: "Make one: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256",
  });
}

/** Of the members that RFC 7638 names, in their order. */
function thumbprintOf(key: KeyObject): string {
  const { crv, kty, x, y } = key.export({ format: "jwk" });
  const hash = createHash("sha256").update(JSON.stringify({ crv, kty, x, y }));
  return hash.digest("base64url");
}

function encoded(text: string | Buffer): string {
  return Buffer.from(text).toString("base64url");
}

/** Members without a value are not signed: other languages leave them out. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) {
    const members = value.map(withoutEmpty).filter((member) => member !== undefined);
    return members.length > 0 ? members : undefined;
  }
  if (isObject(value)) {
    const members = Object.entries(value).map(([name, member]) => [name, withoutEmpty(member)]);
    const kept = members.filter(([, member]) => member !== undefined);
    return kept.length > 0 ? (Object.fromEntries(kept) as object) : undefined;
  }

  return value === "" || value === null ? undefined : value;
}
