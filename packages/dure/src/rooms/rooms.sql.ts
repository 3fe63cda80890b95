/** What happens in a place, under the lock of its row. */
export const sql = /* sql */ `
-- Locks a place, or the one that it was found to be; gives it as it is now
-- with who takes part. Participants of a thread that slept for too long are
-- gone.
create or replace function dure.open_place(
  p_place text, p_forget_ms double precision
) returns jsonb language plpgsql as $$
declare
  p dure.places;
  v_now timestamptz := clock_timestamp();
begin
  select * into p
  from dure.places
  where id = p_place
  for update;
  if p.moved_to is not null then
    select * into p
    from dure.places
    where id = p.moved_to
    for update;
  end if;
  if p.id is null then return null; end if;
  v_now := clock_timestamp();
  if p.state = 'suspended' and p.suspended_until <= v_now then
    update dure.places
    set state = 'open', suspended_until = null, recent = '{}'
    where id = p.id
    returning * into p;
  end if;
  if p.kind = 'thread'
    and p.active_at < v_now - p_forget_ms * interval '1 millisecond'
  then
    delete from dure.participants where place = p.id;
  end if;
  return to_jsonb(p) || jsonb_build_object(
    'is_private', dure.is_private(p),
    'now', extract(epoch from v_now) * 1000,
    'participants',
      coalesce(
        (
          select jsonb_agg(agent order by since, agent)
          from dure.participants
          where place = p.id
        ),
        '[]'
      ),
    'recent_ms',
      coalesce(
        (
          select jsonb_agg(extract(epoch from at) * 1000)
          from unnest(p.recent) at
        ),
        '[]'
      )
  );
end $$;

-- What followed from one message, in one go: the message (unless it is
-- known), roles, participants, records, work, counters, events.
create or replace function dure.write_message(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  v_place text := p->>'place';
  m jsonb := p->'message';
  v_id text := m->>'id';
  v_known boolean := (p->>'known')::boolean;
  v_seq bigint;
  v_change jsonb := p->'change';
  v_observed jsonb := p->'observed';
  v_unrecorded text; -- why a record was dropped
begin
  update dure.places
  set next_seq = next_seq + case when v_known then 0 else 1 end,
    active_at = clock_timestamp(), archived = false,
    state = coalesce(v_change->>'state', state),
    suspended_until = case
      when v_change ? 'suspend_ms'
        then clock_timestamp() + (
          v_change->>'suspend_ms'
        )::double precision * interval '1 millisecond'
      else suspended_until
    end,
    agent_messages = coalesce(
      (v_change->>'agent_messages')::integer, agent_messages
    ),
    recent = case
      when v_change ? 'recent_ms'
        then array(
          select to_timestamp(at::double precision / 1000)
          from jsonb_array_elements_text(v_change->'recent_ms') at
        )
      else recent
    end
  where id = v_place
  returning next_seq - 1 into v_seq;
  if v_known then
    update dure.room_messages
    set roles = roles || coalesce(p->'roles', '{}'),
      ends = ends or coalesce((m->>'ends')::boolean, false)
    where id = v_id
    returning seq into v_seq;
  else
    insert into dure.room_messages (
      id, place, seq, author_kind, author, author_name, text, mentions,
      mark, ends, reply_to, turn, during, request, roles, delivery,
      attachments, buttons, at
    )
    values (
      v_id, v_place, v_seq, m->>'author_kind', m->>'author',
      m->>'author_name', m->>'text',
      array(
        select jsonb_array_elements_text(coalesce(m->'mentions', '[]'))
      ),
      m->>'mark', coalesce((m->>'ends')::boolean, false), m->>'reply_to',
      m->>'turn', m->>'during', m->>'request', coalesce(p->'roles', '{}'),
      coalesce(m->>'delivery', 'sent'), coalesce(m->'attachments', '[]'),
      m->'buttons',
      coalesce(
        to_timestamp((m->>'at')::double precision / 1000), clock_timestamp()
      )
    );
    if m->>'platform_id' is not null then
      insert into dure.room_parts (adapter, platform_id, message)
      values (p->>'adapter', m->>'platform_id', v_id);
    end if;
    if m->>'client_id' is not null then
      insert into dure.room_client_ids (place, person, client_id, message)
      values (v_place, m->>'author', m->>'client_id', v_id);
    end if;
  end if;
  insert into dure.participants (place, agent)
  select v_place, agent
  from jsonb_array_elements_text(coalesce(p->'joins', '[]')) agent
  on conflict do nothing;
  insert into dure.handlings (
    id, agent, place, message, session, rank, request, behind, not_before
  )
  select h.id, h.agent, v_place, v_id, h.session, h.rank, h.request,
    h.behind,
    clock_timestamp() + coalesce(h.wait_ms, 0) * interval '1 millisecond'
  from jsonb_to_recordset(coalesce(p->'handlings', '[]')) as h(
    id text, agent text, session text, rank text, request text, behind text,
    wait_ms double precision
  )
  on conflict do nothing;
  if v_observed is not null then
    begin
      insert into dure.observations as o (
        place, slot, seq, message, sender, excerpt, agents
      )
      values (
        v_place, v_seq % 50, v_seq, v_id, v_observed->>'sender',
        v_observed->>'excerpt',
        array(select jsonb_array_elements_text(v_observed->'agents'))
      )
      on conflict (place, slot) do update set
        seq = excluded.seq, message = excluded.message,
        sender = excluded.sender, excerpt = excluded.excerpt,
        at = excluded.at,
        agents = case
          when o.message = excluded.message
            then array(select distinct unnest(o.agents || excluded.agents))
          else excluded.agents
        end;
    exception when others then
      v_unrecorded := sqlerrm; -- it never delays a handler
    end;
  end if;
  if p ? 'outbox' then perform dure.enqueue(p->'outbox'); end if;
  perform dure.emit(coalesce(p->'events', '[]'));
  return jsonb_build_object('seq', v_seq, 'unrecorded', v_unrecorded);
end $$;

-- Files of a place go with their message; those of the agents' sessions stay.
create or replace function dure.forget_message_files(

) returns trigger language plpgsql as $$
begin
  delete from dure.files f
  using gone g
  where f.turn_id = g.id and f.session_id = 'place ' || g.place;
  return null;
end $$;
`;
