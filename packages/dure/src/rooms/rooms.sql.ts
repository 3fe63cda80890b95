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

-- The message of an id, which is its platform's or, on the web, dure's. A
-- thread below a message has the message's own id.
create or replace function dure.message_called(
  p_adapter text, p_id text
) returns setof dure.room_messages language sql stable as $$
  select m.*
  from dure.room_messages m
  where m.id = coalesce(
    (
      select p.message
      from dure.room_parts p
      where p.adapter = p_adapter and p.platform_id = p_id
    ),
    p_id
  )
$$;

-- Locks a place for a message that stands or will stand in it, and gives with
-- it what the message may go on with: what its author said before, among the
-- newest 50 (open: an agent has still to answer it), the message above the
-- thread, and, if p_lost asks, of a thread in which no agent takes part,
-- whether one spoke there lately. Each statement sees what was decided before
-- the lock was had.
create or replace function dure.open_place_for(
  p_place text, p_forget_ms double precision, p_author text, p_message text,
  p_lost boolean
) returns jsonb language plpgsql as $$
declare
  v_place jsonb := dure.open_place(p_place, p_forget_ms);
  v_id text := v_place->>'id';
  v_adapter text := v_place->>'adapter';
begin
  if v_id is null then return null; end if;
  return v_place || jsonb_build_object(
    'before',
      (
        select jsonb_build_object(
          'mentions', mentions, 'roles', roles,
          'age_ms', extract(epoch from clock_timestamp() - heard_at) * 1000,
          'is_open', exists (
            select
            from dure.handlings h
            where h.message = newest.id
              and (
                h.state <> 'done'
                or exists (
                  select
                  from dure.handlings lead
                  where lead.id = h.gathered_by and lead.state <> 'done'
                )
              )
          )
        )
        from (
          select *
          from dure.room_messages
          where place = v_id
            and seq < coalesce(
              (select seq from dure.message_called(v_adapter, p_message)),
              (v_place->>'next_seq')::bigint
            )
          order by seq desc
          limit 50
        ) newest
        where author = p_author
          and author_kind = 'person'
          and deleted_at is null
        limit 1
      ),
    'above',
      case when v_place->>'kind' = 'thread'
        then (
          select jsonb_build_object(
            'author_kind', author_kind, 'author', author,
            'mentions', mentions, 'roles', roles, 'mark', mark
          )
          from dure.message_called(v_adapter, v_place->>'thread')
        )
      end,
    'agents_spoke',
      p_lost
      and v_place->>'kind' = 'thread'
      and v_place->'participants' = '[]'
      and exists (
        select
        from (
          select author_kind
          from dure.room_messages
          where place = v_id
          order by seq desc
          limit 100
        ) lately
        where author_kind = 'agent'
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
    -- In a burst the index on it stays as it is, and the row in its page.
    active_at = case
      when active_at < clock_timestamp() - interval '1 second'
        then clock_timestamp()
      else active_at
    end,
    archived = false,
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
    end,
    departed = case
      when departed = '{}' then departed
      else array(
        select unnest(departed)
        except
        select jsonb_array_elements_text(coalesce(p->'joins', '[]'))
      )
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
  if p->'joins' <> '[]' then
    insert into dure.participants (place, agent)
    select v_place, agent
    from jsonb_array_elements_text(coalesce(p->'joins', '[]')) agent
    on conflict do nothing;
  end if;
  if p->'handlings' <> '[]' then
    insert into dure.handlings (
      id, agent, place, message, session, rank, request, behind, not_before,
      rests_at
    )
    select h.id, h.agent, v_place, v_id, h.session, h.rank, h.request,
      h.behind,
      clock_timestamp() + coalesce(h.wait_ms, 0) * interval '1 millisecond',
      clock_timestamp() + h.rest_ms * interval '1 millisecond'
    from jsonb_to_recordset(coalesce(p->'handlings', '[]')) as h(
      id text, agent text, session text, rank text, request text, behind text,
      wait_ms double precision, rest_ms double precision
    )
    on conflict do nothing;
    perform dure.gather_more(h.session, v_id, h.rest_ms, h.most_ms)
    from jsonb_to_recordset(coalesce(p->'handlings', '[]')) as h(
      session text, rest_ms double precision, most_ms double precision
    )
    where h.rest_ms > 0;
  end if;
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

-- A person goes on: the first message that waits in this line waits for more,
-- within its bound. It alone is locked, so that no two of them wait for each
-- other.
create or replace function dure.gather_more(
  p_session text, p_message text, p_rest_ms double precision,
  p_most_ms double precision
) returns void language sql as $$
  update dure.handlings
  set rests_at = least(
      created_at + p_most_ms * interval '1 millisecond',
      clock_timestamp() + p_rest_ms * interval '1 millisecond'
    )
  where id = (
      select h.id
      from dure.handlings h
      join dure.room_messages m on m.id = h.message
      join dure.room_messages said on said.id = p_message
      where h.session = p_session
        and h.state = 'waiting'
        and h.rests_at is not null
        and h.input is null
        and m.author_kind = said.author_kind
        and m.author = said.author
      order by h.created_at, h.id
      limit 1
    )
    and state = 'waiting'
$$;

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
