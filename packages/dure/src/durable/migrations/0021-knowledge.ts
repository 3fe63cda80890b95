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
  -- Of all its chunks together; the search weighs long chunks less.
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
  -- Each different word once, as knowledge/words.ts cuts them.
  words text[] not null,
  unique (base, source, nr),
  foreign key (base, source) references dure.knowledge_documents on delete cascade
);
create index knowledge_chunks_words on dure.knowledge_chunks using gin (words);
`;
