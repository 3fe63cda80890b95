/** Files of a message, brought from its platform before an agent answers. */

import type { Files } from "../../durable/files/files.ts";
import { backOffMs } from "../../kernel/back-off.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { MAX_MESSAGE_FILES, sizeText, type FileRef } from "../../kernel/files.ts";
import { oneLine } from "../../kernel/quoted-words.ts";
import { ChannelError, type Attachment, type ChannelFailure } from "../channel-adapter.ts";
import type { HandlingRow } from "./handling.ts";
import { addressOf, type Place } from "../place.ts";
import { filesKeyOf } from "../look/place-files.ts";
import type { StoredMessage } from "../room-store.ts";
import type { RoomsSetting } from "../talk.ts";

/** How long a platform that is away is waited for, milliseconds. As long as a handling is tried. */
const WAIT_MS = 120_000;
const BACK_OFF = { firstMs: 1_000, maxMs: 15_000 } as const;
/** Bytes of all files of one message: three of the largest. */
const LARGEST_OF_A_MESSAGE = 3;
/** Files that one process holds in its memory at once, on their way into the store. */
const AT_ONCE = 4;

/** What a message has beside its words, for one agent. */
export interface BroughtFiles {
  /** Ids of the agent's session, in the order of the message. */
  readonly files: readonly string[];
  /** By message, a line for each, whether it was brought or not. */
  readonly lines: ReadonlyMap<string, readonly string[]>;
}

/** A file of a message in the words of rooms. `file`: it is stored with the place. */
export type StoredAttachment = Partial<Attachment> & { readonly file?: string | undefined };

/** What came of one file. */
type Brought = { readonly ref: FileRef } | { readonly because: string };

/**
 * Brings the files of a message into the session of each agent that handles it. What is refused or
 * does not come is told in a line and costs a line of the log; the message is answered all the same.
 */
export class MessageFiles {
  readonly #setting: RoomsSetting;
  readonly #gate: Gate;

  constructor(setting: RoomsSetting) {
    this.#setting = setting;
    this.#gate = new Gate(AT_ONCE);
  }

  /**
   * Repeated after a crash it stores nothing twice. An abort leaves what was stored, which goes by
   * itself if no turn takes it.
   */
  async bring(
    handling: HandlingRow,
    place: Place,
    messages: readonly StoredMessage[],
    { signal }: { signal: AbortSignal },
  ): Promise<BroughtFiles> {
    const { files: store, clock } = this.#setting;
    const until = clock.monotonic() + WAIT_MS;
    const refs: FileRef[] = [];
    const lines = new Map<string, readonly string[]>();
    for (const message of messages) {
      const all = message.attachments as readonly StoredAttachment[];
      const work = { handling, place, message, until, signal };
      const said = store ? await this.#bringOf({ ...work, store }, all, refs) : all.map(linkLine);
      lines.set(message.id, said);
    }
    return { files: [...new Set(refs.map(({ id }) => id))], lines };
  }

  /** Adds to `refs` what was brought; what is there counts for the bounds of a turn. */
  async #bringOf(
    work: Omit<OneFile, "attachment" | "platformId"> & { readonly message: StoredMessage },
    all: readonly StoredAttachment[],
    refs: FileRef[],
  ): Promise<readonly string[]> {
    if (all.length === 0) return [];
    const { handling, place, message, store } = work;
    const { database, logger } = this.#setting;
    const [part] = await database.query<{ platform_id: string }>(PART, [place.adapter, message.id]);
    const lines: string[] = [];
    for (const attachment of all) {
      if (attachment.file === undefined && attachment.id === undefined) {
        lines.push(linkLine(attachment));
        continue;
      }
      const most = store.bounds.fileBytes;
      const left = refs.reduce((room, { bytes }) => room - bytes, most * LARGEST_OF_A_MESSAGE);
      const because = refusalOf(attachment, { index: refs.length, left, most });
      const brought = because
        ? { because }
        : await this.#bringOne({ ...work, platformId: part?.platform_id, attachment });
      if ("ref" in brought) refs.push(brought.ref);
      else {
        const name = oneLine(attachment.name ?? "file");
        const facts = { handling: handling.id, agent: handling.agent, file: attachment.name };
        logger.warn(
          { ...facts, because: brought.because },
          `${handling.agent} answers without the file ${name}: ${brought.because}`,
        );
      }
      lines.push(lineOf(attachment, brought));
    }
    return lines;
  }

  async #bringOne(one: OneFile): Promise<Brought> {
    try {
      return { ref: await this.#patiently(one, () => this.#transfer(one)) };
    } catch (error) {
      one.signal.throwIfAborted();
      const because = becauseOf(error);
      if (because === undefined) throw error;
      return { because };
    }
  }

  /** The pauses between two tries are outside: what is away keeps no other file waiting. */
  async #transfer(one: OneFile): Promise<FileRef> {
    const { handling, place, attachment, store, signal } = one;
    const leave = await this.#gate.enter(signal);
    try {
      const bytes = await this.#read(one);
      const name = attachment.name ?? "file";
      const file = { tenant: place.tenant, session: handling.session, name, bytes };
      return await store.put(file, { signal });
    } finally {
      leave();
    }
  }

  async #read({ place, platformId, attachment, handling, store, signal }: OneFile) {
    if (attachment.file !== undefined) {
      const session = filesKeyOf(place.id);
      const bytes = await store.read(attachment.file, { session, signal });
      if (bytes) return bytes;
      throw new ChannelError("not-found", "It is not kept any more.");
    }
    const { adapters, directory } = this.#setting;
    const adapter = adapters.get(place.adapter);
    const account = directory.account(place.adapter, handling.agent);
    if (!adapter?.readFile || !account || platformId === undefined) {
      throw new ChannelError("invalid", "It stays at the platform.");
    }
    const { name = "file", url = "", ...facts } = attachment;
    const maxBytes = store.bounds.fileBytes;
    const file = { place: addressOf(place), message: platformId, maxBytes };
    return adapter.readFile(account, { ...file, attachment: { ...facts, name, url } }, { signal });
  }

  /** A platform or a store that is away is waited for, as long as its message would be tried. */
  async #patiently<T>({ until, signal }: OneFile, work: () => Promise<T>): Promise<T> {
    const { clock } = this.#setting;
    for (let failures = 1; ; failures++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        const wait = waitAfter(error, failures);
        if (wait === undefined || clock.monotonic() + wait > until) throw error;
        await clock.sleep(wait, { signal });
      }
    }
  }
}

interface OneFile {
  readonly handling: HandlingRow;
  readonly place: Place;
  readonly platformId: string | undefined;
  readonly attachment: StoredAttachment;
  readonly store: Files;
  /** On the monotonic clock. */
  readonly until: number;
  readonly signal: AbortSignal;
}

/** A place for each of `size` at once; the others wait in their order. */
class Gate {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(size: number) {
    this.#free = size;
  }

  /** Gives the way out. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal);
    return () => this.#leave();
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const give = (): void => {
      signal.removeEventListener("abort", abort);
      resolve();
    };
    const abort = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(give), 1);
      reject(signal.reason as Error);
    };
    signal.addEventListener("abort", abort, { once: true });
    this.#waiting.push(give);
    await promise;
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}

/** Why a file is not even asked for. Pure. */
export function refusalOf(
  { size = 0 }: Pick<StoredAttachment, "size">,
  { index, left, most }: { index: number; left: number; most: number },
): string | undefined {
  if (index >= MAX_MESSAGE_FILES) return `a message takes ${MAX_MESSAGE_FILES} files`;
  if (size > most) return `larger than ${sizeText(most)}`;
  return size > left ? "the files of this message are too large together" : undefined;
}

const MAY_PASS: ReadonlySet<ChannelFailure> = new Set(["transient", "rate-limited", "unavailable"]);

/** Milliseconds. Undefined: another try would end the same way. Pure. */
function waitAfter(error: unknown, failures: number): number | undefined {
  const pause = backOffMs(failures, BACK_OFF);
  if (codeOf(error) === "FILE_STORE_FAILED") return pause;
  if (!(error instanceof ChannelError) || !MAY_PASS.has(error.failure)) return undefined;
  return error.retryAfterMs ?? pause;
}

const BECAUSE_OF: Readonly<Record<ChannelFailure, string>> = {
  permission: "the platform does not let this account read it",
  "not-found": "it is gone",
  "rate-limited": "the platform did not give it in time",
  unavailable: "the platform did not give it in time",
  transient: "the platform did not give it in time",
  credential: "the platform does not let this account read it",
  full: "it is too large",
  invalid: "it stays at the platform",
};

const BECAUSE_OF_STORE: Readonly<Record<string, string>> = {
  FILE_EMPTY: "it is empty",
  FILE_TYPE_REFUSED: "its type is not taken",
  FILE_TOO_LARGE: "it is too large",
  FILE_STORE_MISSING: "no store for files of its size is set",
  FILES_FULL: "as many files are kept as may be",
  FILE_STORE_FAILED: "the store of files failed",
};

/** Undefined: the work itself is tried again, as for a database that is away. Pure. */
function becauseOf(error: unknown): string | undefined {
  if (error instanceof ChannelError) {
    const detail = error.detail === "login page" ? " (it showed a login page)" : "";
    return `${BECAUSE_OF[error.failure]}${detail}`;
  }
  return error instanceof DureError ? BECAUSE_OF_STORE[codeOf(error) ?? ""] : undefined;
}

function lineOf({ name = "file", size }: StoredAttachment, brought: Brought): string {
  const said = `[${oneLine(name)}]`;
  if ("ref" in brought) return said;
  const large = size === undefined ? "" : `${sizeText(size)}, `;
  return `${said} (${large}not read: ${brought.because})`;
}

/** A file that stays where it is. */
export function linkLine({ name = "file", url = "" }: StoredAttachment): string {
  return `[${oneLine(name)}] ${url}`.trimEnd();
}

const PART = {
  name: "room.file_message",
  text: `
    select platform_id
    from dure.room_parts
    where adapter = $1 and message = $2
    order by part
    limit 1`,
};
