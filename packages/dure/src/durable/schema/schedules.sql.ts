/** Work that begins at a time, and what came of each moment. */
export const sql = /* sql */ `
create table dure.schedules (
  name text primary key,
  tenant text not null default '',
  -- When it is due; a changed rule begins anew.
  rule text not null,
  -- All of it: only processes that have exactly this one take its moments.
  definition text not null,
  -- All moments up to this one are decided.
  since timestamptz not null,
  paused_at timestamptz,
  paused_by text,
  -- When a start did not have it any more.
  gone_at timestamptz
);

create table dure.schedule_firings (
  -- The same as that of its entry in the outbox.
  key text primary key,
  schedule text not null,
  tenant text not null default '',
  due timestamptz not null,
  -- The person who began it; null: its time had come.
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
