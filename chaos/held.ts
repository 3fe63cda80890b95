import { setTimeout as sleep } from "node:timers/promises";
import type { Cluster } from "./postgres.ts";

/** One piece of work in the hands of a process. */
export interface Held {
  readonly what: "turn" | "answer" | "job" | "run" | "effect";
  readonly id: string;
}

const KINDS: readonly Held["what"][] = ["turn", "answer", "job", "run", "effect"];

/** Until a process holds work of each kind, milliseconds. */
const PATIENCE_MS = 240_000;
/** Until other processes have finished it. */
const OVER_MS = 150_000;
const LOOK_MS = 20;

const HELD = `
  with me as (select id from dure.processes where pid = $1 and ended_at is null)
  select 'turn' as what, t.id from dure.turns t, me where t.status = 'running' and t.holder = me.id
  union all
  select 'answer', h.id from dure.handlings h, me where h.state = 'running' and h.holder = me.id
  union all
  select 'job', j.id from dure.jobs j, me where j.status = 'RUNNING' and j.holder = me.id
  union all
  select 'run', r.id from dure.plan_runs r, dure.leases l, me
  where l.name = 'run:' || r.id and l.holder = me.id and r.status = 'running' and r.phase = 'building'
  union all
  select 'effect', e.key from dure.effects e join dure.turns t on t.id = e.turn_id, me
  where e.status in ('intent', 'unknown') and t.status = 'running' and t.holder = me.id`;

const OPEN = `
  select t.id from dure.turns t where t.id = any($1) and t.status <> 'done'
  union all
  select h.id from dure.handlings h where h.id = any($1) and h.state <> 'done'
  union all
  select j.id from dure.jobs j where j.id = any($1) and j.status in ('PENDING', 'RUNNING')
  union all
  select r.id from dure.plan_runs r
  where r.id = any($1) and r.status not in ('success', 'partial', 'failed', 'cancelled')
  union all
  select e.key from dure.effects e where e.key = any($1) and e.status in ('intent', 'unknown')`;

/** Waits for a moment at which a process holds work of every kind, and gives that work. */
export async function heldBy(
  cluster: Cluster,
  pid: number,
  signal: AbortSignal,
): Promise<readonly Held[]> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const held = await cluster.ask<Held>(HELD, [pid]);
    const missing = KINDS.filter((kind) => !held.some(({ what }) => what === kind));
    if (missing.length === 0) return held;
    if (performance.now() > giveUpAt) {
      throw new Error(`the process ${pid} never held all at once; missing: ${missing.join(", ")}`);
    }
    await sleep(LOOK_MS, undefined, { signal });
  }
}

/** Waits until all of it is over. */
export async function untilOver(
  cluster: Cluster,
  held: readonly Held[],
  signal: AbortSignal,
): Promise<void> {
  const giveUpAt = performance.now() + OVER_MS;
  for (;;) {
    const open = await cluster.ask<{ id: string }>(OPEN, [held.map(({ id }) => id)]);
    if (open.length === 0) return;
    if (performance.now() > giveUpAt) {
      throw new Error(`not finished by the other: ${open.map(({ id }) => id).join(", ")}`);
    }
    await sleep(LOOK_MS * 5, undefined, { signal });
  }
}
