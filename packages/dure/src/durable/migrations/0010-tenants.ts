/**
 * Tenants to the end: sessions of a tenant are stored under `<tenant>/<id>`, so that two tenants
 * may use the same id, and each event knows its tenant. What was stored before is renamed. Why:
 * docs/decisions/0011-tenants.md
 */
export const sql = /* sql */ `
alter table dure.job_notes drop constraint job_notes_session_id_fkey;
alter table dure.job_notes add constraint job_notes_session_id_fkey
  foreign key (session_id) references dure.sessions (id)
  on delete cascade on update cascade;

-- Whose event it is. Null: what it is about is gone; only who sees all tenants sees it.
alter table dure.events add column tenant text;

-- The tenant of what an event is about; '' where it is about nothing that
-- has one.
create function dure.tenant_of(
  p_session text, p_room text, p_run text, p_job text
) returns text language plpgsql stable as $$
begin
  if p_run is not null then
    return (select tenant from dure.plan_runs where id = p_run);
  end if;
  if p_job is not null then
    return (select tenant from dure.jobs where id = p_job);
  end if;
  if p_room is not null then
    return (select tenant from dure.places where id = p_room);
  end if;
  if p_session is null then return ''; end if;
  return (select tenant from dure.sessions where id = p_session);
end $$;

-- Brings rows of before under their tenant: those of the upgrade, and those
-- of a backup that an older version wrote. Repeating it changes nothing.
create function dure.settle_tenants() returns void language plpgsql as $$
begin
  drop table if exists renamed_sessions;
  create temporary table renamed_sessions on commit drop as
    select id as old, tenant || '/' || id as new
    from dure.sessions
    where tenant <> ''
      and strpos(id, '/') = 0
      and not id like any (array['job:%', 'room:%', 'escalation:%']);
  create unique index on renamed_sessions (old);
  analyze renamed_sessions;
  update dure.sessions t
  set id = r.new
  from renamed_sessions r
  where t.id = r.old;
  update dure.turns t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.messages t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.idempotency t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.completed t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.effects t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.model_calls t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.budget_reservations t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.budget_sessions t
  set session_id = r.new
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.events t
  set session = r.new
  from renamed_sessions r
  where t.session = r.old;
  update dure.jobs t
  set origin_session = r.new
  from renamed_sessions r
  where t.origin_session = r.old;
  update dure.jobs t
  set root_work = r.new
  from renamed_sessions r
  where t.root_work = r.old;
  update dure.requests t
  set origin = jsonb_set(t.origin, '{session}', to_jsonb(r.new))
  from renamed_sessions r
  where t.origin->>'session' = r.old;
  update dure.outbox t
  set ordering = r.new
  from renamed_sessions r
  where t.ordering = r.old;
  update dure.outbox t
  set payload = jsonb_set(t.payload, '{session}', to_jsonb(r.new))
  from renamed_sessions r
  where jsonb_typeof(t.payload) = 'object'
    and t.payload->>'session' = r.old;
  -- A yes is bound to its session.
  update dure.escalations t
  set session_id = r.new,
    subject = case
      when starts_with(t.subject, 'approval/' || r.old || '/')
        then 'approval/' || r.new || substr(
          t.subject, length('approval/' || r.old) + 1
        )
      else t.subject
    end
  from renamed_sessions r
  where t.session_id = r.old;
  update dure.events
  set tenant = dure.tenant_of(session, room, run, job)
  where tenant is null;
end $$;
select dure.settle_tenants();

-- Rooms of a tenant: the same configured channel is another place for each.
create index places_tenant
  on dure.places (tenant, kind)
  where kind <> 'thread';
`;
