/**
 * The order of a line of work: which row may start is decided in one place, by one process at a
 * time.
 */
export const sql = /* sql */ `
-- How often unexpected trouble has kept the work from its end. A try that only waited for the
-- database is none.
alter table dure.handlings add column tries integer not null default 0;
`;
