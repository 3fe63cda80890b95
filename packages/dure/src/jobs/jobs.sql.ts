/**
 * Jobs: how they are asked for, and what holds for each row. A job is held by a process under an
 * epoch on its own row: the process that takes it raises the epoch, and every write names the epoch
 * that it was taken under. Locks are taken in the order process, permit, job (ancestors first), turn.
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
  j dure.jobs;
begin
  -- A process of an older release takes up a job by another one.
  if p->>'retry_of' is not null then
    perform dure.retry_job(p->>'retry_of', p->>'tenant', '');
    return jsonb_build_object('outcome', 'repeated', 'id', p->>'retry_of');
  end if;
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
    conversation_id, parent_id, root_id, root_work, depth,
    max_turns, ask_key, body_hash, origin_session, origin_turn, wait_until,
    queued_ms, progress_ms
  )
  values (
    v_id, p->>'tenant', p->>'requester', p->>'target', p->>'message',
    nullif(p->'payload', 'null'), p->>'topic', p->>'intent', v_conversation,
    v_parent, v_root, v_work, v_depth,
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
  perform dure.keep_job_files(j.id, 0, p->'files', null);
  perform dure.job_event(
    j, 'job.accepted',
    jsonb_build_object(
      'message', j.message, 'intent', j.intent, 'depth', j.depth,
      'topic', j.topic
    )
  );
  return jsonb_build_object('outcome', 'accepted', 'id', j.id);
end $$;

-- Files that came with a turn of the exchange, 0 for the request: kept with
-- the job, whatever becomes of the session that had them.
create or replace function dure.keep_job_files(
  p_job text, p_turn integer, p_files jsonb, p_from text
) returns void language plpgsql as $$
begin
  if coalesce(jsonb_typeof(p_files), '') <> 'array' or p_files = '[]' then
    return;
  end if;
  update dure.jobs
  set files = files || (
    select coalesce(
      jsonb_agg(r || jsonb_build_object('turn', p_turn)), '[]'
    )
    from jsonb_array_elements(
      dure.carry_files(p_files, p_from, 'job ' || p_job, p_job)
    ) r
  )
  where id = p_job;
end $$;

create or replace function dure.forget_job_files(

) returns trigger language plpgsql as $$
begin
  delete from dure.files f
  using gone g
  where f.session_id = 'job ' || g.id;
  return null;
end $$;

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

-- The table of statuses. Recovery alone takes a job back, and then from its
-- holder; a retry opens one that failed or was given up.
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
      else old.status in ('FAILED', 'ABANDONED')
        and new.status = 'PENDING'
        and new.holder is null
        and new.epoch > old.epoch
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
