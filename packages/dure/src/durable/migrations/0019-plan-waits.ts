/** What a step of a run waits for: the provider of its worker takes no calls. Null: nothing. */
export const sql = /* sql */ `
alter table dure.plan_steps add column waiting jsonb;
`;
