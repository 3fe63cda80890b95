/** Work that begins at a time, and what came of each moment. */
export const sql = /* sql */ `
create table dure.schedules (
  name text primary key,
  tenant text not null default '',
  -- When it is due; a change begins anew.
  rule text not null,
  -- All of it: only processes that know it as it is take its moments.
  definition text not null,
  -- All moments up to this one are decided.
  since timestamptz not null,
  paused_at timestamptz,
  paused_by text,
  -- The last start did not have it any more.
  gone_at timestamptz
);

create table dure.schedule_firings (
  -- Also of its entry in the outbox.
  key text primary key,
  schedule text not null,
  tenant text not null default '',
  due timestamptz not null,
  -- Null: its time had come.
  by_whom text,
  status text not null
    check (status in ('taken', 'done', 'failed', 'unknown', 'missed')),
  -- Ids of what was begun.
  begun jsonb,
  error text,
  ended_at timestamptz
);
create index schedule_firings_due on dure.schedule_firings (schedule, due desc);
create index schedule_firings_ended on dure.schedule_firings (ended_at);
`;
