/**
 * Jobs: how they are asked for, given to processes, and ended. A job is held by a process under an
 * epoch on its own row: the process that takes it raises the epoch, and every write names the epoch
 * that it was taken under. Taking a job is giving it its permit: both are one statement. Locks are
 * taken in the order process, permit, job (ancestors first), turn.
 */
export const sql = /* sql */ `
-- Makes a job. Refusals are raised, so they change nothing: DU422 key
-- reused, DU404 parent unknown, DU409 parent over, DU413 too deep, DU429
-- too many.
create or replace function dure.ask_job(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  v_id text := p->>'id';
  v_parent text := p->>'parent';
  v_root text := p->>'id';
  v_work text := coalesce(p->>'origin_session', p->>'id');
  v_depth integer := 0;
  v_now bigint := (select running_ms from dure.job_clock);
  v_conversation text := p->>'conversation';
  known dure.jobs;
  parent dure.jobs;
  old dure.jobs;
  j dure.jobs;
begin
  if p->>'key' is not null then
    select * into known
    from dure.jobs
    where tenant = p->>'tenant' and ask_key = p->>'key';
    if found then
      if known.body_hash <> p->>'body_hash' then
        raise exception using errcode = 'DU422', message = 'key reused';
      end if;
      -- A caller that asks again waits again.
      update dure.jobs
      set wait_until = greatest(
        wait_until,
        clock_timestamp() + (
          p->>'wait_ms'
        )::double precision * interval '1 millisecond'
      )
      where id = known.id
        and finished_at is null
        and (p->>'wait_ms')::double precision > 0;
      return jsonb_build_object('outcome', 'repeated', 'id', known.id);
    end if;
  end if;
  if v_parent is not null then
    select root_id into v_root
    from dure.jobs
    where id = v_parent and tenant = p->>'tenant';
    if not found then
      raise exception using errcode = 'DU404', message = 'no such parent';
    end if;
    perform 1
    from dure.jobs
    where id = v_root
    for no key update;
    select * into parent
    from dure.jobs
    where id = v_parent
    for no key update;
    if parent.status not in ('PENDING', 'RUNNING') then
      raise exception using errcode = 'DU409',
        message = 'the parent is over';
    end if;
    v_depth := parent.depth + 1;
    v_work := parent.root_work;
    if v_depth > (p->>'max_depth')::integer then
      raise exception using errcode = 'DU413', message = 'too deep';
    end if;
    if (
      select count(*) from dure.jobs where root_id = v_root
    ) >= (p->>'max_tree')::integer
    then
      raise exception using errcode = 'DU429',
        message = 'too many jobs for one root';
    end if;
    if least(
      parent.requester, parent.target
    ) = least(p->>'requester', p->>'target')
      and greatest(
        parent.requester, parent.target
      ) = greatest(p->>'requester', p->>'target')
    then
      v_conversation := coalesce(v_conversation, parent.conversation_id);
    end if;
  end if;
  if p->>'retry_of' is not null then
    -- It takes the place of the old one: under the same root, with the same
    -- budget, cancelled with the same parent.
    select root_id into v_root
    from dure.jobs
    where id = p->>'retry_of';
    perform 1
    from dure.jobs
    where id = v_root
    for no key update;
    select * into old from dure.jobs where id = p->>'retry_of';
    v_parent := old.parent_id;
    v_work := old.root_work;
    v_depth := old.depth;
    if (
      select count(*) from dure.jobs where root_id = v_root
    ) >= (p->>'max_tree')::integer
    then
      raise exception using errcode = 'DU429',
        message = 'too many jobs for one root';
    end if;
  end if;
  v_conversation := coalesce(
    v_conversation,
    (
      select c.conversation_id
      from dure.jobs c
      where c.root_work = v_work
        and c.tenant = p->>'tenant'
        and coalesce(c.topic, '') = coalesce(p->>'topic', '')
        and least(c.requester, c.target) = least(
          p->>'requester', p->>'target'
        )
        and greatest(c.requester, c.target) = greatest(
          p->>'requester', p->>'target'
        )
      order by c.seq desc
      limit 1
    ),
    p->>'new_conversation'
  );
  insert into dure.jobs (
    id, tenant, requester, target, message, payload, topic, intent,
    conversation_id, parent_id, root_id, root_work, depth, retry_of,
    max_turns, ask_key, body_hash, origin_session, origin_turn, wait_until,
    queued_ms, progress_ms
  )
  values (
    v_id, p->>'tenant', p->>'requester', p->>'target', p->>'message',
    nullif(p->'payload', 'null'), p->>'topic', p->>'intent', v_conversation,
    v_parent, v_root, v_work, v_depth, p->>'retry_of',
    (p->>'max_turns')::integer, p->>'key', p->>'body_hash',
    p->>'origin_session', p->>'origin_turn',
    clock_timestamp() + nullif(
      (p->>'wait_ms')::double precision, 0
    ) * interval '1 millisecond',
    v_now, v_now
  )
  on conflict do nothing
  returning * into j;
  if not found then
    -- Asked twice at once, or the answer to this very statement was lost.
    select * into known
    from dure.jobs
    where id = v_id or (tenant = p->>'tenant' and ask_key = p->>'key')
    order by id = v_id desc
    limit 1;
    if known.id <> v_id and known.body_hash <> p->>'body_hash' then
      raise exception using errcode = 'DU422', message = 'key reused';
    end if;
    return jsonb_build_object(
      'outcome',
        case when known.id = v_id then 'accepted' else 'repeated' end,
      'id', known.id
    );
  end if;
  -- A job that takes up another one begins behind its finished turns; they
  -- are paid for there.
  if j.retry_of is not null then
    insert into dure.job_turns (
      job_id, number, speaker, text, turn_id, attempts, started_at,
      finished_at
    )
    select j.id, t.number, t.speaker, t.text, t.turn_id, 0, t.started_at,
      t.finished_at
    from dure.job_turns t
    where t.job_id = j.retry_of;
    -- So are the words of persons, but for those that no finished turn has
    -- heard.
    insert into dure.job_words (job_id, author, text, at)
    select j.id, w.author, w.text, w.at
    from dure.job_words w
    where w.job_id = j.retry_of
      and coalesce(w.turn_number, old.turns_done + 1) > old.turns_done
    order by w.id;
    update dure.jobs
    set answer = old.answer,
      turns_done = (
        select count(*) from dure.job_turns where job_id = j.id
      )
    where id = j.id
    returning * into j;
    perform dure.close_job_question(j.retry_of, 'retried');
  end if;
  perform dure.job_event(
    j, 'job.accepted',
    jsonb_build_object(
      'message', j.message, 'intent', j.intent, 'depth', j.depth,
      'topic', j.topic
    )
  );
  return jsonb_build_object('outcome', 'accepted', 'id', j.id);
end $$;

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

-- Open jobs that these have asked for, at whatever depth.
create or replace function dure.job_descendants(
  p_jobs text[]
) returns text[] language sql stable as $$
  with recursive d as (
    select id
    from dure.jobs
    where parent_id = any(p_jobs) and finished_at is null
    union select c.id
      from d
      join dure.jobs c on c.parent_id = d.id and c.finished_at is null)
  select coalesce(array_agg(id), '{}') from d
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
      on o.origin_session = 'room:' || split_part(o.origin_session, ':', 2)
        || ':' || p.id
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
    last_error = coalesce(p_error, last_error), holder = null,
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
-- p_limit. Returns how many.
create or replace function dure.purge_jobs(
  p_keep_ms double precision, p_limit integer
) returns integer language plpgsql as $$
declare
  v_jobs text[];
  v_sessions text[];
begin
  v_jobs := array(
    select id
    from dure.jobs
    where finished_at < clock_timestamp()
      - p_keep_ms * interval '1 millisecond'
    order by finished_at
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
  delete from dure.turn_events
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

-- The table of statuses. Recovery alone takes a job back, and then from its
-- holder.
create or replace function dure.check_job_status(

) returns trigger language plpgsql as $$
begin
  if not (
    case old.status
      when 'PENDING'
        then new.status in ('RUNNING', 'CANCELLED', 'ABANDONED')
      when 'RUNNING'
        then new.status in ('COMPLETED', 'FAILED', 'CANCELLED', 'ABANDONED')
          or (
            new.status = 'PENDING'
              and new.holder is null
              and new.epoch > old.epoch
              and new.resumes > old.resumes
          )
      else false
    end
  )
  then
    raise exception using errcode = 'DU410',
      message = 'a job that is ' || old.status || ' cannot become '
        || new.status;
  end if;
  return new;
end $$;

create or replace function dure.job_event(
  j dure.jobs, p_type text, p_data jsonb
) returns void language sql as $$
  select dure.emit(jsonb_build_array(jsonb_build_object(
    'type', p_type, 'role', 'delegation', 'session', j.origin_session,
      'agent',
      j.target,
    'job', j.id, 'tenant', j.tenant,
    'data', jsonb_build_object(
      'requester', j.requester, 'target', j.target, 'status', j.status,
      'turnsDone', j.turns_done, 'maxTurns', j.max_turns,
      'conversationId', j.conversation_id, 'parentJobId', j.parent_id
    ) || p_data
  )))
$$;
`;
