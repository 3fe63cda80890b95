import { randomBytes } from "node:crypto";
import { readdir, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import type { Clock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import { makeFile } from "./make-file.ts";
import { readPrivateFile, replacePrivateFile } from "./private-file.ts";

/** Of the text that tells who holds a lock. */
const MAX_BYTES = 1_024;
/** Between two looks at a lock that another process holds, milliseconds. */
const LOOK_MS = 100;
/** The longest work under a lock; an older one was left by a process that died, milliseconds. */
const STALE_MS = 60_000;
const LOOKS = (2 * STALE_MS) / LOOK_MS;
const FREE = "free\n";

/**
 * A lock between the processes of one machine, in the files `<file>.1`, `<file>.2` and so on. Its
 * holder is the process that made the newest. A process that finds that one free, or left by a dead
 * process, makes the next: of several that do, one succeeds. Nothing is ever taken back from a name,
 * so none can hold it that looked too early.
 */
export class FileLock {
  readonly #file: string;
  readonly #clock: Clock;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  /** Its number, to give it back; undefined: other processes held it for two minutes. */
  async take(signal?: AbortSignal): Promise<number | undefined> {
    const owner = `${hostname()} ${process.pid} ${randomBytes(8).toString("hex")}\n`;

    for (let look = 1; look < LOOKS; look++) {
      const newest = await this.#newest();
      if (await this.#isHeld(newest)) {
        await this.#clock.sleep(LOOK_MS, { signal });
        continue;
      }

      const next = newest + 1;
      if (!(await makeFile(this.#fileOf(next), owner, { mode: 0o600 }))) continue;

      // The name may have been used and removed since it was looked for: then there is a newer one.
      if ((await this.#newest()) === next) return next;
      await remove(this.#fileOf(next));
    }

    return undefined;
  }

  /** Removes older files too, but for those that another process may just be looking at. */
  async free(number: number): Promise<void> {
    for (const older of await this.#numbers()) {
      const facts = older < number ? await this.#factsOf(older) : undefined;
      if (facts?.isOld) await remove(this.#fileOf(older));
    }
    await replacePrivateFile(this.#fileOf(number), FREE);
  }

  async #newest(): Promise<number> {
    return Math.max(0, ...(await this.#numbers()));
  }

  async #numbers(): Promise<readonly number[]> {
    const start = `${path.basename(this.#file)}.`;
    const names = await readdir(path.dirname(this.#file));
    return names
      .filter((name) => name.startsWith(start))
      .map((name) => name.slice(start.length))
      .filter((rest) => /^[1-9]\d{0,14}$/.test(rest))
      .map(Number);
  }

  async #isHeld(number: number): Promise<boolean> {
    const facts = await this.#factsOf(number);
    if (facts === undefined) return false; // there was none, or it has been removed: a newer is there

    const [host, pid] = facts.text.split(" ");
    const isDead = host === hostname() && pid !== undefined && !isAlive(Number(pid));
    return facts.text !== FREE && !isDead && !facts.isOld;
  }

  async #factsOf(
    number: number,
  ): Promise<{ readonly text: string; readonly isOld: boolean } | undefined> {
    const file = this.#fileOf(number);
    const text = await readPrivateFile(file, { maxBytes: MAX_BYTES });
    const facts = await stat(file).catch(() => undefined);
    if (facts === undefined) return undefined;
    return { text: text ?? "", isOld: this.#clock.now() - facts.mtimeMs > STALE_MS };
  }

  #fileOf(number: number): string {
    return `${this.#file}.${number}`;
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

async function remove(file: string): Promise<void> {
  try {
    await unlink(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
