/** Files of conversations: their bytes once for each tenant, and which sessions have them. */
export const sql = /* sql */ `
create table dure.file_bytes (
  tenant text not null,
  sha256 text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  bytes bigint not null check (bytes >= 0),
  -- Names them in a store outside. A row that is made again gets another key, so a late write
  -- never stands for newer bytes.
  store_key text not null unique,
  -- Null: they are in a store outside.
  data bytea,
  -- Null: they are being written there.
  stored_at timestamptz,
  touched_at timestamptz not null default clock_timestamp(),
  primary key (tenant, sha256)
);
-- Images are compressed already. PostgreSQL 15 takes this only as a statement of its own.
alter table dure.file_bytes alter column data set storage external;

create table dure.files (
  id text primary key,
  tenant text not null,
  session_id text not null,
  sha256 text not null,
  name text not null,
  type text not null,
  -- The last turn that carried it. Null: none has yet.
  turn_id text,
  created_at timestamptz not null default clock_timestamp(),
  touched_at timestamptz not null default clock_timestamp(),
  foreign key (tenant, sha256) references dure.file_bytes
);
create unique index files_once on dure.files (session_id, sha256, name);
create index files_bytes on dure.files (tenant, sha256);
create index files_turn on dure.files (turn_id);
create index files_unused on dure.files (touched_at) where turn_id is null;
`;
