/** Entries of the inbox: how they open, close and are answered. */
export const sql = /* sql */ `
-- New entries of the inbox. A subject that is open already is not asked
-- twice, unless it has become more severe: then it says so, and is told
-- anew. One whose time has passed is asked anew. Gives the open one of
-- each, in the order of p.
create or replace function dure.raise_escalations(
  p jsonb
) returns table (id text, subject text,
  is_new boolean) language plpgsql as $$
#variable_conflict use_column
declare
  r record;
  e dure.escalations;
  c_severities constant text[] := array[
    'low', 'medium', 'high', 'critical'
  ];
begin
  for r in
    select *
    from rows from (
      jsonb_to_recordset(p) as (
        id text, tenant text, type text, severity text, source jsonb,
        subject text, title text, description text, context jsonb,
        "suggestedActions" jsonb, "expiresMs" double precision
      )
    ) with ordinality
    order by ordinality
  loop
    perform dure.close_escalation(
      x.id, 'dismissed', '{"value": "time"}', 'system'
    )
    from dure.escalations x
    where x.subject = r.subject
      and x.status = 'open'
      and x.expires_at < clock_timestamp();
    insert into dure.escalations as o (
      id, tenant, type, severity, run, port, job, room, session_id, turn_id,
      service, subject, title, description, context, actions, expires_at,
      next_step_at
    )
    values (
      r.id, coalesce(r.tenant, ''), r.type, r.severity, r.source->>'run',
      r.source->>'port', r.source->>'job', r.source->>'room',
      r.source->>'session', r.source->>'turn', r.source->>'service',
      r.subject, left(r.title, 300),
      left(coalesce(r.description, ''), 8000), coalesce(r.context, '{}'),
      coalesce(r."suggestedActions", '[]'),
      clock_timestamp() + r."expiresMs" * interval '1 millisecond',
      case when r.severity <> 'low' then clock_timestamp() end
    )
    on conflict (subject) where status = 'open' do update set
      severity = excluded.severity, title = excluded.title,
      description = excluded.description, context = excluded.context,
      actions = excluded.actions, step = 'worker',
      next_step_at = excluded.next_step_at
    where array_position(
      c_severities, excluded.severity
    ) > array_position(c_severities, o.severity)
    returning o.* into e;
    if found then
      perform dure.escalation_event(
        e,
        case
          when e.id = r.id then 'escalation.new'
          else 'escalation.worsened'
        end,
        '{}'
      );
    else
      -- locked by the conflict
      select x.* into e
      from dure.escalations x
      where x.subject = r.subject and x.status = 'open';
    end if;
    id := e.id;
    subject := e.subject;
    is_new := e.id = r.id;
    return next;
  end loop;
end $$;

-- Closes what is open and tells it. Nothing: it was closed before.
create or replace function dure.close_escalation(
  p_id text, p_status text, p_resolution jsonb, p_by text
) returns setof dure.escalations language plpgsql as $$
declare
  e dure.escalations;
begin
  update dure.escalations
  set status = p_status, resolution = p_resolution, resolved_by = p_by,
    resolved_at = clock_timestamp(), next_step_at = null
  where id = p_id and status = 'open'
  returning * into e;
  if not found then return; end if;
  perform dure.escalation_event(
    e, 'escalation.' || p_status,
    p_resolution || jsonb_build_object('by', p_by)
  );
  -- The room that shows the question shows its end.
  if exists (select from dure.room_questions where escalation = e.id) then
    perform dure.enqueue(
      jsonb_build_array(
        jsonb_build_object(
          'topic', 'room.question', 'ordering', e.id,
          'key', e.id || '/closed',
          'payload', jsonb_build_object('escalation', e.id)
        )
      )
    );
  end if;
  return next e;
end $$;

-- A call is made with the arguments that a person has changed; beside them
-- stand those that were asked for.
create or replace function dure.changed_input(
  p_context jsonb, p_resolution jsonb
) returns jsonb language sql immutable as $$
  select case
    when p_resolution ? 'input'
      then jsonb_build_object(
        'input', p_resolution->'input', 'asked_input', p_context->'input'
      )
    else '{}'
  end
$$;

-- Whether the one who answers is the person of a room that the question is
-- for. Their yes is no answer of the inbox.
create or replace function dure.is_askers_yes(
  e dure.escalations, p_value text, p_asker jsonb
) returns boolean language sql immutable as $$
  select coalesce(
    p_value = 'approve'
      and e.context->>'by' = 'person'
      and e.context->'asker'->>'adapter' = p_asker->>'adapter'
      and e.context->'asker'->>'id' = p_asker->>'id',
    false
  )
$$;

-- What a yes to a call counts for, of which its context says who may allow
-- it. 'counts': the call is allowed. 'first': it is kept, and another
-- person's is needed. 'given': it is kept already. 'role': who says it lacks
-- the role. 'person': it is not known whose it is. A first yes whose token
-- was revoked since is none.
create or replace function dure.hear_yes(
  e dure.escalations, p_note text, p_by text, p_person jsonb
) returns text language plpgsql as $$
declare
  v_role text := e.context->'needs'->>'role';
  v_first jsonb := e.context->'first_yes';
begin
  if v_role is not null
    and not coalesce(p_person->'roles' ? v_role, false)
  then
    return 'role';
  end if;
  if not coalesce((e.context->'needs'->'two')::boolean, false) then
    return 'counts';
  end if;
  if p_person->>'key' is null then return 'person'; end if;
  if exists (
    select 1
    from dure.tokens
    where id = v_first->>'by' and revoked_at is not null
  )
  then
    v_first := null;
  end if;
  if v_first->>'key' = p_person->>'key' then return 'given'; end if;
  if v_first is not null then return 'counts'; end if;
  update dure.escalations
  set context = context || jsonb_build_object(
    'first_yes',
      jsonb_strip_nulls(
        jsonb_build_object(
          'key', p_person->>'key', 'person', p_person->>'name', 'by', p_by,
          'note', p_note,
          'at',
            floor(extract(epoch from clock_timestamp()) * 1000)::bigint
        )
      )
  )
  where id = e.id;
  perform dure.escalation_event(
    e, 'escalation.first_yes',
    jsonb_build_object('by', p_by, 'person', p_person->>'name')
  );
  return 'first';
end $$;

-- One answer closes one question, settles the effect that it is about, and
-- starts a turn in the session that waits for it, of the service that
-- asked. Null: no such escalation of this tenant. 'resolved' or
-- 'dismissed': it was closed before, nothing changed. 'expired': its time
-- has passed, and this call has closed it for that. Another outcome is that
-- of hear_yes: nothing was closed. p_person says who answers, as
-- {key, name, roles}; null: a process that does not know.
create or replace function dure.answer_escalation(
  p_id text, p_tenant text, p_resolution jsonb, p_by text, p_turn jsonb,
    p_person jsonb
) returns jsonb language plpgsql as $$
declare
  e dure.escalations;
  v_value text := p_resolution->>'value';
  v_heard text;
  v_accepted jsonb;
begin
  -- The session first, like every turn that raises one.
  perform 1
  from dure.sessions
  where id = (
    select session_id
    from dure.escalations
    where id = p_id and tenant = p_tenant
  )
  for update;
  select * into e
  from dure.escalations
  where id = p_id and tenant = p_tenant
  for update;
  if not found then return null; end if;
  if e.status = 'open' and e.expires_at < clock_timestamp() then
    perform dure.close_escalation(
      e.id, 'dismissed', '{"value": "time"}', 'system'
    );
    return jsonb_build_object('outcome', 'expired');
  end if;
  if e.status <> 'open' then
    return jsonb_build_object('outcome', e.status);
  end if;
  if not exists (
    select 1
    from jsonb_array_elements(e.actions) a
    where a->>'value' = v_value
  )
    and not dure.is_askers_yes(e, v_value, p_turn->'asker')
  then
    raise exception using errcode = 'DU400', message = 'no such action';
  end if;
  if e.type = 'decision'
    and e.context ? 'needs'
    and v_value in ('approve', 'approve_session')
  then
    v_heard := dure.hear_yes(e, p_resolution->>'note', p_by, p_person);
    if v_heard <> 'counts' and p_person is null then
      raise exception using errcode = 'DU400', message = 'not by this process';
    end if;
    if v_heard <> 'counts' then
      return jsonb_build_object(
        'outcome', v_heard, 'role', e.context->'needs'->>'role'
      );
    end if;
  end if;
  perform dure.close_escalation(e.id, 'resolved', p_resolution, p_by);
  if e.type = 'effect_unknown' then
    update dure.effects
    set status = case v_value when 'happened' then 'done' else 'failed' end,
      result = case v_value
        when 'happened' then jsonb_build_object('confirmed_by', p_by)
      end,
      error = case v_value
        when 'happened' then null
        else jsonb_build_object(
          'code', 'NOT_HAPPENED',
          'message', 'A person found that it did not happen.'
        )
      end,
      updated_at = clock_timestamp()
    where key = e.context->>'key' and status in ('intent', 'unknown');
  end if;
  if e.session_id is not null
    and e.type in ('decision', 'effect_unknown')
    and exists (select 1 from dure.sessions where id = e.session_id)
  then
    v_accepted := dure.accept_turn(
      p_turn || jsonb_build_object(
        'session', e.session_id,
        'service',
          coalesce(
            e.service,
            (select service from dure.sessions where id = e.session_id)
          ),
        'tenant', e.tenant,
        'input',
          jsonb_build_object(
            'escalation',
              jsonb_build_object(
                'id', e.id, 'type', e.type, 'subject', e.subject,
                'answer',
                  case v_value
                    when 'approve_session' then 'approve'
                    else v_value
                  end,
                'context', e.context
                  || dure.changed_input(e.context, p_resolution)
              ) || case
                when p_resolution ? 'note'
                  then jsonb_build_object('note', p_resolution->>'note')
                else '{}'
              end
          )
      )
    );
  end if;
  return jsonb_build_object(
    'outcome', 'closed', 'turn', v_accepted->>'turn'
  );
end $$;

-- The same for processes of releases that know neither roles nor a second
-- yes: what needs them is refused as no answer.
create or replace function dure.answer_escalation(
  p_id text, p_tenant text, p_resolution jsonb, p_by text, p_turn jsonb
) returns jsonb language plpgsql as $$
begin
  return dure.answer_escalation(
    p_id, p_tenant, p_resolution, p_by, p_turn, null
  );
end $$;

-- What a turn's person says to the questions that were shown last: a yes
-- counts for those that are theirs to answer, a no closes all, and what is
-- neither leaves theirs. What this turn has closed before is given again.
-- Null: the turn is fenced.
create or replace function dure.answer_asked(
  p_turn text, p_epoch integer, p_subjects text[], p_said text
) returns jsonb language plpgsql as $$
declare
  t dure.turns;
  e dure.escalations;
  v_value text;
  v_answers jsonb := '[]';
begin
  -- The session first, as the end of a turn does.
  perform 1
  from dure.sessions
  where id = (select session_id from dure.turns where id = p_turn)
  for update;
  t := dure.lock_turn(p_turn, p_epoch);
  if t.id is null then return null; end if;
  for e in
    select *
    from dure.escalations
    where session_id = t.session_id
      and subject = any(p_subjects)
      and type = 'decision'
      and (status = 'open' or resolution->>'turn' = p_turn)
    order by created_at, id
    for update
  loop
    v_value := e.resolution->>'value';
    if e.status = 'open' then
      continue when p_said <> 'reject'
        and e.context->>'by' is distinct from 'person';
      v_value := case
        when e.expires_at < clock_timestamp() then 'time'
        else p_said
      end;
      perform dure.close_escalation(
        e.id,
        case
          when v_value in ('approve', 'reject') then 'resolved'
          else 'dismissed'
        end,
        jsonb_build_object('value', v_value, 'turn', p_turn),
        dure.name_of_asker(e.context->'asker')
      );
    end if;
    v_answers := v_answers || jsonb_build_object(
      'id', e.id, 'type', e.type, 'subject', e.subject, 'answer', v_value,
      'context', e.context
    );
  end loop;
  return v_answers;
end $$;

-- A name can be changed, the platform's id cannot. In a conversation it is
-- the one who talks.
create or replace function dure.name_of_asker(
  p_asker jsonb
) returns text language sql immutable as $$
  select coalesce(
    (p_asker->>'name') || ' (' || (p_asker->>'adapter') || ':'
      || (p_asker->>'id') || ')',
    'person'
  )
$$;

create or replace function dure.escalation_event(
  e dure.escalations, p_type text, p_data jsonb
) returns void language plpgsql as $$
begin
  perform dure.emit(
    jsonb_build_array(
      jsonb_build_object(
        'type', p_type, 'role', 'system', 'session', e.session_id,
        'turn', e.turn_id, 'service', e.service, 'room', e.room,
        'run', e.run, 'job', e.job, 'tenant', e.tenant,
        'data',
          jsonb_strip_nulls(
            jsonb_build_object(
              'id', e.id, 'kind', e.type, 'severity', e.severity,
              'title', e.title, 'subject', e.subject, 'port', e.port
            ) || p_data
          )
      )
    )
  );
end $$;
`;
