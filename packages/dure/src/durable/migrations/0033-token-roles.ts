/** Roles that tools ask for: of whom a token is, and by which one a deed was done. */
export const sql = /* sql */ `
alter table dure.tokens add column roles text[] not null default '{}';
alter table dure.audit add column role text;
`;
