import type { RowOf } from "../durable/rows.ts";
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Queryable } from "../durable/database.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Scope } from "../kernel/access.ts";

/**
 * What a token may do; `admin` includes the others but `plans:unconfined`, which takes protection
 * away from the machine, and `plans:confirm`, which is a person's; `plans` those of its own: to look,
 * to merge, and to run, which runs shell commands.
 * Source: docs/spec/platform §6.
 */

export interface TokenRecord {
  readonly id: string;
  /** For people: whose token it is. */
  readonly name: string;
  /** Owner of what is created with it; `""`: no tenant. */
  readonly tenant: string;
  readonly scopes: readonly Scope[];
  /** Of approvals that tools ask for by role. Absent: none. */
  readonly roles?: readonly string[] | undefined;
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

export interface NewToken {
  readonly name: string;
  /** Default `""`. */
  readonly tenant?: string | undefined;
  readonly scopes: readonly Scope[];
  readonly roles?: readonly string[] | undefined;
}

export interface CreatedToken {
  /** Shown once; only its hash is kept. */
  readonly token: string;
  readonly record: TokenRecord;
}

/** A token that was not revoked, and what is kept of its text. */
export interface LivingToken {
  readonly record: TokenRecord;
  /**
   * SHA-256. Another text under the same id is another token: DURE_TOKEN can change between two
   * starts.
   */
  readonly hash: Buffer;
}

export interface TokenStore {
  /** The living token's record, or null for an unknown or revoked one. */
  verify(token: string): Promise<TokenRecord | null>;
  /** The living token of this id, or null. */
  living(id: string): Promise<LivingToken | null>;
  /** Whether any token lives. What another process has made is known within 2 s. */
  anyLiving(): Promise<boolean>;
  create(token: NewToken): Promise<CreatedToken>;
  /** True if it was alive until now. */
  revoke(id: string): Promise<boolean>;
  list(): Promise<readonly TokenRecord[]>;
}

/** 256 random bits behind a prefix that secret scanners can find. */
function newTokenText(): string {
  return `dure_${randomBytes(32).toString("base64url")}`;
}

/** What is kept of a token: SHA-256 needs no salt over 256 random bits. */
export function hashToken(token: string): Buffer {
  return createHash("sha256").update(token, "utf8").digest();
}

/** Tokens of this process alone: `DURE_TOKEN`, and tests. */
export class MemoryTokenStore implements TokenStore {
  readonly #tokens = new Map<string, { hash: Buffer; record: TokenRecord }>();
  readonly #clock: Clock;

  constructor(options: { clock?: Clock } = {}) {
    this.#clock = options.clock ?? systemClock;
  }

  /**
   * Adds a token whose text is chosen outside, such as `DURE_TOKEN`. Throws `TOKEN_WEAK` below 16
   * characters.
   * @param options.id what is remembered of its caller, such as Idempotency-Keys, is remembered
   * under this id: give one that outlives
   *   the process where the token does. Default a new one.
   */
  add(
    token: string,
    { id, name, tenant = "", scopes, roles }: NewToken & { readonly id?: string },
  ): TokenRecord {
    if (token.length < 16) {
      throw new DureError("TOKEN_WEAK", `The token ${name} has ${token.length} characters.`, {
        class: "input",
        hint: "Use at least 16 random characters, for example from `openssl rand -base64 32`.",
      });
    }

    const record = {
      id: id ?? newId("token", this.#clock.now()),
      name,
      tenant,
      scopes,
      roles,
      createdAt: this.#clock.now(),
      revokedAt: null,
    };

    this.#tokens.set(record.id, { hash: hashToken(token), record });

    return record;
  }

  async verify(token: string): Promise<TokenRecord | null> {
    const hash = hashToken(token);
    let found: TokenRecord | null = null;

    // Every token is compared, each in constant time: how long it takes says nothing about which
    // one was close.
    for (const candidate of this.#tokens.values()) {
      if (timingSafeEqual(candidate.hash, hash) && candidate.record.revokedAt === null) {
        found = candidate.record;
      }
    }

    return found;
  }

  async living(id: string): Promise<LivingToken | null> {
    const token = this.#tokens.get(id);
    return token && token.record.revokedAt === null ? token : null;
  }

  async anyLiving(): Promise<boolean> {
    return [...this.#tokens.values()].some(({ record }) => record.revokedAt === null);
  }

  async create(options: NewToken): Promise<CreatedToken> {
    const token = newTokenText();
    return { token, record: this.add(token, options) };
  }

  async revoke(id: string): Promise<boolean> {
    const entry = this.#tokens.get(id);
    if (!entry || entry.record.revokedAt !== null) return false;

    entry.record = { ...entry.record, revokedAt: this.#clock.now() };

    return true;
  }

  async list(): Promise<readonly TokenRecord[]> {
    return [...this.#tokens.values()].map(({ record }) => record);
  }
}

/** Its logins end with it, in one statement. */
const REVOKE = {
  name: "tokens_revoke",
  text: `
    with revoked as (
      update dure.tokens set revoked_at = clock_timestamp()
      where id = $1 and revoked_at is null
      returning id
    ), ended as (
      update dure.login_sessions set revoked_at = clock_timestamp()
      where revoked_at is null and token_id in (select id from revoked)
    )
    select id from revoked`,
};
const LIVING = {
  name: "tokens_living",
  text: `
    select *
    from dure.tokens
    where id = $1 and revoked_at is null`,
};
const ANY_LIVING = {
  name: "tokens_any_living",
  text: "select exists (select from dure.tokens where revoked_at is null) as found",
};
const VERIFY = {
  name: "tokens_verify",
  text: `
    select *
    from dure.tokens
    where hash = $1 and revoked_at is null`,
};

type TokenRow = RowOf<Omit<TokenRecord, "roles">, "createdAt" | "revokedAt"> & {
  readonly hash: Buffer;
  readonly roles: readonly string[];
};

/** How long another process may still accept a token that was revoked here, milliseconds. */
const REMEMBER_MS = 2_000;
/**
 * How long it is remembered whether any token lives, milliseconds: together with the query less
 * than 2 s. Source: docs/spec/platform §6.
 */
const REMEMBER_ANY_MS = 1_000;
/** Living tokens remembered at most; beyond it the oldest is asked for again. */
const REMEMBER_COUNT = 1_000;

/**
 * Tokens in PostgreSQL, the same for every process. A revoked one is refused here at once,
 * elsewhere within 2 s.
 */
export class PostgresTokenStore implements TokenStore {
  readonly #database: Queryable;
  readonly #clock: Clock;
  readonly #remembered = new Map<string, { record: TokenRecord; until: number }>();
  #anyLiving: { found: Promise<boolean>; until: number } | undefined;

  constructor(options: { database: Queryable; clock?: Clock }) {
    this.#database = options.database;
    this.#clock = options.clock ?? systemClock;
  }

  async verify(token: string): Promise<TokenRecord | null> {
    const hash = hashToken(token);
    const key = hash.toString("hex");
    const remembered = this.#remembered.get(key);
    if (remembered && remembered.until > this.#clock.monotonic()) return remembered.record;

    this.#remembered.delete(key);

    const [row] = await this.#database.query<TokenRow>(VERIFY, [hash]);
    if (!row || !timingSafeEqual(row.hash, hash)) return null;

    this.#remember(key, recordOf(row));

    return recordOf(row);
  }

  async living(id: string): Promise<LivingToken | null> {
    const [row] = await this.#database.query<TokenRow>(LIVING, [id]);
    return row ? { record: recordOf(row), hash: row.hash } : null;
  }

  anyLiving(): Promise<boolean> {
    const now = this.#clock.monotonic();
    if (this.#anyLiving && this.#anyLiving.until > now) return this.#anyLiving.found;

    const found = this.#askAnyLiving();
    this.#anyLiving = { found, until: now + REMEMBER_ANY_MS };
    found.catch(() => (this.#anyLiving = undefined)); // a failure is not remembered

    return found;
  }

  async #askAnyLiving(): Promise<boolean> {
    const [row] = await this.#database.query<{ found: boolean }>(ANY_LIVING);
    return row!.found;
  }

  async create({ name, tenant = "", scopes, roles = [] }: NewToken): Promise<CreatedToken> {
    const token = newTokenText();
    const [row] = await this.#database.query<TokenRow>(
      {
        text: `
          insert into dure.tokens (id, hash, name, tenant, scopes, roles)
          values ($1, $2, $3, $4, $5, $6)
          returning *`,
      },
      [newId("token", this.#clock.now()), hashToken(token), name, tenant, scopes, roles],
    );

    this.#anyLiving = undefined;

    return { token, record: recordOf(row!) };
  }

  async revoke(id: string): Promise<boolean> {
    const rows = await this.#database.query(REVOKE, [id]);
    this.#anyLiving = undefined;
    for (const [key, { record }] of this.#remembered) {
      if (record.id === id) this.#remembered.delete(key);
    }

    return rows.length > 0;
  }

  async list(): Promise<readonly TokenRecord[]> {
    return (
      await this.#database.query<TokenRow>({
        text: "select * from dure.tokens order by created_at, id",
      })
    ).map(recordOf);
  }

  #remember(key: string, record: TokenRecord): void {
    if (this.#remembered.size >= REMEMBER_COUNT) {
      this.#remembered.delete(this.#remembered.keys().next().value!);
    }
    this.#remembered.set(key, { record, until: this.#clock.monotonic() + REMEMBER_MS });
  }
}

/** Several stores as one: verified in order, created in the last, revoked wherever it is. */
export function combineTokenStores(stores: readonly [TokenStore, ...TokenStore[]]): TokenStore {
  return {
    async verify(token) {
      for (const store of stores) {
        const record = await store.verify(token);
        if (record) return record;
      }
      return null;
    },
    async living(id) {
      for (const store of stores) {
        const token = await store.living(id);
        if (token) return token;
      }
      return null;
    },
    async anyLiving() {
      for (const store of stores) if (await store.anyLiving()) return true;
      return false;
    },
    create: (token) => stores.at(-1)!.create(token),
    async revoke(id) {
      for (const store of stores) if (await store.revoke(id)) return true;
      return false;
    },
    async list() {
      return (await Promise.all(stores.map((store) => store.list()))).flat();
    },
  };
}

function recordOf(row: TokenRow): TokenRecord {
  const { id, name, tenant, scopes, roles } = row;
  return {
    id,
    name,
    tenant,
    scopes,
    roles,
    createdAt: row.created_at.getTime(),
    revokedAt: row.revoked_at?.getTime() ?? null,
  };
}
