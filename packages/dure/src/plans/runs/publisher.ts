import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { RunRemote } from "../workspace/remote.ts";
import type { Repository } from "../workspace/repository.ts";
import type { RunStore } from "../workspace/store.ts";

/** The process that held a lock of git this old was killed: writing a ref takes milliseconds. */
const LOCK_STALE_MS = 10_000;
const PUBLISH_TRIES = 8;
const PUBLISH_WAIT_MS = 400;

/** One publishing, and how many callers wait for it. */
interface Publishing {
  callers: number;
  /** Aborted when the last caller has left. */
  readonly abandoned: AbortController;
  readonly done: Promise<void>;
}

interface PublisherParts {
  readonly repository: Repository;
  readonly store: RunStore;
  readonly run: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** From there another machine goes on. Absent: the commits stay on this one. */
  readonly remote?: Pick<RunRemote, "push"> | undefined;
}

/**
 * Brings the commits of a run into the person's repository, and from there to the remote: one at a
 * time, for git locks each name that it writes. What a remote did not take goes there with the next
 * publishing; no work waits for it.
 */
export class Publisher {
  readonly #parts: PublisherParts;
  #running: Promise<void> = Promise.resolve();
  #next: Publishing | undefined;

  constructor(parts: PublisherParts) {
    this.#parts = parts;
  }

  /**
   * Resolves when everything that is committed now has arrived. Callers at the same time share one
   * publishing: an aborted caller leaves, and the work ends with the last one.
   */
  async publish(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#next ??= this.#begin();
    const shared = this.#next;
    const left = Promise.withResolvers<never>();
    const leave = (): void => {
      shared.callers--;
      if (shared.callers === 0) {
        shared.abandoned.abort(signal.reason);
        if (this.#next === shared) this.#next = undefined; // the next caller begins anew
      }
      left.reject(signal.reason as Error);
    };
    shared.callers++;
    signal.addEventListener("abort", leave, { once: true });
    try {
      await Promise.race([shared.done, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
      // What it began in the repository has to end first.
      if (signal.aborted && shared.callers === 0) await shared.done.catch(() => {});
    }
  }

  #begin(): Publishing {
    const abandoned = new AbortController();
    const done = this.#running.then(() => {
      if (this.#next?.abandoned === abandoned) this.#next = undefined;
      const now = this.#publish(abandoned.signal);
      this.#running = now.catch(() => {});
      return now;
    });
    done.catch(() => {});
    return { callers: 0, abandoned, done };
  }

  async #publish(signal: AbortSignal): Promise<void> {
    const { repository, store, run, clock } = this.#parts;
    for (let tries = 1; ; tries++) {
      try {
        await repository.publish(store, run, { signal });
        return await this.#push(signal);
      } catch (error) {
        if (
          signal.aborted ||
          tries >= PUBLISH_TRIES ||
          !/\.lock'?: File exists/.test(messageOf(error))
        ) {
          throw error;
        }
        await clock.sleep(PUBLISH_WAIT_MS * tries, { signal });
        await this.removeStaleLocks();
      }
    }
  }

  /** Whether every publishing goes further than this machine. */
  get isRemote(): boolean {
    return this.#parts.remote !== undefined;
  }

  async #push(signal: AbortSignal): Promise<void> {
    const { remote, run, logger } = this.#parts;
    try {
      await remote?.push(run, { signal });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn(
        { run, code: codeOf(error), error: messageOf(error) },
        `the commits of ${run} are on this machine alone; the next publishing tries again`,
      );
    }
  }

  /** Removes locks that a killed git left on names of this run, which no other process writes. */
  async removeStaleLocks(): Promise<void> {
    const { repository, store, run, clock } = this.#parts;
    for (const folder of [
      join(repository.commonDir, "refs", "dure", run),
      join(store.folder, "refs"),
    ]) {
      const names = await readdir(folder, { recursive: true }).catch(() => []);
      for (const name of names.filter((one) => one.endsWith(".lock"))) {
        const found = await stat(join(folder, name)).catch(() => undefined);
        if (found && clock.now() - found.mtimeMs > LOCK_STALE_MS) {
          await rm(join(folder, name), { force: true });
        }
      }
    }
  }
}
