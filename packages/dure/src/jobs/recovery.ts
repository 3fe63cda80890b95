import type { Database } from "../durable/database.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { DeadProcess } from "../durable/takeover.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { JobReader } from "./job-reader.ts";
import type { JobLimits } from "./limits.ts";
import type { JobStore } from "./store.ts";

/** What a start or a takeover found. `incomplete`: jobs that have not ended. */
export interface RecoveryReport {
  readonly resumed: number;
  readonly abandoned: number;
  readonly removed: number;
  readonly incomplete: number;
}

interface RecoveryParts {
  readonly database: Database;
  readonly store: JobStore;
  readonly reader: JobReader;
  readonly lease: Pick<ProcessLease, "whenHeld">;
  readonly limits: JobLimits;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** Jobs stand in line again. */
  readonly onReleased: () => void;
}

const PURGE_AT_ONCE = 500;
/** With nothing to go on with, the event of a start says that the server has started. */
const AT_THE_START = "at the start";

/**
 * Jobs of dead processes go back in line, or are given up; old ones are
 * removed.
 */
export class JobRecovery {
  readonly #parts: RecoveryParts;
  readonly #clearing = new Set<Promise<void>>();
  #recovered: Promise<RecoveryReport> | undefined;

  constructor(parts: RecoveryParts) {
    this.#parts = parts;
  }

  /** Checks the rest of an earlier life. */
  start(): void {
    this.#recovered ??= this.#recover();
    this.#recovered.catch(() => {});
  }

  /** What the start found. Rejects when this process stopped before. */
  get recovered(): Promise<RecoveryReport> {
    const notStarted = (): DureError =>
      new DureError("JOBS_NOT_STARTED", "The jobs were not started.", {
        hint: "Call start first.",
      });
    return this.#recovered ?? Promise.reject(notStarted());
  }

  /** The parts' signal has aborted. */
  async stop(): Promise<void> {
    await this.#recovered?.catch(() => {});
    await Promise.all(this.#clearing);
  }

  /** See `Jobs.recoverDead`. */
  async recoverDead(dead: Pick<DeadProcess, "id" | "because">): Promise<void> {
    const released = await this.#release(dead);
    this.#parts.onReleased();
    // Runs concurrently: what waits for this recovery must not wait for old
    // jobs.
    const cleared = this.#clearAfter(dead.id, released).finally(() =>
      this.#clearing.delete(cleared),
    );
    this.#clearing.add(cleared);
  }

  /** Never rejects. */
  async #clearAfter(dead: string, released: { resumed: number; abandoned: number }): Promise<void> {
    const { store, limits, logger, signal } = this.#parts;
    try {
      const removed = await purgeJobs(store, { keepMs: limits.keepMs, signal });
      if (released.resumed + released.abandoned + removed > 0) {
        await this.#report({ ...released, removed }, `after ${dead} died`);
      }
    } catch (error) {
      if (signal.aborted) return;
      logger.warn(
        { code: codeOf(error), error: messageOf(error) },
        `old jobs could not be removed after ${dead} died; retention does it`,
      );
    }
  }

  async #recover(): Promise<RecoveryReport> {
    const { database, store, lease, limits, signal, onReleased } = this.#parts;
    await lease.whenHeld({ signal });
    const dead = await database.query<Pick<DeadProcess, "id" | "because">>(DEAD_HOLDERS);
    let [resumed, abandoned] = [0, await store.abandonStale(limits.staleMs)];
    for (const one of dead) {
      const released = await this.#release(one);
      resumed += released.resumed;
      abandoned += released.abandoned;
    }
    onReleased();
    const removed = await purgeJobs(store, { keepMs: limits.keepMs, signal });
    return this.#report({ resumed, abandoned, removed }, AT_THE_START);
  }

  #release({
    id,
    because,
  }: Pick<DeadProcess, "id" | "because">): Promise<{ resumed: number; abandoned: number }> {
    const { store, limits } = this.#parts;
    return store.release(id, {
      counts: because !== "stopped",
      resumesMost: limits.resumes,
      staleMs: limits.staleMs,
    });
  }

  async #report(found: Omit<RecoveryReport, "incomplete">, when: string): Promise<RecoveryReport> {
    const { store, reader, logger } = this.#parts;
    const open = Object.values(await reader.standing());
    const report = { ...found, incomplete: open.reduce((sum, count) => sum + count, 0) };
    logger.info(
      { ...report },
      `jobs ${when}: ${report.resumed} resumed, ${report.abandoned} given up, ` +
        `${report.removed} old ones removed, ${report.incomplete} have not ended`,
    );
    const isNews = when === AT_THE_START || report.resumed + report.abandoned > 0;
    if (isNews) await store.emit({ type: "jobs.recovered", role: "system", data: report });
    return report;
  }
}

/** Removes finished jobs that are older, in bounded bites. Returns how many. */
export async function purgeJobs(
  store: JobStore,
  { keepMs, signal }: { keepMs: number; signal: AbortSignal | undefined },
): Promise<number> {
  for (let total = 0; ;) {
    signal?.throwIfAborted();
    const removed = await store.purge(keepMs, PURGE_AT_ONCE);
    total += removed;
    if (removed < PURGE_AT_ONCE) return total;
  }
}

const DEAD_HOLDERS = {
  name: "job.dead-holders",
  text: `
    select distinct j.holder as id, coalesce(p.ended_because, 'gone') as because
    from dure.jobs j
    left join dure.processes p on p.id = j.holder
    where j.status = 'RUNNING'
      and j.holder is not null
      and (p.id is null or p.ended_at is not null)`,
};
