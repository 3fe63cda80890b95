import { expect, test } from "vitest";
import { silentLogger } from "../kernel/logger.ts";
import { migrate } from "./migrate.ts";
import { passingOf } from "./passing.ts";
import type { Migration } from "./release.ts";
import { testDatabase, type TestDatabase } from "./test-database.ts";

const FIRST: Migration = { id: 1, name: "first", sql: "create table dure.notes (id int)" };
const SCHEMA = { version: "0.0.0", number: 0, oldest: 0, migrations: [FIRST], functions: {} };

/** The user of the test takes rights from itself: it may make no other user. */
async function opened(
  ...statements: readonly string[]
): Promise<TestDatabase & { readonly user: string; readonly name: string }> {
  const db = await testDatabase({ migrated: false });
  const { username: user, pathname } = new URL(db.url);
  const name = pathname.slice(1);
  for (const text of statements) {
    await db.database.query({ text: text.replace("NAME", name).replace("USER", user) });
  }

  return { ...db, user, name };
}

test("a start without rights says which right on what is missing, and what to grant", async () => {
  await using db = await opened("revoke create on database NAME from USER");

  const refused = migrate(db.database, SCHEMA, { logger: silentLogger });

  await expect(refused).rejects.toMatchObject({
    code: "DATABASE_RIGHTS_MISSING",
    class: "unavailable",
    message: `PostgreSQL refuses this to ${db.user}: permission denied for database ${db.name}.`,
    hint: `As the owner of the database: grant connect, create on database ${db.name} to ${db.user};`,
  });
});

test("work without rights says the same of a table, a schema and what another user owns", async () => {
  await using db = await opened(
    "create table public.books (id int)",
    "revoke all on table public.books from USER",
    "create schema kept",
    "revoke all on schema kept from USER",
  );
  const refusal = async (text: string): Promise<unknown> =>
    db.database.query({ text }).catch((error: unknown) => error);

  const ofTable = await refusal("select * from public.books");
  const ofSchema = await refusal("create table kept.a (id int)");
  const ofOwner = await refusal("alter table information_schema.sql_features add column a int");

  const { user } = db;
  const hint = (sql: string): object => ({ hint: `As the owner of the database: ${sql}` });
  expect(ofTable).toMatchObject(
    hint(`grant select, insert, update, delete on all tables in schema dure to ${user};`),
  );
  expect(ofSchema).toMatchObject(hint(`grant usage, create on schema kept to ${user};`));
  expect(ofOwner).toMatchObject(hint(`alter table sql_features owner to ${user};`));
  expect([ofTable, ofSchema, ofOwner].map(passingOf)).toEqual([undefined, undefined, undefined]);
});
