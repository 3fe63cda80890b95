import { userInfo } from "node:os";
import { AuditLog } from "../durable/audit-log.ts";
import { MIGRATIONS } from "../durable/migrations/index.ts";
import { migrate } from "../durable/migrate.ts";
import { DureError } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { closest } from "../models/spelling.ts";
import { PostgresTokenStore, SCOPES, type Scope } from "../server/token-store.ts";
import { openDatabase } from "./database.ts";
import type { DbCommand } from "./db.ts";
import { EXIT, type ExitCode } from "./output.ts";

// Tokens go past the server on purpose: one that listens beyond this machine starts only when there is a token already.

export async function createToken(token: { name: string; scopes: readonly string[]; tenant: string | undefined }, command: DbCommand): Promise<ExitCode> {
  const { output } = command;
  const scopes = token.scopes.map(scopeOf);
  const created = await withStore(command, async (store, note) => {
    const made = await store.create({ name: token.name, scopes, ...(token.tenant !== undefined && { tenant: token.tenant }) });
    await note("token.create", made.record.id);
    return made;
  });
  output.line(created.token);
  output.note(`Token ${created.record.id} for ${token.name}, scopes ${scopes.join(", ")}. It is not shown again.`);
  output.result(created);
  return EXIT.ok;
}

export async function listTokens(command: DbCommand): Promise<ExitCode> {
  const { output } = command;
  const items = await withStore(command, (store) => store.list());
  if (items.length === 0) output.note("There is no token yet: dure token create NAME");
  else {
    const rows = items.map((item) => [item.id, item.name, item.scopes.join(","), item.tenant || "–", item.revokedAt === null ? "valid" : "revoked"]);
    output.table([["id", "name", "scopes", "tenant", "state"], ...rows]);
  }
  output.result({ items });
  return EXIT.ok;
}

export async function revokeToken(id: string, command: DbCommand): Promise<ExitCode> {
  const revoked = await withStore(command, async (store, note) => {
    const isRevoked = await store.revoke(id);
    if (isRevoked) await note("token.revoke", id);
    return isRevoked;
  });
  if (!revoked) throw new DureError("TOKEN_UNKNOWN", `There is no valid token ${id}.`, { class: "not-found", hint: "dure token list shows them." });
  command.output.line(`${id} is revoked.`);
  command.output.result({ id, revoked });
  return EXIT.ok;
}

/** What is changed and its entry in the audit log commit together: no server is there to write it. */
async function withStore<Value>(command: DbCommand, work: (store: PostgresTokenStore, note: (what: string, subject: string) => Promise<unknown>) => Promise<Value>): Promise<Value> {
  await using opened = await openDatabase(command);
  await migrate(opened.database, MIGRATIONS, { logger: silentLogger });
  return await opened.database.transaction((tx) => work(new PostgresTokenStore({ database: tx }), (what, subject) => new AuditLog({ database: tx }).note({ tenant: "", name: nameOfUser(), what, subject }))); // awaited here: the database closes behind it
}

/** Who sits at this machine, as its system calls them. */
function nameOfUser(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return "cli"; // a user without an entry, as in some containers
  }
}

function scopeOf(written: string): Scope {
  const scope = SCOPES.find((known) => known === written);
  if (scope) return scope;
  const meant = closest(written, SCOPES);
  throw new DureError("SCOPE_UNKNOWN", `"${written}" is no scope.`, { class: "input", hint: meant ? `Did you mean ${meant}?` : `Use ${SCOPES.join(", ")}.` });
}
