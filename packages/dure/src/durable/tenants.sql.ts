/** Whose a thing is. Why: docs/decisions/0011-tenants.md */
export const sql = /* sql */ `
-- The tenant of what an event is about; '' where it is about nothing that
-- has one.
create or replace function dure.tenant_of(
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
`;
