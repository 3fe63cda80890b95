/** Calls of models that the workers of a run have made, and may make in all. */
export const sql = /* sql */ `
alter table dure.plan_runs add column calls bigint not null default 0;
-- Null: a run that is older than this count has no bound.
alter table dure.plan_runs add column calls_most bigint;
`;
