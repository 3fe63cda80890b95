/** What a once effect has made, beside its result. Null: nothing. */
export const sql = /* sql */ `
alter table dure.effects add column files jsonb;
`;
