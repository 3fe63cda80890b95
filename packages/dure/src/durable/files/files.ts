import { createHash } from "node:crypto";
import { type Clock, withTimeout } from "../../kernel/clock.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import {
  FILE_TYPES,
  type FileRef,
  type FileType,
  harmlessName,
  harmlessWords,
  sizeText,
  sniffType,
} from "../../kernel/files.ts";
import { newId, ulid } from "../../kernel/ids.ts";
import { sessionIdOfKey, type TenantView } from "../../kernel/tenant.ts";
import type { Database, Queryable } from "../database.ts";
import { retryUntilAnswered } from "../retry-until-answered.ts";
import { FencedError } from "../turns.ts";
import type { ByteStore } from "./byte-store.ts";
import { storeFailed } from "./folder-store.ts";

/** Bounds of files, in bytes. */
export interface FileBounds {
  /** Of one file. Two in base 64 fit into one request of Anthropic. Source: docs.claude.com, "API overview" (32 MB). */
  readonly fileBytes: number;
  /** Of all files of one session. */
  readonly sessionBytes: number;
  /** Of all that a tenant has, equal bytes counted once. */
  readonly tenantBytes: number;
}

export const FILE_BOUNDS: FileBounds = {
  fileBytes: 10_485_760,
  sessionBytes: 104_857_600,
  tenantBytes: 10_737_418_240,
};

/**
 * Bytes up to which a file is kept in the database. Above it a file system is the better place.
 * Source: Sears, van Ingen, Gray, "To BLOB or Not To BLOB" (2006).
 */
export const IN_DATABASE_BYTES = 1_048_576;

/** Milliseconds for one deed of a store outside. */
const STORE_MS = 60_000;

/** How long a file waits for the database, milliseconds: a person is waiting. As for a message. */
const STORE_WITHIN_MS = 10_000;

/** A file as it is stored: two with the same bytes have the same hash. */
export type FoundFile = FileRef & { readonly sha256: string };

export interface NewFile {
  readonly tenant: string;
  /** Its key: `<tenant>/<id>` with a tenant. */
  readonly session: string;
  /** As its sender says. */
  readonly name: string;
  readonly bytes: Uint8Array;
  /** The turn that makes it. Absent: a message will carry it, within 24 hours. */
  readonly turn?: string | undefined;
  /** The epoch under which this process has the turn; then the database is waited for. */
  readonly epoch?: number | undefined;
}

export interface FilesOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** For what is larger than {@link IN_DATABASE_BYTES}. */
  readonly store?: ByteStore | undefined;
  readonly bounds?: Partial<FileBounds> | undefined;
}

/**
 * Files of conversations. Equal bytes are stored once for each tenant, never for two. Bytes are
 * there before a file names them; what a crash leaves behind in between goes by `fileRules`.
 */
export class Files {
  readonly bounds: FileBounds;
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
    this.bounds = { ...FILE_BOUNDS, ...options.bounds };
  }

  /**
   * Stores a file of a session; the same bytes under the same name again are the same file. Throws
   * `FILE_EMPTY`, `FILE_TYPE_REFUSED`, `FILE_TOO_LARGE`, `FILE_STORE_MISSING`, `FILES_FULL`,
   * `FILE_STORE_FAILED`, `DATABASE_UNAVAILABLE`, `TURN_FENCED`; then nothing is changed.
   */
  async put(
    file: NewFile,
    { signal }: { signal?: AbortSignal | undefined } = {},
  ): Promise<FileRef> {
    const { bytes } = file;
    const type = this.#typeOf(file);
    const name = harmlessName(file.name, type);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    const row = { ...this.#rowOf(file), name, type, sha256 };
    const isSmall = bytes.length <= IN_DATABASE_BYTES;
    if (!isSmall && !this.#options.store) throw storeMissing(name, bytes.length);

    const put = await this.#putRow(row, isSmall ? bytes : null, signal);
    const id = put.outcome === "put" ? await this.#putOutside(row, put, bytes, signal) : put.id;
    return { id, name, type, bytes: bytes.length };
  }

  /** Files of one session, in the order of the ids. Throws `FILE_UNKNOWN` where one is not there. */
  async find(
    ids: readonly string[],
    { session, tenant }: { readonly session: string; readonly tenant: TenantView },
  ): Promise<readonly FoundFile[]> {
    if (ids.length === 0) return [];
    const rows = await this.#options.database.query<FoundFile>(
      {
        name: "files.find",
        text: `${FOUND} where f.id = any($1) and f.session_id = $2 and ${SEEN}`,
      },
      [ids, session, tenant],
    );
    const byId = new Map(
      rows.map(({ id, name, type, bytes, sha256 }) => [id, { id, name, type, bytes, sha256 }]),
    );
    return [...new Set(ids)].map((id) => byId.get(id) ?? raise(unknownFile(id)));
  }

  /** A file for this viewer, with the session that has it. Undefined: there is none for them. */
  async look(
    id: string,
    tenant: TenantView,
  ): Promise<(FileRef & { readonly session: string }) | undefined> {
    const [row] = await this.#options.database.query<FileRef & { readonly session: string }>(
      {
        name: "files.look",
        text: `${FOUND} where f.id = $1 and ($2::text is null or f.tenant = $2)`,
      },
      [id, tenant],
    );
    return row;
  }

  /**
   * The bytes of a file of a session. Undefined: there is none, or it is gone. Throws
   * `FILE_STORE_FAILED`.
   */
  async read(
    id: string,
    { session, signal }: { readonly session: string; readonly signal?: AbortSignal | undefined },
  ): Promise<Uint8Array | undefined> {
    const [row] = await this.#options.database.query<StoredBytes>(
      { name: "files.read", text: READ },
      [id, session],
      { signal },
    );
    if (!row) return undefined;
    const bytes = row.data ?? (await this.#getOutside(row, signal));
    return bytes && verified(bytes, row, id);
  }

  /** Deletes from the store outside; for `fileRules`. */
  async deleteOutside(keys: readonly string[], { ms }: { readonly ms: number }): Promise<void> {
    const { clock } = this.#options;
    const store = this.#store("delete files");
    const late = (): Error =>
      storeFailed(store, "delete files", new Error(`nothing within ${ms} ms`));
    await withTimeout(clock, ms, late, async (signal) => {
      const options = { signal, maxBytes: this.bounds.fileBytes };
      await Promise.all(keys.map((key) => store.delete(key, options)));
    });
  }

  #typeOf({ bytes, name }: NewFile): FileType {
    if (bytes.length === 0) throw emptyFile(name);
    const most = this.bounds.fileBytes;
    if (bytes.length > most) throw tooLarge(name, bytes.length, most);
    return sniffType(bytes) ?? raise(typeRefused(name));
  }

  #rowOf({
    tenant,
    session,
    bytes,
    turn,
    epoch,
  }: NewFile): Omit<FileRow, "name" | "type" | "sha256"> {
    const { clock } = this.#options;
    const id = newId("file", clock.now());
    const store_key = `${id.slice(-2)}/${ulid(clock.now())}`;
    const { sessionBytes: session_bytes, tenantBytes: tenant_bytes } = this.bounds;
    return {
      id,
      tenant,
      session,
      bytes: bytes.length,
      turn,
      epoch,
      store_key,
      session_bytes,
      tenant_bytes,
    };
  }

  /** Repeated until an answer comes: the second time finds what the first has written. */
  async #putRow(
    row: FileRow & { readonly put?: string },
    data: Uint8Array | null,
    signal: AbortSignal | undefined,
    database: Queryable = this.#options.database,
  ): Promise<Exclude<PutRow, { outcome: "fenced" }>> {
    const statement = { name: "files.put", text: "select dure.put_file($1, $2) as put" };
    const isOfTurn = row.epoch !== undefined;
    const within = isOfTurn
      ? undefined
      : { ms: STORE_WITHIN_MS, onOver: () => notStored(row.name) };
    try {
      const [answer] = await retryUntilAnswered(
        () => database.query<{ put: PutRow }>(statement, [JSON.stringify(row), data]),
        { clock: this.#options.clock, signal, within },
      );
      const { put } = answer!;
      if (put.outcome === "fenced") throw new FencedError(row.turn!);
      return put;
    } catch (error) {
      const refusal = REFUSALS[codeOf(error) as keyof typeof REFUSALS];
      throw refusal ? refusal(row, error as Error) : error;
    }
  }

  /** Its row says already that they may be there: whatever happens now, they are found again. */
  async #putOutside(
    row: FileRow,
    { store_key }: { readonly store_key: string },
    bytes: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const { clock } = this.#options;
    const store = this.#store("put a file");
    const failed = (cause: unknown): Error => storeFailed(store, `keep ${row.name}`, cause);
    const late = (): Error => failed(new Error(`no answer within ${STORE_MS} ms`));
    await withTimeout(clock, { ms: STORE_MS, signal }, late, async (within) => {
      try {
        await store.put(store_key, bytes, { signal: within, maxBytes: bytes.length });
      } catch (error) {
        throw within.aborted ? error : failed(error);
      }
    });
    const put = await this.#putRow({ ...row, put: store_key }, null, signal);
    return put.outcome === "stored" ? put.id : raise(notStored(row.name));
  }

  async #getOutside(
    { store_key, bytes }: StoredBytes,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    const { clock } = this.#options;
    const store = this.#store("read a file");
    const failed = (cause: unknown): Error => storeFailed(store, "read a file", cause);
    const late = (): Error => failed(new Error(`no answer within ${STORE_MS} ms`));
    return withTimeout(clock, { ms: STORE_MS, signal }, late, async (within) => {
      try {
        return await store.get(store_key, { signal: within, maxBytes: bytes });
      } catch (error) {
        throw within.aborted ? error : failed(error);
      }
    });
  }

  #store(what: string): ByteStore {
    const { store } = this.#options;
    if (store) return store;
    throw new DureError(
      "FILE_STORE_MISSING",
      `There is no store outside the database to ${what}.`,
      {
        class: "unavailable",
        hint: "Set files.store again to where the files are.",
      },
    );
  }
}

interface FileRow {
  readonly id: string;
  readonly tenant: string;
  readonly session: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly name: string;
  readonly type: FileType;
  readonly turn: string | undefined;
  readonly epoch: number | undefined;
  readonly store_key: string;
  readonly session_bytes: number;
  readonly tenant_bytes: number;
}

type PutRow =
  | { readonly outcome: "stored"; readonly id: string }
  | { readonly outcome: "put"; readonly store_key: string }
  /** Another process has the turn. */
  | { readonly outcome: "fenced" };

interface StoredBytes {
  readonly sha256: string;
  readonly bytes: number;
  readonly store_key: string;
  readonly data: Uint8Array | null;
}

const FOUND = `
  select f.id, f.name, f.type, b.bytes, b.sha256, f.session_id as session
  from dure.files f
  join dure.file_bytes b on b.tenant = f.tenant and b.sha256 = f.sha256`;

const SEEN = "($3::text is null or f.tenant = $3)";

const READ = `
  select b.sha256, b.bytes, b.store_key, b.data
  from dure.files f
  join dure.file_bytes b on b.tenant = f.tenant and b.sha256 = f.sha256
  where f.id = $1 and f.session_id = $2`;

/** Refusals of `dure.put_file`, by SQLSTATE. */
const REFUSALS = {
  DU413: (row: FileRow, { message }: Error) => filesFull(row, message),
  DU410: ({ name }: FileRow) => notStored(name),
} as const satisfies Record<string, (row: FileRow, error: Error) => DureError>;

/** Damaged bytes are never handed on. */
function verified(bytes: Uint8Array, { sha256 }: StoredBytes, id: string): Uint8Array {
  if (createHash("sha256").update(bytes).digest("hex") === sha256) return bytes;
  throw new DureError("FILE_STORE_FAILED", `The bytes of ${id} are not those that were stored.`, {
    class: "unavailable",
    hint: "Bring the store of files back from its backup.",
  });
}

function emptyFile(name: string): DureError {
  const said = harmlessWords(name);
  return new DureError("FILE_EMPTY", `${said} has no bytes.`, {
    class: "input",
    hint: "Choose the file again.",
  });
}

function tooLarge(name: string, bytes: number, most: number): DureError {
  const said = harmlessWords(name);
  return new DureError(
    "FILE_TOO_LARGE",
    `${said} has ${sizeText(bytes)}; at most ${sizeText(most)} are taken.`,
    { class: "input", hint: "Send a smaller file." },
  );
}

function typeRefused(name: string): DureError {
  const said = harmlessWords(name);
  return new DureError("FILE_TYPE_REFUSED", `${said} is of no type that is taken.`, {
    class: "input",
    hint: `Send one of: ${Object.keys(FILE_TYPES).join(", ")}.`,
  });
}

function storeMissing(name: string, bytes: number): DureError {
  const most = sizeText(IN_DATABASE_BYTES);
  return new DureError(
    "FILE_STORE_MISSING",
    `${name} has ${sizeText(bytes)}; without a store of files at most ${most} are kept.`,
    {
      class: "unavailable",
      hint: "Send a smaller file, or set files.store in the configuration.",
    },
  );
}

function filesFull({ session, session_bytes, tenant_bytes }: FileRow, bound: string): DureError {
  if (bound !== "session") {
    return new DureError(
      "FILES_FULL",
      `All sessions have as many files as may be kept: ${sizeText(tenant_bytes)}.`,
      {
        class: "limit",
        hint: "Delete sessions that are not needed any more, or raise files.tenantBytes.",
      },
    );
  }
  return new DureError(
    "FILES_FULL",
    `The session ${sessionIdOfKey(session)} has as many files as may be kept: ${sizeText(session_bytes)}.`,
    { class: "limit", hint: "Begin another session, or delete this one." },
  );
}

/** One that is not there, or not for the one who asks. */
export function unknownFile(id: string): DureError {
  return new DureError("FILE_UNKNOWN", `There is no file ${id.slice(0, 40)}.`, {
    class: "not-found",
    hint: "Upload it to this session first.",
  });
}

function notStored(name: string): DureError {
  return new DureError("DATABASE_UNAVAILABLE", `${name} could not be stored in time.`, {
    class: "unavailable",
    hint: "Send it again.",
  });
}

function raise(error: Error): never {
  throw error;
}
