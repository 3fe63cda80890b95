/** What a provider's cache gave to the workers of a run; a part of `tokens_in`. */
export const sql = /* sql */ `
alter table dure.plan_runs add column tokens_cached bigint not null default 0;
alter table dure.plan_ports add column tokens_cached bigint not null default 0;
alter table dure.plan_steps add column tokens_cached bigint not null default 0;
`;
