/** What people are told outside of the page: what they want, their browsers, and what was told. */
export const sql = /* sql */ `
-- What a person wants to be told. No row: everything.
create table dure.alert_choices (
  tenant text not null,
  person text not null,
  told text not null default 'all'
    check (told in ('all', 'mentions-and-answers', 'nothing')),
  -- Rooms, with their threads, of which nothing is told.
  muted text[] not null default '{}',
  primary key (tenant, person)
);

-- Browsers that are told by Web Push.
create table dure.push_subscriptions (
  -- Hash of the endpoint: a browser has one.
  id text primary key,
  tenant text not null,
  person text not null,
  endpoint text not null,
  -- Keys of the browser: what it is told is encrypted for it.
  p256dh text not null,
  auth text not null,
  locale text not null check (locale in ('ko', 'en')),
  -- By which it was registered; '': without one. With them the subscription ends.
  token text not null,
  login text not null,
  -- Decides for the team, or has roles that approvals ask for.
  is_operator boolean not null,
  roles text[] not null default '{}',
  created_at timestamptz not null default clock_timestamp(),
  -- Each visit registers it again.
  renewed_at timestamptz not null default clock_timestamp()
);
create index push_subscriptions_person
  on dure.push_subscriptions (tenant, person, renewed_at desc);
create index push_subscriptions_renewed on dure.push_subscriptions (renewed_at);

-- What a person is told, once: a message of a room, or an escalation.
create table dure.alerts (
  id text primary key,
  key text not null unique,
  tenant text not null,
  person text not null,
  kind text not null check (kind in ('answer', 'mention', 'question', 'escalation')),
  message text references dure.room_messages (id) on delete cascade,
  escalation text references dure.escalations (id) on delete cascade,
  -- Why it is told no more: its time was over, or there were too many.
  dropped text check (dropped in ('late', 'many')),
  at timestamptz not null default clock_timestamp()
);
create index alerts_person on dure.alerts (tenant, person, at);
create index alerts_age on dure.alerts (at);
create index alerts_message on dure.alerts (message) where message is not null;
create index alerts_escalation on dure.alerts (escalation) where escalation is not null;

-- The keys by which push services know this team: one row, made at the first use.
create table dure.vapid_keys (
  singleton boolean primary key default true check (singleton),
  public_key text not null,
  private_key text not null,
  at timestamptz not null default clock_timestamp()
);
`;
