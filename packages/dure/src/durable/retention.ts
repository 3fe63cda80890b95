import { systemClock, type Clock } from "../kernel/clock.ts";
import { durationMs, type Duration } from "../kernel/duration.ts";
import { codeOf, DureError, messageOf } from "../kernel/errors.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Transaction } from "./database.ts";
import type { Leases } from "./leases.ts";
import { Poller } from "./poller.ts";

/**
 * Removes aged rows in small batches: at most 1,000 rows per statement, each statement shorter than
 * 5 s, one process at a time. Rows that another transaction has locked are left for the next sweep.
 */
export class Retention {
  readonly #options: RetentionOptions;
  readonly #clock: Clock;
  readonly #rules = new Map<string, RetentionRule>();
  readonly #everyMs: number;
  readonly #poller: Poller;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#everyMs = options.everyMs ?? SWEEP_EVERY;

    this.#poller = new Poller({
      what: "rows that have aged",
      poll: async (signal) => {
        await this.sweep({ signal });
        return "idle";
      },
      everyMs: this.#everyMs,
      clock: this.#clock,
      logger: options.logger,
    });

    for (const rule of options.rules ?? DEFAULT_RULES) this.add(rule);
  }

  /** A rule of the same name is replaced. */
  add(rule: RetentionRule): void {
    checkRule(rule);
    this.#rules.set(rule.name, rule);
  }

  /** Changes how long a rule keeps its rows. */
  keep(name: string, age: Duration): void {
    const rule = this.#rules.get(name);
    if (!rule) {
      throw new DureError("RETENTION_UNKNOWN", `There is no retention rule "${name}".`, {
        class: "input",
        hint: `Known rules: ${[...this.#rules.keys()].join(", ")}.`,
      });
    }

    this.#rules.set(name, { ...rule, keep: age });
  }

  /** The rules in force, for `dure doctor`. */
  get rules(): readonly RetentionRule[] {
    return [...this.#rules.values()];
  }

  start(): void {
    this.#poller.start({ inMs: this.#everyMs });
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /**
   * One sweep over all rules. Returns what was removed per rule; undefined when another process
   * sweeps. Throws `RETENTION_FAILED`, which names the rules that failed, after the others are
   * swept.
   */
  async sweep(
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<ReadonlyMap<string, number> | undefined> {
    const held = await this.#options.leases.hold(
      "retention",
      (_lease, { signal }) => this.#sweepAll(signal),
      options,
    );
    return held.ok ? held.value : undefined;
  }

  async #sweepAll(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
    const removed = new Map<string, number>();
    const failed: string[] = [];

    for (const rule of this.#rules.values()) {
      try {
        const rows = await this.#sweepRule(rule, signal);
        removed.set(rule.name, rows);
        if (rows > 0) {
          this.#options.logger.info(
            { rule: rule.name, rows },
            `retention removed ${rows} of ${rule.name}`,
          );
        }
      } catch (error) {
        signal.throwIfAborted();
        failed.push(`${rule.name} (${codeOf(error) ?? "error"}: ${messageOf(error)})`); // the other rules are swept all the same
      }
    }

    if (failed.length > 0) {
      throw new DureError("RETENTION_FAILED", `Retention could not sweep ${failed.join(", ")}.`, {
        class: "unavailable",
        hint: "The next sweep tries them again; the others are swept.",
      });
    }

    return removed;
  }

  async #sweepRule(rule: RetentionRule, signal: AbortSignal): Promise<number> {
    let total = 0;
    for (let bites = 0; bites < MAX_BITES; bites++) {
      signal.throwIfAborted();
      const removed = await this.#options.database.transaction(async (tx) => {
        await tx.query({ text: "set local statement_timeout = '4500ms'" });
        return sweepOnce(rule, tx);
      });
      total += removed;
      if (removed < biteOf(rule)) return total;
      await this.#clock.sleep(PAUSE, { signal });
    }

    return total;
  }
}

/** Rows of one table that age, or a sweep of its own. */
export type RetentionRule = TableRule | SweepRule;

interface RuleBase {
  readonly name: string;
  /** Rows older than this go. */
  readonly keep: Duration;
}

export interface TableRule extends RuleBase {
  /** With its schema: `dure.outbox`. */
  readonly table: string;
  /** A timestamptz column, indexed; null means that the row does not age. */
  readonly ageColumn: string;
  /** SQL that a row must satisfy besides, e.g. `state in ('sent', 'failed')`. */
  readonly where?: string;
}

export interface SweepRule extends RuleBase {
  /** Units per transaction, 1 to 1,000. Default 1,000. */
  readonly bite?: number;
  /** Removes at most `limit` units older than `keepMs`; returns how many. */
  sweep(tx: Transaction, options: { keepMs: number; limit: number }): Promise<number>;
}

export interface RetentionOptions {
  readonly database: Database;
  readonly leases: Leases;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Default: those of the durable core. Others add theirs. */
  readonly rules?: readonly RetentionRule[];
  /** Default 10 minutes. */
  readonly everyMs?: number;
}

/**
 * What the durable core itself keeps. Events are a log for people and
 * live as long as jobs.
 */
export const DEFAULT_RULES: readonly RetentionRule[] = [
  { name: "events", keep: "7d", sweep: sweepEvents },
  {
    name: "outbox",
    keep: "7d",
    table: "dure.outbox",
    ageColumn: "settled_at",
    where: "state in ('sent', 'failed')",
  },
  // Effects of forgotten sessions, after their escalations are closed. Other effects go with their
  // session.
  {
    name: "effects",
    keep: "7d",
    table: "dure.effects",
    ageColumn: "updated_at",
    where:
      "session_id is null and not exists (select from dure.escalations x where x.subject = 'effect/' || key and x.status = 'open')",
  },
  { name: "processes", keep: "7d", table: "dure.processes", ageColumn: "recovered_at" },
  {
    name: "leases",
    keep: "7d",
    table: "dure.leases",
    ageColumn: "renewed_at",
    where:
      "holder is null or not exists (select from dure.processes p where p.id = holder and p.ended_at is null)",
  },
];

/** Rows per statement. */
const BITE = 1_000;
/** Statements per rule and sweep: a million rows, then the other rules have their turn. */
const MAX_BITES = 1_000;
/** Between two statements, in milliseconds: the others go first. */
const PAUSE = 10;
const SWEEP_EVERY = 600_000;

function biteOf(rule: RetentionRule): number {
  return ("sweep" in rule ? rule.bite : undefined) ?? BITE;
}

async function sweepOnce(rule: RetentionRule, tx: Transaction): Promise<number> {
  const keepMs = durationMs(rule.keep);
  if ("sweep" in rule) return rule.sweep(tx, { keepMs, limit: biteOf(rule) });

  const { table, ageColumn, where = "true" } = rule;

  const [row] = await tx.query<{ removed: number }>(
    {
      text: `
        with aged as (
          select ctid from ${table}
           where ${ageColumn} < clock_timestamp() - $1::double precision * interval '1 millisecond'
             and (${where})
           order by ${ageColumn}
           limit $2::integer
           for update skip locked
        ), removed as (
          delete from ${table}
          where ctid = any(array(select ctid from aged))
          returning 1
        )
        select count(*) as removed from removed`,
    },
    [keepMs, BITE],
  );

  return row?.removed ?? 0;
}

async function sweepEvents(
  tx: Transaction,
  { keepMs, limit }: { keepMs: number; limit: number },
): Promise<number> {
  const [row] = await tx.query<{ removed: number }>(
    { name: "retention.events", text: "select dure.sweep_events($1, $2) as removed" },
    [keepMs, limit],
  );
  return row?.removed ?? 0;
}

const IDENTIFIER = /^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/;

function checkRule(rule: RetentionRule): void {
  durationMs(rule.keep);
  if ("sweep" in rule) return;

  for (const name of [rule.table, rule.ageColumn]) {
    if (!IDENTIFIER.test(name)) {
      throw new DureError(
        "RETENTION_INVALID",
        `"${name}" in retention rule ${rule.name} is not a plain name.`,
        { class: "input", hint: "Write table and column in lower case, without quotes." },
      );
    }
  }
}
