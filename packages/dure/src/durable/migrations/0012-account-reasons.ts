/** Code and facts of what an account tells of itself, beside its sentence. */
export const sql = `
alter table dure.accounts add column reason jsonb;
`;
