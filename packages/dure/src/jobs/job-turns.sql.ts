/** The turns of an exchange, and the conversation turns that run for them. */
export const sql = /* sql */ `
-- Begins an attempt of the next exchange turn. False when the job is no
-- longer ours. A repeated call changes nothing.
create or replace function dure.begin_job_turn(
  p_job text, p_epoch integer, p_attempt integer, p_input jsonb,
    p_words bigint[],
  p_results text[]
) returns boolean language plpgsql as $$
declare
  j dure.jobs;
begin
  select * into j
  from dure.jobs
  where id = p_job and epoch = p_epoch and status = 'RUNNING'
  for no key update;
  if not found then return false; end if;
  if j.attempt >= p_attempt then return true; end if;
  update dure.jobs
  set attempt = p_attempt, attempt_input = p_input,
    attempt_from = coalesce(
      (
        select next_ordinal
        from dure.sessions
        where id = p_input->>'session'
      ),
      0
    ),
    turn_at = coalesce(turn_at, clock_timestamp()), current_turn = null,
    ended_by_turn = null, finish = null, updated_at = clock_timestamp()
  where id = p_job;
  update dure.job_words
  set turn_number = j.turns_done + 1
  where job_id = p_job and id = any(p_words) and turn_number is null;
  update dure.job_results
  set turn_number = j.turns_done + 1
  where job_id = p_job
    and child_id = any(p_results)
    and turn_number is null;
  return true;
end $$;

-- Notes the conversation turn that runs for the exchange turn. False when
-- the job is no longer ours.
create or replace function dure.note_job_turn(
  p_job text, p_epoch integer, p_turn text
) returns boolean language plpgsql as $$
begin
  update dure.jobs
  set current_turn = p_turn,
    attempt_turns = case
      when p_turn = any(attempt_turns) then attempt_turns
      else attempt_turns || p_turn
    end
  where id = p_job and epoch = p_epoch and status = 'RUNNING';
  return found;
end $$;

-- Records a finished exchange turn, or the end of the job, or both:
-- 'continues', 'over', or 'fenced' (another one has the job, or it was
-- cancelled). A person's words that no turn was told yet keep a job from
-- its natural end. A repeated call says what the first one did.
create or replace function dure.settle_job(
  p jsonb
) returns text language plpgsql as $$
declare
  v_turn jsonb := p->'turn';
  v_end jsonb := p->'end';
  j dure.jobs;
  u record;
begin
  select * into j
  from dure.jobs
  where id = p->>'job' and epoch = (p->>'epoch')::integer
  for update;
  if not found then return 'fenced'; end if;
  if v_turn is not null
    and j.turns_done >= (v_turn->>'number')::integer
  then
    return case when j.status = 'RUNNING' then 'continues' else 'over' end;
  end if;
  if j.status <> 'RUNNING' then
    return case
      when v_turn is null and j.status = v_end->>'status' then 'over'
      else 'fenced'
    end;
  end if;
  if v_turn is not null then
    select coalesce(sum(tokens_in), 0) as tokens_in,
      coalesce(sum(tokens_out), 0) as tokens_out,
      sum(cost_micro_usd) as cost,
      coalesce(max(attempt), 1) as attempts into u
    from dure.model_calls
    where session_id = j.attempt_input->>'session'
      and turn_id = any(j.attempt_turns);
    insert into dure.job_turns (
      job_id, number, speaker, text, tokens_in, tokens_out, cost_micro_usd,
      turn_id, attempts, started_at
    )
    values (
      j.id, (v_turn->>'number')::integer, v_turn->>'speaker',
      v_turn->>'text', u.tokens_in, u.tokens_out, u.cost, j.current_turn,
      greatest(j.attempt, 1) + u.attempts - 1,
      coalesce(j.turn_at, clock_timestamp())
    );
    perform dure.keep_job_files(
      j.id, (v_turn->>'number')::integer, v_turn->'files',
      j.attempt_input->>'session'
    );
    -- A process of an older release gives no answer: then what the target
    -- said last stands for it.
    update dure.jobs
    set turns_done = (v_turn->>'number')::integer, resume_count = 0,
      answer = case
        when p ? 'answer' then nullif(p->'answer', 'null')
        when v_turn->>'speaker' = target and v_turn->>'text' <> ''
          then jsonb_build_object(
            'how', 'message', 'by', target, 'text', v_turn->>'text'
          )
        else answer
      end,
      attempt = 0, turn_at = null, current_turn = null,
      attempt_turns = '{}', ended_by_turn = null,
      progress_ms = (select running_ms from dure.job_clock),
      updated_at = clock_timestamp()
    where id = j.id
    returning * into j;
    perform dure.job_event(
      j, 'job.turn',
      jsonb_build_object(
        'number', j.turns_done, 'speaker', v_turn->>'speaker',
        'text', v_turn->>'text', 'tokensIn', u.tokens_in,
        'tokensOut', u.tokens_out, 'costMicroUsd', u.cost
      )
    );
  end if;
  if v_end is null then return 'continues'; end if;
  if v_end->>'status' = 'COMPLETED'
    and exists (
      select 1
      from dure.job_words
      where job_id = j.id and turn_number is null
    )
  then
    update dure.jobs
    set max_turns = greatest(max_turns, turns_done + 1)
    where id = j.id;
    return 'continues';
  end if;
  perform dure.end_job(
    j.id, v_end->>'status', v_end->>'outcome', v_end->'error',
    coalesce((v_end->>'quiet')::boolean, false), null
  );
  return 'over';
end $$;

-- The agent that is to speak is paused: the job rests, without a permit and
-- without a process, until the resume. A turn under way waits in the engine.
create or replace function dure.rest_paused_job(
  p_job text, p_epoch integer
) returns text language plpgsql as $$
declare
  j dure.jobs;
begin
  update dure.jobs
  set waiting = 'pause', has_permit = false, holder = null,
    updated_at = clock_timestamp()
  where id = p_job and epoch = p_epoch and status = 'RUNNING'
  returning * into j;
  if not found then return 'fenced'; end if;
  perform dure.job_event(
    j, 'job.waiting',
    jsonb_build_object('for', 'pause', 'turn', j.turns_done + 1)
  );
  return 'rests';
end $$;

-- The turn waits for a person: the permit is free for others, no process
-- holds the job. 'again': they have answered meanwhile, or are answering,
-- so there is something to follow; 'fenced': it is no longer ours.
create or replace function dure.wait_job(
  p_job text, p_epoch integer
) returns text language plpgsql as $$
declare
  j dure.jobs;
begin
  select * into j
  from dure.jobs
  where id = p_job and epoch = p_epoch and status = 'RUNNING'
  for no key update;
  if not found then return 'fenced'; end if;
  -- See guard_job_turn. Tried, never waited for: who answers may hold what
  -- a cancel of this job waits for.
  if not pg_try_advisory_xact_lock(
    hashtextextended('dure:job-answer:' || p_job, 0)
  )
  then
    return 'again';
  end if;
  if dure.turn_behind(
    j.attempt_input->>'session', j.current_turn
  ) is not null
  then
    return 'again';
  end if;
  update dure.jobs
  set waiting = 'person', has_permit = false, holder = null,
    updated_at = clock_timestamp()
  where id = p_job
  returning * into j;
  perform dure.job_event(
    j, 'job.waiting',
    jsonb_build_object('for', 'person', 'turn', j.turns_done + 1)
  );
  return 'rests';
end $$;

-- The conversation turn that a person's answer has started behind another
-- one. By the order of the session, never by a clock.
create or replace function dure.turn_behind(
  p_session text, p_turn text
) returns text language sql stable as $$
  select m.turn_id
  from dure.messages m
  join dure.turns t on t.id = m.turn_id
  where m.session_id = p_session
    and t.author = 'system'
    and m.ordinal > (
      select max(ordinal)
      from dure.messages
      where turn_id = p_turn
    )
  order by m.ordinal limit 1
$$;

-- Words of a person for the next exchange turn. Null: no such job; 'full':
-- one turn cannot be told so much, nothing changed; else its status before.
create or replace function dure.speak_into_job(
  p_job text, p_tenant text, p_author text, p_text text,
    p_words_most integer,
  p_bytes_most integer
) returns text language plpgsql as $$
declare
  j dure.jobs;
  v_id bigint;
  v_words integer;
  v_bytes bigint;
begin
  select * into j
  from dure.jobs
  where id = p_job and tenant = p_tenant
  for no key update;
  if not found then return null; end if;
  if j.status in ('PENDING', 'RUNNING') then
    select count(*), coalesce(sum(octet_length(text)), 0) into v_words,
      v_bytes
    from dure.job_words
    where job_id = p_job and turn_number is null;
    if v_words >= p_words_most
      or v_bytes + octet_length(p_text) > p_bytes_most
    then
      return 'full';
    end if;
    insert into dure.job_words (job_id, author, text)
    values (p_job, p_author, p_text)
    returning id into v_id;
    perform dure.job_event(
      j, 'job.spoken',
      jsonb_build_object('id', v_id, 'by', p_author, 'text', p_text)
    );
  end if;
  return j.status;
end $$;

-- A conversation turn of a job that is over ends before it does anything;
-- the one that a person's answer starts waits for the permit of its job.
-- The lock: between our look and our commit no job begins to wait
-- (dure.wait_job), so no turn runs beside a permit that was given back.
create or replace function dure.guard_job_turn(

) returns trigger language plpgsql as $$
declare
  o dure.jobs;
begin
  perform pg_advisory_xact_lock_shared(
    hashtextextended(
      'dure:job-answer:' || split_part(new.session_id, ':', 2), 0
    )
  );
  select * into o
  from dure.jobs
  where id = split_part(new.session_id, ':', 2);
  if not found then return new; end if;
  if o.finished_at is not null then
    new.stop := coalesce(new.stop, '{"by": "job"}');
  elsif o.waiting is not null
    and o.holder is null
    and new.status = 'running'
    and new.holder is null
  then
    new.holder := 'parked';
  end if;
  return new;
end $$;

-- The turns of a dead process that belong to jobs: taken from it like any
-- other, but no process runs them before their job runs again. To be called
-- before dure.release_turns. A job that another process holds keeps its
-- turn with that one.
create or replace function dure.park_job_turns(
  p_holder text
) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  update dure.turns t
  set epoch = t.epoch + 1, held_at = clock_timestamp() - interval '1 hour',
    holder = case
      when o.status in ('PENDING', 'RUNNING')
        then case
          when o.holder is distinct from p_holder and o.holder is not null
            then o.holder
          else 'parked'
        end
    end,
    stop = case
      when o.status in ('PENDING', 'RUNNING') then t.stop
      else coalesce(t.stop, jsonb_build_object('by', 'job'))
    end
  from dure.turns u
  left join dure.jobs o on o.id = split_part(u.session_id, ':', 2)
  where u.id = t.id
    and t.status = 'running'
    and t.holder = p_holder
    and t.session_id like 'job:%';
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Hands the conversation turn of a job to the process that holds the job,
-- so that it runs there and nowhere else. Its engine finds it at the next
-- look.
create or replace function dure.unpark_turns(
  j dure.jobs
) returns void language sql as $$
  update dure.turns
  set holder = j.holder, held_at = clock_timestamp() - interval '1 hour'
  where status = 'running'
    and holder = 'parked'
    and session_id = j.attempt_input->>'session'
$$;
`;
