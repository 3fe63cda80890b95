/** What is told of a job where it was asked for. */
export const sql = /* sql */ `
-- The notice for the place where it was asked, once per job. In an exchange
-- that goes on it waits for the next turn of the agent that asked; one that
-- has ended sends it on to its own place of origin, where p_agent, who
-- asked there, tells it.
create or replace function dure.announce_job(
  j dure.jobs, p_session text, p_turn text, p_agent text
) returns void language plpgsql as $$
declare
  v_session text := p_session;
  v_turn text := p_turn;
  v_agent text := p_agent;
  o dure.jobs;
begin
  while v_session like 'job:%' loop
    select * into o
    from dure.jobs
    where id = split_part(v_session, ':', 2);
    if not found or o.status = 'CANCELLED' then return; end if;
    if o.finished_at is null then
      insert into dure.job_results (job_id, child_id, agent)
      values (o.id, j.id, v_agent)
      on conflict do nothing;
      return;
    end if;
    v_session := o.origin_session;
    v_turn := o.origin_turn;
    v_agent := o.requester;
  end loop;
  if v_session is null then return; end if;
  perform dure.enqueue(
    jsonb_build_array(
      jsonb_build_object(
        'topic', 'job.announce', 'ordering', v_session,
        'key', dure.notice_key(j),
        'payload',
          jsonb_build_object(
            'jobId', j.id, 'tenant', j.tenant, 'session', v_session,
            'turn', v_turn, 'requester', v_agent, 'target', j.target,
            'status', j.status, 'outcome', j.outcome, 'message', j.message,
            'topic', j.topic, 'error', j.last_error,
            'reply', j.answer->>'text', 'by', j.answer->>'by'
          )
      )
    )
  );
end $$;

-- Keeps a result for the next turn of a session. False: one of them is
-- gone, so there is nothing to tell or no reader.
create or replace function dure.keep_job_note(
  p_job text, p_session text
) returns boolean language plpgsql as $$
begin
  insert into dure.job_notes (session_id, job_id)
  select s.id, j.id
  from dure.sessions s, dure.jobs j
  where s.id = p_session and j.id = p_job
  on conflict do nothing;
  return found;
end $$;

-- Gives the notes of a session to a turn: those that no turn told, those of
-- turns that failed, and those it was given before. Gives their jobs.
create or replace function dure.take_job_notes(
  p_session text, p_turn text, p_limit integer
) returns jsonb language sql as $$
  with due as (
    select n.job_id
    from dure.job_notes n
    left join dure.turns t on t.id = n.turn_id
    where n.session_id = p_session
      and (
        n.turn_id is null
          or n.turn_id = p_turn
          or (
            t.status = 'done' and jsonb_typeof(t.done->'error') = 'object'
          )
      )
    order by n.turn_id = p_turn desc nulls last, n.at, n.job_id
      limit p_limit),
  given as (
    update dure.job_notes n
    set turn_id = p_turn
    from due
    where n.session_id = p_session and n.job_id = due.job_id
    returning n.job_id
  )
  select coalesce(jsonb_agg(job_id), '[]') from given
$$;

-- One notice per end: a job that goes on after a retry ends under another
-- epoch.
create or replace function dure.notice_key(
  j dure.jobs
) returns text language sql immutable as $$
  select 'job:' || j.id || ':announce:' || j.epoch
$$;

-- Takes back the notice of a job that has not left. False: it is told.
create or replace function dure.take_back_notice(
  p_job text
) returns boolean language plpgsql as $$
begin
  delete from dure.job_results
  where child_id = p_job and turn_number is null;
  if found then return true; end if;
  delete from dure.job_notes
  where job_id = p_job and turn_id is null;
  if found then return true; end if;
  delete from dure.outbox
  where topic = 'job.announce'
    -- the second is that of an older release
    and key in (
      (select dure.notice_key(j) from dure.jobs j where id = p_job),
      'job:' || p_job || ':announce'
    )
    and state = 'pending';
  return found;
end $$;

-- The caller takes the answer itself, so no notice is needed: one that has
-- not left is taken back. False: it is told by its notice, and by that
-- alone.
create or replace function dure.job_answered(
  p_job text
) returns boolean language plpgsql as $$
declare
  v_announced text;
begin
  select announced into v_announced
  from dure.jobs
  where id = p_job
  for no key update;
  if v_announced = 'told' and not dure.take_back_notice(p_job) then
    return false;
  end if;
  update dure.jobs
  set announced = 'answered'
  where id = p_job and announced in ('held', 'told');
  return true;
end $$;
`;
