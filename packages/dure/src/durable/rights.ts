import { DureError, messageOf } from "../kernel/errors.ts";

/** Source: PostgreSQL documentation, "PostgreSQL Error Codes": insufficient_privilege. */
const NO_RIGHT = "42501";

/**
 * What a user needs of each kind of object, as `grant` says it. A refusal names a table without its
 * schema; those of dure are in one.
 */
const GRANTS: Readonly<Record<string, string>> = {
  database: "grant connect, create on database NAME to USER;",
  schema: "grant usage, create on schema NAME to USER;",
  table: "grant select, insert, update, delete on all tables in schema dure to USER;",
  sequence: "grant usage, select on all sequences in schema dure to USER;",
  function: "grant execute on all functions in schema dure to USER;",
};

/**
 * Undefined where the refusal is another one. PostgreSQL names kind and object in its message alone;
 * in another language than English the message has to do.
 *
 * @param client whose statement was refused
 */
export function missingRights(error: unknown, client: object): DureError | undefined {
  if ((error as { readonly code?: unknown } | null)?.code !== NO_RIGHT) return undefined;
  const said = messageOf(error);
  const user = userOf(client);
  const who = user ?? "the user of DATABASE_URL";
  return new DureError("DATABASE_RIGHTS_MISSING", `PostgreSQL refuses this to ${who}: ${said}.`, {
    class: "unavailable",
    hint: `As the owner of the database: ${remedyOf(said, user ?? "USER")}`,
    cause: error,
  });
}

/** As `pg` keeps it. */
function userOf(client: object): string | undefined {
  const { user } = client as { readonly user?: unknown };
  return typeof user === "string" ? user : undefined;
}

/** Pure. */
function remedyOf(said: string, user: string): string {
  const denied = /permission denied for (\w+) (\S+)/.exec(said);
  const [, kind = "", name = ""] = denied ?? /must be owner of (\w+) (\S+)/.exec(said) ?? [];
  const grant = GRANTS[kind === "relation" ? "table" : kind];
  if (denied === null || grant === undefined) {
    return kind === ""
      ? `grant ${user} what it names;`
      : `alter ${kind} ${quoted(name)} owner to ${quoted(user)};`;
  }

  return grant.replace("NAME", quoted(name)).replace("USER", quoted(user));
}

/** An identifier as SQL takes it. */
function quoted(name: string): string {
  return /^[a-z_][a-z0-9_.]*$/.test(name) || name === "USER"
    ? name
    : `"${name.replaceAll('"', '""')}"`;
}
