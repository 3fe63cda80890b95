import type { AuditEntry } from "../wire/platform.ts";
import { DureError } from "../kernel/errors.ts";
import type { Queryable } from "./database.ts";
import { pageOf, readCursor, type RowPage } from "./page.ts";

/** What an actor does, and to what. */
export interface AuditedDeed {
  readonly tenant: string;
  /**
   * Id of the token, `cli:<user>`, `agent:<id>`; the address of the caller on a server without
   * tokens.
   */
  readonly name: string;
  /** Such as `job.cancel`, `escalation.approve`, `login`. */
  readonly what: string;
  /** Id of what it is done to; empty where that is known only afterwards. */
  readonly subject: string;
}

export interface AuditFilter {
  /** Of this tenant alone; undefined: of all. */
  readonly tenant?: string | undefined;
  /** One deed, or all of a kind: `job.*`. */
  readonly what?: string | undefined;
  /** The actor as stored, or the name that a token was made for. */
  readonly name?: string | undefined;
  readonly subject?: string | undefined;
  /** Text in one of the four fields, in any case. */
  readonly search?: string | undefined;
  /** 1 to 200. Default 50. */
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Entries that one page holds at most. */
const MAX_PAGE = 200;

/**
 * Records who did what. A deed is recorded before it is done (`begin`) and its outcome after
 * (`end`). So a process that dies in between leaves an entry without an outcome, and a deed that
 * cannot be recorded is not done. Source: docs/spec/platform §6.
 */
export class AuditLog {
  readonly #database: Queryable;

  constructor({ database }: { database: Queryable }) {
    this.#database = database;
  }

  /**
   * Has committed when it resolves. Gives the entry's id for `end`. @throws AUDIT_UNAVAILABLE, and
   * then the deed is not to be done
   */
  async begin(deed: AuditedDeed): Promise<number> {
    try {
      const [row] = await this.#database.query<{ id: number }>(WRITE, [...valuesOf(deed), null]);
      return row!.id;
    } catch (cause) {
      throw cause instanceof DureError ? cause : notWritten(cause);
    }
  }

  /**
   * The first outcome holds. `subjects`: what it was done to after all; of several each has an
   * entry of its own.
   */
  async end(
    id: number,
    {
      outcome,
      subjects = [],
      role,
    }: { outcome: string; subjects?: readonly string[]; role?: string | undefined },
  ): Promise<void> {
    await this.#database.query(END, [id, outcome, subjects.map(storableText), role ?? null]);
  }

  /** A deed that is done. */
  async note(deed: AuditedDeed): Promise<void> {
    await this.#database.query(WRITE, [...valuesOf(deed), "done"]);
  }

  /** The newest first. @throws CURSOR_INVALID */
  async list({
    tenant,
    what,
    name,
    subject,
    search,
    limit = 50,
    cursor,
  }: AuditFilter = {}): Promise<RowPage<AuditEntry>> {
    const most = Math.min(limit, MAX_PAGE);
    const [before] = readCursor(cursor, /^(\d{1,15})$/) ?? [];
    const kind = what?.endsWith(".*") ? what.slice(0, -1) : undefined;

    const values = [
      tenant,
      kind === undefined ? what : undefined,
      kind,
      name,
      subject,
      search?.toLowerCase(),
      before === undefined ? undefined : Number(before),
    ].map((value) => (typeof value === "string" ? storableText(value) : (value ?? null)));

    const rows = await this.#database.query<Omit<AuditEntry, "at"> & { readonly at: Date }>(LIST, [
      ...values,
      most + 1,
    ]);

    const page = pageOf(rows, most, ({ id }) => [id]);

    return { ...page, items: page.items.map((row) => ({ ...row, at: row.at.getTime() })) };
  }
}

function valuesOf({ tenant, name, what, subject }: AuditedDeed): readonly string[] {
  return [tenant, name, what, subject].map(storableText);
}

/** What PostgreSQL's text refuses becomes U+FFFD. */
function storableText(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD");
}

function notWritten(cause: unknown): DureError {
  return new DureError(
    "AUDIT_UNAVAILABLE",
    "Nothing was done: what is done here is written down first, and that failed.",
    {
      class: "unavailable",
      hint: "Is the database up, and may it be written to? /readyz and the server's log say more.",
      cause,
    },
  );
}

const WRITE = {
  name: "audit.write",
  text: `insert into dure.audit (tenant, name, what, subject, outcome)
    values ($1, $2, $3, $4, $5)
    returning id`,
};

const END = {
  name: "audit.end",
  text: `
    with ended as (
      update dure.audit
         set outcome = $2, subject = coalesce(($3::text[])[1], subject), role = $4
       where id = $1 and outcome is null
      returning tenant, name, what
    )
    insert into dure.audit (tenant, name, what, subject, outcome)
    select ended.tenant, ended.name, ended.what, more.subject, $2
      from ended, unnest(($3::text[])[2:]) as more(subject)`,
};

const LIST = {
  name: "audit.list",
  text: `
    select a.id, a.at, a.tenant, a.name, t.name as person, a.role, a.what, a.subject, a.outcome
      from dure.audit a left join dure.tokens t on t.id = a.name
     where ($1::text is null or a.tenant = $1)
       and ($2::text is null or a.what = $2)
       and ($3::text is null or starts_with(a.what, $3))
       and ($4::text is null or a.name = $4 or t.name = $4)
       and ($5::text is null or a.subject = $5)
       and (
         $6::text is null
         or strpos(lower(concat_ws(E'\\n', a.what, a.name, t.name, a.subject)), $6) > 0
       )
       and ($7::bigint is null or a.id < $7)
     order by a.id desc limit $8::integer`,
};
