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
  -- Of a thread: its channel
  parent text references dure.places (id) on delete cascade,
  name text not null,
  tenant text not null default '',
  -- The platform's ids. A thread that is being created has none yet.
  guild text,
  channel text,
  thread text,
  -- A direct room: one person, one agent.
  person text,
  agent text,
  -- The account that made a thread
  owner text,
  topic text,
  is_sink boolean not null default false,
  -- Guards (docs/spec/collaboration §5). 'suspended' ends by itself at suspended_until; a
  -- reader compares.
  state text not null default 'open'
    check (state in ('open', 'resting', 'suspended', 'closed')),
  suspended_until timestamptz,
  agent_messages integer not null default 0,
  recent timestamptz[] not null default '{}',
  closed_because text,
  -- Was found to be that one: what is sent here belongs there
  moved_to text references dure.places (id) on delete cascade,
  -- When its channel left the configuration for the last time, and when it was back: what was
  -- said between has no listener.
  away_from timestamptz,
  away_until timestamptz,
  archived boolean not null default false,
  next_seq bigint not null default 1,
  created_at timestamptz not null default clock_timestamp(),
  active_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);
create unique index places_platform
  on dure.places (adapter, channel, coalesce(thread, ''))
  where channel is not null and (kind <> 'thread' or thread is not null);
create unique index places_direct
  on dure.places (adapter, tenant, person, agent)
  where kind = 'direct';
create index places_moved
  on dure.places (moved_to)
  where moved_to is not null;
create index places_threads
  on dure.places (parent, active_at desc)
  where kind = 'thread';

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
  -- The author's part is over: no agent handles it
  ends boolean not null default false,
  reply_to text,
  -- Whose answer it is
  turn text,
  -- The turn whose tool said it
  during text,
  request text,
  -- Per agent: {role, rank?, because, at, answer?}. An agent that is in here has seen the
  -- message.
  roles jsonb not null default '{}',
  delivery text not null default 'sent'
    check (delivery in ('queued', 'sent', 'failed', 'unknown')),
  delivery_error jsonb,
  attachments jsonb not null default '[]',
  buttons jsonb,
  -- When it was said, by its platform
  at timestamptz not null default clock_timestamp(),
  -- When dure had it
  heard_at timestamptz not null default clock_timestamp(),
  edited_at timestamptz,
  unique (place, seq)
) with (fillfactor = 80);
create unique index room_messages_turn
  on dure.room_messages (turn)
  where turn is not null;
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
  -- Null: the turn was started by an answer from the inbox
  message text references dure.room_messages (id) on delete cascade,
  session text not null,
  rank text check (rank in ('PRIMARY', 'SECONDARY')),
  request text,
  state text not null default 'waiting' check (state in ('waiting', 'running', 'done')),
  -- SECONDARY starts when this one has ended, or at not_before.
  behind text,
  not_before timestamptz not null default clock_timestamp(),
  -- What the turn was asked, word for word, so that asking again is the same request
  input jsonb,
  turn text,
  holder text,
  -- Said by the agent's tools during the turn
  wishes text[] not null default '{}' check (wishes <@ array['silent', 'end', 'leave']),
  -- The platform's id of the message that shows what is being written; empty: perhaps there is
  -- one
  preview text,
  outcome text,
  answer text,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 80);
create index handlings_open
  on dure.handlings (not_before)
  where state <> 'done';
create index handlings_line
  on dure.handlings (session, created_at, id)
  where state <> 'done';
create index handlings_request
  on dure.handlings (request)
  where request is not null;
create unique index handlings_turn
  on dure.handlings (turn)
  where turn is not null;
create unique index handlings_message
  on dure.handlings (message, agent)
  where message is not null;
create index handlings_finished
  on dure.handlings (finished_at)
  where state = 'done';

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
  -- {place?, session?, turn?, job?}
  origin jsonb not null default '{}',
  -- Who asked whom, up to the asker
  chain text[] not null,
  state text not null default 'open'
    check (state in ('open', 'answered', 'withdrawn', 'expired')),
  reminders integer not null default 0,
  next_at timestamptz,
  answer text,
  created_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz
);
create index requests_due
  on dure.requests (next_at)
  where state = 'open' and next_at is not null;
create index requests_thread
  on dure.requests (thread, to_agent)
  where state = 'open';
create index requests_closed
  on dure.requests (closed_at)
  where state <> 'open';

-- First results of calls; by the call's own key (turn or job), or by a caller's key for five
-- minutes.
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
  -- Adapter and guild
  guild text primary key,
  created timestamptz[] not null default '{}'
);

create table dure.accounts (
  adapter text not null,
  id text not null,
  agent text not null,
  display_name text not null,
  platform_id text,
  state text not null default 'starting'
    check (state in ('starting', 'ready', 'reconnecting', 'paused', 'refused', 'stopped')),
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

-- What the web rooms have taken over from dure's outbox: their side of the contract that other
-- platforms keep elsewhere.
create table dure.web_posts (
  id text primary key,
  account text not null,
  place text not null,
  text text not null,
  at timestamptz not null default clock_timestamp()
);
create index web_posts_age on dure.web_posts (at);

-- Up to where a follower of the event log has come; moved in the transaction of what it did
-- with the event.
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

-- A turn that an answer from the inbox starts in an agent's session of a place says its words
-- there, like any other.
create function dure.handle_answered_turn() returns trigger language plpgsql as $$
begin
  insert into dure.handlings (id, agent, place, session, state, turn)
  select 'handling_' || new.id, split_part(new.session_id, ':', 2),
    coalesce(p.moved_to, p.id), new.session_id, 'waiting', new.id
  from dure.places p
  where p.id = substr(
    split_part(new.session_id, '@@', 1), -- what follows is a person's line
    length('room:' || split_part(new.session_id, ':', 2) || ':') + 1
  )
  on conflict do nothing;
  return null;
end $$;
create trigger turns_answered after insert on dure.turns for each row
  when (new.author = 'system' and new.session_id like 'room:%')
  execute function dure.handle_answered_turn();

-- Answers that lift what a guard has stopped, or say what became of a post: looked for every
-- second, and few.
create index escalations_lifts
  on dure.escalations (resolved_at)
  where type in ('conflict', 'delivery') and status = 'resolved' and used_at is null;
`;
