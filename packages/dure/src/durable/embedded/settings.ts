import { createHash, randomBytes } from "node:crypto";
import { chownSync, existsSync, lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { chmod, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import type { DatabaseConnection } from "../database.ts";
import type { Owner } from "./runner.ts";

/** How the server of one folder is reached, kept in `postgres.json` (0600) beside the data. */
export interface ServerSettings {
  /** The folder these settings were made for; a copied folder makes its own. */
  readonly home: string;
  /** The folder of the socket, or 127.0.0.1 where sockets do not work. */
  readonly host: string;
  readonly port: number;
  readonly password: string;
  /** Whether role and database exist with this password. */
  readonly provisioned: boolean;
}

/**
 * The role and the database of dure. The role is no superuser: nothing that dure does needs one.
 */
export const ROLE = "dure";

/** PostgreSQL's own port; it only names the socket file. */
const SOCKET_PORT = 5432;
/**
 * Longest path of a Unix socket in bytes, without the final zero. Source: sun_path in unix(7); 104
 * on macOS.
 */
const LONGEST_SOCKET_PATH = process.platform === "darwin" ? 103 : 107;

export async function readSettings(home: string): Promise<ServerSettings | undefined> {
  try {
    const settings = JSON.parse(await readFile(settingsFile(home), "utf8")) as ServerSettings;
    return settings.home === home ? settings : undefined;
  } catch (error) {
    if (codeOf(error) === "ENOENT" || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export async function writeSettings(settings: ServerSettings): Promise<void> {
  const file = settingsFile(settings.home);
  const draft = `${file}.${ulid()}`;
  await writeFile(draft, `${JSON.stringify(settings, null, 2)}\n`, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

/**
 * Settings for a server that is about to start: the given ones as far as they still hold, else new
 * ones.
 */
export async function chooseSettings(
  home: string,
  given: ServerSettings | undefined,
  owner: Owner | undefined,
): Promise<ServerSettings> {
  const base = given ?? {
    home,
    password: randomBytes(24).toString("base64url"),
    provisioned: false,
  };

  const folder = await chooseSocketFolder(home, given?.host, owner);
  if (folder) return { ...base, host: folder, port: SOCKET_PORT };

  const port =
    given?.host === "127.0.0.1" && (await canListen({ port: given.port, host: "127.0.0.1" }))
      ? given.port
      : await freePort();

  return { ...base, host: "127.0.0.1", port };
}

export function connectionOf(settings: ServerSettings): DatabaseConnection {
  const { host, port, password } = settings;
  return { host, port, user: ROLE, password, database: ROLE };
}

/**
 * The address as a URL; a socket's folder goes into `?host=`, which `pg` and `new URL` both
 * understand.
 */
export function urlOf({ host, port, user, password, database }: DatabaseConnection): string {
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  if (!host.startsWith("/")) return `postgresql://${login}@${host}:${port}/${database}`;
  return `postgresql://${login}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}

/**
 * A folder (0700, of `owner`) in which a socket works: `run` in the home; under the system's
 * temporary folder when that path is too long or the file system knows no sockets; undefined when
 * neither works.
 */
async function chooseSocketFolder(
  home: string,
  given: string | undefined,
  owner: Owner | undefined,
): Promise<string | undefined> {
  if (process.platform === "win32") return undefined;

  const short = join(
    tmpdir(),
    `dure-${createHash("sha256").update(home).digest("hex").slice(0, 16)}`,
  );

  for (const folder of new Set([
    ...(given?.startsWith("/") ? [given] : []),
    join(home, "run"),
    short,
  ])) {
    if (fits(folder) && makePrivate(folder, owner) && (await socketWorks(folder))) return folder;
  }

  if (!fits(short)) return undefined;

  const other = mkdtempSync(`${short}-`); // another user made that folder; make a new one

  return makePrivate(other, owner) && (await socketWorks(other)) ? other : undefined;
}

function fits(folder: string): boolean {
  return Buffer.byteLength(join(folder, `.s.PGSQL.${SOCKET_PORT}.lock`)) <= LONGEST_SOCKET_PATH;
}

function makePrivate(folder: string, owner: Owner | undefined): boolean {
  try {
    if (!existsSync(folder)) {
      mkdirSync(folder, { mode: 0o700 });
      if (owner) chownSync(folder, owner.uid, owner.gid);
    }
    const state = lstatSync(folder);
    return (
      state.isDirectory() &&
      state.uid === (owner?.uid ?? process.getuid?.()) &&
      (state.mode & 0o077) === 0
    );
  } catch {
    return false;
  }
}

async function socketWorks(folder: string): Promise<boolean> {
  const probe = join(folder, ".probe");
  rmSync(probe, { force: true });
  const works = await canListen({ path: probe });
  await rm(probe, { force: true });

  return works;
}

async function canListen(
  where: { path: string } | { port: number; host: string },
): Promise<boolean> {
  const server = createServer();
  try {
    await listen(server, where);
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await listen(server, { port: 0, host: "127.0.0.1" });
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));

  return port;
}

function listen(
  server: Server,
  where: { path: string } | { port: number; host: string },
): Promise<void> {
  return new Promise(
    (resolve, reject) => void server.once("error", reject).listen(where, () => resolve()),
  );
}

function settingsFile(home: string): string {
  return join(home, "postgres.json");
}
