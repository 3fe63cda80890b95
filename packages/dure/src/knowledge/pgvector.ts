import type { Database, Queryable } from "../durable/database.ts";
import { isConnectionError, sqlState } from "../durable/database.ts";
import { messageOf } from "../kernel/errors.ts";

/** How vectors are compared, with the reason for people. */
export type VectorSearch =
  | { readonly by: "pgvector"; readonly because: string; readonly schema: string }
  | { readonly by: "exact"; readonly because: string };

/** What a database has of the extension `vector`. */
export interface FoundExtension {
  /** The version that the server could create; absent: it has none. */
  readonly available: string | null;
  readonly installed: string | null;
  /** Where it is installed, and whether this role may use that schema. */
  readonly schema: string | null;
  readonly usable: boolean | null;
  /** Where it would be created. */
  readonly home: string;
}

/** What to do about it. */
export type ExtensionDecision =
  | VectorSearch
  | { readonly by: "create"; readonly because: string; readonly home: string };

/** The first version with `halfvec`, which holds a signed byte exactly and is indexed up to 4,000. */
const OLDEST = [0, 7] as const;

/** Pure; the first rule that applies wins. Source: docs/spec/knowledge §3. */
export function decideSearch(found: FoundExtension | undefined): ExtensionDecision {
  if (!found || found.available === null) return exact("the server has no pgvector");
  const { available, installed, schema, usable, home } = found;

  if (installed === null) {
    if (isOlder(available)) return exact(`pgvector ${available} is older than 0.7`);
    return { by: "create", because: `pgvector ${available} is created at the start`, home };
  }
  if (isOlder(installed)) {
    return exact(`pgvector ${installed} is older than 0.7: alter extension vector update`);
  }
  if (schema === null || usable !== true) {
    return exact(`pgvector stands in schema ${schema}, which this role may not use`);
  }
  return { by: "pgvector", because: `pgvector ${installed}`, schema };
}

/** What the database has. Changes nothing. */
export async function findExtension(database: Queryable): Promise<FoundExtension | undefined> {
  const [found] = await database.query<FoundExtension>(FIND);
  return found;
}

/**
 * The extension of one database, as this process last saw it. It may come and go at any time. A
 * refused creation is not tried again in this process; what a person creates is found.
 */
export class PgVector {
  readonly #database: Database;
  #refused: string | undefined;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Creates the extension where the server has it and the role may. Throws where the connection is cut. */
  async look(): Promise<VectorSearch> {
    const decision = decideSearch(await findExtension(this.#database));
    if (decision.by !== "create") return decision;
    if (this.#refused !== undefined) return exact(this.#refused);

    try {
      await this.#database.transaction(async (tx) => {
        await tx.query(LOCK);
        await tx.query({
          text: `create extension if not exists vector schema ${identifier(decision.home)}`,
        });
      });
    } catch (error) {
      if (isConnectionError(error)) throw error;
      this.#refused = refusalOf(error);
    }
    const after = decideSearch(await findExtension(this.#database));
    return after.by === "create" ? exact(this.#refused ?? "it is not there yet") : after;
  }
}

/** A name in SQL. Pure. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function refusalOf(error: unknown): string {
  if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) {
    return `pgvector could not be created: ${messageOf(error)}`;
  }
  return "the server has pgvector, which this role may not create: create extension vector";
}

const INSUFFICIENT_PRIVILEGE = "42501";

function exact(because: string): VectorSearch {
  return { by: "exact", because };
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

const FIND = {
  name: "knowledge.find_extension",
  text: `
    select a.default_version as available, e.extversion as installed,
      n.nspname as schema, has_schema_privilege(n.oid, 'usage') as usable,
      case when to_regnamespace('public') is null then 'dure' else 'public' end as home
    from pg_available_extensions a
    left join pg_extension e on e.extname = a.name
    left join pg_namespace n on n.oid = e.extnamespace
    where a.name = 'vector'`,
};
const LOCK = {
  text: "select pg_advisory_xact_lock(hashtext('knowledge.vectors'), hashtext('extension'))",
};
