/** Who may come in (tokens), who did what (audit), and answers to what was asked (escalations). */
export const sql = /* sql */ `
create table dure.tokens (
  id text primary key,
  -- SHA-256; the token itself is nowhere
  hash bytea not null unique check (octet_length(hash) = 32),
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
  -- Or the code of a refusal; null: begun, its end is unknown
  outcome text default 'done'
);
create index audit_at on dure.audit (at);
`;
