import type { RowOf } from "../durable/rows.ts";
import type { Queryable } from "../durable/database.ts";
import type { Clock } from "../kernel/clock.ts";

/** One login as it is stored. Times are milliseconds since the epoch. */
export interface LoginRow {
  readonly id: string;
  readonly tokenId: string;
  readonly tenant: string;
  readonly hash: Buffer;
  /** Handed out with an answer, and not yet seen in a request. */
  readonly nextHash: Buffer | null;
  readonly nextAt: number | null;
  /** Of requests that were under way while the cookie changed. */
  readonly previousHash: Buffer | null;
  readonly previousUntil: number | null;
  /** What the browser calls itself, cut. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly rotatedAt: number;
  readonly usedAt: number;
  readonly expiresAt: number;
  readonly revokedAt: number | null;
}

export type NewLogin = Pick<LoginRow, "id" | "tokenId" | "tenant" | "hash" | "userAgent">;

/** Where logins are kept. Every change is one statement. */
export interface LoginRows {
  /** Older logins of the token beyond `most` end. */
  insert(login: NewLogin, options: { lifeMs: number; most: number }): Promise<void>;
  /** With the time of the store, which all processes share. */
  find(id: string): Promise<{ row: LoginRow; now: number } | null>;
  touch(id: string): Promise<void>;
  /**
   * Hands out another secret; false when one was handed out less than `againMs` ago, or the login
   * has changed.
   */
  offer(
    id: string,
    secrets: { current: Buffer; next: Buffer },
    options: { againMs: number },
  ): Promise<boolean>;
  /** The secret that was handed out came back: the one before holds for `graceMs` more. */
  promote(id: string, next: Buffer, options: { graceMs: number }): Promise<void>;
  /** True if it was alive until now. */
  end(id: string): Promise<boolean>;
  /** Those that were not ended, the newest first. */
  list(of: {
    tokenId?: string | undefined;
    tenant?: string | undefined;
  }): Promise<{ rows: readonly LoginRow[]; now: number }>;
  addLink(link: { hash: Buffer; tokenId: string }, options: { lifeMs: number }): Promise<void>;
  /** The token of a link that holds; afterwards it does not hold. */
  takeLink(hash: Buffer): Promise<string | null>;
}

/** Logins that one list gives at most. */
const MAX_LIST = 200;

/** Logins of this process alone: for tests, and for servers without a database. */
export class MemoryLogins implements LoginRows {
  readonly #rows = new Map<string, LoginRow>();
  readonly #links = new Map<string, { tokenId: string; until: number }>();
  readonly #clock: Clock;

  constructor(options: { clock: Clock }) {
    this.#clock = options.clock;
  }

  async insert(login: NewLogin, { lifeMs, most }: { lifeMs: number; most: number }): Promise<void> {
    const now = this.#clock.now();
    const { rows } = await this.list({ tokenId: login.tokenId });
    for (const old of rows.slice(most - 1)) this.#change(old.id, { revokedAt: now });
    const times = { createdAt: now, rotatedAt: now, usedAt: now, expiresAt: now + lifeMs };

    const unset = {
      nextHash: null,
      nextAt: null,
      previousHash: null,
      previousUntil: null,
      revokedAt: null,
    };

    this.#rows.set(login.id, { ...login, ...times, ...unset });
  }

  async find(id: string): Promise<{ row: LoginRow; now: number } | null> {
    const row = this.#rows.get(id);
    return row ? { row, now: this.#clock.now() } : null;
  }

  async touch(id: string): Promise<void> {
    this.#change(id, { usedAt: this.#clock.now() });
  }

  async offer(
    id: string,
    { current, next }: { current: Buffer; next: Buffer },
    { againMs }: { againMs: number },
  ): Promise<boolean> {
    const row = this.#rows.get(id);
    const now = this.#clock.now();
    const isOpen = row !== undefined && row.revokedAt === null && row.hash.equals(current);
    if (!isOpen || (row.nextAt !== null && row.nextAt > now - againMs)) return false;

    this.#change(id, { nextHash: next, nextAt: now });

    return true;
  }

  async promote(id: string, next: Buffer, { graceMs }: { graceMs: number }): Promise<void> {
    const row = this.#rows.get(id);
    if (row?.nextHash?.equals(next) !== true) return;

    const now = this.#clock.now();

    this.#change(id, {
      hash: next,
      nextHash: null,
      nextAt: null,
      previousHash: row.hash,
      previousUntil: now + graceMs,
      rotatedAt: now,
    });
  }

  async end(id: string): Promise<boolean> {
    if (this.#rows.get(id)?.revokedAt !== null) return false;
    this.#change(id, { revokedAt: this.#clock.now() });
    return true;
  }

  async list({
    tokenId,
    tenant,
  }: {
    tokenId?: string | undefined;
    tenant?: string | undefined;
  }): Promise<{ rows: readonly LoginRow[]; now: number }> {
    const fits = (row: LoginRow): boolean =>
      row.revokedAt === null &&
      (tokenId ?? row.tokenId) === row.tokenId &&
      (tenant ?? row.tenant) === row.tenant;
    return {
      rows: [...this.#rows.values()].filter(fits).toReversed().slice(0, MAX_LIST),
      now: this.#clock.now(),
    };
  }

  async addLink(
    { hash, tokenId }: { hash: Buffer; tokenId: string },
    { lifeMs }: { lifeMs: number },
  ): Promise<void> {
    this.#links.set(hash.toString("hex"), { tokenId, until: this.#clock.now() + lifeMs });
  }

  async takeLink(hash: Buffer): Promise<string | null> {
    const key = hash.toString("hex");
    const link = this.#links.get(key);
    this.#links.delete(key);

    return link && link.until > this.#clock.now() ? link.tokenId : null;
  }

  #change(id: string, changes: Partial<LoginRow>): void {
    const row = this.#rows.get(id);
    if (row) this.#rows.set(id, { ...row, ...changes });
  }
}

/** Logins in PostgreSQL: the same for every process, with the time of the database. */
export class PostgresLogins implements LoginRows {
  readonly #database: Queryable;

  constructor(options: { database: Queryable }) {
    this.#database = options.database;
  }

  async insert(
    { id, tokenId, tenant, hash, userAgent }: NewLogin,
    { lifeMs, most }: { lifeMs: number; most: number },
  ): Promise<void> {
    await this.#database.query(INSERT, [id, tokenId, tenant, hash, userAgent, lifeMs, most - 1]);
  }

  async find(id: string): Promise<{ row: LoginRow; now: number } | null> {
    const [found] = await this.#database.query<StoredLogin>(FIND, [id]);
    return found ? { row: rowOf(found), now: found.now.getTime() } : null;
  }

  async touch(id: string): Promise<void> {
    await this.#database.query(TOUCH, [id]);
  }

  async offer(
    id: string,
    { current, next }: { current: Buffer; next: Buffer },
    { againMs }: { againMs: number },
  ): Promise<boolean> {
    return (await this.#database.query(OFFER, [id, current, next, againMs])).length > 0;
  }

  async promote(id: string, next: Buffer, { graceMs }: { graceMs: number }): Promise<void> {
    await this.#database.query(PROMOTE, [id, next, graceMs]);
  }

  async end(id: string): Promise<boolean> {
    return (await this.#database.query(END, [id])).length > 0;
  }

  async list({
    tokenId,
    tenant,
  }: {
    tokenId?: string | undefined;
    tenant?: string | undefined;
  }): Promise<{ rows: readonly LoginRow[]; now: number }> {
    const found = await this.#database.query<StoredLogin>(LIST, [
      tokenId ?? null,
      tenant ?? null,
      MAX_LIST,
    ]);
    return { rows: found.map(rowOf), now: found[0]?.now.getTime() ?? 0 };
  }

  async addLink(
    { hash, tokenId }: { hash: Buffer; tokenId: string },
    { lifeMs }: { lifeMs: number },
  ): Promise<void> {
    await this.#database.query(ADD_LINK, [hash, tokenId, lifeMs]);
  }

  async takeLink(hash: Buffer): Promise<string | null> {
    const [link] = await this.#database.query<{ token_id: string; holds: boolean }>(TAKE_LINK, [
      hash,
    ]);
    return link?.holds === true ? link.token_id : null;
  }
}

type StoredLogin = RowOf<
  LoginRow,
  "nextAt" | "previousUntil" | "createdAt" | "rotatedAt" | "usedAt" | "expiresAt" | "revokedAt"
> & { readonly now: Date };

function rowOf(stored: StoredLogin): LoginRow {
  return {
    id: stored.id,
    tokenId: stored.token_id,
    tenant: stored.tenant,
    hash: stored.hash,
    nextHash: stored.next_hash,
    nextAt: stored.next_at?.getTime() ?? null,
    previousHash: stored.previous_hash,
    previousUntil: stored.previous_until?.getTime() ?? null,
    userAgent: stored.user_agent,
    createdAt: stored.created_at.getTime(),
    rotatedAt: stored.rotated_at.getTime(),
    usedAt: stored.used_at.getTime(),
    expiresAt: stored.expires_at.getTime(),
    revokedAt: stored.revoked_at?.getTime() ?? null,
  };
}

/** `$n` milliseconds. */
const ms = (parameter: string): string =>
  `${parameter}::double precision * interval '1 millisecond'`;

const INSERT = {
  name: "logins.insert",
  text: `
    with older as (
      select id from dure.login_sessions
      where token_id = $2 and revoked_at is null
      order by created_at desc, id desc offset $7::integer
    ), ended as (
      update dure.login_sessions set revoked_at = clock_timestamp()
      where id in (select id from older)
    )
    insert into dure.login_sessions (id, token_id, tenant, hash, user_agent, expires_at)
    values ($1, $2, $3, $4, $5, clock_timestamp() + ${ms("$6")})`,
};
const FIND = {
  name: "logins.find",
  text: `
    select *, clock_timestamp() as now
    from dure.login_sessions
    where id = $1`,
};
const TOUCH = {
  name: "logins.touch",
  text: `
    update dure.login_sessions
    set used_at = clock_timestamp()
    where id = $1 and revoked_at is null`,
};
const OFFER = {
  name: "logins.offer",
  text: `
    update dure.login_sessions set next_hash = $3, next_at = clock_timestamp()
     where id = $1 and hash = $2 and revoked_at is null
       and (next_at is null or next_at <= clock_timestamp() - ${ms("$4")})
    returning id`,
};
const PROMOTE = {
  name: "logins.promote",
  text: `
    update dure.login_sessions set
      previous_hash = hash, previous_until = clock_timestamp() + ${ms("$3")},
      hash = next_hash, next_hash = null, next_at = null, rotated_at = clock_timestamp()
     where id = $1 and next_hash = $2`,
};
const END = {
  name: "logins.end",
  text: `
    update dure.login_sessions
    set revoked_at = clock_timestamp()
    where id = $1
    and revoked_at is null
    returning id`,
};
const LIST = {
  name: "logins.list",
  text: `
    select *, clock_timestamp() as now from dure.login_sessions
     where revoked_at is null
       and ($1::text is null or token_id = $1)
       and ($2::text is null or tenant = $2)
     order by created_at desc, id desc limit $3::integer`,
};
const ADD_LINK = {
  name: "logins.add_link",
  text: `
    insert into dure.login_links (hash, token_id, expires_at)
    values ($1, $2, clock_timestamp() + ${ms("$3")})`,
};
const TAKE_LINK = {
  name: "logins.take_link",
  text: `
    delete
    from dure.login_links
    where hash = $1
    returning token_id, expires_at > clock_timestamp() as holds`,
};
