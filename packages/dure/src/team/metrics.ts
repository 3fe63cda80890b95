import { OPEN_JOB_STATUSES, type OpenJobStatus } from "../kernel/jobs.ts";
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { Alerts } from "../alerts/alerts.ts";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Engine } from "../engine/engine.ts";
import type { Jobs } from "../jobs/jobs.ts";
import { systemClock, type Clock } from "../kernel/clock.ts";
import type { Runs } from "../plans/runs/runs.ts";

export interface MetricsParts {
  readonly database: Database;
  readonly engine: Pick<Engine, "running">;
  readonly events: Pick<EventLog, "lag">;
  readonly lease: Pick<ProcessLease, "state" | "id">;
  readonly jobs: Pick<Jobs, "standing"> | undefined;
  readonly runs: Pick<Runs, "leading">;
  /** Absent: the team has no rooms. */
  readonly alerts?: Pick<Alerts, "counts"> | undefined;
  /**
   * How old a row must be so that none before it can still commit, milliseconds. Default 10 000: no
   * transaction of dure is open for 5 s.
   */
  readonly settledAfterMs?: number | undefined;
  readonly clock?: Clock;
}

/**
 * Prometheus text: this process, and what the database holds of all of them. What comes from the
 * database is there as a whole and of now, or not at all: then `dure_metrics_complete` is 0.
 */
export function teamMetrics(parts: MetricsParts): () => Promise<string> {
  const { database, events, jobs, lease, settledAfterMs = 10_000, clock = systemClock } = parts;
  const [own, shared] = [new Registry(), new Registry()];
  collectDefaultMetrics({ register: own });
  const here = metricsHere(own);
  const all = metricsOfAll(shared);
  const standing = jobs && metricsOfJobs(shared);
  const loop = new LoopStall(clock);
  const work = new WorkCount(database, lease.id, settledAfterMs);

  async function readShared(): Promise<void> {
    const [lag, counts, waiting] = await Promise.all([events.lag(), work.read(), jobs?.standing()]);
    all.lag.set(lag);
    all.open.set(counts.open);
    for (const key of SUMS) advance(all[key], counts[key]);
    for (const status of OPEN_JOB_STATUSES) standing?.[status].set(waiting![status]);
  }

  return async () => {
    const isComplete = await readShared().then(
      () => true,
      () => false,
    ); // `/readyz` says what is wrong

    here.stall.set(Math.round(loop.take()));
    here.running.set(parts.engine.running);
    advance(here.statements, database.statements);
    for (const [outcome, count] of Object.entries(parts.alerts?.counts ?? {})) {
      here.notifications.remove({ outcome });
      here.notifications.inc({ outcome }, count);
    }
    here.leading.set(parts.runs.leading);
    here.held.set(lease.state === "held" ? 1 : 0);
    here.complete.set(isComplete ? 1 : 0);

    return [await own.metrics(), ...(isComplete ? [await shared.metrics()] : [])].join("\n");
  };
}

type MetricsHere = Record<"running" | "held" | "leading" | "stall" | "complete", Gauge> & {
  readonly statements: Counter;
  readonly notifications: Counter<"outcome">;
};

function metricsHere(registry: Registry): MetricsHere {
  const gauge = gaugesIn(registry);
  return {
    running: gauge("dure_turns_running_here", "Turns that run in this process."),
    statements: new Counter({
      name: "dure_database_statements_total",
      help: "Statements that this process has sent.",
      registers: [registry],
    }),
    notifications: new Counter({
      name: "dure_notifications_total",
      help:
        "Notifications of this process: sent; over (read or answered before), late (a day old), " +
        "gone (the browser is), many (beyond what one person is told within an hour).",
      labelNames: ["outcome"],
      registers: [registry],
    }),
    held: gauge("dure_process_lease_held", "1 while this process may work."),
    leading: gauge("dure_plan_runs_led_here", "Runs of plans that this process leads."),
    stall: gauge(
      "dure_event_loop_stall_ms_max",
      "Longest time for which the main thread did nothing else, since the look before, in " +
        "milliseconds. With several readers of these metrics each sees its own part.",
    ),
    complete: gauge("dure_metrics_complete", "1 when the metrics of the database could be read."),
  };
}

type MetricsOfAll = Record<"lag" | "open", Gauge> & Record<keyof Sums, Counter>;

function metricsOfAll(registry: Registry): MetricsOfAll {
  const gauge = gaugesIn(registry);
  const sinceStart = (name: string, what: string): Counter => {
    const help =
      `${what}, in all processes, since this one has started: take the max over processes, ` +
      "not the sum.";
    return new Counter({ name, help, registers: [registry] });
  };

  return {
    lag: gauge(
      "dure_events_lag_milliseconds",
      "Age of the oldest event that readers may not see yet.",
    ),
    open: gauge("dure_turns_open", "Turns that run or wait, in all processes."),
    done: sinceStart("dure_turns_done_total", "Turns that have ended"),
    calls: sinceStart("dure_model_calls_total", "Model calls"),
    tokensIn: sinceStart("dure_model_tokens_in_total", "Input tokens of model calls"),
    tokensOut: sinceStart("dure_model_tokens_out_total", "Output tokens of model calls"),
    cost: sinceStart(
      "dure_model_cost_micro_usd_total",
      "Cost of model calls in millionths of a US dollar",
    ),
  };
}

function metricsOfJobs(registry: Registry): Record<OpenJobStatus, Gauge> {
  const gauge = gaugesIn(registry);
  return {
    PENDING: gauge("dure_jobs_pending", "Jobs that wait for their permit, in all processes."),
    RUNNING: gauge("dure_jobs_running", "Jobs that go on, in all processes."),
  };
}

function gaugesIn(registry: Registry): (name: string, help: string) => Gauge {
  return (name, help) => new Gauge({ name, help, registers: [registry] });
}

const SUMS = ["done", "calls", "tokensIn", "tokensOut", "cost"] as const;
type Sums = Record<(typeof SUMS)[number], number>;

function advance(counter: Counter, to: number): void {
  counter.reset();
  counter.inc(to);
}

interface CountRow {
  readonly open: number;
  /** What is older than any open transaction, so that nothing more comes before it. */
  readonly settled: Sums;
  readonly fresh: Sums;
  readonly turns_to: string;
  readonly calls_to: string;
  /** The newest call that there is now. */
  readonly newest: string;
}

/**
 * Counts turns and model calls from the start of this process on. Each look reads only what is
 * newer than the marks of the look before, by index: the tables keep months, and are not read whole
 * for every scrape.
 */
class WorkCount {
  readonly #database: Database;
  readonly #process: string;
  readonly #settledAfterMs: number;
  #settled: Sums = { done: 0, calls: 0, tokensIn: 0, tokensOut: 0, cost: 0 };
  #turnsTo: string | null = null;
  #callsTo = "0";
  /** Calls that there were, and when, milliseconds of the database's clock. */
  #seen: { readonly id: string; readonly at: number } = { id: "0", at: 0 };
  #reading: Promise<Sums & { open: number }> | undefined;

  constructor(database: Database, process: string, settledAfterMs: number) {
    this.#database = database;
    this.#process = process;
    this.#settledAfterMs = settledAfterMs;
  }

  /** Two looks at once are one. */
  read(): Promise<Sums & { open: number }> {
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<Sums & { open: number }> {
    const [row] = await this.#database.query<CountRow & { at: number }>(WORK, [
      this.#process,
      this.#turnsTo,
      this.#callsTo,
      this.#seen.id,
      this.#seen.at,
      this.#settledAfterMs,
    ]);

    const { open, settled, fresh, turns_to: turnsTo, calls_to: callsTo, newest, at } = row!;
    this.#settled = sumOf(this.#settled, settled);
    this.#turnsTo = turnsTo;
    if (callsTo === this.#seen.id) this.#seen = { id: newest, at };
    this.#callsTo = callsTo;

    return { open, ...sumOf(this.#settled, fresh) };
  }
}

function sumOf(one: Sums, other: Sums): Sums {
  return Object.fromEntries(SUMS.map((key) => [key, one[key] + other[key]])) as Sums;
}

const SUM = `json_build_object(
        'done', 0,
        'calls', count(*),
        'tokensIn', coalesce(sum(tokens_in), 0),
        'tokensOut', coalesce(sum(tokens_out), 0),
        'cost', coalesce(sum(cost_micro_usd), 0)
      )::jsonb`;

const WORK = {
  name: "metrics",
  text: `
    with marks as materialized (
      select p.started_at,
        greatest(coalesce($2::timestamptz, p.started_at), p.started_at) as turns_from,
        clock_timestamp() as now, $3::bigint as calls_from,
        clock_timestamp() - $6::float8 * interval '1 millisecond' as turns_to,
        case
          when extract(epoch from clock_timestamp()) * 1000 - $5::float8 >= $6::float8
            then greatest($4::bigint, $3::bigint)
          else $3::bigint
        end as calls_to
      from dure.processes p
      where p.id = $1
    )
    select extract(epoch from m.now)::float8 * 1000 as at,
      greatest(m.turns_to, m.turns_from)::text as turns_to, m.calls_to::text,
      (select coalesce(max(id), 0)::text from dure.model_calls) as newest,
      (
        select count(*) + coalesce(sum(cardinality(s.queue)), 0)
        from dure.turns t
        join dure.sessions s on s.id = t.session_id
        where t.status = 'running'
      )::float8 as open,
      (
        select ${SUM}
        from dure.model_calls
        where id > m.calls_from and id <= m.calls_to and at >= m.started_at
      ) || jsonb_build_object(
        'done',
        (
          select count(*)
          from dure.turns
          where status = 'done' and finished_at > m.turns_from and finished_at <= m.turns_to
        )
      ) as settled,
      (
        select ${SUM}
        from dure.model_calls
        where id > m.calls_to and at >= m.started_at
      ) || jsonb_build_object(
        'done',
        (
          select count(*)
          from dure.turns
          where status = 'done' and finished_at > greatest(m.turns_to, m.turns_from)
        )
      ) as fresh
    from marks m`,
};

// --- loop stall

/** The loop is looked at this often, milliseconds. */
const LOOK_MS = 20;

/**
 * Measures how long the main thread did nothing but one thing. `monitorEventLoopDelay` of Node
 * would do, but after a reset it forgets the first stall that follows, so a scrape would hide it.
 */
export class LoopStall {
  readonly #clock: Clock;
  #lookedAt: number;
  #longestMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAt = clock.monotonic();
    clock.every(LOOK_MS, () => this.#look());
  }

  /** The longest since it was taken the last time, milliseconds. */
  take(): number {
    const longest = this.#longestMs;
    this.#longestMs = 0;
    return longest;
  }

  #look(): void {
    const now = this.#clock.monotonic();
    this.#longestMs = Math.max(this.#longestMs, now - this.#lookedAt - LOOK_MS);
    this.#lookedAt = now;
  }
}
