import type { ScheduleFiring } from "../wire/schedules.ts";
import type { Database, Transaction } from "../durable/database.ts";
import { Poller, type PollResult } from "../durable/poller.ts";
import { enqueue, type Outbox } from "../durable/outbox.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { TableRule } from "../durable/retention.ts";
import type { Clock } from "../kernel/clock.ts";
import { DureError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import { decideDue, type Due } from "./decide-due.ts";
import { readRule, type ScheduleRule } from "./rule.ts";
import { SCHEDULE_TOPIC, type Schedule, type ShownSchedule, type TakenMoment } from "./schedule.ts";
import {
  ADVANCE,
  ENROL,
  firingOf,
  FOUND,
  LAST,
  LEAVE_OUT,
  LOCK,
  MISS,
  PAUSE,
  READ,
  RESUME,
  TAKE,
  type FiringRow,
  type ScheduleRow,
} from "./schedule-rows.ts";

export interface SchedulesOptions {
  readonly schedules: readonly Schedule[];
  readonly database: Database;
  readonly lease: ProcessLease;
  readonly outbox: Pick<Outbox, "announce">;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whose schedules are seen; null: all. */
export interface ScheduleViewer {
  readonly tenant: string | null;
  /** In rows, and shown. */
  readonly by: string;
}

/** A clock that was set is noticed by then, milliseconds. */
const LOOK_EVERY_MS = 60_000;
/** A clock that is so far behind what was decided was set back, milliseconds. */
const SET_BACK_MS = 60_000;
/** Moments that are shown of each. */
const SHOWN = 5;

/**
 * Takes the moments of schedules: each is one row, and one entry of the outbox with the same key,
 * over all processes. Source: docs/spec/interop §6.
 */
export class Schedules {
  readonly #options: SchedulesOptions;
  readonly #known: ReadonlyMap<string, Known>;
  readonly #poller: Poller;

  constructor(options: SchedulesOptions) {
    const { schedules, clock, logger, lease } = options;
    this.#options = options;
    this.#known = new Map(schedules.map((schedule) => [schedule.name, knownOf(schedule)]));
    this.#poller = new Poller({
      what: "schedules that are due",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock,
      logger,
      signal: lease.signal,
    });
  }

  /** What the configuration has now counts from now on, in all processes. */
  async start(): Promise<void> {
    const { database, lease, clock } = this.#options;
    const rows = [...this.#known.values()].map(({ schedule, definition }) => ({
      name: schedule.name,
      tenant: schedule.tenant,
      rule: `${schedule.cron} ${schedule.timeZone}`,
      definition,
    }));

    await database.transaction(async (tx) => {
      await lease.guard(tx);
      await tx.query(LEAVE_OUT, [rows.map(({ name }) => name)]);
      if (rows.length > 0) await tx.query(ENROL, [JSON.stringify(rows), clock.now()]);
    });

    if (rows.length > 0) this.#poller.start();
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  /** Looks now for what is due. Resolves when it is taken. */
  look(): Promise<void> {
    return this.#poller.poll();
  }

  /** By name. */
  async list({ tenant }: Pick<ScheduleViewer, "tenant">): Promise<readonly ShownSchedule[]> {
    const seen = [...this.#known.values()].filter((known) => isSeen(known, tenant));
    const names = seen.map(({ schedule }) => schedule.name);
    if (names.length === 0) return [];

    const { database } = this.#options;
    const rows = await database.query<ScheduleRow>(READ, [names]);
    const firings = await database.query<FiringRow>(LAST, [names, SHOWN]);

    return seen
      .map((known) => this.#shown(known, rows, firings))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Does it now. @param key The same key is the same run. @throws SCHEDULE_UNKNOWN */
  async run(name: string, key: string, { tenant, by }: ScheduleViewer): Promise<ScheduleFiring> {
    const { schedule } = this.#named(name, tenant);
    const { database, lease, outbox, clock } = this.#options;
    const moment = { key: `schedule:${name}:by-hand:${key}`, due: clock.now(), by };

    const row = await database.transaction(async (tx) => {
      await lease.guard(tx);
      await this.#take(tx, schedule, moment);
      const [found] = await tx.query<FiringRow>(FOUND, [moment.key]);

      return found!;
    });
    outbox.announce();

    return firingOf(row);
  }

  /** @throws SCHEDULE_UNKNOWN */
  async pause(name: string, { tenant, by }: ScheduleViewer): Promise<ShownSchedule> {
    this.#named(name, tenant);
    await this.#options.database.query(PAUSE, [name, by]);

    return this.#one(name, tenant);
  }

  /** @throws SCHEDULE_UNKNOWN */
  async resume(name: string, { tenant }: ScheduleViewer): Promise<ShownSchedule> {
    this.#named(name, tenant);
    await this.#options.database.query(RESUME, [name, this.#options.clock.now()]);
    this.#poller.wake();

    return this.#one(name, tenant);
  }

  retentionRule(): TableRule {
    return {
      name: "schedule firings",
      keep: "90d",
      table: "dure.schedule_firings",
      ageColumn: "ended_at",
    };
  }

  async #look(): Promise<PollResult> {
    const { database, clock } = this.#options;
    const rows = await database.query<ScheduleRow>(READ, [[...this.#known.keys()]]);
    let nextAt = clock.now() + LOOK_EVERY_MS;

    for (const { name, since, definition, paused_at: pausedAt } of rows) {
      const known = this.#known.get(name)!;
      if (pausedAt !== null || definition !== known.definition) continue;
      if (isWork(this.#dueOf(known, since), since, clock.now())) await this.#takeDue(known);
      nextAt = Math.min(nextAt, known.rule.next(clock.now()) ?? nextAt);
    }

    return { pauseMs: Math.max(nextAt - clock.now(), 1) };
  }

  #dueOf({ rule, schedule }: Known, since: number): Due {
    return decideDue({ rule, missed: schedule.missed, since, now: this.#options.clock.now() });
  }

  /** What was seen without a lock is decided again under the row's lock. */
  async #takeDue(known: Known): Promise<void> {
    const { schedule, definition } = known;
    const { database, lease, outbox, clock, logger } = this.#options;

    const taken = await database.transaction(async (tx) => {
      await lease.guard(tx);
      const [row] = await tx.query<ScheduleRow>(LOCK, [schedule.name, definition]);
      if (!row) return [];

      const due = this.#dueOf(known, row.since);
      const ours: number[] = [];
      for (const moment of due.take) {
        if (await this.#take(tx, schedule, { due: moment, key: keyOf(schedule, moment) })) {
          ours.push(moment);
        }
      }
      if (due.missed !== undefined) await noteMissed(tx, schedule, due.missed);
      await tx.query(ADVANCE, [schedule.name, clock.now()]);

      return ours;
    });

    for (const moment of taken) {
      const at = new Date(moment).toISOString();
      logger.info({ schedule: schedule.name, due: at }, `schedule ${schedule.name} is due`);
    }
    if (taken.length > 0) outbox.announce();
  }

  /** False: another process has taken it. */
  async #take(tx: Transaction, schedule: Schedule, moment: Moment): Promise<boolean> {
    const { name, tenant, timeZone, deed } = schedule;
    const { key, due, by = null } = moment;
    const [taken] = await tx.query(TAKE, [key, name, tenant, due, by]);
    if (!taken) return false;

    const payload: TakenMoment = { name, tenant, timeZone, deed, due };
    const entry = { topic: SCHEDULE_TOPIC, ordering: `schedule:${name}`, key };
    await enqueue(tx, [{ ...entry, payload: payload as unknown as Json }]);

    return true;
  }

  async #one(name: string, tenant: string | null): Promise<ShownSchedule> {
    return (await this.list({ tenant })).find((shown) => shown.name === name)!;
  }

  #named(name: string, tenant: string | null): Known {
    const known = this.#known.get(name);
    if (known && isSeen(known, tenant)) return known;

    throw new DureError("SCHEDULE_UNKNOWN", `There is no schedule "${name}".`, {
      class: "not-found",
      hint: "GET /v1/schedules lists them.",
    });
  }

  #shown(
    { schedule, rule }: Known,
    rows: readonly ScheduleRow[],
    firings: readonly FiringRow[],
  ): ShownSchedule {
    const row = rows.find(({ name }) => name === schedule.name);
    const isPaused = row?.paused_at != null;
    const next = isPaused ? undefined : rule.next(this.#options.clock.now());

    return {
      ...schedule,
      next: next ?? null,
      paused: isPaused ? { by: row.paused_by ?? "", at: Math.round(row.paused_at) } : null,
      last: firings.filter((firing) => firing.schedule === schedule.name).map(firingOf),
    };
  }
}

interface Known {
  readonly schedule: Schedule;
  readonly rule: ScheduleRule;
  readonly definition: string;
}

interface Moment {
  readonly key: string;
  readonly due: number;
  /** Who runs it by hand. */
  readonly by?: string;
}

function knownOf(schedule: Schedule): Known {
  const rule = readRule(schedule.cron, schedule.timeZone);
  return { schedule, rule, definition: JSON.stringify(schedule) };
}

function keyOf({ name }: Schedule, due: number): string {
  return `schedule:${name}:${new Date(due).toISOString()}`;
}

function isSeen({ schedule }: Known, tenant: string | null): boolean {
  return tenant === null || schedule.tenant === tenant;
}

/** Whether anything is to be written. Pure. */
function isWork({ take, missed }: Due, since: number, now: number): boolean {
  return take.length > 0 || missed !== undefined || since > now + SET_BACK_MS;
}

async function noteMissed(tx: Transaction, schedule: Schedule, due: number): Promise<void> {
  await tx.query(MISS, [keyOf(schedule, due), schedule.name, schedule.tenant, due]);
}
