import type { GitSession } from "./git.ts";

/** Writes contents as blobs through one git, which starts with the first of them. */
export class BlobWriter {
  readonly #start: () => GitSession;
  #session: GitSession | undefined;

  constructor(start: () => GitSession) {
    this.#start = start;
  }

  async write(content: Buffer): Promise<void> {
    this.#session ??= this.#start();
    await this.#session.write(`blob\ndata ${content.length}\n`);
    await this.#session.write(content);
    await this.#session.write("\n");
  }

  /** When it returns all of them are there. */
  async end(): Promise<void> {
    const session = this.#session;
    if (!session) return;
    await session.write("done\n");
    await session.end();
    this.#session = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session?.kill();
  }
}
