/** The ledger of effects: what is to be done is written before, its outcome after. */
export const sql = /* sql */ `
-- Records what is about to be done to the outside, before it is done. Gives
-- the row as it was before, if the key is known. 'open': an earlier turn of
-- the session has called this tool and does not know what came of it. Until
-- that is known it may be the same thing under other arguments.
create or replace function dure.effect_intent(
  p jsonb
) returns jsonb language plpgsql as $$
declare
  t dure.turns := dure.lock_turn(p->>'turn', (p->>'epoch')::integer);
  e dure.effects;
  v_open dure.effects;
begin
  if t.id is null then
    return jsonb_build_object('outcome', 'fenced');
  end if;
  perform dure.put_journal(
    t.id, t.session_id, t.service, p->'rows', p->'calls'
  );
  select * into e
  from dure.effects
  where key = p->>'key'
  for update;
  if found then
    if e.nonce = p->>'nonce' then
      return jsonb_build_object('outcome', 'new');
    end if;
    return jsonb_build_object(
      'outcome', 'known', 'status', e.status, 'attempts', e.attempts,
      'result', e.result, 'files', e.files, 'error', e.error,
      'input', e.input,
      'sent_ago_ms',
        extract(epoch from clock_timestamp() - e.sent_at) * 1000
    );
  end if;
  if t.stop is not null then
    return jsonb_build_object('outcome', 'stop');
  end if;
  select * into v_open
  from dure.effects
  where session_id = t.session_id and tool = p->>'tool'
    and status in ('intent', 'unknown') and turn_id <> t.id
  order by sent_at
  limit 1;
  if found then
    return jsonb_build_object(
      'outcome', 'open', 'key', v_open.key, 'input', v_open.input
    );
  end if;
  if p ? 'approval' then
    update dure.escalations
    set used_at = clock_timestamp(), used_by = t.id
    where id = p->>'approval' and used_at is null and status = 'resolved';
    if not found then
      return jsonb_build_object('outcome', 'approval_used');
    end if;
  end if;
  insert into dure.effects (
    key, session_id, turn_id, tool, input, nonce, status, attempts, sent_at
  )
  values (
    p->>'key', t.session_id, t.id, p->>'tool', p->'input', p->>'nonce',
    'intent', 1, clock_timestamp()
  );
  return jsonb_build_object('outcome', 'new');
end $$;

-- What became of an effect, with the files that its call has made; 'intent'
-- again records one more call under the same key. A question to people about
-- it is settled with it. False when fenced.
create or replace function dure.effect_settle(
  p_turn text, p_epoch integer, p_key text, p_status text, p_result jsonb,
    p_error jsonb, p_files jsonb
) returns boolean language plpgsql as $$
begin
  if (dure.lock_turn(p_turn, p_epoch)).id is null then return false; end if;
  -- before the effect, as where a person answers
  if p_status in ('done', 'failed') then
    perform dure.close_escalation(
      x.id, 'resolved',
      jsonb_build_object(
        'value',
          case p_status when 'done' then 'happened' else 'not_happened' end
      ),
      'system'
    )
    from dure.escalations x
    where x.subject = 'effect/' || p_key and x.status = 'open';
  end if;
  update dure.effects
  set status = p_status, result = p_result, error = p_error,
    files = p_files,
    updated_at = clock_timestamp(),
    attempts = attempts + case when p_status = 'intent' then 1 else 0 end,
    sent_at = case
      when p_status = 'intent' then clock_timestamp()
      else sent_at
    end
  where key = p_key and status <> 'done';
  return true;
end $$;

-- The same for processes of the release before: their calls make no files.
create or replace function dure.effect_settle(
  p_turn text, p_epoch integer, p_key text, p_status text, p_result jsonb,
    p_error jsonb
) returns boolean language sql as $$
  select dure.effect_settle(
    p_turn, p_epoch, p_key, p_status, p_result, p_error, null
  );
$$;

-- With a session go its effects, but those whose outcome is not known: a
-- person may still find out.
create or replace function dure.forget_session_effects(

) returns trigger language plpgsql as $$
begin
  delete from dure.effects
  where session_id = old.id and status in ('done', 'failed');
  update dure.effects
  set session_id = null, updated_at = clock_timestamp()
  where session_id = old.id;
  return old;
end $$;
`;
