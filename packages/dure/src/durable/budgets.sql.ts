/**
 * What model calls may spend. A reservation belongs to a turn and a place in it; it is written
 * before the call and settled by the statement that stores the call's usage (`dure.put_journal` is a
 * part of them all).
 *
 * Limits of a turn or session are checked against its own rows, which no other process writes. Limits
 * that all share (pools: team, agent, day) are lent to processes in blocks, and a reservation is
 * charged to its process's block, in memory. So a pool's row is locked once per block, never once per
 * turn. For each pool
 *
 *   used + lent <= limit whenever something is lent;  lent = sum over blocks of (granted - folded).
 *
 * Folding brings settled reservations from their rows into the sums. A dead process's open
 * reservations get the process '': they count as used in full until their turn, which another process
 * goes on with, settles them. Locks are taken in the order turn, reservation, block, pool; blocks and
 * pools by key.
 */
export const sql = /* sql */ `
-- Writes the journal and reserves for the call that follows. What is
-- reserved at this place already is found again, whatever the limits say
-- now.
create or replace function dure.reserve_budget(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  t dure.turns := dure.lock_turn(p->>'turn', (p->>'epoch')::integer);
  v_pools text[] := array(select jsonb_array_elements_text(p->'pools'));
  v_process text;
  l record;
begin
  if t.id is null then
    return jsonb_build_object('outcome', 'fenced');
  end if;
  if p->'rows' <> '[]' or p->'calls' <> '[]' then
    perform dure.put_journal(
      t.id, t.session_id, t.service, p->'rows', p->'calls'
    );
  end if;
  select process into v_process
  from dure.budget_reservations
  where turn_id = t.id and place = p->>'place';
  if found then
    return jsonb_build_object('outcome', 'found', 'process', v_process);
  end if;
  if t.stop is not null then
    return jsonb_build_object('outcome', 'stop');
  end if;
  -- A process whose blocks were taken back spends nothing from them.
  if cardinality(v_pools) > 0
    and (
      select count(*)
      from dure.budget_blocks
      where process = p->>'process' and pool = any(v_pools)
    ) < cardinality(v_pools)
  then
    return jsonb_build_object('outcome', 'blocks_gone');
  end if;
  -- The first bound that has no room. What a turn has settled is in its
  -- session's sums already.
  with spent as materialized (
    select agent, true as of_turn, settled_at is null as of_session,
      coalesce(used_tokens, tokens) as tokens,
      coalesce(used_micro_usd, micro_usd) as micro_usd
    from dure.budget_reservations
    where turn_id = t.id
    union all select agent, false, true, tokens, micro_usd
    from dure.budget_sessions
    where session_id = t.session_id
  ),
  bounds as (
    select b.*,
      coalesce(
        (
          select sum(
            case b.unit when 'tokens' then tokens else micro_usd end
          )
          from spent
          where (b.agent is null or spent.agent = b.agent)
            and case b.scope when 'turn' then of_turn else of_session end
        ),
        0
      ) as held
    from jsonb_to_recordset(p->'bounds') as b(
      scope text, agent text, unit text, most bigint, amount bigint
    )
  )
  select scope, agent, unit, greatest(most - held, 0) as remaining into l
  from bounds
  where held + amount > most
  limit 1;
  if found then
    return jsonb_build_object(
      'outcome', 'exceeded', 'scope', l.scope, 'agent', l.agent,
      'unit', l.unit, 'left', l.remaining
    );
  end if;
  insert into dure.budget_reservations (
    turn_id, place, session_id, agent, process, pools, tokens, micro_usd,
    folded
  )
  values (
    t.id, p->>'place', t.session_id, p->>'agent', p->>'process', v_pools,
    (p->>'tokens')::bigint, (p->>'micro_usd')::bigint,
    cardinality(v_pools) = 0
  );
  return jsonb_build_object('outcome', 'reserved');
end $$;

-- Settles the reservations of these calls, each once. When the turn is
-- over, those whose call left no record are settled by their estimate.
create or replace function dure.settle_reservations(
  p_turn text, p_calls jsonb
) returns void language plpgsql as $$
declare
  v_over boolean;
begin
  perform 1
  from dure.budget_reservations
  where turn_id = p_turn and settled_at is null
  order by place
  for update;
  if not found then return; end if;
  -- by its key alone, see dure.lock_turn
  select status = 'done' into v_over
  from dure.turns
  where id = p_turn;
  with open as (
    select r.place, c.tokens as tokens, c.micro_usd
    from dure.budget_reservations r
    left join (
      select place, sum(tokens_in + tokens_out) as tokens,
        sum(coalesce(cost_micro_usd, 0)) as micro_usd
      from jsonb_to_recordset(p_calls) as c(
        place text, tokens_in bigint, tokens_out bigint,
        cost_micro_usd bigint
      )
      group by place
    ) c on c.place = r.place
    where r.turn_id = p_turn
      and r.settled_at is null
      and (c.place is not null or v_over)
  ),
  settled as (
    update dure.budget_reservations r
    set used_tokens = coalesce(open.tokens, r.tokens),
      used_micro_usd = coalesce(open.micro_usd, r.micro_usd),
      settled_at = clock_timestamp()
    from open
    where r.turn_id = p_turn and r.place = open.place
    returning r.session_id, r.agent, r.used_tokens, r.used_micro_usd
  )
  insert into dure.budget_sessions as s (session_id, agent, tokens,
    micro_usd)
  select session_id, agent, sum(used_tokens), sum(used_micro_usd)
  from settled
  group by session_id, agent
  order by agent
  on conflict (session_id, agent) do update set
    tokens = s.tokens + excluded.tokens,
    micro_usd = s.micro_usd + excluded.micro_usd;
end $$;

-- Lends a process p_want of a pool, or what is left, but at least p_need or
-- nothing. Gives the sum of all that it was lent.
create or replace function dure.grant_budget(
  p_process text, p_pool text, p_limit bigint, p_need bigint, p_want bigint
) returns jsonb language plpgsql as $$
declare
  k dure.budget_pools;
  v_ended boolean;
  v_left bigint;
  v_grant bigint := 0;
  v_granted bigint;
begin
  -- The process that ends this one waits for us, or we see it.
  select ended_at is not null into v_ended
  from dure.processes
  where id = p_process
  for key share;
  if v_ended then return jsonb_build_object('outcome', 'fenced'); end if;
  insert into dure.budget_pools (key)
  values (p_pool)
  on conflict do nothing;
  insert into dure.budget_blocks (process, pool)
  values (p_process, p_pool)
  on conflict do nothing;
  perform dure.fold_budget(p_process, p_pool);
  select * into k
  from dure.budget_pools
  where key = p_pool
  for update;
  v_left := greatest(p_limit - k.used - k.lent, 0);
  if v_left >= p_need then
    v_grant := least(v_left, greatest(p_need, p_want));
  end if;
  update dure.budget_pools
  set lent = lent + v_grant
  where key = p_pool;
  update dure.budget_blocks
  set granted = granted + v_grant
  where process = p_process and pool = p_pool
  returning granted into v_granted;
  return jsonb_build_object(
    'outcome', 'granted', 'granted', v_granted, 'left', v_left - v_grant
  );
end $$;

-- Brings at most 5,000 settled reservations of a process, and of the
-- process '', into the sums; leaves p_pool locked. Returns how many.
create or replace function dure.fold_budget(
  p_process text, p_pool text
) returns integer language plpgsql as $$
declare
  v_count integer := 0;
  v_rest bigint;
  v_pools jsonb;
  b record;
begin
  with ready as (
    select turn_id, place
    from dure.budget_reservations
    where process in (p_process, '')
      and not folded
      and settled_at is not null
    order by turn_id, place
    limit 5000
    for update skip locked
  ),
  marked as (
    update dure.budget_reservations r
    set folded = true
    from ready
    where r.turn_id = ready.turn_id and r.place = ready.place
    returning r.process, r.pools, r.tokens, r.micro_usd, r.used_tokens,
      r.used_micro_usd
  ),
  sums as (
    select pool,
      coalesce(
        sum(
          dure.budget_amount(pool, used_tokens, used_micro_usd)
        ) filter (where process <> ''),
        0
      ) as own,
      coalesce(
        sum(
          dure.budget_amount(
            pool, used_tokens - tokens, used_micro_usd - micro_usd
          )
        ) filter (where process = ''),
        0
      ) as nobodys
    from marked, unnest(pools) as pool
    group by pool
  )
  select (select count(*) from marked),
    coalesce((select jsonb_agg(sums) from sums), '[]') into v_count,
    v_pools;
  for b in
    select s.pool, sum(s.own)::bigint as own,
      sum(s.nobodys)::bigint as nobodys
    from (
      select *
      from jsonb_to_recordset(v_pools) as s(
        pool text, own bigint, nobodys bigint
      )
      union all select p_pool, 0, 0
      where p_pool is not null
    ) s
    group by s.pool
    order by s.pool
  loop
    select granted - folded into v_rest
    from dure.budget_blocks
    where process = p_process and pool = b.pool
    for update;
    update dure.budget_blocks
    set folded = folded + b.own, granted = greatest(granted, folded + b.own)
    where process = p_process and pool = b.pool;
    update dure.budget_pools
    set used = used + b.own + b.nobodys,
      lent = lent - least(b.own, coalesce(v_rest, 0)),
      touched_at = clock_timestamp()
    where key = b.pool;
  end loop;
  return v_count;
end $$;

-- Takes one block back from a living process that has nothing open in it.
create or replace function dure.return_budget(
  p_process text, p_pool text
) returns void language plpgsql as $$
declare
  v_rest bigint;
begin
  loop exit when dure.fold_budget(p_process, p_pool) < 5000; end loop;
  delete from dure.budget_blocks
  where process = p_process and pool = p_pool
  returning granted - folded into v_rest;
  if found then
    update dure.budget_pools
    set lent = lent - v_rest, touched_at = clock_timestamp()
    where key = p_pool;
  end if;
end $$;

-- Takes back all blocks of a process that is dead or has stopped: what was
-- used is counted, what is open gets the process '', the rest is free. Safe
-- to repeat.
create or replace function dure.release_budget(
  p_process text
) returns integer language plpgsql as $$
declare
  v_count integer := 0;
  b record;
begin
  perform 1
  from dure.budget_reservations
  where process = p_process and not folded
  order by turn_id, place
  for update;
  loop exit when dure.fold_budget(p_process, null) < 5000; end loop;
  perform 1
  from dure.budget_blocks
  where process = p_process
  order by pool
  for update;
  for b in
    select pool, sum(open)::bigint as open, sum(rest)::bigint as rest
    from (
      select pool, granted - folded as rest, 0 as open
      from dure.budget_blocks
      where process = p_process
      union all
      select pool, 0, dure.budget_amount(pool, tokens, micro_usd)
      from dure.budget_reservations, unnest(pools) as pool
      where process = p_process and not folded and settled_at is null
    ) parts
    group by pool
    order by pool
  loop
    delete from dure.budget_blocks
    where process = p_process and pool = b.pool;
    if found then v_count := v_count + 1; end if;
    update dure.budget_pools
    set used = used + b.open, lent = lent - b.rest,
      touched_at = clock_timestamp()
    where key = b.pool;
  end loop;
  update dure.budget_reservations
  set process = ''
  where process = p_process and not folded and settled_at is null;
  return v_count;
end $$;

-- For a call outside of turns: charges every pool with what it may use, or
-- none. Its own bounds (of everything that stands below a path of ids) are
-- checked against the calls that are recorded. With 'conversation' it
-- belongs to a session in which no turn runs, and counts as one of its
-- calls. A process that dies before the call is recorded leaves it charged.
create or replace function dure.charge_call(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  l record;
  k dure.budget_pools;
  c jsonb := p->'conversation';
  v_used bigint;
begin
  if c is not null then
    -- No turn can begin to spend before this is written.
    perform 1
    from dure.sessions
    where id = p->>'session' and running_turn is null
    for update;
    if not found then return jsonb_build_object('outcome', 'busy'); end if;
    for l in
      select *
      from jsonb_to_recordset(c->'bounds') as b(
        agent text, unit text, most bigint, amount bigint
      )
    loop
      select coalesce(
        sum(dure.budget_amount('/' || l.unit, s.tokens, s.micro_usd)), 0
      ) into v_used
      from dure.budget_sessions s
      where s.session_id = p->>'session'
        and (l.agent is null or s.agent = l.agent);
      if v_used + l.amount > l.most then
        return jsonb_build_object(
          'outcome', 'exceeded', 'scope', 'session', 'agent', l.agent,
          'unit', l.unit, 'left', greatest(l.most - v_used, 0)
        );
      end if;
    end loop;
  end if;
  for l in
    select *
    from jsonb_to_recordset(p->'bounds') as b(
      scope text, path text, most bigint, amount bigint
    )
  loop
    select coalesce(sum(cost_micro_usd), 0) into v_used
    from dure.model_calls
    where session_id = p->>'session'
      and (turn_id = l.path or starts_with(turn_id, l.path || '/'));
    if v_used + l.amount > l.most then
      return jsonb_build_object(
        'outcome', 'exceeded', 'key', l.scope,
        'left', greatest(l.most - v_used, 0)
      );
    end if;
  end loop;
  for l in
    select *
    from jsonb_to_recordset(p->'pools') as c(
      key text, most bigint, amount bigint
    )
    order by key
  loop
    insert into dure.budget_pools (key)
    values (l.key)
    on conflict do nothing;
    select * into k
    from dure.budget_pools
    where key = l.key
    for update;
    if k.used + k.lent + l.amount > l.most then
      return jsonb_build_object(
        'outcome', 'exceeded', 'key', l.key,
        'left', greatest(l.most - k.used - k.lent, 0)
      );
    end if;
  end loop;
  update dure.budget_pools b
  set used = b.used + c.amount, touched_at = clock_timestamp()
  from jsonb_to_recordset(p->'pools') as c(key text, amount bigint)
  where b.key = c.key;
  if c is not null then
    insert into dure.budget_sessions as s (
      session_id, agent, tokens, micro_usd
    )
    values (
      p->>'session', c->>'agent', (c->>'tokens')::bigint,
      (c->>'micro_usd')::bigint
    )
    on conflict (session_id, agent) do update set
      tokens = s.tokens + excluded.tokens,
      micro_usd = s.micro_usd + excluded.micro_usd;
  end if;
  return jsonb_build_object('outcome', 'charged');
end $$;

-- Records a call outside of turns, and charges what it used in the place of
-- what it might have.
create or replace function dure.record_call(
  p jsonb
) returns void language plpgsql as $$
declare
  l record;
  c jsonb := p->'conversation';
  v_tokens bigint := (p->'call'->>'tokens_in')::bigint + (
    p->'call'->>'tokens_out'
  )::bigint;
  v_micro_usd bigint := coalesce((p->'call'->>'cost_micro_usd')::bigint, 0);
begin
  insert into dure.model_calls (
    at, session_id, turn_id, service, agent, provider, model, attempt,
    prompt_hash, tokens_in, tokens_out, estimated, cost_micro_usd,
    latency_ms, error
  )
  select to_timestamp(c.at / 1000.0), p->>'session', p->>'path',
    p->>'service', c.agent, c.provider, c.model, c.attempt, c.prompt_hash,
    c.tokens_in, c.tokens_out, c.estimated, c.cost_micro_usd, c.latency_ms,
    c.error
  from jsonb_to_record(p->'call') as c(
    at double precision, agent text, provider text, model text,
    attempt integer, prompt_hash text, tokens_in bigint, tokens_out bigint,
    estimated boolean, cost_micro_usd bigint, latency_ms double precision,
    error text
  );
  for l in
    select *
    from jsonb_to_recordset(p->'pools') as c(key text, amount bigint)
    order by key
  loop
    update dure.budget_pools
    set used = greatest(
      used - l.amount + dure.budget_amount(key, v_tokens, v_micro_usd), 0
    ),
      touched_at = clock_timestamp()
    where key = l.key;
  end loop;
  if c is not null then -- nothing where the session was forgotten meanwhile
    update dure.budget_sessions
    set tokens = greatest(tokens - (c->>'tokens')::bigint + v_tokens, 0),
      micro_usd = greatest(
        micro_usd - (c->>'micro_usd')::bigint + v_micro_usd, 0
      )
    where session_id = p->>'session' and agent = c->>'agent';
  end if;
end $$;

create or replace function dure.budget_amount(
  pool text, tokens bigint, micro_usd bigint
) returns bigint language sql immutable as $$
  select case when pool like '%/tokens' then tokens else micro_usd end
$$;

create or replace function dure.forget_session_budget(

) returns trigger language plpgsql as $$
begin
  delete from dure.budget_sessions where session_id = old.id;
  return old;
end $$;
`;
