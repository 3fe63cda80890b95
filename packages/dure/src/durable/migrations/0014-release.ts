/**
 * Which release has put its functions here, and which may work here. From here on a migration has
 * tables alone; functions are in the files `*.sql.ts`. Why: docs/decisions/0016-sql-has-an-address.md
 */
export const sql = /* sql */ `
create table dure.release (
  singleton boolean primary key default true check (singleton),
  -- Of the functions; a greater one is newer. 0: they are those of the migrations.
  number integer not null default 0,
  -- A process of a release with a smaller number does not start.
  oldest integer not null default 0,
  checksum text not null default '',
  -- Of the package, for people.
  version text not null default '',
  at timestamptz not null default clock_timestamp()
);
insert into dure.release default values;

-- 0: it was started by a release that had no number.
alter table dure.processes add column release integer not null default 0;
`;
