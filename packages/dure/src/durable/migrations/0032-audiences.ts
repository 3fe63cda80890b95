/** Whether all members of a platform's server may read a channel there. */
export const sql = /* sql */ `
-- Null: the platform has not told it, and the channel is kept as a private one.
alter table dure.places add column seen_by_all boolean;
`;
