/** Documents of the team that agents search, and the parts in which they are found. */
export const sql = /* sql */ `
create table dure.knowledge_documents (
  base text not null,
  -- Its path or address; the same source again replaces it.
  source text not null,
  title text not null,
  -- SHA-256 of title and text, and of the way in which they are cut.
  digest text not null,
  bytes integer not null,
  chunks integer not null,
  -- In all its chunks; the search weighs long chunks less.
  words integer not null,
  indexed_at timestamptz not null default clock_timestamp(),
  primary key (base, source)
);

create table dure.knowledge_chunks (
  id bigint generated always as identity primary key,
  base text not null,
  source text not null,
  -- 1-based, in the order of the document.
  nr integer not null,
  headings text[] not null,
  text text not null,
  -- Each word once, as knowledge/words.ts cuts them.
  words text[] not null,
  unique (base, source, nr),
  foreign key (base, source) references dure.knowledge_documents on delete cascade
);
create index knowledge_chunks_words on dure.knowledge_chunks using gin (words);

-- What chunks mean, as vectors of an embedding model, where a base has one.
create table dure.knowledge_vectors (
  chunk bigint not null references dure.knowledge_chunks (id) on delete cascade,
  -- Vectors of different models cannot be compared.
  model text not null,
  -- One signed byte a dimension; only the direction counts.
  vector bytea not null,
  -- It stands in a table of pgvector too: docs/spec/knowledge §3.
  is_placed boolean not null default false,
  primary key (chunk, model)
);
create index knowledge_vectors_unplaced
  on dure.knowledge_vectors (model, chunk) where not is_placed;
`;
