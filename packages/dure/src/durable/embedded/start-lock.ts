import { link, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import { isAlive, ownIdentity, type ProcessIdentity } from "./processes.ts";

export interface StartLockOptions {
  readonly clock: Clock;
  /**
   * Longest wait in milliseconds. Default 90 000: a first start on a slow disk, or the recovery
   * after a crash.
   */
  readonly patience?: number;
  readonly signal?: AbortSignal | undefined;
}

/** What the file of one generation says; a released one names no process. */
type Holder = ProcessIdentity | { readonly pid: 0 };

/** How often a waiter looks, in milliseconds. */
const LOOK = 25;

/**
 * A lock between processes of one machine, in files, that a killed holder cannot keep. Each holder
 * makes the next generation, `lock.1`, `lock.2`, …, with `link`, of which only one can succeed. It
 * may do so when the holder of the last generation is dead or has released it. Files of old
 * generations are removed, the last one never, so numbers only grow. Resolves to the release.
 */
export async function acquireStartLock(
  folder: string,
  options: StartLockOptions,
): Promise<() => Promise<void>> {
  const { clock, signal, patience = 90_000 } = options;
  await mkdir(folder, { recursive: true });
  const giveUpAt = clock.monotonic() + patience;

  for (;;) {
    signal?.throwIfAborted();
    const last = Math.max(0, ...(await generations(folder)));
    const holder = last === 0 ? { pid: 0 as const } : await readHolder(folder, last);
    if (holder && (holder.pid === 0 || !isAlive(holder as ProcessIdentity))) {
      if (await take(folder, last + 1)) return () => write(folder, last + 1, { pid: 0 });
      continue;
    }
    if (clock.monotonic() > giveUpAt) {
      throw new DureError(
        "EMBEDDED_BUSY",
        `Process ${holder?.pid ?? "?"} has been starting the database in ${folder} for more than ${Math.round(patience / 1000)} s.`,
        {
          class: "unavailable",
          hint: `Look at pg.log beside that folder; if process ${holder?.pid ?? "?"} hangs, end it.`,
        },
      );
    }
    await clock.sleep(LOOK, { signal });
  }
}

async function take(folder: string, generation: number): Promise<boolean> {
  const draft = await writeDraft(folder, ownIdentity());
  try {
    await link(draft, file(folder, generation));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }

  const all = await generations(folder);

  if (Math.max(...all) > generation) {
    // We looked long ago: this number was used, released and removed meanwhile.
    await rm(file(folder, generation), { force: true });
    return false;
  }

  for (const old of all) if (old < generation) await rm(file(folder, old), { force: true });

  return true;
}

async function generations(folder: string): Promise<number[]> {
  return (await readdir(folder))
    .flatMap((name) => /^lock\.(\d+)$/.exec(name)?.[1] ?? [])
    .map(Number);
}

/** Undefined when a later holder has just removed the file. */
async function readHolder(folder: string, generation: number): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(file(folder, generation), "utf8")) as Holder;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

async function write(folder: string, generation: number, holder: Holder): Promise<void> {
  await rename(await writeDraft(folder, holder), file(folder, generation));
}

async function writeDraft(folder: string, holder: Holder): Promise<string> {
  const draft = join(folder, `draft.${ulid()}`);
  await writeFile(draft, JSON.stringify(holder));
  return draft;
}

function file(folder: string, generation: number): string {
  return join(folder, `lock.${generation}`);
}
