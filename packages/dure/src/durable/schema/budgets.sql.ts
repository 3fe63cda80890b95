/**
 * What calls of models may spend. A reservation belongs to a turn and a place in it. It is written
 * before the call, and settled by the statement that stores the call's usage (each of them calls
 * `dure.put_journal`).
 *
 * Limits of a turn or session are checked against its own rows: no other turn writes them. Limits
 * that turns share (pools: team, agent, day) are lent to processes in blocks, and a reservation is
 * charged to its process's block, in memory. So a pool's row is locked once per block, never once
 * per turn. For each pool
 *
 *   used + lent <= limit whenever something is lent;  lent = sum over blocks of (granted - folded).
 *
 * Folding brings settled reservations from their rows into the sums. Open reservations of a dead
 * process lose their process (it is ''): they count as used in full until their turn, which another
 * process goes on with, settles them. Locks are taken in the order turn, reservation, block, pool;
 * blocks and pools by key.
 */
export const sql = /* sql */ `
-- 'team/day/2026-11-22/tokens', 'agent/<name>/day/2026-11-22/usd', 'team/total/tokens'. What
-- follows the last slash is the unit; usd is counted in millionths.
create table dure.budget_pools (
  key text primary key,
  used bigint not null default 0,
  lent bigint not null default 0 check (lent >= 0),
  touched_at timestamptz not null default clock_timestamp()
) with (fillfactor = 70);

create table dure.budget_blocks (
  process text not null,
  pool text not null,
  -- Both only grow: a process that asks again after a lost answer gets the same sum.
  granted bigint not null default 0,
  folded bigint not null default 0,
  primary key (process, pool)
) with (fillfactor = 70);

create table dure.budget_reservations (
  turn_id text not null,
  place text not null,
  session_id text not null,
  agent text not null,
  process text not null,
  pools text[] not null,
  tokens bigint not null,
  micro_usd bigint not null,
  used_tokens bigint,
  used_micro_usd bigint,
  at timestamptz not null default clock_timestamp(),
  settled_at timestamptz,
  -- Whether the pools count it; true from the start where there are none.
  folded boolean not null,
  primary key (turn_id, place)
) with (fillfactor = 70);
create index budget_reservations_unfolded on dure.budget_reservations (process) where not folded;
create index budget_reservations_age on dure.budget_reservations (at);

-- What the calls of a session have used. Its running turn writes here, and between turns the
-- call that shortens its memory.
create table dure.budget_sessions (
  session_id text not null,
  agent text not null,
  tokens bigint not null default 0,
  micro_usd bigint not null default 0,
  primary key (session_id, agent)
) with (fillfactor = 70);
`;
