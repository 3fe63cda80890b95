import type { ScheduleFiring } from "../wire/schedules.ts";

/** Schedules and their moments as rows, and the statements on them. Times are milliseconds. */

export interface ScheduleRow {
  readonly name: string;
  readonly definition: string;
  readonly since: number;
  readonly paused_by: string | null;
  readonly paused_at: number | null;
}

export interface FiringRow {
  readonly key: string;
  readonly schedule: string;
  readonly due: number;
  readonly by_whom: string | null;
  readonly status: ScheduleFiring["status"];
  readonly begun: Readonly<Record<string, string | undefined>> | null;
  readonly error: string | null;
}

/** Pure. */
export function firingOf({
  key,
  due,
  by_whom: by,
  status,
  begun,
  error,
}: FiringRow): ScheduleFiring {
  return {
    key,
    due: Math.round(due),
    by,
    status,
    messageId: begun?.["message_id"] ?? null,
    jobId: begun?.["job_id"] ?? null,
    runId: begun?.["run_id"] ?? null,
    error,
  };
}

const SCHEDULE = `
  name, definition, paused_by,
  extract(epoch from since)::float8 * 1000 as since,
  extract(epoch from paused_at)::float8 * 1000 as paused_at`;

const FIRING = `
  key, schedule, by_whom, status, begun, error,
  extract(epoch from due)::float8 * 1000 as due`;

/** A rule that is new, or was changed, counts from now on. */
export const ENROL = {
  name: "schedule.enrol",
  text: `
    insert into dure.schedules as s (name, tenant, rule, definition, since)
    select name, tenant, rule, definition, to_timestamp($2::float8 / 1000)
      from jsonb_to_recordset($1)
        as given (name text, tenant text, rule text, definition text)
     order by name
    on conflict (name) do update
       set tenant = excluded.tenant, rule = excluded.rule, definition = excluded.definition,
         since = case
           when s.rule = excluded.rule and s.gone_at is null then s.since
           else excluded.since end,
         gone_at = null`,
};

export const LEAVE_OUT = {
  name: "schedule.leave-out",
  text: `
    update dure.schedules
    set gone_at = clock_timestamp()
    where gone_at is null and name <> all($1::text[])`,
};

export const READ = {
  name: "schedule.read",
  text: `
    select ${SCHEDULE}
    from dure.schedules
    where gone_at is null and name = any($1::text[])`,
};

/** Undefined while it is paused, or where a later start knows it otherwise. */
export const LOCK = {
  name: "schedule.lock",
  text: `
    select ${SCHEDULE}
    from dure.schedules
    where name = $1 and definition = $2 and gone_at is null and paused_at is null
    for update`,
};

/** A moment that was noted as missed is taken where its time comes after all. */
export const TAKE = {
  name: "schedule.take",
  text: `
    insert into dure.schedule_firings as f (key, schedule, tenant, due, by_whom, status)
    values ($1, $2, $3, to_timestamp($4::float8 / 1000), $5, 'taken')
    on conflict (key) do update
       set status = 'taken', ended_at = null
     where f.status = 'missed'
    returning key`,
};

export const MISS = {
  name: "schedule.miss",
  text: `
    insert into dure.schedule_firings (key, schedule, tenant, due, status, ended_at)
    values ($1, $2, $3, to_timestamp($4::float8 / 1000), 'missed', clock_timestamp())
    on conflict (key) do nothing`,
};

export const ADVANCE = {
  name: "schedule.advance",
  text: `
    update dure.schedules
    set since = to_timestamp($2::float8 / 1000)
    where name = $1`,
};

export const END = {
  name: "schedule.end",
  text: `
    update dure.schedule_firings
    set status = $2, begun = $3, error = $4, ended_at = clock_timestamp()
    where key = $1`,
};

/** The last moments of each. */
export const LAST = {
  name: "schedule.last",
  text: `
    select f.*
    from unnest($1::text[]) as given (name)
    cross join lateral (
      select ${FIRING}
      from dure.schedule_firings
      where schedule = given.name
      order by schedule_firings.due desc, key desc
      limit $2::integer
    ) as f`,
};

export const FOUND = {
  name: "schedule.found",
  text: `select ${FIRING} from dure.schedule_firings where key = $1`,
};

/** The first pause counts. */
export const PAUSE = {
  name: "schedule.pause",
  text: `
    update dure.schedules
    set paused_at = coalesce(paused_at, clock_timestamp()), paused_by = coalesce(paused_by, $2)
    where name = $1 and gone_at is null`,
};

/** Moments of the pause are passed over. */
export const RESUME = {
  name: "schedule.resume",
  text: `
    update dure.schedules
    set paused_at = null, paused_by = null, since = to_timestamp($2::float8 / 1000)
    where name = $1 and gone_at is null and paused_at is not null`,
};
