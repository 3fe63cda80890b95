/** The log of events: what is appended, in which order, and how far it was swept. */
export const sql = /* sql */ `
-- Appends a JSON array of events in its order, within the caller's
-- transaction. Who knows the tenant says it. not sql: PostgreSQL before 18
-- would plan it anew in each turn
create or replace function dure.emit(
  events jsonb
) returns void language plpgsql as $$
begin
  insert into dure.events (
    type, role, session, turn, service, agent, room, run, job, data, tenant
  )
  select e->>'type', e->>'role', e->>'session', e->>'turn', e->>'service',
    e->>'agent', e->>'room', e->>'run', e->>'job',
    coalesce(nullif(e->'data', 'null'), '{}'),
    coalesce(
      e->>'tenant',
      dure.tenant_of(e->>'session', e->>'room', e->>'run', e->>'job')
    )
  from jsonb_array_elements(events) with ordinality as event(e, n)
  order by n;
end $$;

-- A restored database starts a new era: old positions are void, and
-- restored events come before all new ones.
create or replace function dure.start_era(
  
) returns bigint language plpgsql as $$
declare
  new_era bigint;
begin
  update dure.meta
  set era = era + 1, events_swept_xid = '0', events_swept_seq = 0
  returning era into new_era;
  update dure.events set xid = '1';
  return new_era;
end
$$;

-- Removes at most batch events older than keep_ms from the oldest end, and
-- remembers how far.
create or replace function dure.sweep_events(
  keep_ms double precision, batch integer
) returns bigint language sql as $$
  with oldest as materialized (
    select xid, seq, at
    from dure.events
    order by xid, seq
    limit batch
  ), swept as (
    delete from dure.events e using oldest o
     where e.xid = o.xid
       and e.seq = o.seq
       and o.at < clock_timestamp() - keep_ms * interval '1 millisecond'
    returning e.xid, e.seq
  ), last as (
    select xid, seq
    from swept
    order by xid desc, seq desc
    limit 1
  ), remembered as (
    update dure.meta
    set events_swept_xid = last.xid, events_swept_seq = last.seq
    from last
     where (last.xid, last.seq) > (events_swept_xid, events_swept_seq)
  )
  select count(*) from swept
$$;
`;
