/** What chunks mean, as vectors of an embedding model, where a base has one. */
export const sql = /* sql */ `
create table dure.knowledge_vectors (
  chunk bigint not null references dure.knowledge_chunks (id) on delete cascade,
  -- Vectors of different models cannot be compared.
  model text not null,
  -- One signed byte a dimension; only the direction counts.
  vector bytea not null,
  primary key (chunk, model)
);
`;
