/**
 * What a session was asked last is stored with the `DONE` that asks, in `state.question`, and taken
 * back by every later `DONE` of the session, whichever process writes it. Why:
 * docs/decisions/0015-how-a-yes-is-bound.md
 */
export const sql = /* sql */ `
-- Ends a turn that is still ours and marks the session's next one as running under the same holder.
create or replace function dure.finish_turn(p jsonb) returns jsonb language plpgsql as $$
declare
  v_turn text := p->>'turn';
  v_epoch integer := (p->>'epoch')::integer;
  v_next text;
  t dure.turns;
  s dure.sessions;
  v_state jsonb;
begin
  select * into s from dure.sessions where id = p->>'session' for update;
  select * into t from dure.turns where id = v_turn for no key update;
  if t.epoch is distinct from v_epoch or t.status not in ('running', 'done') then return jsonb_build_object('outcome', 'fenced'); end if;
  if t.status = 'done' then return jsonb_build_object('outcome', 'repeated'); end if;
  if t.stop is not null and not (p->>'stopped')::boolean then return jsonb_build_object('outcome', 'stop'); end if;
  update dure.turns set status = 'done', done = p->'done', done_seq = (p->>'done_seq')::integer, finished_at = clock_timestamp() where id = v_turn;
  perform dure.put_journal(v_turn, t.session_id, t.service, p->'rows', p->'calls');
  if jsonb_array_length(p->'completed') > 0 then
    insert into dure.completed (session_id, turn_id, service, flow, stage, data)
    select t.session_id, v_turn, c.service, c.flow, c.stage, coalesce(c.data, 'null')
    from jsonb_to_recordset(p->'completed') as c(service text, flow text, stage text, data jsonb);
    delete from dure.completed where session_id = t.session_id and id in (
      select id from dure.completed where session_id = t.session_id order by id desc offset 50);
  end if;
  if p ? 'approval' then
    update dure.escalations set used_at = clock_timestamp(), used_by = v_turn where id = p->>'approval' and used_at is null;
  end if;
  if jsonb_array_length(p->'escalations') > 0 then perform dure.raise_escalations(p->'escalations'); end if;
  if jsonb_array_length(p->'outbox') > 0 then perform dure.enqueue(p->'outbox'); end if;
  v_state := coalesce(p->'state', s.state);
  -- A question holds until the next DONE of its session. When it was shown is told by the clock that dates messages, too.
  if v_state->'question'->>'turn' = v_turn then
    v_state := jsonb_set(v_state, '{question,shownAt}', to_jsonb(floor(extract(epoch from clock_timestamp()) * 1000)));
  elsif (p->>'keeps_question')::boolean and s.state ? 'question' then
    v_state := jsonb_set(v_state, '{question}', s.state->'question' || '{"begun": true}');
  else
    v_state := v_state - 'question';
  end if;
  v_next := s.queue[1];
  update dure.sessions set
    state = v_state,
    memory = coalesce(p->'memory', memory),
    memory_rev = memory_rev + 1,
    running_turn = v_next,
    queue = s.queue[2:],
    updated_at = clock_timestamp()
  where id = t.session_id;
  if v_next is not null then
    update dure.turns set status = 'running', holder = p->>'holder', held_at = clock_timestamp() where id = v_next;
  end if;
  perform dure.emit(p->'events');
  return jsonb_build_object('outcome', 'done', 'next', v_next);
end $$;
`;
