/**
 * The brake: agents that a person has paused, and orders to stop what runs somewhere. An account is
 * not paused any more, its agent is.
 */
export const sql = /* sql */ `
create table dure.pauses (
  agent text primary key,
  by text not null, -- empty: not known
  at timestamptz not null default clock_timestamp()
);

-- Where people were told of a pause, once.
create table dure.pause_notices (
  agent text not null references dure.pauses (agent) on delete cascade,
  place text not null references dure.places (id) on delete cascade,
  primary key (agent, place)
);

insert into dure.pauses (agent, by)
select distinct agent, '' from dure.accounts where state = 'paused';
update dure.accounts
set state = case when adapter = 'web' then 'ready' else 'starting' end,
  changed_at = clock_timestamp()
where state = 'paused';

-- A job rests for a person, or while the agent that is to speak is paused.
alter table dure.jobs drop constraint jobs_waiting_check;
alter table dure.jobs
add constraint jobs_waiting_check check (waiting in ('person', 'pause'));

-- Stops of a place with all that is in it. The row comes first: whichever process sees it ends
-- what was there before it.
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
