/**
 * What a step of a run waits for: the provider of its worker takes no calls. Null: nothing. And that
 * a person has accepted that the tests of a port say less.
 */
export const sql = /* sql */ `
alter table dure.plan_steps add column waiting jsonb;
alter table dure.plan_ports
  add column weaker_tests_accepted boolean not null default false;
`;
