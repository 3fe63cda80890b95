import { existsSync, readdirSync } from "node:fs";
import { userInfo } from "node:os";
import path from "node:path";
import { AuditLog } from "../durable/audit-log.ts";
import { migrate } from "../durable/migrate.ts";
import type { Transaction } from "../durable/database.ts";
import { DureError, messageOf } from "../kernel/errors.ts";
import { silentLogger } from "../kernel/logger.ts";
import { SCHEMA } from "../team/schema.ts";
import { closest } from "../kernel/closest.ts";
import { ensureLocalToken, localTokenFile } from "../server/local-token.ts";
import { PostgresLogins } from "../server/login-rows.ts";
import { Logins } from "../server/logins.ts";
import { PostgresTokenStore } from "../server/token-store.ts";
import { isTeamFolder } from "../team/config-files.ts";
import { SETTINGS } from "../team/limits.ts";
import { openDatabase } from "./database.ts";
import type { DbCommand } from "./db.ts";
import { EXIT, type ExitCode } from "./output.ts";
import { SCOPES, type Scope } from "../kernel/access.ts";
import { ROLE_NAME } from "../kernel/escalation.ts";

// Tokens go past the server on purpose: one that listens beyond this machine starts only when there
// is a token already.

export async function createToken(
  token: {
    name: string;
    scopes: readonly string[];
    roles: readonly string[];
    tenant: string | undefined;
  },
  command: DbCommand,
): Promise<ExitCode> {
  const { output } = command;
  const scopes = token.scopes.map(scopeOf);
  const roles = token.roles.map(roleOf);

  const created = await withStore(command, async (store, note) => {
    const made = await store.create({
      name: token.name,
      scopes,
      roles,
      tenant: token.tenant,
    });

    await note("token.create", made.record.id);
    return made;
  });

  output.line(created.token);
  const { token: words } = output.words.admin;
  output.note(words.made(created.record.id, token.name, scopes.join(", ")));
  if (roles.length > 0) output.note(words.hasRoles(roles.join(", ")));
  if (isAgentOf(command.folder, token.name)) output.note(words.isAgent(token.name));
  await keepOwnWayIn(command);
  output.result(created);

  return EXIT.ok;
}

/** Whether the team's folder has an agent of this name: a person cannot speak as one. */
function isAgentOf(folder: string, name: string): boolean {
  const agents = path.join(folder, "agents");
  const wanted = name.normalize("NFC").toLowerCase();

  return existsSync(agents) && readdirSync(agents).some((id) => id.toLowerCase() === wanted);
}

export async function listTokens(command: DbCommand): Promise<ExitCode> {
  const { output } = command;
  const { token: words } = output.words.admin;
  const items = await withStore(command, (store) => store.list());

  if (items.length === 0) output.note(words.none);
  else {
    const rows = items.map((item) => [
      item.id,
      item.name,
      item.scopes.join(","),
      item.roles?.join(",") || "–",
      item.tenant || "–",
      item.revokedAt === null ? words.valid : words.revoked,
    ]);
    output.table([words.head, ...rows]);
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

  if (!revoked) {
    throw new DureError("TOKEN_UNKNOWN", `There is no valid token ${id}.`, {
      class: "not-found",
      hint: "dure token list shows them.",
    });
  }

  command.output.line(command.output.words.admin.token.isRevoked(id));
  command.output.result({ id, revoked });

  return EXIT.ok;
}

/**
 * From the first token on a server asks its own user too: the command line goes on with the token
 * of the data folder.
 */
async function keepOwnWayIn({ folder, environment, output }: DbCommand): Promise<void> {
  const { token: words } = output.words.admin;
  const home = path.resolve(folder, environment.home ?? SETTINGS.home.fallback);
  if (!existsSync(home) && !isTeamFolder(folder)) {
    output.note(words.fromNowOn);
    return;
  }

  try {
    await ensureLocalToken(home);
    output.note(words.fromNowOnWith(localTokenFile(home)));
  } catch (error) {
    output.note(words.fromNowOnWithout(localTokenFile(home), messageOf(error)));
  }
}

export async function listSessions(command: DbCommand): Promise<ExitCode> {
  const { output } = command;
  const { token: words } = output.words.admin;
  const { items, names } = await withStore(command, async (store, _note, tx) => ({
    items: await loginsOf(store, tx).list({}),
    names: new Map((await store.list()).map(({ id, name }) => [id, name])),
  }));

  if (items.length === 0) output.note(words.noLogin);
  else {
    const time = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace("T", " ");
    const rows = items.map((item) => [
      item.id,
      names.get(item.tokenId) ?? item.tokenId,
      time(item.createdAt),
      time(item.usedAt),
      time(item.expiresAt),
      item.userAgent,
    ]);
    output.table([words.loginsHead, ...rows]);
  }

  output.result({ items });

  return EXIT.ok;
}

export async function endSession(id: string, command: DbCommand): Promise<ExitCode> {
  const ended = await withStore(command, async (_store, note, tx) => {
    const isEnded = await new PostgresLogins({ database: tx }).end(id);
    if (isEnded) await note("login.end", id);
    return isEnded;
  });

  if (!ended) {
    throw new DureError("LOGIN_UNKNOWN", `There is no login ${id}.`, {
      class: "not-found",
      hint: "dure token sessions shows them.",
    });
  }

  command.output.line(command.output.words.admin.token.ended(id));
  command.output.result({ id, ended });

  return EXIT.ok;
}

function loginsOf(store: PostgresTokenStore, tx: Transaction): Logins {
  return new Logins({ rows: new PostgresLogins({ database: tx }), find: (id) => store.living(id) });
}

/**
 * What is changed and its entry in the audit log commit together: no server is there to write it.
 */
async function withStore<Value>(
  command: DbCommand,
  work: (
    store: PostgresTokenStore,
    note: (what: string, subject: string) => Promise<unknown>,
    tx: Transaction,
  ) => Promise<Value>,
): Promise<Value> {
  await using opened = await openDatabase(command);
  await migrate(opened.database, SCHEMA, { logger: silentLogger });

  return await opened.database.transaction((tx) =>
    work(
      new PostgresTokenStore({ database: tx }),
      (what, subject) =>
        new AuditLog({ database: tx }).note({ tenant: "", name: nameOfUser(), what, subject }),
      tx,
    ),
  ); // awaited here: the database closes behind it
}

/** Who sits at this machine, as its system calls them. */
function nameOfUser(): string {
  try {
    return `cli:${userInfo().username}`;
  } catch {
    return "cli"; // a user without an entry, as in some containers
  }
}

function roleOf(written: string): string {
  if (ROLE_NAME.test(written)) return written;
  throw new DureError("ROLE_INVALID", `"${written}" is no name of a role.`, {
    class: "input",
    hint: "Use small letters, digits and hyphens, such as treasury; at most 40.",
  });
}

function scopeOf(written: string): Scope {
  const scope = SCOPES.find((known) => known === written);
  if (scope) return scope;

  const meant = closest(written, SCOPES);

  throw new DureError("SCOPE_UNKNOWN", `"${written}" is no scope.`, {
    class: "input",
    hint: meant ? `Did you mean ${meant}?` : `Use ${SCOPES.join(", ")}.`,
  });
}
