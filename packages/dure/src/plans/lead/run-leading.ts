/** Which runs this process leads: it takes their leases, and lets go of them. */

import { isRunOver } from "../../kernel/plans.ts";
import type { Database } from "../../durable/database.ts";
import type { Lease, Leases } from "../../durable/leases.ts";
import { Poller, type PollResult } from "../../durable/poller.ts";
import type { ProcessLease } from "../../durable/processes.ts";
import type { Inbox } from "../../escalations/inbox.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import { messageOf, codeOf } from "../../kernel/errors.ts";
import { Faults } from "../../durable/faults.ts";
import { becauseOf } from "../rows/outcomes.ts";
import { RunLeader } from "./leader.ts";
import { reportOf, type RunWork } from "./leader-parts.ts";
import { emit, type RunRecords } from "../rows/records.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";
import type { Elsewhere } from "./elsewhere.ts";
import { aboutRun, escalationFor } from "../ask/triggers.ts";
import type { NewPlatformEvent } from "../../wire/events.ts";
import { eventOfRun } from "../rows/run-event.ts";
import type { Because } from "../../wire/plans.ts";
import { isTakenOver } from "../../durable/passing.ts";
import { subjectOf, type NewEscalation } from "../../kernel/escalation.ts";
import { commitsOf, decideRemains, moveRun, stepCommits } from "./adopt.ts";

/** What a process needs to lead runs. */
export interface LeadingOptions {
  readonly database: Database;
  readonly lease: Pick<ProcessLease, "id" | "signal" | "whenHeld">;
  readonly leases: Leases;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names the folder of data for every process that shares it. A run belongs to it. */
  readonly host: string;
  readonly work: (parts: { records: RunRecords; lease: Lease; run: PlanRun }) => RunWork;
  /** Why a run may not go on in its repository. Default: each run may. */
  readonly whyRefused?:
    | ((run: PlanRun, options: { signal: AbortSignal }) => Promise<Because | undefined>)
    | undefined;
  /** Runs that one process leads at once. Default 20. */
  readonly running?: number;
  /** How to go on with runs of a machine that is gone. Absent: they wait for it. */
  readonly elsewhere?: Elsewhere | undefined;
  /**
   * A machine without a living process for longer than this is gone, in milliseconds. Default 60 s;
   * a restart takes seconds.
   */
  readonly hostGoneMs?: number;
}

interface LeadingParts extends LeadingOptions {
  readonly records: RunRecords;
  /** Wakes readers of events. */
  readonly announce: () => void;
  /** Aborts when this process stops. */
  readonly signal: AbortSignal;
}

interface LedRun {
  leader: RunLeader | undefined;
  finished: Promise<void>;
}

/**
 * How often a process looks for runs that want a leader, in milliseconds. Source: docs/spec/plans
 * §3: another process takes over within 10 s.
 */
const LOOK_EVERY_MS = 1_000;
const HOST_GONE_MS = 60_000;
const HOST_SEEN_EVERY_MS = 5_000;
const MAX_RUNNING = 20;
/** Faults of our own in leading a run with which it is given up. */
const FAULTS = { most: 5, backOff: { firstMs: 500, maxMs: 5_000 } } as const;

/** The runs that this process leads, and its look for more. */
export class RunLeading {
  readonly #parts: LeadingParts;
  readonly #orphans: RunOrphans;
  readonly #hostGoneMs: number;
  readonly #led = new Map<string, LedRun>();
  readonly #faults: Faults;
  readonly #poller: Poller;
  /** When this machine was last recorded as alive. */
  #seenAt = -Infinity;

  constructor(parts: LeadingParts) {
    this.#parts = parts;
    this.#faults = new Faults({ ...FAULTS, clock: parts.clock, logger: parts.logger });
    this.#hostGoneMs = parts.hostGoneMs ?? HOST_GONE_MS;
    const { elsewhere } = parts;
    this.#orphans = new RunOrphans({ ...parts, elsewhere, goneMs: this.#hostGoneMs });
    this.#poller = new Poller({
      what: "runs of plans",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock: parts.clock,
      logger: parts.logger,
      signal: parts.signal,
    });
  }

  /** Runs that are led here. */
  get size(): number {
    return this.#led.size;
  }

  start(): void {
    this.#poller.start();
  }

  /** A run was begun, or an order to one is there. */
  notice(): void {
    for (const { leader } of this.#led.values()) leader?.notice();
    this.#poller.wake();
  }

  /** The parts' signal has aborted. Resolves when no run is led any more. */
  async stop(): Promise<void> {
    await this.#poller.stop();
    await Promise.allSettled([...this.#led.values()].map(({ finished }) => finished));
  }

  async #look(): Promise<PollResult> {
    const { records, lease, host, signal, running = MAX_RUNNING } = this.#parts;
    await lease.whenHeld({ signal });
    await this.#recordHost();
    const room = running - this.#led.size;
    if (room <= 0) return "idle";
    const waiting = await records.hosts.waiting(host, [...this.#led.keys()]);
    for (const id of waiting.slice(0, room)) this.#begin(id, (led) => this.#lead(id, led));
    return "idle";
  }

  /** Now and then: this machine lives, and runs of machines that do not are looked for. */
  async #recordHost(): Promise<void> {
    const { records, clock, host } = this.#parts;
    const everyMs = Math.min(HOST_SEEN_EVERY_MS, this.#hostGoneMs / 4);
    if (clock.monotonic() - this.#seenAt < everyMs) return;
    await records.hosts.hostSeen(host);
    this.#seenAt = clock.monotonic();
    await this.#orphans.tell();
    const adoptable = await this.#orphans.adoptable((id) => this.#led.has(id));
    for (const id of adoptable) this.#begin(id, () => this.#orphans.adopt(id));
  }

  /** @param work never rejects. */
  #begin(id: string, work: (led: LedRun) => Promise<void>): void {
    const led: LedRun = { leader: undefined, finished: Promise.resolve() };
    this.#led.set(id, led);
    led.finished = work(led).finally(() => {
      this.#led.delete(id);
      this.#poller.wake();
    });
  }

  /** Never rejects. */
  async #lead(id: string, led: LedRun): Promise<void> {
    const { leases, signal } = this.#parts;
    try {
      await leases.hold(
        `run:${id}`,
        (lease, { signal: whileHeld }) => this.#leadHeld(id, led, lease, whileHeld),
        { signal },
      );
      this.#faults.forget(id);
    } catch (error) {
      if (signal.aborted) return;
      await this.#onFault(id, error);
    }
  }

  async #leadHeld(id: string, led: LedRun, lease: Lease, signal: AbortSignal): Promise<void> {
    const { records, inbox, clock, logger, announce } = this.#parts;
    await records.hosts.claimListenSlot(lease, id);
    const run = await records.run(id);
    if (!run) return;
    const work = this.#parts.work({ records, lease, run });
    await work.clear(run, { signal });
    const refused = await this.#parts.whyRefused?.(run, { signal });
    if (refused) return this.#stopRefused(run, lease, refused);
    const parts = { records, inbox, announce, clock, logger, ...work };
    const leader = new RunLeader(run, lease, parts);
    led.leader = leader;
    if (!isRunOver(run.status)) {
      logger.info({ run: id, lease: lease.epoch }, `run ${id} of ${run.plan.name} is led here`);
    }
    await leader.lead({ signal });
    await records.hosts.releaseListenSlot(lease, id);
  }

  /** Nothing more is read or written in a repository that the run may not have. */
  async #stopRefused(run: PlanRun, lease: Lease, because: Because): Promise<void> {
    const { records, inbox, announce, logger } = this.#parts;
    await this.#endFailed(run, lease, because);
    await records.hosts.releaseListenSlot(lease, run.id);
    const { code } = because;
    logger.warn({ run: run.id, code }, `run ${run.id} was stopped: ${because.message}`);
    inbox.announce();
    announce();
  }

  /** Waits before the run is led again. After too many faults it is given up. Never rejects. */
  async #onFault(id: string, error: unknown): Promise<void> {
    const { logger, signal } = this.#parts;
    const fault = { error, what: `run ${id} could not be led`, fields: { run: id } };
    if ((await this.#faults.recordAndWait(id, fault, signal)) !== "given-up") return;
    await this.#giveUp(id, becauseOf(error)).catch((reason: unknown) =>
      logger.error({ run: id, error: messageOf(reason) }, `run ${id} could not be ended`),
    );
  }

  /**
   * Our own code or the machine fails with a run again and again: it ends, and says why. What was
   * made is kept. Of one that has ended open orders are closed.
   */
  async #giveUp(id: string, because: Because): Promise<void> {
    const { records, leases, inbox, announce } = this.#parts;
    await leases.hold(`run:${id}`, async (lease) => {
      const run = await records.run(id);
      if (!run) return;
      await this.#endFailed(run, lease, because);
      await records.hosts.releaseListenSlot(lease, id);
    });
    inbox.announce();
    announce();
  }

  async #endFailed(run: PlanRun, lease: Lease, because: Because): Promise<void> {
    const { records, inbox } = this.#parts;
    const { code, message } = because;
    const [ports, orders] = await Promise.all([records.ports(run.id), records.orders.open(run.id)]);
    await records.write(lease, async (tx) => {
      for (const { id } of orders) await records.orders.close(tx, id, { ok: false, code, message });
      if (isRunOver(run.status)) return;
      const report = reportOf(ports, because);
      await records.changeRun(tx, run.id, { status: "failed", phase: "over", because, report });
      const question = escalationFor("worker-lost", {
        ...aboutRun(run),
        title: `${run.plan.name}: ${message}`.slice(0, 300),
        context: { code },
      });
      await inbox.raise(tx, [question]);
      await emit(tx, [endEvent(run, ports, because)]);
    });
  }
}

function endEvent(run: PlanRun, ports: readonly PlanPort[], because: Because): NewPlatformEvent {
  const { kept, missing } = reportOf(ports, because);
  return eventOfRun(run, "run.end", {
    outcome: "failed",
    because: because.message,
    kept: kept.length,
    missing: missing.length,
  });
}

// --- run orphans

/** A remote that does not answer, or does not have the run, is asked again after this. */
const ADOPT_AGAIN_MS = 60_000;

interface OrphanParts {
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
class RunOrphans {
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
