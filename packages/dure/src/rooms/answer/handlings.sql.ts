/**
 * The work that messages make for agents: which row of a line may start is decided here, by one
 * process at a time.
 */
export const sql = /* sql */ `
-- Gives the first open work of each session to a process, at most p_limit.
-- What stands behind it waits until it has ended, also while it waits for
-- its next try. The lock is the session's, among those who decide; a room
-- in which people write makes no agent wait. Each statement below the lock
-- sees all that was decided before it.
create or replace function dure.start_handlings(
  p_holder text, p_limit integer, p_known text[], p_gathers boolean
) returns setof dure.handlings language plpgsql as $$
declare
  v_session text;
  v_first dure.handlings;
  v_left integer := p_limit;
begin
  for v_session in
    select first.session
    from (
      select distinct on (session) *
      from dure.handlings h
      where state <> 'done' and not dure.handling_gathers(h)
      order by session, created_at, id
    ) first
    where dure.handling_may_start(first::dure.handlings, p_holder, p_known)
      and (
        p_gathers
        or not exists (
          select
          from dure.handlings g
          where g.gathered_by = first.id
        )
      )
    order by first.not_before, first.id
  loop
    exit when v_left <= 0;
    continue when not pg_try_advisory_xact_lock(
      hashtextextended('dure:handlings:' || v_session, 0)
    );
    select * into v_first
    from dure.handlings h
    where session = v_session
      and state <> 'done'
      and not dure.handling_gathers(h)
    order by created_at, id
    limit 1
    for update;
    continue when v_first.id is null
      or not dure.handling_may_start(v_first, p_holder, p_known);
    -- A row may have been committed behind a younger one that has begun.
    continue when exists (
      select
      from dure.handlings o
      where o.session = v_session
        and o.state = 'running'
        and o.id <> v_first.id
        and dure.handling_is_worked_on(o, p_holder, p_known)
    );
    if p_gathers then
      perform dure.gather_handlings(v_first);
    end if;
    return query update dure.handlings
    set state = 'running', holder = p_holder
    where id = v_first.id
    returning *;
    v_left := v_left - 1;
  end loop;
end $$;

-- Of a release that answers each message by itself.
create or replace function dure.start_handlings(
  p_holder text, p_limit integer, p_known text[]
) returns setof dure.handlings language sql as $$
  select *
  from dure.start_handlings(p_holder, p_limit, p_known, false)
$$;

-- Whether its person may be saying more: then others of the line need not wait.
create or replace function dure.handling_gathers(
  h dure.handlings
) returns boolean language sql stable as $$
  select h.state = 'waiting' and coalesce(h.rests_at > clock_timestamp(), false)
$$;

-- What its person has added becomes part of it, at most 49 messages: one turn
-- answers them. What was composed before stays as it is.
create or replace function dure.gather_handlings(
  h dure.handlings
) returns void language sql as $$
  update dure.handlings
  set state = 'done', outcome = 'gathered', gathered_by = h.id,
    finished_at = clock_timestamp()
  where h.rests_at is not null and h.input is null and id in (
    select o.id
    from dure.handlings o
    join dure.room_messages m on m.id = o.message
    join dure.room_messages said on said.id = h.message
    where o.session = h.session
      and o.id <> h.id
      and o.state = 'waiting'
      and o.rests_at is not null
      and o.input is null
      and m.author_kind = said.author_kind
      and m.author = said.author
    order by o.created_at, o.id
    limit 49
  )
$$;

-- Whether work is being done: by its own process, which names what it
-- knows, or by another one that lives.
create or replace function dure.handling_is_worked_on(
  h dure.handlings, p_holder text, p_known text[]
) returns boolean language sql stable as $$
  select h.state = 'running' and case
    when h.holder = p_holder then h.id = any(p_known)
    else exists (
      select
      from dure.processes p
      where p.id = h.holder and p.ended_at is null
    )
  end
$$;

-- Whether the first work of a session may start. Its time has come, or what
-- it stands behind has ended.
create or replace function dure.handling_may_start(
  h dure.handlings, p_holder text, p_known text[]
) returns boolean language sql stable as $$
  select not dure.handling_is_worked_on(h, p_holder, p_known)
     -- of a process that has died, or has forgotten it
     -- what is asked of a paused agent waits for its resume
     and not exists (select from dure.pauses p where p.agent = h.agent)
     and (h.state = 'running'
          or h.not_before <= clock_timestamp()
          or exists (select
            from dure.handlings b
            left join dure.handlings lead on lead.id = b.gathered_by
            where b.id = h.behind
            and coalesce(lead.state, b.state) = 'done'))
$$;

-- A turn that an answer from the inbox starts in an agent's session of a
-- place says its words there, like any other.
create or replace function dure.handle_answered_turn(

) returns trigger language plpgsql as $$
begin
  insert into dure.handlings (id, agent, place, session, state, turn)
  select 'handling_' || new.id, split_part(new.session_id, ':', 2),
    coalesce(p.moved_to, p.id), new.session_id, 'waiting', new.id
  from dure.places p
  where p.id = substr(
    split_part(new.session_id, '@@', 1), -- what follows is a person's line
    length('room:' || split_part(new.session_id, ':', 2) || ':') + 1
  )
  on conflict do nothing;
  return null;
end $$;
`;
