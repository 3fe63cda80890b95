/** What held for the processes of a run's workers, as a trial process of its machine showed it. */
export const sql = `
alter table dure.plan_runs add column promises jsonb;
`;
