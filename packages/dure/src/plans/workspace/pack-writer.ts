/** Objects that go into a store together, as one pack that git checks, indexes and puts on the disk. */

import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { deflate as deflateNow } from "node:zlib";
import { temporaryFolder } from "./files.ts";
import type { Git, GitPlace } from "./git.ts";

const deflate = promisify(deflateNow);

/** Numbers of the types in a pack. Source: gitformat-pack(5). */
const TYPES = { commit: 1, tree: 2, blob: 3 } as const;
export type ObjectType = keyof typeof TYPES;

/** What is held in memory, compressed, before it goes to a file. */
const MEMORY_BYTES = 4 * 1024 * 1024;
const CHUNK_BYTES = 1024 * 1024;
/** zlib's fastest: objects are read back within minutes, and packed again when they are published. */
const LEVEL = 1;

export interface PackStore {
  readonly git: Git;
  /** Of the store. */
  readonly folder: string;
  readonly hash: "sha1" | "sha256";
}

/** The id that git gives an object. */
export function objectId(hash: PackStore["hash"], type: ObjectType, content: Uint8Array): string {
  return createHash(hash).update(`${type} ${content.length}\0`).update(content).digest("hex");
}

/**
 * Collects objects and gives them to one git. Every one is written, also where the person's
 * repository has it: what is unreachable there may be cleaned up at any time.
 */
export class PackWriter implements AsyncDisposable {
  readonly #store: PackStore;
  readonly #ids = new Set<string>();
  #chunks: Buffer[] = [];
  #bytes = 0;
  #spilled: ({ readonly file: FileHandle } & AsyncDisposable) | undefined;

  constructor(store: PackStore) {
    this.#store = store;
  }

  /** The object's id; the object is there when `end` has returned. */
  async add(type: ObjectType, content: Uint8Array): Promise<string> {
    const id = objectId(this.#store.hash, type, content);
    if (this.#ids.has(id)) return id;
    this.#ids.add(id);
    const packed = await deflate(content, { level: LEVEL });
    this.#chunks.push(headOf(type, content.length), packed);
    this.#bytes += packed.length;
    if (this.#bytes > MEMORY_BYTES) await this.#spill();
    return id;
  }

  /**
   * Gives all of them to git.
   *
   * @param options.isLoose each becomes a file of its own, for what is read once: packs add up.
   */
  async end({
    isLoose = false,
    signal,
  }: {
    readonly isLoose?: boolean | undefined;
    readonly signal?: AbortSignal | undefined;
  }): Promise<void> {
    if (this.#ids.size === 0) return;
    const { git, folder, hash } = this.#store;
    const at: GitPlace = { cwd: folder, gitDir: folder };
    const args = isLoose ? ["unpack-objects", "-q"] : ["index-pack", "--stdin"];
    const session = git.start(args, { at, signal });
    try {
      const sum = createHash(hash);
      const head = Buffer.alloc(12);
      head.write("PACK", "latin1");
      head.writeUInt32BE(2, 4);
      head.writeUInt32BE(this.#ids.size, 8);
      for await (const chunk of this.#content(head)) {
        sum.update(chunk);
        await session.write(chunk);
      }
      await session.write(sum.digest());
      await session.end();
    } catch (error) {
      await session.kill();
      throw error;
    }
    this.#ids.clear();
    this.#chunks = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spilled?.[Symbol.asyncDispose]();
    this.#spilled = undefined;
  }

  async *#content(head: Buffer): AsyncGenerator<Buffer> {
    yield head;
    const file = this.#spilled?.file;
    for (let from = 0; file !== undefined;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), {
        position: from,
      });
      if (bytesRead === 0) break;
      from += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    yield* this.#chunks;
  }

  async #spill(): Promise<void> {
    this.#spilled ??= await spillFile(join(this.#store.folder, "temporary"));
    await this.#spilled.file.appendFile(Buffer.concat(this.#chunks));
    this.#chunks = [];
    this.#bytes = 0;
  }
}

async function spillFile(parent: string): Promise<{ readonly file: FileHandle } & AsyncDisposable> {
  const folder = await temporaryFolder(parent, "t-");
  const file = await open(join(folder.path, "objects"), "ax+");
  return {
    file,
    [Symbol.asyncDispose]: async () => {
      await file.close();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Type and size, seven bits a byte, the type within the first. Source: gitformat-pack(5). */
function headOf(type: ObjectType, size: number): Buffer {
  const bytes = [(TYPES[type] << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1]! |= 128;
    bytes.push(rest & 127);
  }
  return Buffer.from(bytes);
}
