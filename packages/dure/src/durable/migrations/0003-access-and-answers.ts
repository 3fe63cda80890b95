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
  subject text not null
);
create index audit_at on dure.audit using brin (at);

-- One answer closes one question, settles the effect that it is about, and starts a turn in the session that waits for it.
-- Null: no such escalation of this tenant. 'answered' or 'expired': it was closed before, nothing changed.
create function dure.answer_escalation(p_id text, p_tenant text, p_value text, p_by text, p_turn jsonb) returns jsonb language plpgsql as $$
declare
  e dure.escalations;
  v_accepted jsonb;
begin
  select * into e from dure.escalations where id = p_id and tenant = p_tenant for update;
  if not found then return null; end if;
  if e.status = 'open' and e.expires_at < clock_timestamp() then
    update dure.escalations set status = 'expired' where id = p_id;
    e.status := 'expired';
  end if;
  if e.status <> 'open' then return jsonb_build_object('outcome', e.status, 'answer', e.answer); end if;
  if not exists (select 1 from jsonb_array_elements(e.options) o where o->>'value' = p_value) then
    raise exception using errcode = 'DU400', message = 'no such option';
  end if;
  update dure.escalations set status = 'answered', answer = jsonb_build_object('value', p_value), answered_by = p_by, answered_at = clock_timestamp()
  where id = p_id;
  if e.type = 'effect_unknown' then
    update dure.effects set
      status = case p_value when 'happened' then 'done' else 'failed' end,
      result = case p_value when 'happened' then jsonb_build_object('confirmed_by', p_by) end,
      error = case p_value when 'happened' then null else jsonb_build_object('code', 'NOT_HAPPENED', 'message', 'A person found that it did not happen.') end,
      updated_at = clock_timestamp()
    where key = e.context->>'key' and status in ('intent', 'unknown');
  end if;
  if e.session_id is not null and e.type in ('decision', 'effect_unknown') and exists (select 1 from dure.sessions where id = e.session_id) then
    v_accepted := dure.accept_turn(p_turn || jsonb_build_object(
      'session', e.session_id, 'service', (select service from dure.sessions where id = e.session_id), 'tenant', e.tenant,
      'input', jsonb_build_object('escalation', jsonb_build_object('id', e.id, 'type', e.type, 'subject', e.subject, 'answer', p_value, 'context', e.context))));
  end if;
  perform dure.emit(jsonb_build_array(jsonb_build_object('type', 'escalation.answered', 'role', 'system', 'session', e.session_id, 'turn', e.turn_id,
    'data', jsonb_build_object('id', e.id, 'kind', e.type, 'value', p_value, 'by', p_by))));
  return jsonb_build_object('outcome', 'closed', 'turn', v_accepted->>'turn');
end $$;
`;
