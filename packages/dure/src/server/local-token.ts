import { randomBytes } from "node:crypto";
import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { makeFile } from "../durable/make-file.ts";
import { makeFolder } from "../durable/make-folder.ts";
import { readPrivateFile, replacePrivateFile } from "../durable/private-file.ts";
import { hashToken, type LivingToken, type TokenRecord } from "./token-store.ts";
import { SCOPES } from "../kernel/access.ts";

/** The id of the token that stands in a file of DURE_HOME. */
export const LOCAL_TOKEN_ID = "token_local";

const TEXT = /^dure_local_[A-Za-z0-9_-]{43}$/;
/** Of the file: its owner alone reads and writes. */
const PRIVATE = 0o600;
/** Read of the file at most, bytes. */
const MAX_BYTES = 256;
/**
 * A file that was removed or replaced is noticed within this time, milliseconds. Source:
 * docs/spec/platform §6.
 */
const REMEMBER_MS = 2_000;

/** Where the token of the person at the machine stands. */
export function localTokenFile(home: string): string {
  return path.join(home, "local-token");
}

/**
 * The token in DURE_HOME, or undefined: there is none, or another user may read it or could have
 * written it. Who can write a file there under the server's own user is that user.
 */
export async function readLocalToken(home: string): Promise<string | undefined> {
  const text = (await readPrivateFile(localTokenFile(home), { maxBytes: MAX_BYTES }))?.trim();
  return text !== undefined && TEXT.test(text) ? text : undefined;
}

/**
 * The token in DURE_HOME; made when there is none that may be used. Of several that make it at once
 * all get the same one.
 */
export async function ensureLocalToken(home: string): Promise<string> {
  const known = await readLocalToken(home);
  if (known !== undefined) return known;

  await makeFolder(home);
  const file = localTokenFile(home);
  const text = `dure_local_${randomBytes(32).toString("base64url")}`;
  const line = `${text}\n`;
  if (await makeFile(file, line, { mode: PRIVATE })) return text;
  const made = await readLocalToken(home);
  if (made !== undefined) return made;
  await replacePrivateFile(file, line); // what stood there may not be used
  return text;
}

/** The server's view of the file: it may come, change and go while the server runs. */
export class LocalToken {
  readonly home: string;
  readonly #clock: Clock;
  #seen: { token: LivingToken | null; until: number } | undefined;

  constructor(options: { home: string; clock: Clock }) {
    this.home = options.home;
    this.#clock = options.clock;
  }

  /** What the file holds now; null without one. */
  async living(): Promise<LivingToken | null> {
    const now = this.#clock.monotonic();
    if (this.#seen && this.#seen.until > now) return this.#seen.token;

    const text = await readLocalToken(this.home);
    const token = text === undefined ? null : { record: RECORD, hash: hashToken(text) };
    this.#seen = { token, until: now + (token === null ? 0 : REMEMBER_MS) };

    return token;
  }

  async ensure(): Promise<void> {
    await ensureLocalToken(this.home);
    this.#seen = undefined;
  }
}

/**
 * It is the person's own, so it has no name: rooms ask for one, as they do on a server without
 * tokens.
 */
const RECORD: TokenRecord = {
  id: LOCAL_TOKEN_ID,
  name: "",
  tenant: "",
  scopes: SCOPES,
  createdAt: 0,
  revokedAt: null,
};

/** Whether a bearer may be the one of the file. Pure. */
export function looksLocal(token: string): boolean {
  return TEXT.test(token);
}
