/** Who may come in (tokens, logins), and who did what (audit, edits of agents' files). */
export const sql = /* sql */ `
create table dure.tokens (
  id text primary key,
  -- SHA-256; the token itself is stored nowhere.
  hash bytea not null unique check (octet_length(hash) = 32),
  name text not null,
  tenant text not null default '',
  scopes text[] not null,
  -- Of its person; tools ask for them.
  roles text[] not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  revoked_at timestamptz
);

-- A browser that is logged in with a token.
create table dure.login_sessions (
  id text primary key,
  -- Of dure.tokens, of DURE_TOKEN, or of the file in DURE_HOME.
  token_id text not null,
  tenant text not null,
  -- HMAC of the secret in the cookie under the hash of the token.
  hash bytea not null check (octet_length(hash) = 32),
  -- Handed out, and not seen yet.
  next_hash bytea check (octet_length(next_hash) = 32),
  next_at timestamptz,
  -- For requests that were under way at the change.
  previous_hash bytea check (octet_length(previous_hash) = 32),
  previous_until timestamptz,
  user_agent text not null,
  created_at timestamptz not null default clock_timestamp(),
  rotated_at timestamptz not null default clock_timestamp(),
  used_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz
);
create index login_sessions_token
  on dure.login_sessions (token_id, created_at) where revoked_at is null;
create index login_sessions_expires on dure.login_sessions (expires_at);

-- Links that log in once.
create table dure.login_links (
  -- SHA-256 of 256 random bits.
  hash bytea primary key check (octet_length(hash) = 32),
  token_id text not null,
  expires_at timestamptz not null
);
create index login_links_expires on dure.login_links (expires_at);

create table dure.audit (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  tenant text not null,
  name text not null,
  -- The role of the token by which it was done.
  role text,
  what text not null,
  subject text not null,
  -- 'done' or the code of a refusal; null: begun, its end is not known.
  outcome text default 'done'
);
create index audit_at on dure.audit (at);

-- Changes of agents' files that were made on their pages.
create table dure.agent_edits (
  id bigint generated always as identity primary key,
  -- The data folder beside the team's files: the change was made on its disk alone.
  host text not null,
  agent text not null,
  file text not null,
  at timestamptz not null default clock_timestamp(),
  by_whom text not null,
  -- Null: there was no such file.
  before text,
  after text not null,
  -- The edit whose text it brings back.
  restores bigint,
  -- Null: it was begun, and its end is not known yet.
  outcome text check (outcome in ('done', 'refused', 'unknown'))
);
create index agent_edits_of_agent on dure.agent_edits (host, agent, id desc);
create index agent_edits_open on dure.agent_edits (host) where outcome is null;
`;
