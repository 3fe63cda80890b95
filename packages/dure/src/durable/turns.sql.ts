/**
 * The functions that write turns and their journal. Each is one statement on the wire and one
 * transaction; PL/pgSQL gives every statement inside a fresh snapshot, so a decision is made on what
 * is committed after the lock was taken. Locks are taken in the order session, turn, effect. Why
 * functions: docs/decisions/0004-turns-are-functions-in-the-database.md
 */
export const sql = /* sql */ `
-- Whether a turn has reached out of its conversation: an effect that may
-- have happened, a call of a tool that writes, work or a decision that it
-- asked for, a flow that it finished, a hook.
create or replace function dure.has_acted(
  t dure.turns
) returns boolean language sql stable as $$
  select exists (
      select
      from dure.effects
      where turn_id = t.id and status <> 'failed'
    )
    or exists (
      select
      from dure.turn_events
      where turn_id = t.id
        and type = 'TOOL_START'
        and data->>'effect' = 'idempotent'
    )
    or exists (select from dure.escalations where turn_id = t.id)
    or exists (
      select
      from dure.completed
      where session_id = t.session_id and turn_id = t.id
    )
    or coalesce(jsonb_array_length(t.done->'hooks'), 0) > 0
$$;

-- Whether a request that says the same as the one of this turn repeats it:
-- it is being answered, or it has acted and ended a short time ago. In a
-- session that the caller named only the failed turn that ended last is
-- repeated: people say the same again. Reason:
-- docs/decisions/0018-requests-without-a-key.md
create or replace function dure.is_repetition(
  t dure.turns, p jsonb
) returns boolean language sql stable as $$
  select t.id is not null and (
    t.status <> 'done'
    or (
      t.finished_at > clock_timestamp()
        - (p->>'within_ms')::float8 * interval '1 millisecond'
      and (
        p->>'of' = 'caller'
        or (
          t.done ? 'error'
          -- a yes again: its effect is found out about under the same key
          and not exists (
            select
            from dure.sessions s
            where s.id = t.session_id
              and (s.state->'question'->>'begun')::boolean
          )
          and not exists (
            select
            from dure.turns n
            where n.session_id = t.session_id
              and (n.accepted_at, n.id) > (t.accepted_at, t.id)
          )
        )
      )
      and dure.has_acted(t)
    )
  )
$$;

-- The turn that a request repeats by what it says; null where it is a new
-- one, which then stands for what is said.
create or replace function dure.repeated_turn(
  p jsonb, p_turn text, p_session text
) returns dure.turns language plpgsql as $$
declare
  t dure.turns;
begin
  insert into dure.idempotency (
    caller, path, key, body_hash, turn_id, session_id
  )
  values (
    p->>'caller', p->>'path', p->>'key', '', p_turn, p_session
  )
  on conflict do nothing;
  if found then return null; end if;
  perform
  from dure.idempotency
  where caller = p->>'caller' and path = p->>'path' and key = p->>'key'
  for update;
  select o.* into t
  from dure.idempotency i
  join dure.turns o on o.id = i.turn_id
  where i.caller = p->>'caller' and i.path = p->>'path' and i.key = p->>'key';
  if dure.is_repetition(t, p) then return t; end if;
  update dure.idempotency
  set turn_id = p_turn, session_id = p_session, at = clock_timestamp()
  where caller = p->>'caller' and path = p->>'path' and key = p->>'key';
  return null;
end $$;

-- Stores a message and marks its turn as running, waiting or merged.
-- Refusals are raised, so they change nothing: DU404 foreign session, DU409
-- busy, DU405 a file gone, DU429 queue full, DU422 key reused. 'elsewhere': the service was
-- only assumed and the session has another one; nothing is stored. DU300,
-- which names it, is the same of a session that was made meanwhile.
create or replace function dure.accept_turn(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  v_turn text := p->>'turn';
  v_session text := p->>'session';
  v_policy text := p->>'policy';
  v_key text := p->>'key';
  v_status text := 'running';
  v_merged boolean := false;
  v_new boolean := false;
  c_own constant text[] := array['slots', 'confirm_id', 'escalation'];
  v_locale text;
  v_known dure.idempotency;
  v_old dure.turns;
  s dure.sessions;
begin
  if (p->>'again')::boolean then
    select t.* into v_old
    from dure.messages m
    join dure.turns t on t.id = m.turn_id
    where m.session_id = v_session and m.asked = v_turn;
    if found then
      return jsonb_build_object(
        'outcome', 'accepted', 'turn', v_old.id, 'session', v_session,
        'status', v_old.status, 'again', true
      );
    end if;
  end if;
  -- answers to what the session has handed over: its caller sends them along
  if (p->>'untold')::boolean
    and exists (
      select
      from dure.requests
      where origin->>'session' = v_session and state = 'answered'
    )
  then
    return jsonb_build_object('outcome', 'untold');
  end if;
  -- looked at before a key is written: for most such sessions this is the
  -- answer
  if (p->>'assumed')::boolean and (v_key is not null or p ? 'repeats') then
    select * into s
    from dure.sessions
    where id = v_session and tenant = p->>'tenant';
    if s.service <> p->>'service' then
      return jsonb_build_object(
        'outcome', 'elsewhere', 'service', s.service
      );
    end if;
  end if;
  if v_key is not null then
    insert into dure.idempotency (
      caller, path, key, body_hash, turn_id, session_id
    )
    values (
      p->>'caller', p->>'path', v_key, p->>'body_hash', v_turn, v_session
    )
    on conflict do nothing;
    if not found then
      select * into v_known
      from dure.idempotency
      where caller = p->>'caller' and path = p->>'path' and key = v_key
      for update;
      if v_known.at < clock_timestamp() - interval '24 hours' then
        update dure.idempotency
        set body_hash = p->>'body_hash', turn_id = v_turn,
          session_id = v_session, at = clock_timestamp()
        where caller = p->>'caller' and path = p->>'path' and key = v_key;
      elsif v_known.body_hash <> p->>'body_hash' then
        raise exception using errcode = 'DU422', message = 'key reused';
      else
        select * into v_old
        from dure.turns
        where id = v_known.turn_id;
        return jsonb_build_object(
          'outcome', 'repeated', 'turn', v_known.turn_id,
          'session', v_known.session_id,
          'status', coalesce(v_old.status, 'done')
        );
      end if;
    end if;
  end if;
  if p ? 'repeats' then
    v_old := dure.repeated_turn(p->'repeats', v_turn, v_session);
    if v_old.id is not null then
      update dure.idempotency
      set turn_id = v_old.id, session_id = v_old.session_id
      where caller = p->>'caller' and path = p->>'path' and key = v_key;
      return jsonb_build_object(
        'outcome', 'repeated', 'turn', v_old.id,
        'session', v_old.session_id, 'status', v_old.status
      );
    end if;
  end if;

  select * into s
  from dure.sessions
  where id = v_session
  for update;
  if not found then
    insert into dure.sessions (
      id, tenant, service, title, locale, time_zone, next_ordinal,
      running_turn
    )
    values (
      v_session, p->>'tenant', p->>'service', p->>'title',
      coalesce(p->>'locale', p->>'written', p->>'letters'),
      p->>'time_zone', 2, v_turn
    )
    on conflict do nothing
    returning * into s;
    v_new := found;
    if v_new then
      s.next_ordinal := 1;
      s.running_turn := null;
      s.locale := null;
    else
      select * into s
      from dure.sessions
      where id = v_session
      for update;
    end if;
  end if;
  -- the first statement, whose answer was lost, may have been committed
  -- while we waited for its lock
  if (p->>'again')::boolean then
    select t.* into v_old
    from dure.messages m
    join dure.turns t on t.id = m.turn_id
    where m.session_id = v_session and m.asked = v_turn;
    if found then
      return jsonb_build_object(
        'outcome', 'accepted', 'turn', v_old.id, 'session', v_session,
        'status', v_old.status, 'again', true
      );
    end if;
  end if;
  if s.tenant <> p->>'tenant' then
    raise exception using errcode = 'DU404', message = 'foreign session';
  end if;
  if (p->>'assumed')::boolean and s.service <> p->>'service' then
    if v_key is null and not p ? 'repeats' then
      return jsonb_build_object(
        'outcome', 'elsewhere', 'service', s.service
      );
    end if;
    raise exception using errcode = 'DU300', message = s.service;
  end if;
  -- A message has the language of its session as of now. It is kept with the
  -- message: a turn that waits, or begins again, does not follow later ones.
  v_locale := coalesce(
    p->>'locale', p->>'written', s.locale, p->>'letters'
  );

  if s.running_turn is not null then
    v_status := 'queued';
    if v_policy = 'reject' then
      raise exception using errcode = 'DU409', message = 'session busy';
    end if;
    select * into v_old
    from dure.turns
    where id = s.queue[cardinality(s.queue)];
    -- Only words with words of the same kind that will still be answered:
    -- slots, a confirmation or an answer belong to one message.
    if v_policy = 'merge'
      and v_old.stop is null
      and v_old.author = p->>'author'
      and v_old.service = p->>'service'
      and v_old.version = p->>'version'
      and not p->'input' ?| c_own
      and not exists (
        select 1
        from dure.messages
        where turn_id = v_old.id and input ?| c_own
      )
    then
      v_turn := v_old.id;
      v_merged := true;
      if (
        select count(*) from dure.messages where turn_id = v_turn
      ) >= (p->>'max_waiting')::int
      then
        raise exception using errcode = 'DU429', message = 'queue full';
      end if;
      update dure.idempotency
      set turn_id = v_turn
      where turn_id = p->>'turn' and session_id = v_session
        and (caller, path, key) in (
          (p->>'caller', p->>'path', v_key),
          (p#>>'{repeats,caller}', p#>>'{repeats,path}', p#>>'{repeats,key}')
        );
    elsif cardinality(s.queue) >= (p->>'max_waiting')::int then
      raise exception using errcode = 'DU429', message = 'queue full';
    end if;
    if v_policy = 'interrupt' then
      update dure.turns set stop = jsonb_build_object('by', 'interrupt')
      where id = s.running_turn and status <> 'done' and stop is null;
    end if;
  end if;

  if not v_merged then
    insert into dure.turns (
      id, session_id, service, version, author, status, holder, trace_parent
    )
    values (
      v_turn, v_session, p->>'service', p->>'version', p->>'author',
      v_status, case when v_status = 'running' then p->>'holder' end,
      p->>'trace_parent'
    );
  end if;
  insert into dure.messages (
    session_id, ordinal, turn_id, asked, author, text, input, queued
  )
  values (
    v_session, s.next_ordinal, v_turn, p->>'turn', p->>'author',
    p->>'message',
    p->'input' || case
      when v_locale is null then '{}'
      else jsonb_build_object('locale', v_locale)
    end,
    v_status = 'queued'
  );
  if p->'input' ? 'files' then
    perform dure.use_files(v_turn, v_session, p#>'{input,files}');
  end if;
  if not v_new then
    update dure.sessions set
      next_ordinal = s.next_ordinal + 1,
      running_turn = coalesce(s.running_turn, v_turn),
      queue = case
        when v_status = 'queued' and not v_merged then s.queue || v_turn
        else s.queue
      end,
      -- An answer from the inbox goes to the service that asked; the person
      -- stays where it is.
      service = case
        when p->'input' ? 'escalation' then s.service
        else p->>'service'
      end,
      locale = v_locale,
      time_zone = coalesce(p->>'time_zone', s.time_zone),
      -- An index has it: where the end before is a moment ago, this one's
      -- end will tell.
      updated_at = case
        when s.updated_at < clock_timestamp() - interval '1 minute'
          then clock_timestamp()
        else s.updated_at
      end
    where id = v_session;
  end if;
  perform dure.emit(p->'events');
  return jsonb_build_object(
    'outcome', 'accepted', 'turn', v_turn, 'session', v_session,
    'status', v_status, 'merged', v_merged,
    'stopped', case when v_policy = 'interrupt' then s.running_turn end
  ) || case
    when v_status = 'running'
      then jsonb_build_object(
        'incarnation', s.incarnation, 'state', s.state, 'memory', s.memory,
        'memory_rev', s.memory_rev, 'ordinal', s.next_ordinal,
        'locale', v_locale,
        'time_zone', coalesce(p->>'time_zone', s.time_zone),
        'now', extract(epoch from clock_timestamp()) * 1000
      )
    else '{}'
  end;
end $$;

-- Takes a running turn that no process holds (or that this process holds
-- and does not know, or one that came under the name of a dead process when
-- its turns had been given up already): everything a runner needs. A turn
-- that was accepted where its service is not known has the version of the
-- first process that takes it; p_versions: of the services here.
create or replace function dure.claim_turn(
  p_turn text, p_holder text, p_versions jsonb
) returns jsonb language plpgsql as $$
declare
  t dure.turns;
  s dure.sessions;
begin
  update dure.turns
  set holder = p_holder, epoch = epoch + 1, held_at = clock_timestamp(),
    version = case version
      when '' then coalesce(p_versions->>service, '')
      else version
    end
  where id = p_turn
    and status = 'running'
    and (
      holder is null
        or holder = p_holder
        or exists (
          select 1
          from dure.processes
          where id = holder and recovered_at is not null
        )
    )
    -- others have taken over, and it has not found that out
    and not exists (
      select 1
      from dure.processes
      where id = p_holder and ended_at is not null
    )
  returning * into t;
  if not found then return null; end if;
  select * into s from dure.sessions where id = t.session_id;
  return jsonb_build_object(
    'turn', t.id, 'session', t.session_id, 'service', t.service,
    'version', t.version, 'author', t.author, 'epoch', t.epoch,
    'stop', t.stop, 'trace_parent', t.trace_parent,
    'accepted_at', extract(epoch from t.accepted_at) * 1000,
    'incarnation', s.incarnation, 'state', s.state, 'memory', s.memory,
    'memory_rev', s.memory_rev, 'locale', s.locale,
    'time_zone', s.time_zone, 'tenant', s.tenant,
    'messages',
      (
        select jsonb_agg(
          jsonb_build_object(
            'ordinal', m.ordinal, 'author', m.author, 'text', m.text,
            'input', m.input, 'queued', m.queued,
            'at', extract(epoch from m.at) * 1000
          )
            order by m.ordinal
        )
        from dure.messages m
        where m.turn_id = t.id
      ),
    'rows',
      coalesce(
        (
          select jsonb_agg(
            jsonb_build_object(
              'seq', e.seq, 'place', e.place, 'type', e.type, 'data', e.data
            )
              order by e.seq
          )
          from dure.turn_events e
          where e.turn_id = t.id
        ),
        '[]'
      )
  );
end $$;

-- The turn, locked, when it runs and this is its life; else null. Found by
-- its key alone: asked for its status too, a planner without statistics
-- reads the index of all that run.
create or replace function dure.lock_turn(
  p_turn text, p_epoch integer
) returns dure.turns language plpgsql as $$
declare
  t dure.turns;
begin
  select * into t
  from dure.turns
  where id = p_turn
  for no key update;
  if t.epoch = p_epoch and t.status = 'running' then return t; end if;
  return null;
end $$;

-- Adds to the journal of a turn that is still ours. 'ok', 'stop' (someone
-- asked for it), or 'fenced'.
create or replace function dure.journal_turn(
  p_turn text, p_epoch integer, p_rows jsonb, p_calls jsonb
) returns text language plpgsql as $$
declare
  t dure.turns := dure.lock_turn(p_turn, p_epoch);
begin
  if t.id is null then return 'fenced'; end if;
  perform dure.put_journal(
    p_turn, t.session_id, t.service, p_rows, p_calls
  );
  return case when t.stop is null then 'ok' else 'stop' end;
end $$;

-- Ends a turn that is still ours and marks the session's next one as
-- running under the same holder.
create or replace function dure.finish_turn(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  v_turn text := p->>'turn';
  v_epoch integer := (p->>'epoch')::integer;
  v_next text;
  t dure.turns;
  s dure.sessions;
  v_state jsonb;
begin
  select * into s
  from dure.sessions
  where id = p->>'session'
  for update;
  -- by its key alone, see dure.lock_turn: this names no status that an index
  -- has
  update dure.turns
  set status = 'done', done = p->'done', began = s.state,
    done_seq = (p->>'done_seq')::integer, finished_at = clock_timestamp()
  where id = v_turn
    and epoch = v_epoch
    and status <> 'queued'
    and status <> 'done'
    and (stop is null or (p->>'stopped')::boolean)
  returning * into t;
  if not found then
    select * into t
    from dure.turns
    where id = v_turn;
    return jsonb_build_object(
      'outcome', case
        when t.epoch is distinct from v_epoch or t.status = 'queued'
          then 'fenced'
        when t.status = 'done' then 'repeated'
        else 'stop'
      end
    );
  end if;
  perform dure.put_journal(
    v_turn, t.session_id, t.service, p->'rows', p->'calls'
  );
  if jsonb_array_length(p->'completed') > 0 then
    insert into dure.completed (
      session_id, turn_id, service, flow, stage, data
    )
    select t.session_id, v_turn, c.service, c.flow, c.stage,
      coalesce(c.data, 'null')
    from jsonb_to_recordset(p->'completed') as c(
      service text, flow text, stage text, data jsonb
    );
    delete from dure.completed
    where session_id = t.session_id
      and id in (
        select id
        from dure.completed
        where session_id = t.session_id
        order by id desc offset 50
      );
  end if;
  -- one as text: of a process of the release before
  if p ? 'approval' or jsonb_array_length(p->'approvals') > 0 then
    update dure.escalations
    set used_at = clock_timestamp(), used_by = v_turn
    where used_at is null
      and id in (
        select jsonb_array_elements_text(
          coalesce(p->'approvals', jsonb_build_array(p->'approval'))
        )
      );
  end if;
  if jsonb_array_length(p->'escalations') > 0 then
    perform dure.raise_escalations(p->'escalations');
  end if;
  if jsonb_array_length(p->'outbox') > 0 then
    perform dure.enqueue(p->'outbox');
  end if;
  v_state := coalesce(p->'state', s.state);
  -- A question holds until the next DONE of its session. When it was shown
  -- is told by the clock that dates messages, too.
  if v_state->'question'->>'turn' = v_turn then
    v_state := jsonb_set(
      v_state, '{question,shownAt}',
      to_jsonb(floor(extract(epoch from clock_timestamp()) * 1000))
    );
  elsif (p->>'keeps_question')::boolean and s.state ? 'question' then
    v_state := jsonb_set(
      v_state, '{question}', s.state->'question' || '{"begun": true}'
    );
  else
    v_state := v_state - 'question';
  end if;
  v_next := s.queue[1];
  update dure.sessions set
    state = v_state,
    memory = coalesce(p->'memory', memory),
    memory_rev = memory_rev + 1,
    running_turn = v_next,
    queue = s.queue[2:],
    updated_at = clock_timestamp()
  where id = t.session_id;
  if v_next is not null then
    update dure.turns
    set status = 'running', holder = p->>'holder',
      held_at = clock_timestamp()
    where id = v_next;
  end if;
  perform dure.emit(p->'events');
  return jsonb_build_object('outcome', 'done', 'next', v_next);
end $$;

-- Asks for the end of a turn. 'stopping', 'finished', or null when there is
-- no such turn of this tenant.
create or replace function dure.stop_turn(
  p_turn text, p_tenant text, p_by text
) returns text language plpgsql as $$
declare
  t dure.turns;
begin
  select t2.* into t
  from dure.turns t2
  join dure.sessions s on s.id = t2.session_id
  where t2.id = p_turn and s.tenant = p_tenant
  for no key update of t2;
  if not found then return null; end if;
  if t.status = 'done' then return 'finished'; end if;
  update dure.turns
  set stop = coalesce(stop, jsonb_build_object('by', p_by))
  where id = p_turn;
  return 'stopping';
end $$;

-- Opens a turn again that ended because its model was away: it goes on from
-- its journal, with new patience, under a new epoch. 'retrying'; 'running':
-- it has no end; 'passed': its session has gone on; 'final': it ended
-- otherwise, or was opened too often; null: no such turn of this tenant.
-- Reason: docs/decisions/0019-a-retry-opens-the-turn-again.md
create or replace function dure.retry_turn(
  p_turn text, p_tenant text, p_by text
) returns text language plpgsql as $$
declare
  t dure.turns;
  s dure.sessions;
begin
  select s2.* into s
  from dure.sessions s2
  join dure.turns t2 on t2.session_id = s2.id
  where t2.id = p_turn
    and s2.tenant = p_tenant
  for update of s2;
  if not found then return null; end if;
  select * into t
  from dure.turns
  where id = p_turn
  for no key update;
  if not found then return null; end if;
  if t.status <> 'done' then return 'running'; end if;
  -- a turn of a job goes on with its job alone (dure.retry_job)
  if not dure.can_reopen(t)
    or exists (
      select
      from dure.jobs
      where t.session_id like 'job:%'
        and id = split_part(t.session_id, ':', 2)
        and finished_at is not null
    )
  then
    return 'final';
  end if;
  if s.running_turn is not null or exists (
    select
    from dure.turns n
    where n.session_id = t.session_id
      and (n.accepted_at, n.id) > (t.accepted_at, t.id)
  )
  then
    return 'passed';
  end if;
  if not dure.forget_waits(p_turn) and not dure.is_stopped_by_job(t) then
    return 'final';
  end if;
  -- readers have seen DONE at this position: what follows is behind it
  insert into dure.turn_journal (turn_id, seq, lines)
  values (
    p_turn, t.done_seq,
    jsonb_build_array(
      jsonb_build_array(
        t.done_seq, '0.' || t.done_seq || ' retry', 'RECORD', p_by
      )
    )
  );
  delete from dure.completed
  where session_id = t.session_id and turn_id = p_turn;
  update dure.turns
  set status = 'running', holder = null, epoch = epoch + 1,
    held_at = clock_timestamp(), done = null, done_seq = null,
    finished_at = null, stop = null
  where id = p_turn;
  update dure.sessions
  set state = t.began,
    memory = dure.memory_without(
      memory,
      case when dure.is_stopped_by_job(t)
        then memory#>>'{rawHistory,-1,content}'
        else t.done->>'message'
      end
    ),
    memory_rev = memory_rev + 1, running_turn = p_turn,
    updated_at = clock_timestamp()
  where id = t.session_id;
  return 'retrying';
end $$;

-- Whether a turn ended because its job did, or was late: no person has
-- stopped it.
create or replace function dure.is_stopped_by_job(
  t dure.turns
) returns boolean language sql immutable as $$
  select coalesce(
    t.done#>>'{error,code}' = 'TURN_STOPPED'
      and t.stop->>'by' in ('job', 'jobs'),
    false
  )
$$;

-- Whether a turn that ended can go on from its journal: its model was away,
-- or its job has stopped it. Each retry raises the epoch by two, as a life
-- does.
create or replace function dure.can_reopen(
  t dure.turns
) returns boolean language sql immutable as $$
  select t.began is not null
    and t.epoch < 16
    and (
      coalesce((t.done#>>'{error,retry}')::boolean, false)
        or dure.is_stopped_by_job(t)
    )
$$;

-- Takes from a journal that its agents have failed in vain waits for their
-- model, and when these began: the next life asks the model again. An agent
-- after whose failure the handler began something else stays failed. False:
-- none is left.
create or replace function dure.forget_waits(
  p_turn text
) returns boolean language plpgsql as $$
declare
  v_failed integer[] := array(
    select e.seq
    from dure.turn_events e
    join dure.turn_events w on w.turn_id = e.turn_id
    where e.turn_id = p_turn
      and e.type = 'RECORD'
      and e.data ? 'error'
      and w.type = 'RECORD'
      and w.place like '% wait:model'
      and w.place like split_part(e.place, ' ', 1) || '.%'
      and not exists (
        select
        from dure.turn_events o
        where o.turn_id = p_turn
          and regexp_replace(split_part(o.place, ' ', 1), '[0-9]+$', '')
            = regexp_replace(split_part(e.place, ' ', 1), '[0-9]+$', '')
        group by split_part(o.place, ' ', 1)
        having min(o.seq) > e.seq
      )
  );
  v_forgotten integer[] := v_failed || array(
    select seq
    from dure.turn_events
    where turn_id = p_turn
      and type = 'RECORD'
      and place like '% wait:model'
  );
begin
  if cardinality(v_failed) = 0 then return false; end if;
  delete from dure.turn_journal
  where turn_id = p_turn and lines is null and seq = any(v_forgotten);
  update dure.turn_journal j
  set lines = (
    select coalesce(
      jsonb_agg(
        jsonb_build_array(e.seq, e.place, e.type, e.data) order by e.seq
      ),
      '[]'
    )
    from dure.turn_events e
    where e.turn_id = p_turn
      and e.first = j.seq
      and e.seq <> all(v_forgotten)
  )
  where j.turn_id = p_turn and j.lines is not null;
  return true;
end $$;

-- A memory without its last exchange, where that ended with these words.
create or replace function dure.memory_without(
  p_memory jsonb, p_answer text
) returns jsonb language sql immutable as $$
  select case
    when p_memory#>>'{rawHistory,-1,content}' = p_answer
      then jsonb_set(
        p_memory, '{rawHistory}', (p_memory->'rawHistory') - -1 - -1
      )
    else p_memory
  end
$$;

-- Gives up a turn that its holder cannot run: others may take it. False: it
-- is not this holder's any more.
create or replace function dure.give_up_turn(
  p_turn text, p_holder text, p_epoch integer
) returns boolean language plpgsql as $$
begin
  update dure.turns
  set holder = null, held_at = clock_timestamp()
  where id = p_turn
    and status = 'running'
    and holder = p_holder
    and epoch = p_epoch;
  return found;
end $$;

-- The turns of a process that is dead: held by no process, and closed to
-- the one that held them.
create or replace function dure.release_turns(
  p_holder text
) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  update dure.turns
  set holder = null, epoch = epoch + 1, held_at = clock_timestamp()
  where status = 'running' and holder = p_holder;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Journal rows and model calls of one write; rows that are there already (a
-- repeated write) stay as they are.
create or replace function dure.put_journal(
  p_turn text, p_session text, p_service text, p_rows jsonb, p_calls jsonb
) returns void language plpgsql as $$
begin
  perform dure.put_journal_rows(
    p_turn, p_session, p_service, p_rows, p_calls
  );
  perform dure.settle_reservations(p_turn, p_calls);
end $$;

-- Lines of a journal and model calls of one write, as one row; what is there
-- already (a repeated write) stays as it is.
create or replace function dure.put_journal_rows(
  p_turn text, p_session text, p_service text, p_rows jsonb, p_calls jsonb
) returns void
language plpgsql as $$
begin
  if jsonb_array_length(p_rows) > 0 then
    insert into dure.turn_journal (turn_id, seq, lines)
    values (
      p_turn, coalesce(p_rows#>>'{0,0}', p_rows#>>'{0,seq}')::integer, p_rows
    )
    on conflict do nothing;
    if not found then return; end if;
  end if;
  if jsonb_array_length(p_calls) > 0 then
    insert into dure.model_calls (
      at, session_id, turn_id, service, agent, provider, model, attempt,
      prompt_hash, tokens_in, tokens_out, estimated, cost_micro_usd,
      latency_ms, error
    )
    select to_timestamp(c.at / 1000.0), p_session, p_turn, p_service,
      c.agent, c.provider, c.model, c.attempt, c.prompt_hash, c.tokens_in,
      c.tokens_out, c.estimated, c.cost_micro_usd, c.latency_ms, c.error
    from jsonb_to_recordset(p_calls) as c(
      at double precision, agent text, provider text, model text,
      attempt integer, prompt_hash text, tokens_in bigint,
      tokens_out bigint, estimated boolean, cost_micro_usd bigint,
      latency_ms double precision, error text
    );
  end if;
end $$;

-- Of releases before the journal had a row for each commit: what they write
-- and remove line by line.
create or replace function dure.put_line(
  
) returns trigger language plpgsql as $$
begin
  insert into dure.turn_journal (turn_id, seq, place, type, data, at)
  values (
    new.turn_id, new.seq, new.place, new.type, new.data,
    coalesce(new.at, clock_timestamp())
  )
  on conflict do nothing;
  return case when found then new end;
end $$;

-- Journals are removed as a whole.
create or replace function dure.remove_journal(
  
) returns trigger language plpgsql as $$
begin
  delete from dure.turn_journal
  where turn_id = old.turn_id;
  return old;
end $$;
`;
