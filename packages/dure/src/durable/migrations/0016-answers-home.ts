/** The answers to what a session has handed over are looked for with each message in it. */
export const sql = /* sql */ `
create index requests_answered on dure.requests ((origin->>'session'), closed_at)
where state = 'answered';
`;
