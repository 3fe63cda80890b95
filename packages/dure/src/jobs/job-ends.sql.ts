/** How jobs end: given up, cancelled, stopped with their agent, over, and removed. */
export const sql = /* sql */ `
-- Gives up what has made no progress for too long although its holder
-- lives. Returns how many.
create or replace function dure.abandon_stale_jobs(
  p_stale_ms bigint
) returns integer language plpgsql as $$
declare
  v_now bigint := (select running_ms from dure.job_clock);
  v_count integer := 0;
  j dure.jobs;
begin
  for j in
    select *
    from dure.jobs
    where status = 'RUNNING'
      and waiting is null
      and progress_ms < v_now - p_stale_ms
    order by depth, id
    limit 100
    for update skip locked
  loop
    update dure.jobs set epoch = epoch + 1 where id = j.id;
    perform dure.end_job(
      j.id, 'ABANDONED', 'stale',
      jsonb_build_object(
        'code', 'JOB_STALE',
        'message',
          'It made no progress for ' || (
            p_stale_ms / 60000
          ) || ' minutes of running time.'
      ),
      false, null
    );
    v_count := v_count + 1;
  end loop;
  return v_count;
end $$;

-- Cancels a job and everything that it asked for, ancestors first. Null: no
-- such job of this tenant. Gives its status before, and how many were
-- cancelled. p_quiet: the place where it was asked is told otherwise.
create or replace function dure.cancel_job(
  p_job text, p_tenant text, p_by text, p_quiet boolean
) returns jsonb language plpgsql as $$
declare
  v_before text;
  v_count integer := 0;
  v_round text[] := array[p_job];
  j dure.jobs;
begin
  select status into v_before
  from dure.jobs
  where id = p_job and tenant = p_tenant
  for update;
  if not found then return null; end if;
  if v_before not in ('PENDING', 'RUNNING') then
    return jsonb_build_object('before', v_before, 'cancelled', 0);
  end if;
  while cardinality(v_round) > 0 loop
    for j in
      select *
      from dure.jobs
      where id = any(v_round) and status in ('PENDING', 'RUNNING')
      order by id
      for update
    loop
      update dure.jobs set epoch = epoch + 1 where id = j.id;
      -- Who is told that the work was cancelled is told it once.
      perform dure.end_job(
        j.id, 'CANCELLED', 'cancelled', null, p_quiet or j.id <> p_job, p_by
      );
      v_count := v_count + 1;
    end loop;
    v_round := array(
      select id from dure.jobs where parent_id = any(v_round)
    );
  end loop;
  return jsonb_build_object('before', v_before, 'cancelled', v_count);
end $$;

-- The same, told to the agent that asked.
create or replace function dure.cancel_job(
  p_job text, p_tenant text, p_by text
) returns jsonb language sql as $$
  select dure.cancel_job(p_job, p_tenant, p_by, false)
$$;

-- Cancels what was asked for in a place or its threads before a time.
-- The place is told once of all of it. Returns how many.
create or replace function dure.stop_jobs_of(
  p_place text, p_by text, p_before timestamptz
) returns integer language plpgsql as $$
declare
  v_count integer := 0;
  v_answer jsonb;
  j record;
begin
  for j in
    select o.id, o.tenant
    from dure.jobs o
    join dure.places p
      on split_part(o.origin_session, '@@', 1) -- what follows is a person's line
        = 'room:' || split_part(o.origin_session, ':', 2) || ':' || p.id
    where o.status in ('PENDING', 'RUNNING')
      and o.origin_session like 'room:%'
      and o.created_at <= p_before
      and (p.id = p_place or p.parent = p_place)
    order by o.depth, o.id
  loop
    v_answer := dure.cancel_job(j.id, j.tenant, p_by, true);
    if v_answer->>'before' in ('PENDING', 'RUNNING') then
      v_count := v_count + 1;
    end if;
  end loop;
  return v_count;
end $$;

-- The end of a job, with everything that follows from it. The caller has
-- locked the row.
create or replace function dure.end_job(
  p_job text, p_status text, p_outcome text, p_error jsonb, p_quiet boolean,
    p_by text
) returns void language plpgsql as $$
declare
  j dure.jobs;
  e dure.escalations;
begin
  update dure.jobs
  set status = p_status, outcome = p_outcome,
    -- who was told of an earlier end is told that it went on
    last_error = coalesce(
      p_error || case when last_error ? 'told'
        then '{"told": true}'::jsonb
        else '{}'
      end,
      last_error
    ), holder = null,
    has_permit = false, waiting = null, updated_at = clock_timestamp(),
    finished_at = clock_timestamp(),
    announced = case
      when p_quiet or origin_session is null then 'none'
      when wait_until > clock_timestamp() - interval '2 seconds' then 'held'
      else 'told'
    end
  where id = p_job
  returning * into j;
  if j.announced = 'told' then
    perform dure.announce_job(
      j, j.origin_session, j.origin_turn, j.requester
    );
  end if;
  -- What a turn was told that never came to its end was told in vain:
  -- dure.tend_jobs sends it on.
  update dure.job_results
  set turn_number = null
  where job_id = p_job and turn_number > j.turns_done;
  -- What it had asked for may not be allowed any more. Whether something
  -- has happened may still be found out, and that starts nothing (see
  -- dure.guard_job_turn). An answer that comes at this moment is waited
  -- for, and its turn stopped with the others. Turns are locked before
  -- escalations, as by finish_turn.
  perform 1
  from dure.turns
  where status = 'running' and session_id = j.attempt_input->>'session'
  for no key update;
  for e in
    select *
    from dure.escalations
    where session_id = j.attempt_input->>'session' and status = 'open'
    order by id
    for update
  loop
    if e.type = 'decision' then
      perform dure.close_escalation(
        e.id, 'dismissed', '{"value": "job"}', 'job'
      );
    end if;
  end loop;
  -- The conversation turn that still runs for it is stopped; one that
  -- stands parked goes to the process that ends it.
  update dure.turns
  set stop = coalesce(
    stop, jsonb_build_object('by', coalesce(p_by, 'job'))
  ),
    holder = case when holder = 'parked' then null else holder end
  where status = 'running' and session_id = j.attempt_input->>'session';
  perform dure.job_event(
    j, 'job.' || lower(p_status),
    jsonb_build_object('outcome', p_outcome, 'error', p_error, 'by', p_by)
  );
  if p_status = 'ABANDONED' then
    perform dure.raise_escalations(
      jsonb_build_array(
        jsonb_build_object(
          'id',
            'escalation_' || upper(
              left(replace(gen_random_uuid()::text, '-', ''), 26)
            ),
          'tenant', j.tenant, 'type', 'job_abandoned', 'severity', 'medium',
          'source', jsonb_build_object('job', j.id),
          'subject', 'job/' || j.id,
          'title',
            j.requester || ' → ' || j.target || ': ' || coalesce(
              nullif(left(j.topic, 100), ''), left(j.message, 100)
            ),
          'description',
            'The job was given up after turn ' || j.turns_done || ': '
              || coalesce(
              p_error->>'message', p_outcome
            ) || ' Try it again?',
          'context',
            jsonb_build_object(
              'jobId', j.id, 'outcome', p_outcome, 'requester', j.requester,
              'target', j.target, 'message', left(j.message, 500),
              'turnsDone', j.turns_done
            ),
          'suggestedActions',
            '[
              {"value": "retry", "label": "다시 시도 / Try again", "style": "primary"},
              {"value": "leave", "label": "그대로 두기 / Leave it"}
            ]'::jsonb
        )
      )
    );
  end if;
end $$;

-- No person has to decide any more what becomes of a job that was given up:
-- it was tried again, or is gone.
create or replace function dure.close_job_question(
  p_job text, p_why text
) returns void language plpgsql as $$
declare
  e dure.escalations;
begin
  for e in
    select *
    from dure.escalations
    where subject = 'job/' || p_job and status = 'open'
    for update
  loop
    perform dure.close_escalation(
      e.id, 'dismissed', jsonb_build_object('value', p_why), 'job'
    );
  end loop;
end $$;

-- What goes on beside the exchanges: running time, notices for callers that
-- did not come back, conversation turns of jobs that are over.
create or replace function dure.tend_jobs(
  p_step_most double precision
) returns jsonb language plpgsql as $$
declare
  v_notices integer := 0;
  v_open integer;
  j dure.jobs;
  r record;
begin
  v_open := (
    select count(*) from dure.jobs where status = 'PENDING'
  ) + (select count(*) from dure.jobs where status = 'RUNNING');
  if v_open > 0 then
    update dure.job_clock
    set running_ms = running_ms + least(
      greatest(extract(epoch from clock_timestamp() - ticked_at) * 1000, 0),
      p_step_most
    ),
      ticked_at = clock_timestamp()
    where abs(extract(epoch from clock_timestamp() - ticked_at)) >= 0.5;
  end if;
  for j in update dure.jobs
    set announced = 'told'
    where id in (
      select id
      from dure.jobs
      where announced = 'held'
        and wait_until < clock_timestamp() - interval '5 seconds'
      limit 100
      for update skip locked
    )
    returning *
  loop
    perform dure.announce_job(
      j, j.origin_session, j.origin_turn, j.requester
    );
    v_notices := v_notices + 1;
  end loop;
  -- Results for an exchange that ended before the agent's next turn go on
  -- to where that one was asked. That its agents wanted no notice of their
  -- own result says nothing of these.
  for r in delete from dure.job_results x
    using dure.jobs o
    where o.id = x.job_id
      and x.turn_number is null
      and o.finished_at is not null
    returning x.child_id, o.origin_session, o.origin_turn, o.requester,
      o.status = 'CANCELLED' as dropped
  loop
    select * into j from dure.jobs where id = r.child_id;
    if not found or r.dropped then continue; end if;
    perform dure.announce_job(
      j, r.origin_session, r.origin_turn, r.requester
    );
    v_notices := v_notices + 1;
  end loop;
  -- Accepted when their job was ending; no process waits for them.
  update dure.turns t
  set stop = jsonb_build_object('by', 'job'),
    holder = case when t.holder = 'parked' then null else t.holder end
  from dure.jobs o
  where t.status = 'running'
    and t.stop is null
    and t.session_id like 'job:%'
    and o.id = split_part(t.session_id, ':', 2)
    and o.status not in ('PENDING', 'RUNNING');
  return jsonb_build_object('open', v_open, 'notices', v_notices);
end $$;

-- Removes finished jobs older than p_keep_ms, with their sessions: at most
-- p_limit. Returns how many. The first job of some work stays as long as one
-- of the others: by it is known to whom they belong.
create or replace function dure.purge_jobs(
  p_keep_ms double precision, p_limit integer
) returns integer language plpgsql as $$
declare
  v_before timestamptz := clock_timestamp()
    - p_keep_ms * interval '1 millisecond';
  v_jobs text[];
  v_sessions text[];
begin
  v_jobs := array(
    select j.id
    from dure.jobs j
    where j.finished_at < v_before
      and not exists (
        select
        from dure.jobs d
        where d.root_id = j.id
          and d.id <> j.id
          and (d.finished_at is null or d.finished_at >= v_before)
      )
    order by j.finished_at
    limit p_limit
    for update skip locked
  );
  if cardinality(v_jobs) = 0 then return 0; end if;
  v_sessions := array(
    select distinct t.session_id
    from dure.job_turns jt
    join dure.turns t on t.id = jt.turn_id
    where jt.job_id = any(v_jobs) and jt.attempts > 0
    union select attempt_input->>'session'
    from dure.jobs
    where id = any(v_jobs) and attempt_input is not null
  );
  v_sessions := array(
    select id
    from dure.sessions
    where id = any(v_sessions) and id like 'job:%' and running_turn is null
  );
  delete from dure.turn_journal
  where turn_id in (
    select id from dure.turns where session_id = any(v_sessions)
  );
  delete from dure.turns where session_id = any(v_sessions);
  delete from dure.messages
  where session_id = any(v_sessions);
  delete from dure.completed
  where session_id = any(v_sessions);
  delete from dure.effects
  where session_id = any(v_sessions) and status in ('done', 'failed');
  delete from dure.sessions where id = any(v_sessions);
  perform dure.close_job_question(id, 'gone') from unnest(v_jobs) id;
  delete from dure.jobs where id = any(v_jobs);
  return cardinality(v_jobs);
end $$;
`;
