/** Who has left a thread, so that the message above it does not bring them back. */
export const sql = /* sql */ `
-- Agents that have left the thread, or were taken out of it.
alter table dure.places add column departed text[] not null default '{}';
`;
