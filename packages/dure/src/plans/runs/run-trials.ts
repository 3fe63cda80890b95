import type { Leases } from "../../durable/leases.ts";
import type { Tried } from "../merge/integration.ts";
import type { LeadingOptions } from "../lead/run-leading.ts";
import type { RunRecords } from "../rows/records.ts";
import { runCleaned } from "./run-requests.ts";

interface TrialParts {
  readonly records: RunRecords;
  readonly leases: Leases;
  readonly work: LeadingOptions["work"];
}

/** Tries what is to be merged of runs that have ended. */
export class RunTrials {
  readonly #parts: TrialParts;

  constructor(parts: TrialParts) {
    this.#parts = parts;
  }

  /**
   * What the tests come to on a merge commit. Undefined: another process works on the run, so
   * nothing was tried. Throws `RUN_CLEANED`.
   */
  async tryOut(
    id: string,
    commit: string,
    { signal }: { signal: AbortSignal },
  ): Promise<Tried | undefined> {
    const { records, leases } = this.#parts;
    const held = await leases.hold(
      `run:${id}`,
      async (lease, { signal: whileHeld }) => {
        const run = (await records.run(id))!;
        if (run.cleanedAt !== null) throw runCleaned(run);
        const work = this.#parts.work({ records, lease, run });
        await work.clear(run, { signal: whileHeld });

        return work.tryMerged(run, commit, { signal: whileHeld });
      },
      { signal },
    );

    return held.ok ? held.value : undefined;
  }
}
