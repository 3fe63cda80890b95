/**
 * Who may know of what is private, for lists: what is filtered after a page was read makes pages
 * that are empty though more follow. The same rule as `server/members.ts`.
 */
export const sql = /* sql */ `
-- Whether a place is for its members alone: a direct room, a private thread, or a
-- channel of a platform that not all of its server may read, with its threads. A
-- channel of which the platform has told nothing counts as private.
create or replace function dure.is_private(
  p dure.places
) returns boolean language sql stable as $$
  select case
    when p.id ~ '^(direct|private)_' then true
    when p.adapter = 'web' then false
    when p.kind = 'thread' then not coalesce(
      (select c.seen_by_all from dure.places c where c.id = p.parent), false
    )
    else not coalesce(p.seen_by_all, false)
  end
$$;

-- The place of such a session; null: it is in no room.
create or replace function dure.place_of_session(
  p_session text
) returns text language sql immutable as $$
  select substring(split_part(p_session, '@@', 1) from '^room:[^:]+:(.+)$')
$$;

-- Whether a place is not private, or the person's own. One that is gone is known
-- by its id.
create or replace function dure.may_know_place(
  p_place text, p_tenant text, p_person text
) returns boolean language plpgsql stable as $$
declare
  p dure.places;
begin
  if p_place is null then return true; end if;
  select * into p from dure.places where id = p_place;
  if p.id is null then return p_place !~ '^(direct|private)_'; end if;
  if not dure.is_private(p) then return true; end if;
  return coalesce(
    p.adapter = 'web' and p.tenant = p_tenant and p.person = p_person, false
  );
end $$;

-- Whether a person may see a place of the list. The same rule as maySee().
create or replace function dure.may_see_place(
  p dure.places, p_tenant text, p_person text, p_sees_all boolean
) returns boolean language sql stable as $$
  select case
    when not dure.is_private(p) then p_sees_all or p.tenant = p_tenant
    when p.adapter = 'web' then p.tenant = p_tenant and p.person = p_person
    else p_sees_all
  end
$$;

-- The same of a session: of an agent in a place, of an exchange, or of the
-- operator agent that is asked about an escalation.
create or replace function dure.may_know_session(
  p_session text, p_tenant text, p_person text
) returns boolean language plpgsql stable as $$
declare
  v_place text := dure.place_of_session(p_session);
  v_job text := substring(p_session from '^job:(job_[0-9A-Z]{26}):');
  v_escalation text := substring(p_session from '^escalation:(.+)$');
begin
  if v_job is not null then
    return dure.may_know_job(v_job, p_tenant, p_person);
  end if;
  if v_escalation is not null then
    return exists (
      select
      from dure.escalations e
      where e.id = v_escalation
        and dure.may_know_place(e.room, p_tenant, p_person)
        and dure.may_know_session(e.session_id, p_tenant, p_person)
        and dure.may_know_job(e.job, p_tenant, p_person)
    );
  end if;
  return dure.may_know_place(v_place, p_tenant, p_person);
end $$;

-- The same of a job: it belongs to where its whole work began. Of one that is
-- gone it is not known where that was, so it is known to none of them.
create or replace function dure.may_know_job(
  p_job text, p_tenant text, p_person text
) returns boolean language plpgsql stable as $$
declare
  v_session text;
begin
  if p_job is null then return true; end if;
  select r.origin_session into v_session
  from dure.jobs j
  join dure.jobs r on r.id = j.root_id
  where j.id = p_job;
  return found and dure.may_know_session(v_session, p_tenant, p_person);
end $$;

-- Where the whole work of a job began, as far as that is private: a place, or
-- what the operator agent is asked about; null: not in private.
create or replace function dure.private_origin_of(
  p_job text
) returns text language sql stable as $$
  select coalesce(
    case
      when not dure.may_know_place(dure.place_of_session(r.origin_session), ' ', '')
        then dure.place_of_session(r.origin_session)
    end,
    substring(r.origin_session from '^escalation:.+$')
  )
  from dure.jobs j
  join dure.jobs r on r.id = j.root_id
  where j.id = p_job
$$;

-- The private place in which the work of a session began; empty: it is private,
-- and no place of rooms is known; null: it is not private.
create or replace function dure.private_place_of(
  p_session text
) returns text language sql stable as $$
  select case
    when dure.may_know_session(p_session, ' ', '') then null
    else coalesce(
      dure.place_of_session(p_session),
      dure.private_origin_of(
        substring(p_session from '^job:(job_[0-9A-Z]{26}):')
      ),
      ''
    )
  end
$$;
`;
