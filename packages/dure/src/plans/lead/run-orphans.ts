import type { Database } from "../../durable/database.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import type { Inbox } from "../../escalations/inbox.ts";
import type { Clock } from "../../kernel/clock.ts";
import { isTakenOver } from "../../durable/passing.ts";
import { codeOf, messageOf } from "../../kernel/errors.ts";
import { subjectOf, type NewEscalation } from "../../kernel/escalation.ts";
import type { Logger } from "../../kernel/logger.ts";
import { commitsOf, decideRemains, moveRun, stepCommits } from "./adopt.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { emit, type RunRecords } from "../rows/records.ts";
import { escalationFor } from "../ask/triggers.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";

/** A remote that does not answer, or does not have the run, is asked again after this. */
const ADOPT_AGAIN_MS = 60_000;

export interface OrphanParts {
  readonly records: RunRecords;
  readonly database: Database;
  readonly leases: Leases;
  readonly inbox: Pick<Inbox, "raise" | "settle" | "announce">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** This machine. */
  readonly host: string;
  /** A machine without a living process for longer than this is gone, in milliseconds. */
  readonly goneMs: number;
  /** How to go on with runs of a machine that is gone. Undefined: they wait for it. */
  readonly elsewhere: Elsewhere | undefined;
  /** Wakes readers of events. */
  readonly announce: () => void;
  readonly signal: AbortSignal;
}

/** Runs whose machine is gone: they wait for it, or go on here from what was pushed. */
export class RunOrphans {
  readonly #parts: OrphanParts;
  /** When a run is looked for again, by the clock's monotonic time. */
  readonly #againAt = new Map<string, number>();

  constructor(parts: OrphanParts) {
    this.#parts = parts;
  }

  /** Lets runs wait for their machine, and asks the operator what to do. */
  async tell(): Promise<void> {
    const { database, records, inbox, announce, goneMs } = this.#parts;
    const found = await database.transaction(async (tx) => {
      const orphans = await records.hosts.orphaned(tx, goneMs);
      if (orphans.length === 0) return false;
      const questions = orphans.map(hostGone);
      await inbox.raise(tx, questions);
      const events = orphans.map(({ id, plan }): NewPlatformEvent => ({
        type: "run.waiting_host",
        role: "orchestration",
        run: id,
        data: { plan },
      }));
      await emit(tx, events);
      return true;
    });
    if (!found) return;
    inbox.announce();
    announce();
  }

  /** Runs that this machine may take over now; each is named once a minute. */
  async adoptable(isLed: (run: string) => boolean): Promise<readonly string[]> {
    const { records, clock, elsewhere, host, goneMs } = this.#parts;
    if (!elsewhere) return [];
    const now = clock.monotonic();
    const deserted = await records.hosts.deserted(host, goneMs);
    const due = deserted.filter((id) => !isLed(id) && now >= (this.#againAt.get(id) ?? -Infinity));
    for (const id of due) this.#againAt.set(id, now + ADOPT_AGAIN_MS);
    return due;
  }

  /** Never rejects. */
  async adopt(id: string): Promise<void> {
    const { leases, inbox, announce, logger, signal } = this.#parts;
    try {
      await leases.hold(
        `run:${id}`,
        (lease, { signal: whileHeld }) => this.#move(id, lease, whileHeld),
        { signal },
      );
      this.#againAt.delete(id);
      inbox.announce();
      announce();
    } catch (error) {
      if (signal.aborted || isTakenOver(error)) return;
      logger.warn(
        { run: id, code: codeOf(error), error: messageOf(error) },
        `run ${id} could not be taken over from its machine; trying again in a minute`,
      );
    }
  }

  async #move(id: string, lease: Lease, signal: AbortSignal): Promise<void> {
    const { records, database, leases, inbox, logger, host } = this.#parts;
    const run = await records.run(id);
    if (run?.status !== "waiting_host" || run.host === host) return;
    const [ports, steps] = await Promise.all([records.ports(id), stepCommits(database, id)]);
    const commits = commitsOf(run, ports, steps);
    const found = await this.#parts.elsewhere!.open(run, commits, { signal });
    if (!found) {
      const why = `this machine's repository does not have its base ${run.baseCommit}`;
      logger.warn(
        { run: id, host: run.host },
        `run ${id} belongs to a machine that is gone, and ${why}`,
      );
      return;
    }
    const remains = decideRemains(run, ports, steps, (commit) => found.there.has(commit));
    await moveRun(
      { database, leases },
      {
        run,
        lease,
        place: found.place,
        remains,
        alsoWrite: async (tx) => {
          await inbox.settle(tx, subjectOf("blocked", { run: id }), { by: host });
        },
      },
    );
    logger.info(
      { run: id, from: run.host, to: host, again: remains.lostSteps.length },
      `run ${id} of ${run.plan.name} goes on here, from what was pushed`,
    );
  }
}

function hostGone({
  id,
  tenant,
  plan,
  host,
}: {
  readonly id: string;
  readonly tenant: string;
  readonly plan: string;
  readonly host: string;
}): NewEscalation {
  const facts = `The run ${id} keeps its files on ${host}, of which no process lives.`;
  return escalationFor("host-gone", {
    tenant,
    run: id,
    plan,
    title: `${plan}: the machine that holds its files is gone`,
    description: `${facts} It goes on by itself when one is started there.`,
    context: { host },
  });
}
