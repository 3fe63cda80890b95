import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { Database } from "../durable/database.ts";
import type { EventLog } from "../durable/event-log.ts";
import type { ProcessLease } from "../durable/processes.ts";
import type { Engine } from "../engine/engine.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Plans } from "../plans/run/plans.ts";

interface Totals {
  readonly turns_done: string;
  readonly turns_open: string;
  readonly calls: string;
  readonly tokens_in: string;
  readonly tokens_out: string;
  readonly cost: string;
}

/** Prometheus text: this process, and what the database holds of turns and model calls. */
export function teamMetrics(parts: { database: Database; engine: Engine; events: EventLog; lease: ProcessLease; jobs: Jobs | undefined; plans: Plans }): () => Promise<string> {
  const { database, engine, events, lease, jobs, plans } = parts;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers: [registry] });
  const here = {
    running: gauge("dure_turns_running_here", "Turns that run in this process."),
    statements: gauge("dure_database_statements_total", "Statements that this process has sent."),
    held: gauge("dure_process_lease_held", "1 while this process may work."),
    leading: gauge("dure_plan_runs_led_here", "Runs of plans that this process leads."),
    lag: gauge("dure_events_lag_milliseconds", "Age of the oldest event that readers may not see yet."),
  };
  const all = {
    done: gauge("dure_turns_done", "Turns that have ended and are kept."),
    open: gauge("dure_turns_open", "Turns that run or wait."),
    calls: gauge("dure_model_calls", "Model calls that are kept."),
    tokensIn: gauge("dure_model_tokens_in", "Input tokens of the calls that are kept."),
    tokensOut: gauge("dure_model_tokens_out", "Output tokens of the calls that are kept."),
    cost: gauge("dure_model_cost_micro_usd", "Cost of the calls that are kept, millionths of a US dollar."),
  };
  const standing = jobs && {
    pending: gauge("dure_jobs_pending", "Jobs that wait for their permit, in all processes."),
    running: gauge("dure_jobs_running", "Jobs that go on, in all processes."),
  };
  return async () => {
    here.running.set(engine.running);
    here.statements.set(database.statements);
    here.leading.set(plans.leading);
    here.held.set(lease.state === "held" ? 1 : 0);
    try {
      here.lag.set(await events.lag());
      if (standing) {
        const { pending, running } = await jobs.standing();
        standing.pending.set(pending);
        standing.running.set(running);
      }
      const [totals] = await database.query<Totals>({ name: "metrics", text: TOTALS });
      if (totals) {
        all.done.set(Number(totals.turns_done));
        all.open.set(Number(totals.turns_open));
        all.calls.set(Number(totals.calls));
        all.tokensIn.set(Number(totals.tokens_in));
        all.tokensOut.set(Number(totals.tokens_out));
        all.cost.set(Number(totals.cost));
      }
    } catch {
      // Without the database the process still tells of itself; `/readyz` says what is wrong.
    }
    return registry.metrics();
  };
}

const TOTALS = `select
  (select count(*) from dure.turns where status = 'done') as turns_done,
  (select count(*) from dure.turns where status <> 'done') as turns_open,
  count(*) as calls, coalesce(sum(tokens_in), 0) as tokens_in, coalesce(sum(tokens_out), 0) as tokens_out, coalesce(sum(cost_micro_usd), 0) as cost
  from dure.model_calls`;
