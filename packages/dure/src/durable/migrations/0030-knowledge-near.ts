/** Which vectors stand in a table of pgvector too, where the server has it: docs/spec/knowledge §3. */
export const sql = /* sql */ `
alter table dure.knowledge_vectors add column is_placed boolean not null default false;
create index knowledge_vectors_unplaced on dure.knowledge_vectors (model, chunk)
  where not is_placed;
`;
