/**
 * How jobs are given to processes, and back. Taking a job is giving it its permit: both are one
 * statement.
 */
export const sql = /* sql */ `
-- Gives permits, and with them jobs, to a living process: what a person has
-- answered, what waits in line, and its own jobs that it does not know.
-- Also ends what was not permitted in time. Gives {taken: [{id,
-- quarantined}], lost: [ids that are no longer its]}.
create or replace function dure.take_jobs(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  v_holder text := p->>'holder';
  v_room integer := (p->>'room')::integer;
  v_permits integer := (p->>'permits')::integer;
  v_known text[] := array(select jsonb_array_elements_text(p->'known'));
  v_agents text[] := array(select jsonb_array_elements_text(p->'agents'));
  -- In quarantine here.
  v_alone text[] := array(select jsonb_array_elements_text(p->'alone'));
  -- Who alone may begin now; null: all.
  v_only text[];
  v_now bigint := (select running_ms from dure.job_clock);
  v_taken jsonb := '[]';
  v_lost jsonb;
  v_target text;
  v_free integer;
  v_line text[];
  j dure.jobs;
begin
  -- Who waits, as it was before this transaction got its number: readers of
  -- events order by that number, so a job that is accepted only now must
  -- not be started in front of its own acceptance.
  v_line := array(
    select c.id || ':' || c.epoch
    from (select distinct target from dure.jobs where status = 'PENDING') t
    cross join lateral (
      select id, epoch
      from dure.jobs
      where status = 'PENDING' and target = t.target
      order by seq
      limit v_permits + 50
    ) c
  );
  -- The process that ends this one waits for us, or we see it.
  perform 1
  from dure.processes
  where id = v_holder and ended_at is null
  for key share;
  if not found then
    return jsonb_build_object(
      'taken', '[]'::jsonb, 'lost', to_jsonb(v_known)
    );
  end if;
  select coalesce(jsonb_agg(k), '[]') into v_lost
  from unnest(v_known) k
  where not exists (
    select 1
    from dure.jobs
    where id = k and status = 'RUNNING' and holder = v_holder
  );

  for j in update dure.jobs
    set epoch = epoch + 1, held_at = clock_timestamp()
    where id in (
      select id
      from dure.jobs
      where status = 'RUNNING'
        and holder = v_holder
        and not (id = any(v_known))
        and held_at < clock_timestamp() - interval '2 seconds'
      limit greatest(v_room, 0)
      for update skip locked
    )
    returning *
  loop
    v_taken := v_taken || jsonb_build_object(
      'id', j.id, 'quarantined', j.resume_count >= 2
    );
  end loop;

  -- One that was resumed twice without progress runs alone; when it has
  -- waited long for that, nothing begins before it. But for the work that a
  -- running one has asked for and perhaps waits for: else it would wait in
  -- vain.
  if cardinality(v_alone) > 0 then
    v_only := dure.job_descendants(v_alone);
  elsif cardinality(v_known) > 0
    and exists (
      select 1
      from dure.jobs
      where status = 'PENDING'
        and resume_count >= 2
        and held_at < clock_timestamp() - interval '60 seconds'
    )
  then
    v_only := dure.job_descendants(v_known);
  end if;
  for v_target in
    select target
    from dure.jobs
    where status = 'PENDING'
    union select target
    from dure.jobs
    where waiting is not null and holder is null
    order by 1
  loop
    continue when not pg_try_advisory_xact_lock(
      hashtextextended('dure:job-permits:' || v_target, 0)
    );
    v_free := v_permits - (
      select count(*)
      from dure.jobs
      where target = v_target and has_permit
    );

    -- A person has answered, or resumed the agent. The waiting was no lack
    -- of progress.
    for j in
      select *
      from dure.jobs w
      where w.status = 'RUNNING'
        and w.waiting is not null
        and w.holder is null
        and w.target = v_target
        and (v_only is null or w.id = any(v_only))
        and not dure.job_is_paused(w)
        and (
          w.waiting = 'pause'
            or not exists (
              select 1
              from dure.escalations e
              where e.session_id = w.attempt_input->>'session'
                and e.status = 'open'
                and (e.expires_at is null or e.expires_at > clock_timestamp())
            )
            -- one of several questions has its answer
            or exists (
              select 1
              from dure.sessions s
              join dure.turns t on t.id = s.running_turn
              where s.id = w.attempt_input->>'session'
                and t.holder = 'parked'
            )
        )
        -- Agents that this process does not know may be known to a newer
        -- one; when
        -- none comes,
        -- the truth is told.
        and (
          (w.target = any(v_agents) and w.requester = any(v_agents))
            or not exists (
              select 1
              from dure.escalations e
              where e.session_id = w.attempt_input->>'session'
                and coalesce(
                  e.resolved_at, e.expires_at
                ) > clock_timestamp()
                  - (
                    p->>'unknown_agent_ms'
                  )::double precision * interval '1 millisecond'
            )
        )
      order by w.seq
      limit greatest(least(v_free, v_room - jsonb_array_length(v_taken)), 0)
      for update skip locked
    loop
      update dure.jobs
      set epoch = epoch + 1, held_at = clock_timestamp(), holder = v_holder,
        has_permit = true, waiting = null, updated_at = clock_timestamp(),
        progress_ms = v_now
      where id = j.id
      returning * into j;
      perform dure.unpark_turns(j);
      v_taken := v_taken || jsonb_build_object(
        'id', j.id, 'quarantined', j.resume_count >= 2
      );
      v_free := v_free - 1;
    end loop;

    for j in
      select *
      from dure.jobs
      where status = 'PENDING'
        and target = v_target
        and not dure.job_is_paused(jobs)
        and id || ':' || epoch = any(v_line)
        and (v_only is null or id = any(v_only))
        and (
          resume_count < 2
            or (
              cardinality(v_known) = 0 and jsonb_array_length(v_taken) = 0
            )
            or (cardinality(v_alone) > 0 and id = any(v_only))
        )
        and (
          (target = any(v_agents) and requester = any(v_agents))
            or queued_ms < v_now - (p->>'unknown_agent_ms')::bigint
        )
      order by seq
      limit greatest(least(v_free, v_room - jsonb_array_length(v_taken)), 0)
      for update skip locked
    loop
      continue when j.resume_count >= 2
        and cardinality(v_alone) = 0
        and jsonb_array_length(v_taken) > 0;
      update dure.jobs
      set status = 'RUNNING', epoch = epoch + 1, holder = v_holder,
        held_at = clock_timestamp(), has_permit = true,
        started_at = coalesce(started_at, clock_timestamp()),
        updated_at = clock_timestamp(), progress_ms = v_now
      where id = j.id
      returning * into j;
      perform dure.unpark_turns(j);
      perform dure.job_event(
        j, 'job.started',
        jsonb_build_object(
          'turn', j.turns_done + 1, 'resumed', j.resumes > 0,
          'quarantined', j.resume_count >= 2
        )
      );
      v_taken := v_taken || jsonb_build_object(
        'id', j.id, 'quarantined', j.resume_count >= 2
      );
      v_free := v_free - 1;
      if j.resume_count >= 2 and cardinality(v_alone) = 0 then
        return jsonb_build_object('taken', v_taken, 'lost', v_lost);
      end if;
    end loop;

    -- Only who waits behind permits that are all given away is blocked by
    -- them. Whatever else keeps a job back is not its agent's doing.
    if v_free > 0
      or exists (select from dure.pauses where agent = v_target)
    then
      delete from dure.job_lines where target = v_target;
    else
      insert into dure.job_lines (target, full_since_ms)
      values (v_target, v_now)
      on conflict do nothing;
      for j in
        select *
        from dure.jobs
        where status = 'PENDING'
          and target = v_target
          and started_at is null
          and greatest(
            queued_ms,
            (
              select full_since_ms
              from dure.job_lines
              where target = v_target
            )
          ) < v_now - (p->>'permit_wait_ms')::bigint
        order by seq
        limit 100
        for update skip locked
      loop
        update dure.jobs set status = 'RUNNING' where id = j.id;
        perform dure.end_job(
          j.id, 'FAILED', 'blocked',
          jsonb_build_object(
            'code', 'JOB_BLOCKED',
            'message',
              j.target || ' was busy with other exchanges (' || v_permits
                || ' at once) for ' || (
                (p->>'permit_wait_ms')::bigint / 1000
              ) || ' s.'
          ),
          false, null
        );
      end loop;
    end if;
  end loop;
  return jsonb_build_object('taken', v_taken, 'lost', v_lost);
end $$;

-- Whether the agent that speaks next is paused: the target first, then by
-- turns.
create or replace function dure.job_is_paused(
  j dure.jobs
) returns boolean language sql stable as $$
  select exists (
    select
    from dure.pauses
    where agent = case when j.turns_done % 2 = 0
      then j.target
      else j.requester
    end
  )
$$;

-- The jobs of a dead process: back in line, or given up. p_counts is false
-- for one that stopped in good order. Safe to repeat.
create or replace function dure.release_jobs(
  p_holder text, p_counts boolean, p_resumes_most integer, p_stale_ms bigint
) returns jsonb language plpgsql as $$
declare
  v_now bigint := (select running_ms from dure.job_clock);
  v_resumed integer := 0;
  v_abandoned integer := 0;
  j dure.jobs;
begin
  perform dure.park_job_turns(p_holder);
  for j in
    select *
    from dure.jobs
    where status = 'RUNNING' and holder = p_holder
    order by depth, id
    for update
  loop
    if p_counts and j.resume_count >= p_resumes_most then
      perform dure.end_job(
        j.id, 'ABANDONED', 'resume_limit',
        jsonb_build_object(
          'code', 'JOB_RESUME_LIMIT',
          'message',
            'It was resumed ' || j.resume_count || ' times in turn ' || (
              j.turns_done + 1
            ) || ' without finishing it.'
        ),
        false, null
      );
      v_abandoned := v_abandoned + 1;
    elsif v_now - j.progress_ms > p_stale_ms then
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
      v_abandoned := v_abandoned + 1;
    else
      update dure.jobs
      set status = 'PENDING', holder = null, epoch = epoch + 1,
        has_permit = false, held_at = clock_timestamp(), queued_ms = v_now,
        updated_at = clock_timestamp(),
        resume_count = resume_count + p_counts::integer,
        resumes = resumes + 1
      where id = j.id
      returning * into j;
      perform dure.job_event(
        j, 'job.resuming',
        jsonb_build_object(
          'turn', j.turns_done + 1, 'resumeCount', j.resume_count
        )
      );
      v_resumed := v_resumed + 1;
    end if;
  end loop;
  return jsonb_build_object('resumed', v_resumed, 'abandoned', v_abandoned);
end $$;
`;
