import type { Login } from "../wire/login.ts";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { newId } from "../kernel/ids.ts";
import type { LoginRow, LoginRows } from "./login-rows.ts";
import { hashToken, type LivingToken, type TokenRecord } from "./token-store.ts";

/**
 * Numbers of logins, milliseconds. Source: OWASP Session Management Cheat Sheet: idle 15 to 30
 * minutes, absolute 4 to 8 hours, a new id while it is used.
 */
export const LOGIN_LIMITS = {
  /** Without a request or an open stream. */
  idleMs: 30 * 60_000,
  /** From the login on, however it is used. */
  lifeMs: 8 * 60 * 60_000,
  /** Then the cookie gets another secret. */
  rotateMs: 15 * 60_000,
  /** For requests that left before the new cookie arrived. */
  graceMs: 30_000,
  /**
   * A new secret that never came back, because its answer was cut, is handed out again after this.
   */
  offerAgainMs: 60_000,
  /** Its use is written down at most so often. */
  touchMs: 60_000,
  /**
   * A link that logs in. Source: NIST SP 800-63B §3.1.3.2, out-of-band secrets hold for 10 minutes.
   */
  linkMs: 10 * 60_000,
} as const;

/** Logins of one token at a time; with another one the oldest ends. */
const MAX_LOGINS = 100;
/** Of what a browser calls itself, characters. */
const MAX_USER_AGENT = 200;
/** `<id>.<secret>`. */
const COOKIE_VALUE = /^(login_[0-9A-Z]{26})\.([A-Za-z0-9_-]{43})$/;

/** What a cookie stands for now. */
export type LoginVerdict =
  | {
      readonly holds: true;
      readonly by: "current" | "next" | "previous";
      readonly isRotationDue: boolean;
      readonly isTouchDue: boolean;
    }
  | { readonly holds: false; readonly because: "ended" | "expired" | "idle" | "other-secret" };

/**
 * Whether a login holds for a secret. Pure; the first rule that applies wins. Source:
 * docs/spec/platform §6.
 */
export function judgeLogin(row: LoginRow, secretHash: Buffer, now: number): LoginVerdict {
  if (row.revokedAt !== null) return { holds: false, because: "ended" };
  if (now >= row.expiresAt) return { holds: false, because: "expired" };
  if (now >= row.usedAt + LOGIN_LIMITS.idleMs) return { holds: false, because: "idle" };

  const by = matchOf(row, secretHash, now);
  if (by === undefined) return { holds: false, because: "other-secret" };

  const isRotationDue = by === "current" && now >= row.rotatedAt + LOGIN_LIMITS.rotateMs;

  return { holds: true, by, isRotationDue, isTouchDue: now >= row.usedAt + LOGIN_LIMITS.touchMs };
}

function matchOf(
  row: LoginRow,
  hash: Buffer,
  now: number,
): "current" | "next" | "previous" | undefined {
  if (timingSafeEqual(row.hash, hash)) return "current";
  if (row.nextHash && timingSafeEqual(row.nextHash, hash)) return "next";

  if (
    row.previousHash &&
    now < (row.previousUntil ?? 0) &&
    timingSafeEqual(row.previousHash, hash)
  ) {
    return "previous";
  }

  return undefined;
}

/** A cookie that holds. */
export interface KnownLogin {
  readonly id: string;
  readonly record: TokenRecord;
  /** The hash whose successor is due; undefined: none is due. */
  readonly rotates: { readonly current: Buffer; readonly tokenHash: Buffer } | undefined;
}

/** A login as lists show it. */
type ListedLogin = Omit<Login, "current">;

/** The living token of an id, wherever it is kept. */
export type FindToken = (id: string) => Promise<LivingToken | null>;

/**
 * Logins of browsers. The cookie is a random secret; what is stored is its HMAC under the hash of
 * the token, so a login ends when its token is revoked or becomes another text, and what stands in
 * the database opens nothing.
 */
export class Logins {
  readonly #rows: LoginRows;
  readonly #find: FindToken;

  constructor(options: { rows: LoginRows; find: FindToken }) {
    this.#rows = options.rows;
    this.#find = options.find;
  }

  /** Begins a login. Gives its id and the value of its cookie. */
  async begin(
    { record, hash }: LivingToken,
    userAgent: string,
  ): Promise<{ id: string; cookie: string }> {
    const id = newId("login");
    const secret = newSecret();

    const login = {
      id,
      tokenId: record.id,
      tenant: record.tenant,
      hash: sealed(secret, hash),
      userAgent: plainText(userAgent),
    };

    await this.#rows.insert(login, { lifeMs: LOGIN_LIMITS.lifeMs, most: MAX_LOGINS });

    return { id, cookie: `${id}.${secret}` };
  }

  /** The person of a login cookie; null if it is no longer valid. */
  async verify(cookie: string): Promise<KnownLogin | null> {
    const [, id, secret] = COOKIE_VALUE.exec(cookie) ?? [];
    if (id === undefined || secret === undefined) return null;

    const found = await this.#rows.find(id);
    const token = found && (await this.#find(found.row.tokenId));
    if (!found || !token) return null;

    const hash = sealed(secret, token.hash);
    const verdict = judgeLogin(found.row, hash, found.now);
    if (!verdict.holds) return null;

    if (verdict.by === "next") {
      await this.#rows.promote(id, hash, { graceMs: LOGIN_LIMITS.graceMs });
    }
    if (verdict.isTouchDue) await this.#rows.touch(id);

    return {
      id,
      record: token.record,
      rotates: verdict.isRotationDue ? { current: hash, tokenHash: token.hash } : undefined,
    };
  }

  /** The next value of the cookie; undefined when another request has just got one. */
  async rotate({ id, rotates }: KnownLogin): Promise<string | undefined> {
    if (!rotates) return undefined;

    const secret = newSecret();
    const secrets = { current: rotates.current, next: sealed(secret, rotates.tokenHash) };
    const isOffered = await this.#rows.offer(id, secrets, { againMs: LOGIN_LIMITS.offerAgainMs });

    return isOffered ? `${id}.${secret}` : undefined;
  }

  /** Whether a login that was verified still holds, for a stream that is open: it counts as use. */
  async stillHolds(id: string): Promise<boolean> {
    const found = await this.#rows.find(id);
    if (!found || !(await this.#find(found.row.tokenId))) return false;

    const verdict = judgeLogin(found.row, found.row.hash, found.now);
    if (verdict.holds && verdict.isTouchDue) await this.#rows.touch(id);

    return verdict.holds;
  }

  /** Ends one of the token's or tenant's own. False: there is none. */
  async end(
    id: string,
    of: { tokenId?: string | undefined; tenant?: string | undefined },
  ): Promise<boolean> {
    const found = await this.#rows.find(id);
    if (
      !found ||
      (of.tokenId ?? found.row.tokenId) !== found.row.tokenId ||
      (of.tenant ?? found.row.tenant) !== found.row.tenant
    ) {
      return false;
    }

    return this.#rows.end(id);
  }

  /** Those that hold, the newest first. */
  async list(of: {
    tokenId?: string | undefined;
    tenant?: string | undefined;
  }): Promise<readonly ListedLogin[]> {
    const { rows, now } = await this.#rows.list(of);
    return rows
      .filter((row) => judgeLogin(row, row.hash, now).holds)
      .map(({ id, tokenId, userAgent, createdAt, usedAt, expiresAt }) => ({
        id,
        tokenId,
        userAgent,
        createdAt,
        usedAt,
        expiresAt,
      }));
  }

  /** A secret that logs in once, for a link. */
  async makeLink(tokenId: string): Promise<string> {
    const secret = newSecret();
    await this.#rows.addLink({ hash: hashToken(secret), tokenId }, { lifeMs: LOGIN_LIMITS.linkMs });
    return secret;
  }

  /**
   * The token that a link was made for; null where it holds no more. It does not hold a second
   * time.
   */
  async takeLink(secret: string): Promise<LivingToken | null> {
    const tokenId = await this.#rows.takeLink(hashToken(secret));
    return tokenId === null ? null : this.#find(tokenId);
  }
}

function newSecret(): string {
  return randomBytes(32).toString("base64url");
}

function sealed(secret: string, tokenHash: Buffer): Buffer {
  return createHmac("sha256", tokenHash).update(secret, "utf8").digest();
}

/** Printable and short: it is shown in lists. */
function plainText(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, MAX_USER_AGENT);
}
