import { randomBytes } from "node:crypto";
import { link, rename, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { z } from "zod";
import { makeFile } from "../durable/make-file.ts";
import { makeFolder } from "../durable/make-folder.ts";
import { readPrivateFile, replacePrivateFile } from "../durable/private-file.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";

/** Of one login, bytes. */
const MAX_BYTES = 262_144;
/** Between two looks for a lock that another process holds, milliseconds. */
const LOOK_MS = 100;
/** The longest work under a lock; an older one was left by a process that died, milliseconds. */
const STALE_MS = 60_000;
const LOOKS = (2 * STALE_MS) / LOOK_MS;

/** What a person's login at a server has given. */
export const StoredLogin = z.object({
  /** Of the MCP server: its tokens go to no other. */
  url: z.string(),
  /** Of the authorization server, and where it takes refresh tokens: they go to no other. */
  issuer: z.string(),
  metadata: z.looseObject({
    issuer: z.string(),
    authorization_endpoint: z.string(),
    token_endpoint: z.string(),
    response_types_supported: z.array(z.string()),
  }),
  client: z.looseObject({ client_id: z.string(), client_secret: z.string().optional() }),
  resource: z.string().nullable(),
  accessToken: z.string(),
  refreshToken: z.string().nullable(),
  /** Milliseconds; null: it was not told. */
  expiresAt: z.number().nullable(),
});
export type StoredLogin = z.output<typeof StoredLogin>;

/**
 * Logins of people at MCP servers: files of DURE_HOME that their owner alone may read. They belong
 * to this machine, so a login on another one takes none away.
 */
export class LoginStore {
  readonly #folder: string;
  readonly #clock: Clock;

  constructor({ home, clock }: { readonly home: string; readonly clock: Clock }) {
    this.#folder = path.join(home, "mcp-logins");
    this.#clock = clock;
  }

  async read(server: string): Promise<StoredLogin | undefined> {
    const text = await readPrivateFile(this.#fileOf(server), { maxBytes: MAX_BYTES });
    if (text === undefined) return undefined;
    const read = StoredLogin.safeParse(jsonOf(text));
    return read.success ? read.data : undefined;
  }

  async write(server: string, login: StoredLogin): Promise<void> {
    await makeFolder(this.#folder);
    await replacePrivateFile(this.#fileOf(server), `${JSON.stringify(login)}\n`);
  }

  /** Whether there was one. */
  async remove(server: string): Promise<boolean> {
    return removed(this.#fileOf(server));
  }

  /**
   * Does something that no other process of this machine does at the same time. A lock that a killed
   * process has left is taken over. Throws `MCP_LOGIN_BUSY`.
   */
  async alone<Answer>(server: string, work: () => Promise<Answer>): Promise<Answer> {
    const lock = `${this.#fileOf(server)}.lock`;
    const owner = `${hostname()} ${process.pid} ${randomBytes(8).toString("hex")}\n`;
    await makeFolder(this.#folder);
    for (let look = 1; !(await makeFile(lock, owner, { mode: 0o600 })); look++) {
      if (look === LOOKS) throw busy(server);
      const left = await this.#leftIn(lock);
      if (left === undefined) await this.#clock.sleep(LOOK_MS);
      else await takeAway(lock, left);
    }
    try {
      return await work();
    } finally {
      await takeAway(lock, owner);
    }
  }

  /** The text of a lock whose holder is dead, or works for too long; undefined: of no such one. */
  async #leftIn(lock: string): Promise<string | undefined> {
    const text = await readPrivateFile(lock, { maxBytes: MAX_BYTES });
    const facts = await stat(lock).catch(() => undefined);
    if (facts === undefined) return undefined;
    const [host, pid] = (text ?? "").split(" ");
    const isDead = host === hostname() && pid !== undefined && !isAlive(Number(pid));
    const isOld = this.#clock.now() - facts.mtimeMs > STALE_MS;
    return isDead || isOld ? (text ?? "") : undefined;
  }

  #fileOf(server: string): string {
    return path.join(this.#folder, `${encodeURIComponent(server)}.json`);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/**
 * Takes a lock away that has this text. Between a look and the removal another process may have taken
 * it: so it is moved first, and what turns out to be another's is put back.
 */
async function takeAway(lock: string, text: string): Promise<void> {
  const aside = `${lock}.${randomBytes(8).toString("hex")}`;
  try {
    await rename(lock, aside);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return;
  }
  const moved = (await readPrivateFile(aside, { maxBytes: MAX_BYTES })) ?? "";
  if (moved !== text) await link(aside, lock).catch(unlessThere);
  await removed(aside);
}

function unlessThere(error: unknown): void {
  if (codeOf(error) !== "EEXIST") throw error;
}

async function removed(file: string): Promise<boolean> {
  try {
    await unlink(file);
    return true;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    return false;
  }
}

function busy(server: string): DureError {
  return new DureError("MCP_LOGIN_BUSY", `Another process works on the login at ${server}.`, {
    class: "unavailable",
    hint: "Try it again in a minute.",
  });
}
