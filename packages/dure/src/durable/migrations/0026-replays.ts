/** What a turn began with, so that it can be replayed: `dure/engine/replay`. */
export const sql = /* sql */ `
-- The state of the session before the turn; null: an older release has ended it.
alter table dure.turns add column began jsonb;
`;
