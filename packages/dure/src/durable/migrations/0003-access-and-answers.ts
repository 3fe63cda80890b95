/** Who may come in (tokens), who did what (audit), and answers to what was asked (escalations). */
export const sql = /* sql */ `
create table dure.tokens (
  id text primary key,
  hash bytea not null unique check (octet_length(hash) = 32), -- SHA-256; the token itself is nowhere
  name text not null,
  tenant text not null default '',
  scopes text[] not null,
  created_at timestamptz not null default clock_timestamp(),
  revoked_at timestamptz
);

create table dure.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  tenant text not null,
  name text not null,
  what text not null,
  subject text not null,
  outcome text default 'done' -- or the code of a refusal; null: begun, and nobody knows how it ended
);
create index audit_at on dure.audit (at);

-- One answer closes one question, settles the effect that it is about, and starts a turn in the session that waits for it, of the
-- service that asked.
-- Null: no such escalation of this tenant. 'resolved' or 'dismissed': it was closed before, nothing changed. 'expired': its time has
-- passed, and this call has closed it for that.
create function dure.answer_escalation(p_id text, p_tenant text, p_resolution jsonb, p_by text, p_turn jsonb) returns jsonb language plpgsql as $$
declare
  e dure.escalations;
  v_value text := p_resolution->>'value';
  v_accepted jsonb;
begin
  -- The session first, like every turn that raises one.
  perform 1 from dure.sessions where id = (select session_id from dure.escalations where id = p_id and tenant = p_tenant) for update;
  select * into e from dure.escalations where id = p_id and tenant = p_tenant for update;
  if not found then return null; end if;
  if e.status = 'open' and e.expires_at < clock_timestamp() then
    perform dure.close_escalation(e.id, 'dismissed', '{"value": "time"}', 'system');
    return jsonb_build_object('outcome', 'expired');
  end if;
  if e.status <> 'open' then return jsonb_build_object('outcome', e.status); end if;
  if not exists (select 1 from jsonb_array_elements(e.actions) a where a->>'value' = v_value) then
    raise exception using errcode = 'DU400', message = 'no such action';
  end if;
  perform dure.close_escalation(e.id, 'resolved', p_resolution, p_by);
  if e.type = 'effect_unknown' then
    update dure.effects set
      status = case v_value when 'happened' then 'done' else 'failed' end,
      result = case v_value when 'happened' then jsonb_build_object('confirmed_by', p_by) end,
      error = case v_value when 'happened' then null else jsonb_build_object('code', 'NOT_HAPPENED', 'message', 'A person found that it did not happen.') end,
      updated_at = clock_timestamp()
    where key = e.context->>'key' and status in ('intent', 'unknown');
  end if;
  if e.session_id is not null and e.type in ('decision', 'effect_unknown') and exists (select 1 from dure.sessions where id = e.session_id) then
    v_accepted := dure.accept_turn(p_turn || jsonb_build_object(
      'session', e.session_id, 'service', coalesce(e.service, (select service from dure.sessions where id = e.session_id)), 'tenant', e.tenant,
      'input', jsonb_build_object('escalation', jsonb_build_object('id', e.id, 'type', e.type, 'subject', e.subject, 'answer', v_value, 'context', e.context)
        || case when p_resolution ? 'note' then jsonb_build_object('note', p_resolution->>'note') else '{}' end)));
  end if;
  return jsonb_build_object('outcome', 'closed', 'turn', v_accepted->>'turn');
end $$;
`;
