/** Logins of browsers: opaque sessions of a token, and links that log in once. */
export const sql = /* sql */ `
create table dure.login_sessions (
  id text primary key,
  -- Of dure.tokens, of DURE_TOKEN, or of the file in DURE_HOME
  token_id text not null,
  tenant text not null,
  -- HMAC of the secret in the cookie under the hash of the token
  hash bytea not null check (octet_length(hash) = 32),
  -- Handed out, and not seen yet
  next_hash bytea check (octet_length(next_hash) = 32),
  next_at timestamptz,
  -- Of requests that were under way
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
  on dure.login_sessions (token_id, created_at)
  where revoked_at is null;
create index login_sessions_expires on dure.login_sessions (expires_at);

create table dure.login_links (
  -- SHA-256 of 256 random bits
  hash bytea primary key check (octet_length(hash) = 32),
  token_id text not null,
  expires_at timestamptz not null
);
create index login_links_expires on dure.login_links (expires_at);
`;
