/** How a job that has ended goes on: docs/decisions/0019-a-retry-opens-the-turn-again.md */
export const sql = /* sql */ `
-- What a retry of a job would do. 'turn': its turn goes on from its journal;
-- 'again': its turn has done nothing to the outside, and another one takes
-- its place; 'begin': no turn of it has begun. Otherwise why it is refused:
-- 'open', 'completed', 'cancelled', 'stopped' (by a person), 'ending' (its
-- turn still is), 'acted' (its turn cannot go on and has done something).
create or replace function dure.job_retry(
  p_job text
) returns text language plpgsql stable as $$
declare
  j dure.jobs;
  t dure.turns;
begin
  select * into j
  from dure.jobs
  where id = p_job;
  if j.status in ('PENDING', 'RUNNING') then return 'open'; end if;
  if j.status in ('COMPLETED', 'CANCELLED') then return lower(j.status); end if;
  select * into t
  from dure.turns
  where id = dure.turn_of_job(j);
  if not found then return 'begin'; end if;
  if t.status <> 'done' then return 'ending'; end if;
  if t.done#>>'{error,code}' = 'TURN_STOPPED'
    and not dure.is_stopped_by_job(t)
  then
    return 'stopped';
  end if;
  if dure.can_reopen(t) then return 'turn'; end if;
  return case when exists (
    select
    from dure.turns u
    where u.id = any(j.attempt_turns || t.id) and dure.has_acted(u)
  )
    then 'acted'
    else 'again'
  end;
end $$;

-- The conversation turn of the attempt under way, also one whose acceptance
-- was never noted.
create or replace function dure.turn_of_job(
  j dure.jobs
) returns text language sql stable as $$
  select case when j.attempt > 0 then coalesce(
    j.current_turn,
    (
      select m.turn_id
      from dure.messages m
      where m.session_id = j.attempt_input->>'session'
        and m.ordinal >= j.attempt_from
      order by m.ordinal desc
      limit 1
    )
  ) end
$$;

-- Opens a job that has ended: the same row, behind its finished turns. Gives
-- what dure.job_retry says; null: no such job of this tenant. A reader that
-- was told of the failure is told the next end, too; a notice that has not
-- left is taken back.
create or replace function dure.retry_job(
  p_job text, p_tenant text, p_by text
) returns text language plpgsql as $$
declare
  j dure.jobs;
  v_how text;
  v_told boolean;
begin
  select * into j
  from dure.jobs
  where id = p_job and tenant = p_tenant
  for update;
  if not found then return null; end if;
  v_how := dure.job_retry(p_job);
  if v_how not in ('turn', 'again', 'begin') then return v_how; end if;
  v_told := j.announced = 'answered'
    or (j.announced = 'told' and not dure.take_back_notice(p_job));
  delete from dure.job_results where child_id = p_job;
  delete from dure.job_notes where job_id = p_job;
  update dure.jobs
  set status = 'PENDING', epoch = epoch + 1, outcome = null,
    finished_at = null, updated_at = clock_timestamp(), announced = 'open',
    wait_until = null, resume_count = 0, waiting = null,
    current_turn = dure.turn_of_job(j),
    queued_ms = (select running_ms from dure.job_clock),
    progress_ms = (select running_ms from dure.job_clock),
    last_error = case when v_told
      then last_error || '{"told": true}'
      else last_error
    end
  where id = p_job;
  if v_how = 'turn' then
    if dure.retry_turn(
      dure.turn_of_job(j), p_tenant, p_by
    ) is distinct from 'retrying'
    then
      raise exception using errcode = 'DU409',
        message = 'its turn does not go on';
    end if;
    -- It runs with the permit of its job (dure.unpark_turns).
    update dure.turns
    set holder = 'parked'
    where id = dure.turn_of_job(j);
  elsif v_how = 'again' then
    update dure.jobs
    set attempt = attempt + 1, current_turn = null, ended_by_turn = null,
      finish = null,
      attempt_from = (
        select next_ordinal
        from dure.sessions
        where id = attempt_input->>'session'
      )
    where id = p_job;
  end if;
  perform dure.close_job_question(p_job, 'retried');
  select * into j
  from dure.jobs
  where id = p_job;
  perform dure.job_event(
    j, 'job.retried',
    jsonb_build_object('turn', j.turns_done + 1, 'by', p_by)
  );
  return v_how;
end $$;
`;
