/**
 * What a session was asked last is stored with the `DONE` that asks, in `state.question`, and taken
 * back by every later `DONE` of the session, whichever process writes it. Why:
 * docs/decisions/0015-how-a-yes-is-bound.md
 */
export const sql = /* sql */ `
-- No table changes: dure.finish_turn does it.
`;
