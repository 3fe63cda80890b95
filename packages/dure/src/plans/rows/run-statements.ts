/** SQL of the rows of runs. */

/** What is written under a lease: a part of one statement, which reads `held`. See `putStatement`. */
export interface WritePart {
  /** Short: names of parts together are that of the statement. */
  readonly name: string;
  readonly text: string;
  /** Its rows are those of the statement; of one part at most. */
  readonly returns?: boolean;
}

/** Statements by the names of their parts. */
const PUT = new Map<string, { readonly name: string; readonly text: string }>();

/**
 * One statement that writes parts under a lease, all or none. `held` has one row as long as the
 * lease is its holder's, and keeps others from taking it over until the statement has committed; so
 * the statement gives no row once the lease is another's. Parameters 1 to 3 are the lease, behind
 * them come those of the parts in their order.
 */
export function putStatement(parts: readonly WritePart[]): {
  readonly name: string;
  readonly text: string;
} {
  const name = `plan.put:${parts.map((part) => part.name).join("+")}`;
  const known = PUT.get(name);
  if (known) return known;
  let before = 3;
  const texts = parts.map(({ text }, index) => {
    let most = 0;
    const numbered = text.replace(/\$(\d+)/g, (_, number: string) => {
      most = Math.max(most, Number(number));
      return `$${before + Number(number)}`;
    });
    before += most;
    return `w${index} as (${numbered})`;
  });
  const returned = parts.findIndex(({ returns }) => returns === true);
  // A query is only made where it is read; what changes rows is done anyway.
  const rows = parts.flatMap(({ text }, index) => {
    if (index === returned) return [`w${index}.*`];
    return text.startsWith("select") ? [`(select count(*) from w${index}) as n${index}`] : [];
  });
  const join = returned < 0 ? "" : ` left join w${returned} on true`;
  const statement = {
    name,
    text: `with held as materialized (
        select from dure.leases where name = $1 and holder = $2 and epoch = $3 for key share
      ), ${texts.join(", ")}
      select ${rows.length > 0 ? rows.join(", ") : "1 as done"} from held${join}`,
  };
  PUT.set(name, statement);

  return statement;
}

/** A part by itself, in a transaction that has looked at its lease. */
export function aloneStatement({ name, text }: WritePart): {
  readonly name: string;
  readonly text: string;
} {
  return { name: `plan.in:${name}`, text: `with held as (select) ${text}` };
}

export const CREATE = {
  name: "plan.create",
  text: `insert into dure.plan_runs (
      id, tenant, plan, definition, file, repository, folder, host, base_commit, started_by,
      start_key, body_hash, tokens_most, calls_most
    )
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    on conflict (tenant, start_key)
    where start_key is not null do nothing
    returning id`,
};
export const CREATE_PORTS = {
  name: "plan.create_ports",
  text: `insert into dure.plan_ports (
      run, position, id, tries_pair, tries_orchestrator, time_ms, tokens_most
    )
    select $1, p.position, p.id, p.tries_pair, p.tries_orchestrator, p.time_ms, p.tokens_most
    from jsonb_to_recordset($2) as p(
      position integer, id text, tries_pair integer, tries_orchestrator integer, time_ms bigint,
      tokens_most bigint
    )`,
};
export const CHANGE_PORTS = { name: "ports", text: "select dure.change_ports($1, $2) from held" };
export const EMIT = { name: "emit", text: "select dure.emit($1) from held" };
export const CHANGE_RUN = {
  name: "plan.change_run",
  text: `update dure.plan_runs set
      status = coalesce($2, status),
      phase = coalesce($3, phase),
      start_commit = coalesce($4, start_commit),
      isolation = coalesce($5, isolation),
      mode = coalesce($6::jsonb, mode),
      report = coalesce($7::jsonb, report),
      because = case when $8 then because else nullif($9::jsonb, 'null') end,
      tokens_most = coalesce($10, tokens_most),
      calls_most = coalesce($12, calls_most),
      promises = coalesce($11::jsonb, promises),
      updated_at = clock_timestamp(),
      finished_at = case
        when $2 is null then finished_at
        when $2 in ('success', 'partial', 'failed', 'cancelled') then clock_timestamp()
      end
    where id = $1`,
};
export const ADD_TOKENS = {
  name: "use",
  returns: true,
  text: `update dure.plan_runs set
      tokens_in = tokens_in + $2, tokens_out = tokens_out + $3, calls = calls + $4,
      tokens_cached = tokens_cached + $5,
      updated_at = clock_timestamp()
    from held
    where id = $1
    returning tokens_in, tokens_out, tokens_most, calls, calls_most`,
};
/** What a port may use, and what its run has used and may. */
export const ALLOWANCES = {
  name: "plan.allowances",
  text: `select p.time_ms, p.tokens_most, p.tries_pair, p.tries_orchestrator, p.hint, p.grants,
      p.weaker_tests_accepted,
      jsonb_build_object(
        'tokens_in', r.tokens_in, 'tokens_out', r.tokens_out, 'tokens_most', r.tokens_most,
        'calls', r.calls, 'calls_most', r.calls_most
      ) as run
    from dure.plan_ports p
    join dure.plan_runs r on r.id = p.run
    where p.run = $1 and p.id = $2`,
};
/** Of a run with a result: the first later one of its plan that succeeded with its ports. */
const SUPERSEDED_BY = `case when r.report ? 'commit' then (
      select n.id
      from dure.plan_runs n
      where n.tenant = r.tenant and n.seq > r.seq and n.plan = r.plan
        and n.repository = r.repository and n.status = 'success'
        and not exists (
          select from dure.plan_ports o
          where o.run = r.id
            and not exists (select from dure.plan_ports p where p.run = n.id and p.id = o.id)
        )
      order by n.seq
      limit 1
    ) end as superseded_by`;
export const RUN = {
  name: "plan.run",
  text: `select r.*, ${SUPERSEDED_BY} from dure.plan_runs r
    where r.id = $1`,
};
export const RUN_BY_KEY = {
  name: "plan.run_by_key",
  text: `select r.*, ${SUPERSEDED_BY} from dure.plan_runs r
    where r.tenant = $1 and r.start_key = $2`,
};
export const RUNS = {
  name: "plan.runs",
  text: `select r.*, (
      select jsonb_object_agg(status, n)
      from (
        select p.status, count(*) as n
        from dure.plan_ports p
        where p.run = r.id
        group by 1
      ) c
    ) as counts, ${SUPERSEDED_BY}
    from dure.plan_runs r
    where ($1::text is null or r.tenant = $1)
      and ($2::text is null or r.plan = $2)
      and ($3::text is null or r.status = $3)
      and ($4::bigint is null or r.seq < $4)
      and ($6::text is null or r.start_key = $6)
      and ($7::text is null or starts_with(r.start_key, $7))
    order by r.seq desc
    limit $5`,
};
export const PORTS = {
  name: "plan.ports",
  text: `
    select *
    from dure.plan_ports
    where run = $1
    order by position`,
};
export const PORT = {
  name: "plan.port",
  text: "select * from dure.plan_ports where run = $1 and id = $2",
};
export const PORTS_NAMED = {
  name: "plan.ports_named",
  text: `
    select *
    from dure.plan_ports
    where run = $1 and id = any($2)
    order by position`,
};

// --- steps

export const STEPS = {
  name: "plan.steps",
  text: `select * from dure.plan_steps
    where run = $1 and ($2::text is null or port = $2)
    order by id
    limit 2000`,
};
export const TRIES_MADE = {
  name: "plan.tries_made",
  text: `select port, max(try) as tries,
      bool_or(kind = 'module' and output->'broken' ? 'by') is true as is_broken,
      (array_agg(waiting order by id desc)
        filter (where status = 'running' and waiting is not null))[1] as waiting,
      (array_agg(output->>'red' order by id desc)
        filter (where kind = 'base' and status = 'done'))[1] = 'false' as is_unproven
    from dure.plan_steps
    where run = $1 and ($2::text[] is null or port = any($2))
      and kind in ('implement', 'test', 'base', 'module')
    group by port`,
};
/** Of the newest runs of the same plan: as long as its steps are alike. */
export const TYPICAL_MS = {
  name: "plan.typical_ms",
  text: `select percentile_cont(0.5) within group (order by took.ms) as ms
    from (
      select extract(epoch from s.finished_at - s.started_at) * 1000 as ms
      from dure.plan_runs now
      join dure.plan_runs r
        on r.tenant = now.tenant and r.seq between now.seq - 100 and now.seq
          and r.plan = now.plan
      join dure.plan_steps s on s.run = r.id
      where now.id = $1 and s.kind = $2 and s.worker = $3
        and s.status = 'done' and s.starts = 1
      order by s.id desc
      limit 50
    ) took`,
};
/** Of a member by a kind of worker: its last steps, and the conversation of its last answer. */
export const PAST = {
  name: "plan.past",
  text: `with own as materialized (
      select id, session, started_at, output
      from dure.plan_steps
      where run = $1 and port = $2 and member = $3 and worker = $4
        and ($5::integer is null or try < $5)
    ), talked as (
      select session, started_at
      from own
      where session is not null
      order by id desc
      limit 1
    ), answered as (
      select payload ->> 'session' as session, created_at
      from dure.plan_messages
      where run = $1 and port = $2 and sender = $3 and type = 'ack'
        and payload ->> 'worker' = $4 and payload ? 'session'
      order by id desc
      limit 1
    )
    select
      (select max(id) from own) as step,
      (select session from talked) as session,
      (select started_at from talked) as talked_at,
      (
        select output #>> '{result,summary}' from own
        where output is not null
        order by id desc
        limit 1
      ) as summary,
      (select session from answered) as answered,
      (select created_at from answered) as answered_at`,
};
export const PAIR_TRIES = {
  name: "plan.pair_tries",
  text: `select count(*)::integer as tries
    from dure.plan_steps
    where run = $1 and port = $2
      and kind = 'implement' and member = 'implementer' and status = 'done'`,
};
export const BEGIN_STEP = {
  name: "begin",
  returns: true,
  text: `insert into dure.plan_steps as s (
      run, port, try, kind, member, worker, manifest, hook_hash
    )
    select $1, $2, $3::integer, $4, $5, $6, $7::jsonb, $8::bytea
    from held
    on conflict (run, port, try, kind) do update set
      starts = s.starts + case when s.status = 'done' then 0 else 1 end,
      process = case when s.status = 'done' then s.process end,
      seen_at = case when s.status = 'done' then s.seen_at else clock_timestamp() end,
      -- Its process died while it waited; one that was stopped waits for nothing any more.
      waiting = case when s.status = 'running' then s.waiting end,
      status = case when s.status = 'done' then s.status else 'running' end,
      told = s.status = 'done' and s.told,
      member = case when s.status = 'done' then s.member else excluded.member end,
      worker = case when s.status = 'done' then s.worker else excluded.worker end,
      manifest = case
        when s.status = 'done' then s.manifest
        else coalesce(excluded.manifest, s.manifest)
      end,
      hook_hash = case when s.status = 'done' then null else excluded.hook_hash end
    returning s.*`,
};
/** Behind `BEGIN_STEP`: tells of the worker that is begun, with how often it was. */
export const EMIT_BEGUN = {
  name: "begun",
  text: `select dure.emit(jsonb_set($1::jsonb, '{0,data,starts}', to_jsonb(w0.starts)))
    from w0
    where w0.status = 'running'`,
};
export const STEP_PROCESS = {
  name: "process",
  text: `update dure.plan_steps set process = $2
    from held
    where id = $1`,
};
export const STEP_SESSION = {
  name: "session",
  text: `update dure.plan_steps set session = $2
    from held
    where id = $1`,
};
/** What a step waits for; null: it goes on. */
export const STEP_WAITING = {
  name: "waiting",
  text: `update dure.plan_steps set
      waiting = nullif($2::jsonb, 'null'), seen_at = clock_timestamp()
    from held
    where id = $1 and status = 'running'`,
};
export const STEP_SIGN = {
  name: "sign",
  text: `update dure.plan_steps set
      progress = greatest(progress, $2), task = $3, tokens_in = $4, log = $5,
      tokens_cached = $6, tokens_out = $7,
      seen_at = clock_timestamp()
    from held
    where id = $1 and status = 'running'`,
};
export const END_STEP = {
  name: "end",
  text: `update dure.plan_steps set
      status = 'done', output = $2, progress = 1, process = null, hook_hash = null,
      waiting = null,
      tokens_in = coalesce($3, tokens_in),
      tokens_out = coalesce($4, tokens_out),
      log = coalesce($5, log),
      tokens_cached = coalesce($6, tokens_cached),
      seen_at = clock_timestamp(), finished_at = clock_timestamp()
    from held
    where id = $1`,
};
export const STOP_STEPS = {
  name: "plan.stop_steps",
  text: `update dure.plan_steps set
      told = true, process = null, waiting = null,
      finished_at = case when status = 'running' then clock_timestamp() else finished_at end,
      status = case when status = 'running' then 'stopped' else status end
    where run = $1 and port = any($2) and (status = 'running' or not told)`,
};
export const FORGET_FAILED = {
  name: "plan.forget_failed",
  text: `update dure.plan_steps set status = 'stopped'
    where run = $1 and port = $2 and kind = 'integrate' and status = 'done'
      and output #>> '{feedback,success}' = 'false'`,
};
export const STRAYS = {
  name: "plan.strays",
  text: `select id as step, process from dure.plan_steps
    where run = $1 and status = 'running' and process is not null`,
};
export const MANIFEST = {
  name: "plan.manifest",
  text: `
    select manifest
    from dure.plan_steps
    where run = $1 and id = $2`,
};

// --- escalations

export const SETTLE = {
  name: "settle",
  text: `select c.id
    from held
    cross join dure.escalations e
    cross join lateral
      dure.close_escalation(e.id, 'resolved', '{"value": "settled"}', 'system') c
    where e.run = $1 and e.status = 'open'
      and ($2::text[] is null or coalesce(e.port, '') = any($2))
      and ($3::text[] is null or e.type = any($3))
      and e.type <> all($4::text[])`,
};
export const SETTLE_SHORT = {
  name: "plan.settle_short",
  text: `with kept as (
      select distinct on (coalesce(e.port, '')) e.id
      from dure.escalations e
      left join dure.plan_ports p on p.run = e.run and p.id = e.port
      where e.run = $1 and e.status = 'open'
        and case
          when e.port is null then e.context->>'trigger' = any($3)
          else p.status = 'failed' and e.context->>'trigger' = any($2)
        end
      order by coalesce(e.port, ''), e.created_at desc, e.id desc
    )
    select c.id
    from dure.escalations e
    cross join lateral
      dure.close_escalation(e.id, 'resolved', '{"value": "settled"}', 'system') c
    where e.run = $1 and e.status = 'open' and e.id not in (select id from kept)
      and not (
        e.type = 'ownership' and exists (
          select from dure.plan_ports p
          where p.run = e.run and p.id = e.port and p.status = 'failed'
        )
      )`,
};
export const SETTLE_EARLIER = {
  name: "plan.settle_earlier",
  text: `select c.id
    from dure.plan_runs r
    join dure.plan_runs o on o.tenant = r.tenant and o.plan = r.plan
      and o.repository = r.repository and o.seq < r.seq and o.finished_at is not null
    join dure.escalations e on e.run = o.id and e.status = 'open'
    cross join lateral
      dure.close_escalation(e.id, 'resolved', '{"value": "settled"}', 'system') c
    where r.id = $1
      and (
        e.port is null
        or exists (select from dure.plan_ports p where p.run = r.id and p.id = e.port)
      )`,
};

// --- orders

export const ORDER = {
  name: "plan.order",
  text: `
    insert into dure.plan_orders (run, wish, by_whom)
    values ($1, $2, $3)
    returning id`,
};
export const OPEN_ORDERS = {
  name: "plan.open_orders",
  text: `select id, wish, by_whom from dure.plan_orders
    where run = $1 and outcome is null
    order by id
    limit 100`,
};
export const CLOSE_ORDER = {
  name: "plan.close_order",
  text: `
    update dure.plan_orders
    set outcome = $2, done_at = clock_timestamp()
    where id = $1`,
};
export const ORDER_OUTCOME = {
  name: "plan.order_outcome",
  text: "select outcome from dure.plan_orders where id = $1",
};

// --- violations

export const VIOLATION = {
  name: "violations",
  text: `insert into dure.plan_violations (
      run, port, try, member, path, wanted, because, detail, found
    )
    select $1, v.port, v.try, v.member, v.path, v.wanted, v.because, v.detail, v.found
    from held
    cross join jsonb_to_recordset($2) as v(
      port text, try integer, member text, path text, wanted text, because text, detail text,
      found text
    )`,
};
export const VIOLATIONS = {
  name: "plan.violations",
  text: `select port, try, member, path, wanted, because, detail, found, at
    from dure.plan_violations
    where run = $1 and ($2::text is null or port = $2)
    order by id
    limit 500`,
};

// --- cleaning

export const BEGIN_CLEAN = {
  name: "plan.begin_clean",
  text: `update dure.plan_runs r set
      clean_began_at = coalesce(clean_began_at, clock_timestamp()), updated_at = clock_timestamp()
    where id = $1
      and (clean_began_at is not null
        or not exists (select 1 from dure.plan_orders o where o.run = r.id and o.outcome is null))
    returning id`,
};
export const CLEANED = {
  name: "plan.cleaned",
  text: `update dure.plan_runs set
      cleaned_at = clock_timestamp(), updated_at = clock_timestamp()
    where id = $1`,
};
