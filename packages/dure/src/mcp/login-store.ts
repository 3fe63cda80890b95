import { unlink } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { FileLock } from "../durable/file-lock.ts";
import { makeFolder } from "../durable/make-folder.ts";
import { readPrivateFile, replacePrivateFile } from "../durable/private-file.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";

/** Of one login, bytes. */
const MAX_BYTES = 262_144;

/** What a person's login at a server has given. */
export const StoredMcpLogin = z.object({
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
  /** What it allows, with spaces between scopes; null: it was not told. */
  scope: z.string().nullable().default(null),
  /** What the server has asked for since, and the login does not allow. */
  wants: z.string().nullable().default(null),
  accessToken: z.string(),
  refreshToken: z.string().nullable(),
  /** Milliseconds; null: it was not told. */
  expiresAt: z.number().nullable(),
});
export type StoredMcpLogin = z.output<typeof StoredMcpLogin>;

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

  async read(server: string): Promise<StoredMcpLogin | undefined> {
    const text = await readPrivateFile(this.#fileOf(server), { maxBytes: MAX_BYTES });
    if (text === undefined) return undefined;
    const read = StoredMcpLogin.safeParse(jsonOf(text));
    return read.success ? read.data : undefined;
  }

  async write(server: string, login: StoredMcpLogin): Promise<void> {
    await makeFolder(this.#folder);
    await replacePrivateFile(this.#fileOf(server), `${JSON.stringify(login)}\n`);
  }

  /** Whether there was one. */
  async remove(server: string): Promise<boolean> {
    try {
      await unlink(this.#fileOf(server));
      return true;
    } catch (error) {
      if (codeOf(error) !== "ENOENT") throw error;
      return false;
    }
  }

  /**
   * Does something that no other process of this machine does at the same time. A lock that a killed
   * process has left is taken over. Throws `MCP_LOGIN_BUSY`.
   */
  async alone<Answer>(server: string, work: () => Promise<Answer>): Promise<Answer> {
    await makeFolder(this.#folder);
    const lock = new FileLock(`${this.#fileOf(server)}.lock`, this.#clock);
    const taken = await lock.take();
    if (taken === undefined) throw busy(server);

    try {
      return await work();
    } finally {
      await lock.free(taken);
    }
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

function busy(server: string): DureError {
  return new DureError("MCP_LOGIN_BUSY", `Another process works on the login at ${server}.`, {
    class: "unavailable",
    hint: "Try it again in a minute.",
  });
}
