import { expect, test } from "vitest";
import type { Schema } from "../packages/dure/src/durable/release.ts";
import { FULL } from "../packages/dure/src/kernel/test-tiers.ts";
import {
  lockOf,
  troubleWithFormat,
  troubleWithLock,
  troubleWithPlaces,
  troubleWithSql,
} from "./schema.ts";

const OPEN = `create or replace function dure.open_door(p_door text) returns void language sql as $$
  select 1; drop table dure.rooms;
$$;`;

const DOORS: Schema = {
  version: "1.0.0",
  number: 3,
  oldest: 0,
  migrations: [{ id: 1, name: "doors", sql: "create table dure.doors (id text)" }],
  functions: { doors: OPEN },
};
const NOTED = lockOf(DOORS);

function changed(more: Partial<Schema>): readonly string[] {
  return troubleWithLock(lockOf({ ...DOORS, ...more }), NOTED);
}

function placed(file: string, sql: string): readonly string[] {
  return troubleWithPlaces(
    [{ file, text: `export const sql = /* sql */ \`\n${sql}\n\`;\n` }],
    DOORS,
  );
}

test("the SQL of this tree stands where it belongs, under its number", FULL, async () => {
  expect(await troubleWithSql()).toEqual([]);
});

test.each([
  ["packages/dure/src/rooms/doors.ts", OPEN],
  ["packages/dure/src/durable/schema/0002-doors.sql.ts", OPEN],
  ["packages/dure/src/durable/schema/0002-doors.sql.ts", OPEN.replace("or replace ", "")],
  ["packages/dashboard/src/doors.ts", OPEN.toUpperCase()],
])("a function of the database in %s fails", (file, sql) => {
  expect(placed(file, sql)).toEqual([
    `${file} defines a function of the database: it belongs to a file *.sql.ts`,
  ]);
});

test("a file of functions has nothing else, and the schema has it", () => {
  const file = "packages/dure/src/rooms/doors.sql.ts";

  expect(placed(file, OPEN)).toEqual([]);
  expect(placed(file, `${OPEN}\ndrop table dure.doors;`)).toEqual([
    `${file} has more than functions: drop table dure.doors`,
    `${file} is not in packages/dure/src/team/schema.ts`,
  ]);
});

test("a migration with a trigger begins its function", () => {
  const trigger = OPEN.replace("returns void", "returns trigger");

  expect(placed("packages/dure/src/durable/schema/0002-doors.sql.ts", trigger)).toEqual([]);
});

test("a change asks for a greater number, and to be noted under it", () => {
  const functions = { doors: OPEN.replace("select 1", "select 2") };

  expect(changed({})).toEqual([]);
  expect(changed({ functions })).toEqual([
    "the schema has changed: raise its number in packages/dure/src/team/schema.ts",
  ]);
  expect(changed({ functions, number: 4 })).toEqual([
    "the change of the schema is not noted: npm run schema -- --write",
  ]);
});

test("a migration that was noted never changes", () => {
  const migrations = [{ id: 1, name: "doors", sql: "create table dure.doors (id integer)" }];

  expect(changed({ migrations, number: 4 })).toEqual([
    "migration 1 was changed; databases have it: write a new one",
  ]);
});

test.each(["p_door integer", "p_gate text", ""])("a signature stays: not open_door(%s)", (args) => {
  const functions = { doors: OPEN.replace("p_door text", args) };

  expect(changed({ functions, number: 4 })).toEqual([
    "dure.open_door(p_door text) returns void is gone or changed; older releases call it: keep it, add another",
  ]);
});

test("SQL in strings has one clause per line, short lines and its keywords small", () => {
  const long = `export const a = \`\n  select 1 from dure.doors\n  where door = ${"1".repeat(100)}\`;\n`;
  const loud = "export const b = \"SELECT door from dure.doors where door = 'SELECT'\";\n";
  const words = `export const c = "Select one of these: ${"x".repeat(100)}";\n`;
  const packed =
    "export const d = `select door from dure.doors where room = $1 and (select now() from x) > at`;\n" +
    "export const e = `select door from dure.doors where room = $1`;\n";
  const troubleIn = (file: string): readonly string[] =>
    troubleWithFormat([{ file, text: long + loud + words + packed }]);

  expect(troubleIn("packages/dure/src/rooms/doors.ts")).toEqual([
    "packages/dure/src/rooms/doors.ts:3: a line of SQL over 100 columns",
    "packages/dure/src/rooms/doors.ts:4: SELECT in SQL is written small",
    "packages/dure/src/rooms/doors.ts:6: two clauses in one line of SQL",
  ]);
  expect(troubleIn("packages/dure/src/durable/schema/0002-doors.sql.ts")).toHaveLength(3);
});
