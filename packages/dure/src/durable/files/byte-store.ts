/**
 * Where bytes are that do not go into the database: a folder of all processes, a bucket, or your
 * own. Keys are of letters, digits, `-` and `/`; each is put with the same bytes alone.
 */
export interface ByteStore {
  /** For messages, without secrets: `the folder /data/files`. */
  readonly name: string;
  /** When it returns, the bytes outlive a crash. Once more with the same bytes changes nothing. */
  put(key: string, bytes: Uint8Array, options: ByteStoreOptions): Promise<void>;
  /** Undefined: there are none under this key. */
  get(key: string, options: ByteStoreOptions): Promise<Uint8Array | undefined>;
  /** What is not there is deleted. */
  delete(key: string, options: ByteStoreOptions): Promise<void>;
}

/** How one call of a store is bounded. */
export interface ByteStoreOptions {
  readonly signal: AbortSignal;
  /** No more is read. */
  readonly maxBytes: number;
}
