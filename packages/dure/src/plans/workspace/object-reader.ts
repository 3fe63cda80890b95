import { systemClock, type Cancel } from "../../kernel/clock.ts";
import type { Git, GitPlace, GitSession } from "./git.ts";

/** A git that was asked nothing for so long is ended, milliseconds: it is started within 20. */
const IDLE_MS = 2_000;
/** For one question, milliseconds. */
const QUESTION_MS = 600_000;

/** An object of a store: by its id, or by a ref in full. */
export interface ReadObject {
  readonly id: string;
  readonly bytes: number;
}

/**
 * Reads objects and refs by one git that is asked again and again, one question after the other. It
 * ends by itself soon after the last.
 */
export class ObjectReader {
  readonly #git: Git;
  readonly #at: GitPlace;
  #session: GitSession | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #cancelEnd: Cancel | undefined;

  constructor(git: Git, at: GitPlace) {
    this.#git = git;
    this.#at = at;
  }

  /** What a name stands for now; undefined: there is no such object or ref. */
  find(name: string, signal: AbortSignal | undefined): Promise<ReadObject | undefined> {
    return this.#ask(signal, (session) => answerOf(session, `info ${name}`));
  }

  /** Its content. Undefined: it is not there. */
  read(name: string, signal: AbortSignal | undefined): Promise<Buffer | undefined> {
    return this.#ask(signal, async (session) => {
      const found = await answerOf(session, `contents ${name}`);
      if (found === undefined) return undefined;
      const content = await session.readBytes(found.bytes);
      await session.readBytes(1); // a line's end
      return content;
    });
  }

  /** One question. Who gives up in the middle leaves a git that cannot be asked again. */
  async #ask<T>(
    signal: AbortSignal | undefined,
    question: (session: GitSession) => Promise<T>,
  ): Promise<T> {
    const { promise, resolve: done } = Promise.withResolvers<void>();
    const before = this.#last;
    this.#last = promise;
    try {
      await before;
      signal?.throwIfAborted();
      this.#cancelEnd?.();
      const session = (this.#session ??= this.#git.start(["cat-file", "--batch-command"], {
        at: this.#at,
        timeMs: 0,
      }));
      const give = (): void => this.#leave(session);
      const cancelGive = systemClock.after(QUESTION_MS, give);
      signal?.addEventListener("abort", give, { once: true });
      try {
        return await question(session);
      } catch (error) {
        this.#leave(session);
        throw signal?.aborted ? signal.reason : error;
      } finally {
        cancelGive();
        signal?.removeEventListener("abort", give);
        this.#cancelEnd = systemClock.after(IDLE_MS, () => this.#leave(session));
      }
    } finally {
      done();
    }
  }

  #leave(session: GitSession): void {
    if (this.#session === session) this.#session = undefined;
    void session.kill();
  }
}

async function answerOf(session: GitSession, question: string): Promise<ReadObject | undefined> {
  await session.write(`${question}\n`);
  const answer = await session.read("\n");
  if (answer.endsWith(" missing")) return undefined;
  const [id, , bytes] = answer.split(" ");
  return { id: id!, bytes: Number(bytes) };
}
