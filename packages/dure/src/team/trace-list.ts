import type { Database } from "../durable/database.ts";
import { pageOf, readCursor, type RowPage } from "../durable/page.ts";
import { ulid } from "../kernel/ids.ts";
import { TRACE_STATES, type TraceKind } from "../kernel/traces.ts";
import type { ListedTrace, TraceFilter } from "../server/trace-walk.ts";

/** Things of each kind that one page looks through, newest first. */
const MOST_LOOKED = 2_000;
/** The same where nothing is left out but parts of other things. */
const UNFILTERED = 200;

interface ListRow extends Omit<ListedTrace, "at" | "endedAt" | "microUsd"> {
  readonly key: string;
  readonly at: Date;
  readonly ended_at: Date | null;
  readonly micro_usd: number | null;
  /** The oldest that was looked at, where more is behind it; null: that was all. */
  readonly looked_to: string | null;
}

/**
 * What people and clocks have set off, the newest first. A page that found too little goes on
 * behind what it has looked through, so that no statement reads more than a bounded part.
 */
export async function listTraces(
  database: Database,
  filter: TraceFilter,
): Promise<RowPage<ListedTrace>> {
  const { limit, cursor, kind, state, tenant, search, ...by } = filter;
  const [after] = readCursor(cursor, /^([0-9A-Z]{26})$/) ?? [];
  const until = by.until === undefined ? undefined : timeKey(by.until);
  const filters = [
    kind,
    tenant,
    state && TRACE_STATES[state],
    by.agent,
    by.service,
    by.model,
    by.error,
    by.minMicroUsd,
    search?.toLowerCase(),
  ].map((one) => one ?? null);
  const isPlain = filters.slice(1).every((one) => one === null);
  const rows = await database.query<ListRow>(LIST, [
    [after, until].filter((one) => one !== undefined).toSorted()[0] ?? LAST,
    by.since === undefined ? "" : timeKey(by.since),
    ...filters,
    isPlain ? UNFILTERED : MOST_LOOKED,
    limit + 1,
  ]);
  const found = rows.filter(({ id }) => id !== null);
  const page = pageOf(found, limit, ({ key }) => [key]);
  const lookedTo = rows[0]?.looked_to ?? null;
  const goesOn = lookedTo === null ? null : Buffer.from(lookedTo).toString("base64url");

  return { items: page.items.map(listed), nextCursor: page.nextCursor ?? goesOn };
}

function listed({ key: _key, looked_to: _to, at, ended_at: ended, ...row }: ListRow): ListedTrace {
  const { micro_usd: microUsd, ...rest } = row;
  return { ...rest, at: at.getTime(), endedAt: ended?.getTime() ?? null, microUsd };
}

const LAST = "Z".repeat(26);

/** The part of an id that tells its time; the least one of that moment. */
function timeKey(at: number): string {
  return `${ulid(at).slice(0, 10)}${"0".repeat(16)}`;
}

/** Ids of one kind in a part of time, newest first; they begin with their time. */
function newest(kind: TraceKind, table: string, only = "true"): string {
  return `
    (select x.id, right(x.id, 26) as key, '${kind}' as kind
     from ${table} x
     where x.id < '${kind}_' || $1 and x.id >= '${kind}_' || $2
       and ($3::text is null or $3 = '${kind}') and ${only}
     order by x.id desc
     limit $12)`;
}

/** Cost of calls is looked for by their time, which has an index, a while around the turns'. */
const LIST = {
  name: "trace.list",
  text: `
    with looked as materialized (
      select ids.*, count(*) over (partition by ids.kind) as of_kind,
             min(ids.key) over (partition by ids.kind) as oldest
      from (
        ${newest("turn", "dure.turns")}
        union all
        ${newest("job", "dure.jobs")}
        union all
        ${newest("run", "dure.plan_runs")}
      ) ids
    ),
    -- Behind the newest of these nothing was looked for in one kind: another page begins there.
    border as (
      select max(l.oldest) as key
      from looked l
      where l.of_kind = $12
    ),
    within as materialized (
      select l.id, l.key, l.kind
      from looked l, border b
      where b.key is null or l.key >= b.key
    ),
    turns as (
      select w.key, t.id, w.kind, s.tenant, t.service as who, t.session_id as session,
             null::text as job, t.accepted_at as at, t.finished_at as ended_at,
             case when jsonb_typeof(t.done->'error') = 'object' then 'failed' else t.status end
               as status,
             t.done->'error'->>'code' as error,
             coalesce((
               select left(m.text, 200)
               from dure.messages m
               where m.turn_id = t.id order by m.ordinal limit 1
             ), '') as title,
             array(
               select a->>'agent'
               from jsonb_array_elements(coalesce(t.done->'trace'->'agents', '[]')) a
             ) || t.service as agents,
             coalesce(t.done->>'message', '') as said
      from within w
      join dure.turns t on t.id = w.id
      join dure.sessions s on s.id = t.session_id
      where w.kind = 'turn' and t.session_id not like 'job:%'
        and t.session_id not like 'escalation:%'
    ),
    calls as (
      select c.turn_id, sum(c.tokens_in + c.tokens_out)::bigint as tokens,
             sum(c.cost_micro_usd)::bigint as micro_usd,
             array_agg(distinct c.provider || ':' || c.model) as models
      from dure.model_calls c
      where c.at >= (select min(t.at) - interval '1 hour' from turns t)
        and c.at <= (select max(coalesce(t.ended_at, now())) + interval '1 hour' from turns t)
        and c.turn_id = any(array(select t.id from turns t))
      group by c.turn_id
    ),
    things as (
      select t.key, t.id, t.kind, t.tenant, t.who, t.session, t.job, t.at, t.ended_at, t.status,
             t.error, t.title, t.agents, t.said, c.tokens, c.micro_usd,
             coalesce(c.models, '{}') as models
      from turns t
      left join calls c on c.turn_id = t.id
      union all
      select w.key, j.id, w.kind, j.tenant, j.requester || ' → ' || j.target, j.origin_session,
             j.id, j.created_at, j.finished_at, j.status, j.last_error->>'code',
             left(coalesce(nullif(j.topic, ''), j.message), 200), array[j.requester, j.target],
             j.message || coalesce(j.answer->>'text', ''), spent.tokens, spent.micro_usd, '{}'
      from within w
      join dure.jobs j on j.id = w.id
      cross join lateral (
        select sum(t.tokens_in + t.tokens_out)::bigint as tokens,
               sum(t.cost_micro_usd)::bigint as micro_usd
        from dure.job_turns t
        where t.job_id = j.id
      ) spent
      where w.kind = 'job'
      union all
      select w.key, r.id, w.kind, r.tenant, r.started_by, null, null, r.created_at,
             r.finished_at, r.status, null, r.plan, '{}', '', r.tokens_in + r.tokens_out, null,
             '{}'
      from within w
      join dure.plan_runs r on r.id = w.id
      where w.kind = 'run'
    ),
    found as (
      select x.*
      from things x
      where ($4::text is null or x.tenant = $4)
        and ($5::text[] is null or x.status = any($5))
        and ($6::text is null or $6 = any(x.agents))
        and ($7::text is null or x.who = $7)
        and ($8::text is null or $8 = any(x.models))
        and ($9::text is null or x.error = $9)
        and ($10::bigint is null or x.micro_usd >= $10)
        and ($11::text is null or strpos(lower(x.title || ' ' || x.said), $11) > 0)
      order by x.key desc
      limit $13
    )
    select b.key as looked_to, f.key, f.id, f.kind, f.tenant, f.who, f.session, f.job, f.at,
           f.ended_at, f.status, f.error, f.title, f.tokens, f.micro_usd, f.models
    from border b
    left join found f on true
    order by f.key desc`,
};
