import type { TraceKind } from "../kernel/traces.ts";

interface TracedStatement {
  readonly name: string;
  readonly text: string;
}

/** Characters of a title. */
const TITLE = 200;
/** Characters of a text. */
const TEXT = 60_000;

/** Things of one kind, by their ids. */
export const THINGS = {
  turn: {
    name: "trace.turns",
    text: `
      select t.id, s.tenant, t.service as who, t.session_id as session,
             null as place, null as job, null::bigint as tokens,
             case when jsonb_typeof(t.done->'error') = 'object' then 'failed' else t.status end
               as status,
             t.accepted_at as at, t.finished_at as ended_at, t.done->'trace'->'agents' as agents,
             coalesce((
               select left(m.text, ${TITLE})
               from dure.messages m
               where m.turn_id = t.id order by m.ordinal limit 1
             ), '') as title
      from dure.turns t
      join dure.sessions s on s.id = t.session_id
      where t.id = any($1)`,
  },
  job: {
    name: "trace.jobs",
    text: `
      select j.id, j.tenant, j.requester || ' → ' || j.target as who, j.origin_session as session,
             null as place, j.id as job, j.status, j.created_at as at, j.finished_at as ended_at,
             null::jsonb as agents,
             left(coalesce(nullif(j.topic, ''), j.message), ${TITLE}) as title,
             (select coalesce(sum(t.tokens_in + t.tokens_out), 0)::bigint
              from dure.job_turns t
              where t.job_id = j.id) as tokens
      from dure.jobs j
      where j.id = any($1)`,
  },
  run: {
    name: "trace.runs",
    text: `
      select r.id, r.tenant, r.started_by as who, null as session, null as place, null as job,
             r.status, r.created_at as at, r.finished_at as ended_at, null::jsonb as agents,
             r.plan as title, r.tokens_in + r.tokens_out as tokens
      from dure.plan_runs r
      where r.id = any($1)`,
  },
  port: {
    name: "trace.ports",
    text: `
      select p.run || '/' || p.id as id, r.tenant, '' as who, null as session, null as place,
             null as job, p.status, p.started_at as at, p.finished_at as ended_at,
             null::jsonb as agents,
             coalesce(r.definition->'ports'->p.position->>'title', p.id) as title,
             p.tokens_in + p.tokens_out as tokens
      from unnest($1::text[]) as asked (id)
      join dure.plan_ports p on p.run = split_part(asked.id, '/', 1)
        and p.id = substring(asked.id from position('/' in asked.id) + 1)
      join dure.plan_runs r on r.id = p.run
      where p.started_at is not null`,
  },
  message: {
    name: "trace.messages",
    text: `
      select m.id, p.tenant, m.author_name as who, null as session, m.place, null as job,
             m.delivery as status, m.at, m.at as ended_at, null::jsonb as agents,
             left(m.text, ${TITLE}) as title, null::bigint as tokens
      from dure.room_messages m
      join dure.places p on p.id = m.place
      where m.id = any($1)`,
  },
  request: {
    name: "trace.requests",
    text: `
      select r.id, p.tenant, r.from_agent || ' → ' || r.to_agent as who, null as session,
             r.thread as place, null as job, r.state as status, r.created_at as at,
             r.closed_at as ended_at, null::jsonb as agents, left(r.topic, ${TITLE}) as title,
             null::bigint as tokens
      from dure.requests r
      join dure.places p on p.id = r.thread
      where r.id = any($1)`,
  },
  escalation: {
    name: "trace.escalations",
    text: `
      select e.id, e.tenant, e.type as who, e.session_id as session, e.room as place, e.job,
             e.status, e.created_at as at, e.resolved_at as ended_at, null::jsonb as agents,
             left(e.title, ${TITLE}) as title, null::bigint as tokens
      from dure.escalations e
      where e.id = any($1)`,
  },
} as const satisfies Record<TraceKind, TracedStatement>;

/** What began a thing. */
export const CAUSES = {
  turn: {
    name: "trace.cause-of-turn",
    text: `
      select coalesce(
        (select coalesce(h.request, h.message)
         from dure.handlings h
         where h.turn = $1),
        (select n.job_id
         from dure.job_notes n
         join dure.turns t on t.session_id = n.session_id
         where t.id = $1 and n.turn_id = $1
         limit 1),
        (select split_part(i.key, ':', 2)
         from dure.idempotency i
         join dure.turns t on t.id = $1 and t.author = 'system'
         where i.caller = 'jobs' and i.path = 'announce' and i.turn_id = $1
         limit 1)
      ) as cause`,
  },
  job: {
    name: "trace.cause-of-job",
    text: `
      select case
        when exists (
          select
          from dure.turns t
          where t.id = j.origin_turn
        ) then j.origin_turn
        else coalesce(j.parent_id, j.retry_of) end as cause
      from dure.jobs j
      where j.id = $1`,
  },
  message: {
    name: "trace.cause-of-message",
    text: `
      select coalesce(m.turn, m.request, m.during) as cause
      from dure.room_messages m
      where m.id = $1`,
  },
  request: {
    name: "trace.cause-of-request",
    text: `
      select coalesce(r.origin->>'turn', r.origin->>'job') as cause
      from dure.requests r
      where r.id = $1`,
  },
  escalation: {
    name: "trace.cause-of-escalation",
    text: `
      select coalesce(e.turn_id, e.job, e.run) as cause
      from dure.escalations e
      where e.id = $1`,
  },
} as const satisfies Record<Exclude<TraceKind, "port" | "run">, TracedStatement>;

/** `$1` turns, `$2` jobs, `$3` runs, `$4` messages, `$5` requests, `$6` escalations. */
export const EFFECTS: TracedStatement = {
  name: "trace.effects",
  text: `
    select began."from", began.id
    from (
      select j.origin_turn as "from", j.id
      from dure.jobs j
      where j.origin_turn = any($1)
      union all
      select r.origin->>'turn', r.id
      from dure.requests r
      where r.origin->>'turn' = any($1)
      union all
      select m.during, m.id
      from dure.room_messages m
      where m.during = any($1) and m.request is null
      union all
      select m.turn, m.id
      from dure.room_messages m
      where m.turn = any($1)
      union all
      select e.turn_id, e.id
      from dure.escalations e
      where e.turn_id = any($1)
      union all
      select t.job_id, t.turn_id
      from dure.job_turns t
      where t.job_id = any($2) and t.turn_id is not null
      union all
      select j.id, tried.turn
      from dure.jobs j, unnest(j.attempt_turns || j.current_turn)
        as tried (turn)
      where j.id = any($2) and tried.turn is not null
      union all
      select c.parent_id, c.id
      from dure.jobs c
      where c.parent_id = any($2)
        and not exists (select from dure.turns t where t.id = c.origin_turn)
      union all
      select n.job_id, n.turn_id
      from dure.job_notes n
      where n.job_id = any($2) and n.turn_id is not null
      union all
      select asked.job, i.turn_id
      from unnest($2::text[]) as asked (job)
      join dure.idempotency i on i.caller = 'jobs' and i.path = 'announce'
        and starts_with(i.key, 'job:' || asked.job || ':announce')
      union all
      select e.job, e.id
      from dure.escalations e
      where e.job = any($2) and e.turn_id is null
      union all
      select p.run, p.run || '/' || p.id
      from dure.plan_ports p
      where p.run = any($3) and p.started_at is not null
      union all
      select e.run, e.id
      from dure.escalations e
      where e.run = any($3) and e.turn_id is null
      union all
      select h.message, h.turn
      from dure.handlings h
      where h.message = any($4) and h.request is null and h.turn is not null
      union all
      select h.request, h.turn
      from dure.handlings h
      where h.request = any($5) and h.turn is not null
      union all
      select substring(t.session_id
      from '^escalation:(.+)$'), t.id from dure.turns t
      where t.session_id = any(
        array(select 'escalation:' || asked.id from unnest($6::text[]) as asked (id))
      )
    ) began
    group by began."from", began.id
    order by right(split_part(began.id, '/', 1), 26), began.id
    limit $7`,
};

/** What went into a thing, and what came out. What is longer is cut. */
export const TEXTS = {
  turn: {
    name: "trace.texts-of-turn",
    text: `
      select to_jsonb((
               select left(string_agg(m.text, E'\\n' order by m.ordinal), ${TEXT})
               from dure.messages m
               where m.turn_id = t.id
             )) as input,
             to_jsonb(left(t.done->>'message', ${TEXT})) as output
      from dure.turns t
      where t.id = $1`,
  },
  job: {
    name: "trace.texts-of-job",
    text: `
      select to_jsonb(left(j.message, ${TEXT})) as input,
             to_jsonb(left(j.answer->>'text', ${TEXT})) as output
      from dure.jobs j
      where j.id = $1`,
  },
  message: {
    name: "trace.texts-of-message",
    text: `
      select to_jsonb(left(m.text, ${TEXT})) as input, null::jsonb as output
      from dure.room_messages m
      where m.id = $1`,
  },
  request: {
    name: "trace.texts-of-request",
    text: `
      select to_jsonb(left(r.topic, ${TEXT})) as input, null::jsonb as output
      from dure.requests r
      where r.id = $1`,
  },
  escalation: {
    name: "trace.texts-of-escalation",
    text: `
      select to_jsonb(
               left(concat_ws(E'\\n', e.title, nullif(e.description, '')), ${TEXT})
             ) as input,
             e.resolution as output
      from dure.escalations e
      where e.id = $1`,
  },
} as const satisfies Partial<Record<TraceKind, TracedStatement>>;
