/**
 * Places where people and agents talk, what was said there, who heard it, and what agents asked of
 * each other. A place's row is the lock of everything in it, and holds the counters of its guards:
 * one row for all processes.
 */
export const sql = /* sql */ `
create table dure.places (
  id text primary key,
  adapter text not null,
  kind text not null check (kind in ('channel', 'thread', 'direct')),
  -- The channel of a thread.
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
  -- The account that made the thread.
  owner text,
  topic text,
  is_sink boolean not null default false,
  -- Whether all members of the platform's server may read it. Null: the platform has not told,
  -- and it is kept as a private one.
  seen_by_all boolean,
  -- Guards (docs/spec/collaboration §5). 'suspended' is over at suspended_until: readers compare.
  state text not null default 'open'
    check (state in ('open', 'resting', 'suspended', 'closed')),
  suspended_until timestamptz,
  agent_messages integer not null default 0,
  recent timestamptz[] not null default '{}',
  closed_because text,
  -- It turned out to be that place: what is sent here belongs there.
  moved_to text references dure.places (id) on delete cascade,
  -- When its channel last left the configuration, and when it came back: nothing heard what was
  -- said between.
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
  on dure.places (adapter, tenant, person, agent) where kind = 'direct';
create index places_moved on dure.places (moved_to) where moved_to is not null;
create index places_threads on dure.places (parent, active_at desc) where kind = 'thread';
create index places_tenant on dure.places (tenant, kind) where kind <> 'thread';

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
  -- The author's part is over: no agent handles it.
  ends boolean not null default false,
  reply_to text,
  -- The turn whose answer it is.
  turn text,
  -- The turn in which a tool said it.
  during text,
  request text,
  -- By agent: {role, rank?, because, at, answer?}. An agent that is named has seen the message.
  roles jsonb not null default '{}',
  delivery text not null default 'sent'
    check (delivery in ('queued', 'sent', 'failed', 'unknown')),
  delivery_error jsonb,
  attachments jsonb not null default '[]',
  buttons jsonb,
  -- When it was said, by its platform.
  at timestamptz not null default clock_timestamp(),
  -- When dure got it.
  heard_at timestamptz not null default clock_timestamp(),
  edited_at timestamptz,
  unique (place, seq)
) with (fillfactor = 80);
create unique index room_messages_turn on dure.room_messages (turn) where turn is not null;
create index room_messages_age on dure.room_messages (heard_at);
create index room_messages_during on dure.room_messages (during) where during is not null;

-- The messages on its platform that a message became.
create table dure.room_parts (
  adapter text not null,
  platform_id text not null,
  message text not null references dure.room_messages (id) on delete cascade,
  part integer not null default 0,
  primary key (adapter, platform_id)
);
create index room_parts_message on dure.room_parts (message, adapter, part);

-- What a person has sent with a key of their own: sent again within 24 h it is the same message.
create table dure.room_client_ids (
  place text not null references dure.places (id) on delete cascade,
  person text not null,
  client_id text not null,
  message text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (place, person, client_id)
);
create index room_client_ids_age on dure.room_client_ids (at);

-- Where questions of turns stand, and from when words count for them. It refers to no row of
-- dure.escalations: an answer holds that row while it waits for the place.
create table dure.room_questions (
  escalation text primary key,
  message text not null references dure.room_messages (id) on delete cascade,
  -- When its platform had it, and the seq of the newest message of the place at that moment.
  shown_seq bigint,
  shown_at timestamptz
);
create index room_questions_message on dure.room_questions (message);

-- The work that a message makes for an agent: one turn of its session in that place.
create table dure.handlings (
  id text primary key,
  agent text not null,
  place text not null references dure.places (id) on delete cascade,
  -- Null: the turn was started by an answer from the inbox.
  message text references dure.room_messages (id) on delete cascade,
  session text not null,
  rank text check (rank in ('PRIMARY', 'SECONDARY')),
  request text,
  state text not null default 'waiting' check (state in ('waiting', 'running', 'done')),
  -- The handling before a SECONDARY one, which starts when that has ended, or at not_before.
  behind text,
  not_before timestamptz not null default clock_timestamp(),
  -- What the turn was asked, word for word, so that asking again is the same request.
  input jsonb,
  turn text,
  holder text,
  -- Said by the agent's tools during the turn.
  wishes text[] not null default '{}' check (wishes <@ array['silent', 'end', 'leave']),
  -- The platform's id of the message that shows what is being written; '': there may be one.
  preview text,
  outcome text,
  answer text,
  -- How often unexpected trouble has ended it early; waiting for the database does not count.
  tries integer not null default 0,
  created_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz
) with (fillfactor = 80);
create index handlings_open on dure.handlings (not_before) where state <> 'done';
create index handlings_line on dure.handlings (session, created_at, id) where state <> 'done';
create index handlings_request on dure.handlings (request) where request is not null;
create unique index handlings_turn on dure.handlings (turn) where turn is not null;
create unique index handlings_message on dure.handlings (message, agent) where message is not null;
create index handlings_finished on dure.handlings (finished_at) where state = 'done';

-- The newest messages that agents of a place have only heard: a ring of 50 slots.
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

-- The thread in which two agents go on about a topic.
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

-- The thread in which the sink reports a background conversation.
create table dure.sink_threads (
  conversation text primary key,
  place text not null references dure.places (id) on delete cascade
);

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
  -- Who asked whom, up to the asker.
  chain text[] not null,
  state text not null default 'open'
    check (state in ('open', 'answered', 'withdrawn', 'expired')),
  reminders integer not null default 0,
  next_at timestamptz,
  answer text,
  created_at timestamptz not null default clock_timestamp(),
  closed_at timestamptz
);
create index requests_due on dure.requests (next_at) where state = 'open' and next_at is not null;
create index requests_thread on dure.requests (thread, to_agent) where state = 'open';
create index requests_closed on dure.requests (closed_at) where state <> 'open';
create index requests_answered
  on dure.requests ((origin->>'session'), closed_at) where state = 'answered';
create index requests_origin_turn
  on dure.requests ((origin->>'turn')) where origin->>'turn' is not null;

-- First results of calls of collaborate, by the key of the turn or job, or by a caller's key for
-- five minutes.
create table dure.collaborations (
  key text primary key,
  result jsonb not null,
  at timestamptz not null default clock_timestamp()
);
create index collaborations_age on dure.collaborations (at);

-- When two agents have called each other, in either direction.
create table dure.agent_pairs (
  one text not null,
  other text not null check (one < other),
  calls timestamptz[] not null default '{}',
  primary key (one, other)
);

-- When threads were made on a platform's server.
create table dure.guild_threads (
  -- Adapter and guild.
  guild text primary key,
  created timestamptz[] not null default '{}'
);

-- The agents' accounts on platforms.
create table dure.accounts (
  adapter text not null,
  id text not null,
  agent text not null,
  display_name text not null,
  platform_id text,
  state text not null default 'starting'
    check (state in ('starting', 'ready', 'reconnecting', 'paused', 'refused', 'stopped')),
  detail text,
  -- Code and facts of what it tells of itself, beside its sentence.
  reason jsonb,
  holder text,
  changed_at timestamptz not null default clock_timestamp(),
  primary key (adapter, id)
);

-- How far an account has read a place.
create table dure.account_reads (
  adapter text not null,
  account text not null,
  place text not null references dure.places (id) on delete cascade,
  platform_id text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (adapter, account, place)
);

-- How far a person has read a place.
create table dure.person_reads (
  tenant text not null,
  person text not null,
  place text not null references dure.places (id) on delete cascade,
  seq bigint not null,
  primary key (tenant, person, place)
);

-- What the web rooms have taken from the outbox: their side of what other platforms keep for
-- themselves.
create table dure.web_posts (
  id text primary key,
  account text not null,
  place text not null,
  text text not null,
  at timestamptz not null default clock_timestamp()
);
create index web_posts_age on dure.web_posts (at);

-- Agents that a person has paused.
create table dure.pauses (
  agent text primary key,
  -- '': not known.
  by text not null,
  at timestamptz not null default clock_timestamp()
);

-- Where people were told of a pause.
create table dure.pause_notices (
  agent text not null references dure.pauses (agent) on delete cascade,
  place text not null references dure.places (id) on delete cascade,
  primary key (agent, place)
);

-- Orders to stop what runs in a place. The row comes first: each process that sees it ends what
-- was there before it.
create table dure.stops (
  id text primary key,
  place text not null references dure.places (id) on delete cascade,
  by text not null,
  at timestamptz not null default clock_timestamp(),
  answers integer not null default 0,
  requests integer not null default 0,
  jobs integer not null default 0,
  done_at timestamptz
);
create index stops_open on dure.stops (at) where done_at is null;
create index stops_done on dure.stops (done_at) where done_at is not null;
`;
