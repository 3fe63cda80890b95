/**
 * Sessions, turns, their journal, the effect ledger, escalations, and the functions that write
 * them. Each function is one statement on the wire and one transaction; PL/pgSQL gives every
 * statement inside a fresh snapshot, so a decision is made on what is committed after the lock was
 * taken. Locks are taken in the order session, turn, effect. Why functions:
 * docs/decisions/0004-turns-are-functions-in-the-database.md
 */
export const sql = /* sql */ `
create table dure.sessions (
  id text primary key,
  tenant text not null default '',
  -- Which of the sessions that had this id: one that was forgotten and is made again is another. Effect keys hold it.
  incarnation text not null default left(replace(gen_random_uuid()::text, '-', ''), 12),
  service text not null,
  locale text,
  time_zone text,
  title text not null default '',
  next_ordinal bigint not null default 1,
  running_turn text,
  queue text[] not null default '{}',
  state jsonb not null default '{}',
  memory jsonb not null default '{}',
  memory_rev bigint not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create index sessions_recent on dure.sessions (tenant, updated_at desc, id desc);

create table dure.turns (
  id text primary key,
  session_id text not null,
  service text not null,
  version text not null,
  author text not null default 'person',
  status text not null check (status in ('queued', 'running', 'done')),
  holder text,
  epoch integer not null default 1,
  held_at timestamptz not null default clock_timestamp(),
  stop jsonb,
  done jsonb,
  done_seq integer,
  trace_parent text,
  accepted_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 70);
create index turns_open on dure.turns (holder) where status = 'running';
create index turns_session on dure.turns (session_id, accepted_at);
create index turns_finished on dure.turns (finished_at) where status = 'done';

create table dure.messages (
  session_id text not null,
  ordinal bigint not null,
  turn_id text not null,
  -- The turn that was asked for; another one than turn_id when it was merged. A repeated statement finds its message by it.
  asked text not null,
  author text not null,
  text text not null,
  input jsonb not null default '{}',
  queued boolean not null,
  at timestamptz not null default clock_timestamp(),
  primary key (session_id, ordinal)
);
create index messages_turn on dure.messages (turn_id);

create table dure.turn_events (
  turn_id text not null,
  seq integer not null,
  place text not null,
  type text not null,
  data jsonb not null,
  at timestamptz not null default clock_timestamp(),
  primary key (turn_id, seq)
);

create table dure.idempotency (
  caller text not null,
  path text not null,
  key text not null,
  body_hash text not null,
  turn_id text not null,
  session_id text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (caller, path, key)
);
create index idempotency_age on dure.idempotency (at);

create table dure.completed (
  id bigint generated always as identity primary key,
  session_id text not null,
  turn_id text not null,
  service text not null,
  flow text not null,
  stage text not null,
  data jsonb not null,
  at timestamptz not null default clock_timestamp()
);
create index completed_session on dure.completed (session_id, id desc);

create table dure.effects (
  key text primary key,
  -- Null: the session was forgotten while nobody knew what became of the effect.
  session_id text,
  turn_id text not null,
  tool text not null,
  input jsonb not null,
  nonce text not null,
  status text not null check (status in ('intent', 'done', 'failed', 'unknown')),
  attempts integer not null default 0,
  sent_at timestamptz,
  result jsonb,
  error jsonb,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp()
);
create index effects_session on dure.effects (session_id);
create index effects_turn on dure.effects (turn_id);
create index effects_orphaned on dure.effects (updated_at) where session_id is null;

-- With a session go its effects, but those whose outcome is not known: somebody may still find out.
create function dure.forget_session_effects() returns trigger language plpgsql as $$
begin
  delete from dure.effects where session_id = old.id and status in ('done', 'failed');
  update dure.effects set session_id = null, updated_at = clock_timestamp() where session_id = old.id;
  return old;
end $$;
create trigger sessions_effects after delete on dure.sessions for each row execute function dure.forget_session_effects();

create table dure.escalations (
  id text primary key,
  tenant text not null default '',
  -- What it is about: one is open at a time.
  subject text not null,
  type text not null,
  severity text not null check (severity in ('low', 'medium', 'high', 'critical')),
  status text not null default 'open' check (status in ('open', 'resolved', 'dismissed')),
  run text,
  port text,
  job text,
  room text,
  session_id text,
  turn_id text,
  service text,
  title text not null,
  description text not null default '',
  context jsonb not null default '{}',
  actions jsonb not null default '[]',
  -- {value, note?}
  resolution jsonb,
  resolved_by text,
  resolved_at timestamptz,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  used_at timestamptz,
  -- The turn that has used it.
  used_by text,
  -- Who has it, and when the next one is told; null: never.
  step text not null default 'worker' check (step in ('worker', 'operator', 'person')),
  next_step_at timestamptz,
  check ((status = 'open') = (resolution is null))
);
create unique index escalations_open on dure.escalations (subject) where status = 'open';
create index escalations_subject on dure.escalations (subject, created_at desc);
create index escalations_newest on dure.escalations (tenant, created_at desc, id desc);
create index escalations_run on dure.escalations (run, created_at desc) where run is not null;
create index escalations_due on dure.escalations (next_step_at) where status = 'open' and next_step_at is not null;
create index escalations_expiring on dure.escalations (expires_at) where status = 'open' and expires_at is not null;

create table dure.model_calls (
  id bigint generated always as identity primary key,
  at timestamptz not null,
  session_id text not null,
  turn_id text not null,
  service text not null,
  agent text not null,
  provider text not null,
  model text not null,
  attempt integer not null,
  prompt_hash text not null,
  tokens_in bigint not null,
  tokens_out bigint not null,
  estimated boolean not null,
  cost_micro_usd bigint,
  latency_ms double precision not null,
  error text
);
create index model_calls_at on dure.model_calls (at);
create index model_calls_session on dure.model_calls (session_id);

-- Journal rows and model calls of one write; rows that are there already (a repeated write) stay as they are.
create function dure.put_journal(p_turn text, p_session text, p_service text, p_rows jsonb, p_calls jsonb) returns void
language plpgsql as $$
begin
  if jsonb_array_length(p_rows) > 0 then
    insert into dure.turn_events (turn_id, seq, place, type, data)
    select p_turn, r.seq, r.place, r.type, coalesce(r.data, 'null') -- the null of JSON is one of SQL here
    from jsonb_to_recordset(p_rows) as r(seq integer, place text, type text, data jsonb)
    on conflict do nothing;
    if not found then return; end if;
  end if;
  if jsonb_array_length(p_calls) > 0 then
    insert into dure.model_calls (at, session_id, turn_id, service, agent, provider, model, attempt, prompt_hash, tokens_in, tokens_out, estimated, cost_micro_usd, latency_ms, error)
    select to_timestamp(c.at / 1000.0), p_session, p_turn, p_service, c.agent, c.provider, c.model, c.attempt, c.prompt_hash, c.tokens_in, c.tokens_out, c.estimated, c.cost_micro_usd, c.latency_ms, c.error
    from jsonb_to_recordset(p_calls) as c(at double precision, agent text, provider text, model text, attempt integer, prompt_hash text, tokens_in bigint, tokens_out bigint, estimated boolean, cost_micro_usd bigint, latency_ms double precision, error text);
  end if;
end $$;

-- Stores a message and marks its turn as running, waiting or merged. Refusals are raised, so they change nothing:
-- DU404 foreign session, DU409 busy, DU429 queue full, DU422 key reused. 'elsewhere': the service was only assumed and the session has
-- another one; nothing is stored. DU300, which names it, is the same of a session that was made meanwhile.
create function dure.accept_turn(p jsonb) returns jsonb language plpgsql as $$
declare
  v_turn text := p->>'turn';
  v_session text := p->>'session';
  v_policy text := p->>'policy';
  v_key text := p->>'key';
  v_status text := 'running';
  v_merged boolean := false;
  c_own constant text[] := array['slots', 'confirm_id', 'escalation'];
  v_known dure.idempotency;
  v_old dure.turns;
  s dure.sessions;
begin
  if (p->>'again')::boolean then
    select t.* into v_old from dure.messages m join dure.turns t on t.id = m.turn_id where m.session_id = v_session and m.asked = v_turn;
    if found then
      return jsonb_build_object('outcome', 'accepted', 'turn', v_old.id, 'session', v_session, 'status', v_old.status, 'again', true);
    end if;
  end if;
  if (p->>'assumed')::boolean then -- looked at before anything is written: for most such sessions this is the answer
    select * into s from dure.sessions where id = v_session and tenant = p->>'tenant';
    if s.service <> p->>'service' then return jsonb_build_object('outcome', 'elsewhere', 'service', s.service); end if;
  end if;
  if v_key is not null then
    insert into dure.idempotency (caller, path, key, body_hash, turn_id, session_id)
    values (p->>'caller', p->>'path', v_key, p->>'body_hash', v_turn, v_session)
    on conflict do nothing;
    if not found then
      select * into v_known from dure.idempotency
      where caller = p->>'caller' and path = p->>'path' and key = v_key for update;
      if v_known.at < clock_timestamp() - interval '24 hours' then
        update dure.idempotency set body_hash = p->>'body_hash', turn_id = v_turn, session_id = v_session, at = clock_timestamp()
        where caller = p->>'caller' and path = p->>'path' and key = v_key;
      elsif v_known.body_hash <> p->>'body_hash' then
        raise exception using errcode = 'DU422', message = 'key reused';
      else
        select * into v_old from dure.turns where id = v_known.turn_id;
        return jsonb_build_object('outcome', 'repeated', 'turn', v_known.turn_id, 'session', v_known.session_id, 'status', coalesce(v_old.status, 'done'));
      end if;
    end if;
  end if;

  select * into s from dure.sessions where id = v_session for update;
  if not found then
    insert into dure.sessions (id, tenant, service, title)
    values (v_session, p->>'tenant', p->>'service', p->>'title')
    on conflict do nothing;
    select * into s from dure.sessions where id = v_session for update;
  end if;
  if (p->>'again')::boolean then -- the first statement, whose answer was lost, may have been committed while we waited for its lock
    select t.* into v_old from dure.messages m join dure.turns t on t.id = m.turn_id where m.session_id = v_session and m.asked = v_turn;
    if found then
      return jsonb_build_object('outcome', 'accepted', 'turn', v_old.id, 'session', v_session, 'status', v_old.status, 'again', true);
    end if;
  end if;
  if s.tenant <> p->>'tenant' then
    raise exception using errcode = 'DU404', message = 'foreign session';
  end if;
  if (p->>'assumed')::boolean and s.service <> p->>'service' then
    raise exception using errcode = 'DU300', message = s.service;
  end if;

  if s.running_turn is not null then
    v_status := 'queued';
    if v_policy = 'reject' then
      raise exception using errcode = 'DU409', message = 'session busy';
    end if;
    select * into v_old from dure.turns where id = s.queue[cardinality(s.queue)];
    -- Only words with words of the same kind that will still be answered: slots, a confirmation or an answer belong to one message.
    if v_policy = 'merge' and v_old.stop is null and v_old.author = p->>'author' and v_old.service = p->>'service' and v_old.version = p->>'version'
      and not p->'input' ?| c_own and not exists (select 1 from dure.messages where turn_id = v_old.id and input ?| c_own) then
      v_turn := v_old.id;
      v_merged := true;
      if (select count(*) from dure.messages where turn_id = v_turn) >= (p->>'max_waiting')::int then
        raise exception using errcode = 'DU429', message = 'queue full';
      end if;
      if v_key is not null then
        update dure.idempotency set turn_id = v_turn where caller = p->>'caller' and path = p->>'path' and key = v_key;
      end if;
    elsif cardinality(s.queue) >= (p->>'max_waiting')::int then
      raise exception using errcode = 'DU429', message = 'queue full';
    end if;
    if v_policy = 'interrupt' then
      update dure.turns set stop = jsonb_build_object('by', 'interrupt')
      where id = s.running_turn and status <> 'done' and stop is null;
    end if;
  end if;

  if not v_merged then
    insert into dure.turns (id, session_id, service, version, author, status, holder, trace_parent)
    values (v_turn, v_session, p->>'service', p->>'version', p->>'author', v_status,
      case when v_status = 'running' then p->>'holder' end, p->>'trace_parent');
  end if;
  insert into dure.messages (session_id, ordinal, turn_id, asked, author, text, input, queued)
  values (v_session, s.next_ordinal, v_turn, p->>'turn', p->>'author', p->>'message', p->'input', v_status = 'queued');
  update dure.sessions set
    next_ordinal = s.next_ordinal + 1,
    running_turn = coalesce(s.running_turn, v_turn),
    queue = case when v_status = 'queued' and not v_merged then s.queue || v_turn else s.queue end,
    -- An answer from the inbox goes to the service that asked; the person stays where it is.
    service = case when p->'input' ? 'escalation' then s.service else p->>'service' end,
    locale = coalesce(p->>'locale', s.locale),
    time_zone = coalesce(p->>'time_zone', s.time_zone),
    updated_at = clock_timestamp()
  where id = v_session;
  perform dure.emit(p->'events');
  return jsonb_build_object('outcome', 'accepted', 'turn', v_turn, 'session', v_session, 'status', v_status, 'merged', v_merged,
    'stopped', case when v_policy = 'interrupt' then s.running_turn end)
    || case when v_status = 'running' then jsonb_build_object(
      'incarnation', s.incarnation, 'state', s.state, 'memory', s.memory, 'memory_rev', s.memory_rev, 'ordinal', s.next_ordinal,
      'locale', coalesce(p->>'locale', s.locale), 'time_zone', coalesce(p->>'time_zone', s.time_zone),
      'now', extract(epoch from clock_timestamp()) * 1000) else '{}' end;
end $$;

-- Takes a running turn that nobody holds (or that this process holds and does not know, or one that came under the name of a
-- dead process when its turns had been given up already): everything a runner needs. A turn that was accepted where its service is
-- not known has the version of the first process that takes it; p_versions: of the services here.
create function dure.claim_turn(p_turn text, p_holder text, p_versions jsonb) returns jsonb language plpgsql as $$
declare
  t dure.turns;
  s dure.sessions;
begin
  update dure.turns set holder = p_holder, epoch = epoch + 1, held_at = clock_timestamp(),
    version = case version when '' then coalesce(p_versions->>service, '') else version end
  where id = p_turn and status = 'running' and (holder is null or holder = p_holder
    or exists (select 1 from dure.processes where id = holder and recovered_at is not null))
  returning * into t;
  if not found then return null; end if;
  select * into s from dure.sessions where id = t.session_id;
  return jsonb_build_object(
    'turn', t.id, 'session', t.session_id, 'service', t.service, 'version', t.version, 'author', t.author, 'epoch', t.epoch, 'stop', t.stop,
    'trace_parent', t.trace_parent, 'accepted_at', extract(epoch from t.accepted_at) * 1000,
    'incarnation', s.incarnation, 'state', s.state, 'memory', s.memory, 'memory_rev', s.memory_rev, 'locale', s.locale, 'time_zone', s.time_zone, 'tenant', s.tenant,
    'messages', (select jsonb_agg(jsonb_build_object('ordinal', m.ordinal, 'author', m.author, 'text', m.text, 'input', m.input, 'queued', m.queued, 'at', extract(epoch from m.at) * 1000) order by m.ordinal)
      from dure.messages m where m.turn_id = t.id),
    'rows', coalesce((select jsonb_agg(jsonb_build_object('seq', e.seq, 'place', e.place, 'type', e.type, 'data', e.data) order by e.seq)
      from dure.turn_events e where e.turn_id = t.id), '[]'));
end $$;

-- The turn, locked, when it runs and this is its life; else null. Found by its key alone: asked for its status too, a planner without
-- statistics reads the index of all that run.
create function dure.lock_turn(p_turn text, p_epoch integer) returns dure.turns language plpgsql as $$
declare
  t dure.turns;
begin
  select * into t from dure.turns where id = p_turn for no key update;
  if t.epoch = p_epoch and t.status = 'running' then return t; end if;
  return null;
end $$;

-- Adds to the journal of a turn that is still ours. 'ok', 'stop' (someone asked for it), or 'fenced'.
create function dure.journal_turn(p_turn text, p_epoch integer, p_rows jsonb, p_calls jsonb) returns text language plpgsql as $$
declare
  t dure.turns := dure.lock_turn(p_turn, p_epoch);
begin
  if t.id is null then return 'fenced'; end if;
  perform dure.put_journal(p_turn, t.session_id, t.service, p_rows, p_calls);
  return case when t.stop is null then 'ok' else 'stop' end;
end $$;

-- Ends a turn that is still ours and marks the session's next one as running under the same holder.
create function dure.finish_turn(p jsonb) returns jsonb language plpgsql as $$
declare
  v_turn text := p->>'turn';
  v_epoch integer := (p->>'epoch')::integer;
  v_next text;
  t dure.turns;
  s dure.sessions;
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
  v_next := s.queue[1];
  update dure.sessions set
    state = coalesce(p->'state', state),
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

-- Asks for the end of a turn. 'stopping', 'finished', or null when there is no such turn of this tenant.
create function dure.stop_turn(p_turn text, p_tenant text, p_by text) returns text language plpgsql as $$
declare
  t dure.turns;
begin
  select t2.* into t from dure.turns t2 join dure.sessions s on s.id = t2.session_id
  where t2.id = p_turn and s.tenant = p_tenant for no key update of t2;
  if not found then return null; end if;
  if t.status = 'done' then return 'finished'; end if;
  update dure.turns set stop = coalesce(stop, jsonb_build_object('by', p_by)) where id = p_turn;
  return 'stopping';
end $$;

-- Gives up a turn that its holder cannot run: others may take it. False: it is not this holder's any more.
create function dure.give_up_turn(p_turn text, p_holder text, p_epoch integer) returns boolean language plpgsql as $$
begin
  update dure.turns set holder = null, held_at = clock_timestamp()
  where id = p_turn and status = 'running' and holder = p_holder and epoch = p_epoch;
  return found;
end $$;

-- The turns of a process that is dead: nobody's, and closed to whoever held them.
create function dure.release_turns(p_holder text) returns integer language plpgsql as $$
declare
  v_count integer;
begin
  update dure.turns set holder = null, epoch = epoch + 1, held_at = clock_timestamp()
  where status = 'running' and holder = p_holder;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Records what is about to be done to the outside, before it is done. Gives the row as it was before, if the key is known.
create function dure.effect_intent(p jsonb) returns jsonb language plpgsql as $$
declare
  t dure.turns := dure.lock_turn(p->>'turn', (p->>'epoch')::integer);
  e dure.effects;
begin
  if t.id is null then return jsonb_build_object('outcome', 'fenced'); end if;
  perform dure.put_journal(t.id, t.session_id, t.service, p->'rows', p->'calls');
  select * into e from dure.effects where key = p->>'key' for update;
  if found then
    if e.nonce = p->>'nonce' then return jsonb_build_object('outcome', 'new'); end if;
    return jsonb_build_object('outcome', 'known', 'status', e.status, 'attempts', e.attempts, 'result', e.result, 'error', e.error, 'input', e.input,
      'sent_ago_ms', extract(epoch from clock_timestamp() - e.sent_at) * 1000);
  end if;
  if t.stop is not null then return jsonb_build_object('outcome', 'stop'); end if;
  if p ? 'approval' then
    update dure.escalations set used_at = clock_timestamp(), used_by = t.id where id = p->>'approval' and used_at is null and status = 'resolved';
    if not found then return jsonb_build_object('outcome', 'approval_used'); end if;
  end if;
  insert into dure.effects (key, session_id, turn_id, tool, input, nonce, status, attempts, sent_at)
  values (p->>'key', t.session_id, t.id, p->>'tool', p->'input', p->>'nonce', 'intent', 1, clock_timestamp());
  return jsonb_build_object('outcome', 'new');
end $$;

-- What became of an effect; 'intent' again records one more call under the same key. A question to people about it is settled with
-- it. False when fenced.
create function dure.effect_settle(p_turn text, p_epoch integer, p_key text, p_status text, p_result jsonb, p_error jsonb) returns boolean language plpgsql as $$
begin
  if (dure.lock_turn(p_turn, p_epoch)).id is null then return false; end if;
  if p_status in ('done', 'failed') then -- before the effect, as where a person answers
    perform dure.close_escalation(x.id, 'resolved', jsonb_build_object('value', case p_status when 'done' then 'happened' else 'not_happened' end), 'system')
    from dure.escalations x where x.subject = 'effect/' || p_key and x.status = 'open';
  end if;
  update dure.effects set status = p_status, result = p_result, error = p_error, updated_at = clock_timestamp(),
    attempts = attempts + case when p_status = 'intent' then 1 else 0 end,
    sent_at = case when p_status = 'intent' then clock_timestamp() else sent_at end
  where key = p_key and status <> 'done';
  return true;
end $$;

create function dure.escalation_event(e dure.escalations, p_type text, p_data jsonb) returns void language plpgsql as $$
begin
  perform dure.emit(jsonb_build_array(jsonb_build_object('type', p_type, 'role', 'system', 'session', e.session_id, 'turn', e.turn_id, 'service', e.service,
    'room', e.room, 'run', e.run, 'job', e.job,
    'data', jsonb_strip_nulls(jsonb_build_object('id', e.id, 'kind', e.type, 'severity', e.severity, 'title', e.title, 'subject', e.subject, 'port', e.port) || p_data))));
end $$;

-- Closes what is open and tells it. Nothing: it was closed before.
create function dure.close_escalation(p_id text, p_status text, p_resolution jsonb, p_by text) returns setof dure.escalations language plpgsql as $$
declare
  e dure.escalations;
begin
  update dure.escalations set status = p_status, resolution = p_resolution, resolved_by = p_by, resolved_at = clock_timestamp(), next_step_at = null
  where id = p_id and status = 'open' returning * into e;
  if not found then return; end if;
  perform dure.escalation_event(e, 'escalation.' || p_status, p_resolution || jsonb_build_object('by', p_by));
  return next e;
end $$;

-- New entries of the inbox. A subject that is open already is not asked twice, unless it has become more severe: then it says
-- so, and is told anew. One whose time has passed is asked anew. Gives the open one of each, in the order of p.
create function dure.raise_escalations(p jsonb) returns table (id text, subject text, is_new boolean) language plpgsql as $$
#variable_conflict use_column
declare
  r record;
  e dure.escalations;
  c_severities constant text[] := array['low', 'medium', 'high', 'critical'];
begin
  for r in select * from rows from (jsonb_to_recordset(p) as (id text, tenant text, type text, severity text, source jsonb, subject text, title text, description text,
      context jsonb, "suggestedActions" jsonb, "expiresMs" double precision)) with ordinality order by ordinality
  loop
    perform dure.close_escalation(x.id, 'dismissed', '{"value": "time"}', 'system')
    from dure.escalations x where x.subject = r.subject and x.status = 'open' and x.expires_at < clock_timestamp();
    insert into dure.escalations as o (id, tenant, type, severity, run, port, job, room, session_id, turn_id, service, subject, title, description, context, actions, expires_at, next_step_at)
    values (r.id, coalesce(r.tenant, ''), r.type, r.severity, r.source->>'run', r.source->>'port', r.source->>'job', r.source->>'room', r.source->>'session', r.source->>'turn', r.source->>'service',
      r.subject, left(r.title, 300), left(coalesce(r.description, ''), 8000), coalesce(r.context, '{}'), coalesce(r."suggestedActions", '[]'),
      clock_timestamp() + r."expiresMs" * interval '1 millisecond', case when r.severity <> 'low' then clock_timestamp() end)
    on conflict (subject) where status = 'open' do update set
      severity = excluded.severity, title = excluded.title, description = excluded.description, context = excluded.context, actions = excluded.actions,
      step = 'worker', next_step_at = excluded.next_step_at
    where array_position(c_severities, excluded.severity) > array_position(c_severities, o.severity)
    returning o.* into e;
    if found then
      perform dure.escalation_event(e, case when e.id = r.id then 'escalation.new' else 'escalation.worsened' end, '{}');
    else
      select x.* into e from dure.escalations x where x.subject = r.subject and x.status = 'open'; -- locked by the conflict
    end if;
    id := e.id;
    subject := e.subject;
    is_new := e.id = r.id;
    return next;
  end loop;
end $$;
`;
