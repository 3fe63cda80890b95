/**
 * Places where people and agents talk, what was said there, who heard it, and what agents asked of
 * each other. A place's row is the lock of everything that happens in it, and holds the counters of
 * its guards: one row for all processes.
 */
export const sql = /* sql */ `
create table dure.places (
  id text primary key,
  adapter text not null,
  kind text not null check (kind in ('channel', 'thread', 'direct')),
  parent text references dure.places (id) on delete cascade, -- of a thread: its channel
  name text not null,
  tenant text not null default '',
  -- The platform's ids. A thread that is being created has none yet.
  guild text,
  channel text,
  thread text,
  -- A direct room: one person, one agent.
  person text,
  agent text,
  owner text, -- the account that made a thread
  topic text,
  is_sink boolean not null default false,
  -- Guards (docs/spec/collaboration §5). 'suspended' ends by itself at suspended_until; a reader compares.
  state text not null default 'open' check (state in ('open', 'resting', 'suspended', 'closed')),
  suspended_until timestamptz,
  agent_messages integer not null default 0,
  recent timestamptz[] not null default '{}',
  closed_because text,
  moved_to text references dure.places (id) on delete cascade, -- was found to be that one: whoever comes here is meant to go there
  -- When its channel left the configuration for the last time, and when it was back: what was said between is nobody's.
  away_from timestamptz,
  away_until timestamptz,
  archived boolean not null default false,
  next_seq bigint not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  active_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create unique index places_platform on dure.places (adapter, channel, coalesce(thread, '')) where channel is not null and (kind <> 'thread' or thread is not null);
create unique index places_direct on dure.places (adapter, tenant, person, agent) where kind = 'direct';
create index places_moved on dure.places (moved_to) where moved_to is not null;
create index places_threads on dure.places (parent, active_at desc) where kind = 'thread';

create table dure.participants (
  place text not null references dure.places (id) on delete cascade,
  agent text not null,
  since timestamptz not null default clock_timestamp(),
  primary key (place, agent)
);

create table dure.room_messages (
  id text primary key,
  place text not null references dure.places (id) on delete cascade,
  seq bigint not null,
  author_kind text not null check (author_kind in ('person', 'agent', 'foreign')),
  author text not null,
  author_name text not null,
  text text not null,
  mentions text[] not null default '{}',
  mark text check (mark in ('notice', 'reminder', 'sink')),
  ends boolean not null default false, -- the author's part is over: nobody handles it
  reply_to text,
  turn text, -- whose answer it is
  during text, -- the turn whose tool said it
  request text,
  -- Per agent: {role, rank?, because, at, answer?}. An agent that is in here has seen the message.
  roles jsonb not null default '{}',
  delivery text not null default 'sent' check (delivery in ('queued', 'sent', 'failed', 'unknown')),
  delivery_error jsonb,
  attachments jsonb not null default '[]',
  buttons jsonb,
  at timestamptz not null default clock_timestamp(), -- when it was said, by its platform
  heard_at timestamptz not null default clock_timestamp(), -- when dure had it
  edited_at timestamptz,
  unique (place, seq)
) with (fillfactor = 80);
create unique index room_messages_turn on dure.room_messages (turn) where turn is not null;
create index room_messages_age on dure.room_messages (heard_at);

-- One message may be several on its platform.
create table dure.room_parts (
  adapter text not null,
  platform_id text not null,
  message text not null references dure.room_messages (id) on delete cascade,
  part integer not null default 0,
  primary key (adapter, platform_id)
);
create index room_parts_message on dure.room_parts (message, adapter, part);

-- What a person has sent with a key of their own; harmless to repeat for 24 h.
create table dure.room_client_ids (
  place text not null references dure.places (id) on delete cascade,
  person text not null,
  client_id text not null,
  message text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (place, person, client_id)
);
create index room_client_ids_age on dure.room_client_ids (at);

-- The work that a message makes for an agent: one turn of its session in that place.
create table dure.handlings (
  id text primary key,
  agent text not null,
  place text not null references dure.places (id) on delete cascade,
  message text references dure.room_messages (id) on delete cascade, -- null: the turn was started by an answer from the inbox
  session text not null,
  rank text check (rank in ('PRIMARY', 'SECONDARY')),
  request text,
  state text not null default 'waiting' check (state in ('waiting', 'running', 'done')),
  -- SECONDARY starts when this one has ended, or at not_before.
  behind text,
  not_before timestamptz not null default clock_timestamp(),
  input jsonb, -- what the turn was asked, word for word, so that asking again is the same request
  turn text,
  holder text,
  wishes text[] not null default '{}' check (wishes <@ array['silent', 'end', 'leave']), -- said by the agent's tools during the turn
  preview text, -- the platform's id of the message that shows what is being written; empty: perhaps there is one
  outcome text,
  answer text,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 80);
create index handlings_open on dure.handlings (not_before) where state <> 'done';
create index handlings_line on dure.handlings (session, created_at, id) where state <> 'done';
create index handlings_request on dure.handlings (request) where request is not null;
create unique index handlings_turn on dure.handlings (turn) where turn is not null;
create unique index handlings_message on dure.handlings (message, agent) where message is not null;
create index handlings_finished on dure.handlings (finished_at) where state = 'done';

-- A ring of 50 slots per place: the newest records, bounded by construction.
create table dure.observations (
  place text not null references dure.places (id) on delete cascade,
  slot integer not null,
  seq bigint not null,
  message text not null,
  sender text not null,
  excerpt text not null,
  agents text[] not null,
  at timestamptz not null default clock_timestamp(),
  primary key (place, slot)
) with (fillfactor = 50);
create index observations_age on dure.observations using brin (at);

create table dure.thread_routes (
  from_agent text not null,
  to_agent text not null,
  topic text not null,
  channel text not null references dure.places (id) on delete cascade,
  thread text not null references dure.places (id) on delete cascade,
  renewed_at timestamptz not null default clock_timestamp(),
  primary key (from_agent, to_agent, topic, channel)
);
create index thread_routes_thread on dure.thread_routes (thread);

-- What one agent has asked of another, until it is answered.
create table dure.requests (
  id text primary key,
  from_agent text not null,
  to_agent text not null,
  topic text not null,
  thread text not null references dure.places (id) on delete cascade,
  message text not null,
  origin jsonb not null default '{}', -- {place?, session?, turn?, job?}
  chain text[] not null, -- who asked whom, up to the asker
  state text not null default 'open' check (state in ('open', 'answered', 'withdrawn', 'expired')),
  reminders integer not null default 0,
  next_at timestamptz,
  answer text,
  created_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz
);
create index requests_due on dure.requests (next_at) where state = 'open' and next_at is not null;
create index requests_thread on dure.requests (thread, to_agent) where state = 'open';
create index requests_closed on dure.requests (closed_at) where state <> 'open';

-- First results of calls; by the call's own key (turn or job), or by a caller's key for five minutes.
create table dure.collaborations (
  key text primary key,
  result jsonb not null,
  at timestamptz not null default clock_timestamp()
);
create index collaborations_age on dure.collaborations (at);

-- An unordered pair of agents and when they called each other.
create table dure.agent_pairs (
  one text not null,
  other text not null check (one < other),
  calls timestamptz[] not null default '{}',
  primary key (one, other)
);

create table dure.guild_threads (
  guild text primary key, -- adapter and guild
  created timestamptz[] not null default '{}'
);

create table dure.accounts (
  adapter text not null,
  id text not null,
  agent text not null,
  display_name text not null,
  platform_id text,
  state text not null default 'starting' check (state in ('starting', 'ready', 'reconnecting', 'paused', 'refused', 'stopped')),
  detail text,
  holder text,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (adapter, id)
);

-- Up to where an account has read a place.
create table dure.account_reads (
  adapter text not null,
  account text not null,
  place text not null references dure.places (id) on delete cascade,
  platform_id text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (adapter, account, place)
);

-- What the web rooms have taken over from dure's outbox: their side of the contract that other platforms keep elsewhere.
create table dure.web_posts (
  id text primary key,
  account text not null,
  place text not null,
  text text not null,
  at timestamptz not null default clock_timestamp()
);
create index web_posts_age on dure.web_posts (at);

-- Up to where a follower of the event log has come; moved in the transaction of what it did with the event.
create table dure.cursors (
  name text primary key,
  position text not null,
  at timestamptz not null default clock_timestamp()
);

-- The thread in which the sink reports a background conversation.
create table dure.sink_threads (
  conversation text primary key,
  place text not null references dure.places (id) on delete cascade
);

-- Up to where a person has read a place.
create table dure.person_reads (
  tenant text not null,
  person text not null,
  place text not null references dure.places (id) on delete cascade,
  seq bigint not null,
  primary key (tenant, person, place)
);

-- Locks a place, or the one that it was found to be; gives it as it is now with who takes part. Participants of a thread that slept for too long are gone.
create function dure.open_place(p_place text, p_forget_ms double precision) returns jsonb language plpgsql as $$
declare
  p dure.places;
  v_now timestamptz := clock_timestamp();
begin
  select * into p from dure.places where id = p_place for update;
  if p.moved_to is not null then select * into p from dure.places where id = p.moved_to for update; end if;
  if p.id is null then return null; end if;
  v_now := clock_timestamp();
  if p.state = 'suspended' and p.suspended_until <= v_now then
    update dure.places set state = 'open', suspended_until = null, recent = '{}' where id = p.id returning * into p;
  end if;
  if p.kind = 'thread' and p.active_at < v_now - p_forget_ms * interval '1 millisecond' then
    delete from dure.participants where place = p.id;
  end if;
  return to_jsonb(p) || jsonb_build_object(
    'now', extract(epoch from v_now) * 1000,
    'participants', coalesce((select jsonb_agg(agent order by since, agent) from dure.participants where place = p.id), '[]'),
    'recent_ms', coalesce((select jsonb_agg(extract(epoch from at) * 1000) from unnest(p.recent) at), '[]'));
end $$;

-- What followed from one message, in one go: the message (unless it is known), roles, participants, records, work, counters, events.
create function dure.write_message(p jsonb) returns jsonb language plpgsql as $$
declare
  v_place text := p->>'place';
  m jsonb := p->'message';
  v_id text := m->>'id';
  v_known boolean := (p->>'known')::boolean;
  v_seq bigint;
  v_change jsonb := p->'change';
  v_observed jsonb := p->'observed';
  v_unrecorded text; -- why a record was dropped
begin
  update dure.places set
    next_seq = next_seq + case when v_known then 0 else 1 end,
    active_at = clock_timestamp(), archived = false,
    state = coalesce(v_change->>'state', state),
    suspended_until = case when v_change ? 'suspend_ms' then clock_timestamp() + (v_change->>'suspend_ms')::double precision * interval '1 millisecond' else suspended_until end,
    agent_messages = coalesce((v_change->>'agent_messages')::integer, agent_messages),
    recent = case when v_change ? 'recent_ms' then array(select to_timestamp(at::double precision / 1000) from jsonb_array_elements_text(v_change->'recent_ms') at) else recent end
  where id = v_place returning next_seq - 1 into v_seq;
  if v_known then
    update dure.room_messages set roles = roles || coalesce(p->'roles', '{}'), ends = ends or coalesce((m->>'ends')::boolean, false) where id = v_id returning seq into v_seq;
  else
    insert into dure.room_messages (id, place, seq, author_kind, author, author_name, text, mentions, mark, ends, reply_to, turn, during, request, roles, delivery, attachments, buttons, at)
    values (v_id, v_place, v_seq, m->>'author_kind', m->>'author', m->>'author_name', m->>'text',
      array(select jsonb_array_elements_text(coalesce(m->'mentions', '[]'))), m->>'mark', coalesce((m->>'ends')::boolean, false), m->>'reply_to', m->>'turn', m->>'during', m->>'request',
      coalesce(p->'roles', '{}'), coalesce(m->>'delivery', 'sent'), coalesce(m->'attachments', '[]'), m->'buttons',
      coalesce(to_timestamp((m->>'at')::double precision / 1000), clock_timestamp()));
    if m->>'platform_id' is not null then
      insert into dure.room_parts (adapter, platform_id, message) values (p->>'adapter', m->>'platform_id', v_id);
    end if;
    if m->>'client_id' is not null then
      insert into dure.room_client_ids (place, person, client_id, message) values (v_place, m->>'author', m->>'client_id', v_id);
    end if;
  end if;
  insert into dure.participants (place, agent) select v_place, agent from jsonb_array_elements_text(coalesce(p->'joins', '[]')) agent on conflict do nothing;
  insert into dure.handlings (id, agent, place, message, session, rank, request, behind, not_before)
  select h.id, h.agent, v_place, v_id, h.session, h.rank, h.request, h.behind, clock_timestamp() + coalesce(h.wait_ms, 0) * interval '1 millisecond'
  from jsonb_to_recordset(coalesce(p->'handlings', '[]')) as h(id text, agent text, session text, rank text, request text, behind text, wait_ms double precision)
  on conflict do nothing;
  if v_observed is not null then
    begin
      insert into dure.observations as o (place, slot, seq, message, sender, excerpt, agents)
      values (v_place, v_seq % 50, v_seq, v_id, v_observed->>'sender', v_observed->>'excerpt', array(select jsonb_array_elements_text(v_observed->'agents')))
      on conflict (place, slot) do update set seq = excluded.seq, message = excluded.message, sender = excluded.sender, excerpt = excluded.excerpt, at = excluded.at,
        agents = case when o.message = excluded.message then array(select distinct unnest(o.agents || excluded.agents)) else excluded.agents end;
    exception when others then
      v_unrecorded := sqlerrm; -- it never delays a handler
    end;
  end if;
  if p ? 'outbox' then perform dure.enqueue(p->'outbox'); end if;
  perform dure.emit(coalesce(p->'events', '[]'));
  return jsonb_build_object('seq', v_seq, 'unrecorded', v_unrecorded);
end $$;

-- A turn that an answer from the inbox starts in an agent's session of a place says its words there, like any other.
create function dure.handle_answered_turn() returns trigger language plpgsql as $$
begin
  insert into dure.handlings (id, agent, place, session, state, turn)
  select 'handling_' || new.id, split_part(new.session_id, ':', 2), coalesce(p.moved_to, p.id), new.session_id, 'waiting', new.id
  from dure.places p where p.id = substr(new.session_id, length('room:' || split_part(new.session_id, ':', 2) || ':') + 1)
  on conflict do nothing;
  return null;
end $$;
create trigger turns_answered after insert on dure.turns for each row
  when (new.author = 'system' and new.session_id like 'room:%') execute function dure.handle_answered_turn();

-- Answers that lift what a guard has stopped, or say what became of a post: looked for every second, and few.
create index escalations_lifts on dure.escalations (resolved_at) where type in ('conflict', 'delivery') and status = 'resolved' and used_at is null;
`;
