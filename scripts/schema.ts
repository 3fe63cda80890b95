/**
 * Where the database's functions stand, whether a change of them has its number, and the format of
 * SQL in strings, which the formatter leaves as it is: the check
 * `sql` of `npm test`. `npm run schema -- --write` notes a change in scripts/schema-lock.json.
 * Why: docs/decisions/0016-sql-has-an-address.md
 */

import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import {
  checksumOf,
  checksumOfFunctions,
  type Schema,
} from "../packages/dure/src/durable/release.ts";
import { SCHEMA } from "../packages/dure/src/team/schema.ts";
import { root, run } from "./processes.ts";

/** What was noted of the schema: migrations that are frozen, functions under their number. */
export interface SchemaLock {
  readonly number: number;
  /** Checksum of all functions. */
  readonly functions: string;
  /** Checksums, by id. */
  readonly migrations: Readonly<Record<string, string>>;
  /** `dure.accept_turn(p jsonb) returns jsonb`: older releases call them so. */
  readonly signatures: readonly string[];
}

/** A product source with its path from the root. */
export interface Source {
  readonly file: string;
  readonly text: string;
}

const LOCK = path.join(root, "scripts/schema-lock.json");
const PRODUCT = /^packages\/[^/]+\/src\/.*\.(?:ts|tsx|mjs|js|sql)$/;
const TESTS = /\.test\.[a-z]+$|\/test-[^/]+$/;
/** Migrations, one of which may begin the function of its trigger. */
const TABLES = "packages/dure/src/durable/schema/";
const MAX_SQL_COLUMNS = 100;
/** A statement that is not longer may stand in one line. */
const MAX_CLAUSES_COLUMNS = 60;
const CLAUSE =
  /\b(?:delete from|insert into|do update set|(?:left |inner |cross )?join|select|(?<!distinct )from|where|group by|order by|having|limit|returning|(?<!update )set|values|on conflict|union all|union|for update|for no key update|for key share|for share)\b/g;
/** Their clauses are not those of a query. */
const OF_TABLES = /^\s*(?:alter|create)\b/;
const STATEMENT =
  /^\s*(?:--[^\n]*\n\s*)*(?:select\s[^]*\bfrom\b|insert\s+into\s|update\s+[\w.${}]+\s|delete\s+from\s|with\s[^]*\bas\s+\(|create\s+(?:or|table|index|unique|function)\s|alter\s+table\s)/i;
const CAPITALS =
  /\b(?:SELECT|FROM|WHERE|INSERT|UPDATE|DELETE|VALUES|RETURNING|JOIN|ORDER BY|GROUP BY|LIMIT|SET|CREATE|ALTER)\b/;
/** Lines that may break the format, by file, each with its reason. */
const UNFORMATTED: Readonly<Record<string, number>> = {
  // A text of JSON, which cannot be broken.
  "packages/dure/src/rooms/out/delivery-failure.ts": 1,
};
const DEFINES =
  /\bcreate\s+(?:or\s+replace\s+)?(?:function|procedure)\s+["\w.$]+\s*\([^]*?\breturns\s+(\w+)/gi;

/** What stands in the wrong place. Pure. */
export function troubleWithPlaces(sources: readonly Source[], schema: Schema): readonly string[] {
  const known = new Set(Object.values(schema.functions).map((sql) => sql.trim()));
  return sources.flatMap(({ file, text }) => {
    const isOfTables = file.startsWith(TABLES);
    if (file.endsWith(".sql.ts") && !isOfTables) return troubleWithFile(file, text, known);
    return [...text.matchAll(DEFINES)]
      .filter(([, type]) => !isOfTables || type !== "trigger")
      .map(() => `${file} defines a function of the database: it belongs to a file *.sql.ts`);
  });
}

function troubleWithFile(
  file: string,
  text: string,
  known: ReadonlySet<string>,
): readonly string[] {
  const sql = /export const sql = \/\* sql \*\/ `([^]*)`;\s*$/.exec(text)?.[1]?.trim();
  if (sql === undefined) return [`${file} has more than one text of SQL`];
  const others = statementsOf(sql).filter(
    (one) => !/^create or replace function dure\.\w+\(/.test(one),
  );
  return [
    ...others.map((one) => `${file} has more than functions: ${one.slice(0, 60)}`),
    ...(known.has(sql) ? [] : [`${file} is not in packages/dure/src/team/schema.ts`]),
  ];
}

/** Without comments and bodies. */
function statementsOf(sql: string): readonly string[] {
  return sql
    .replaceAll(/\$\$[^]*?\$\$/g, "")
    .replaceAll(/--[^\n]*/g, "")
    .split(";")
    .map((statement) => statement.trim().replaceAll(/\s+/g, " "))
    .filter((statement) => statement !== "");
}

/**
 * SQL in strings whose form is not the house's: a line over 100 columns, two clauses in one line, a
 * keyword in capitals. Pure.
 */
export function troubleWithFormat(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(({ file, text }) => {
    const faults = stringsOf(file, text)
      .filter(({ sql }) => STATEMENT.test(sql))
      .flatMap(({ line, sql }) => faultsOf(sql).map(([at, why]) => `${file}:${line + at}: ${why}`));
    return faults.length <= (UNFORMATTED[file] ?? 0) ? [] : faults;
  });
}

/** Every string and template of a file as the source has it, with the line where it begins. */
function stringsOf(file: string, text: string): { readonly line: number; readonly sql: string }[] {
  const found: { line: number; sql: string }[] = [];
  const note = ({ start, end }: { start: number; end: number }): void => {
    const line = text.slice(0, start).split("\n").length;
    found.push({ line, sql: text.slice(start + 1, end - 1) });
  };
  const visitor = new Visitor({
    TemplateLiteral: note,
    Literal: (node) => (typeof node.value === "string" ? note(node) : undefined),
  });
  visitor.visit(parseSync(file, text).program);
  return found;
}

/** Lines of a statement, from 0, that break a rule. */
function faultsOf(sql: string): (readonly [line: number, why: string])[] {
  const lines = sql.split("\n");
  return lines.flatMap((line, at) => {
    const words = line.replaceAll(/'[^']*'/g, "''").replace(/--.*/, "");
    const keyword = CAPITALS.exec(words)?.[0];
    const long = line.length > MAX_SQL_COLUMNS;
    const packed = line.trim().length > MAX_CLAUSES_COLUMNS && clausesIn(words) > 1;
    return [
      ...(packed ? [[at, "two clauses in one line of SQL"] as const] : []),
      ...(long ? [[at, `a line of SQL over ${MAX_SQL_COLUMNS} columns`] as const] : []),
      ...(keyword === undefined ? [] : [[at, `${keyword} in SQL is written small`] as const]),
    ];
  });
}

/** Clauses that begin in a line, but those in brackets. */
function clausesIn(line: string): number {
  if (OF_TABLES.test(line)) return 0;
  let open = line.replaceAll(/\$\{[^}]*\}/g, "$");
  for (let before = ""; before !== open;) {
    before = open;
    open = open.replaceAll(/\([^()]*\)/g, "");
  }
  return open.replace(/\(.*/, "").match(CLAUSE)?.length ?? 0;
}

export function lockOf(schema: Schema): SchemaLock {
  const heads = Object.values(schema.functions).flatMap(statementsOf);
  const signatures = heads.map((head) =>
    head
      .replace(/^create or replace function /, "")
      .replace(/ language .*$/, "")
      .replaceAll(/\( | \)/g, (bracket) => bracket.trim()),
  );
  return {
    number: schema.number,
    functions: checksumOfFunctions(schema),
    migrations: Object.fromEntries(schema.migrations.map(({ id, sql }) => [id, checksumOf(sql)])),
    signatures: signatures.toSorted(),
  };
}

/** What the schema may not have become since it was noted. Pure. */
export function troubleWithLock(now: SchemaLock, noted: SchemaLock): readonly string[] {
  const frozen = Object.keys(noted.migrations).filter(
    (id) => now.migrations[id] !== noted.migrations[id],
  );
  const lost = noted.signatures.filter((signature) => !now.signatures.includes(signature));
  const twice = now.signatures.filter((one, index) => now.signatures.indexOf(one) !== index);
  const trouble = [
    ...frozen.map((id) => `migration ${id} was changed; databases have it: write a new one`),
    ...lost.map((one) => `${one} is gone or changed; older releases call it: keep it, add another`),
    ...twice.map((one) => `${one} is defined twice`),
  ];
  if (trouble.length > 0 || JSON.stringify(now) === JSON.stringify(noted)) return trouble;
  return now.number > noted.number
    ? ["the change of the schema is not noted: npm run schema -- --write"]
    : ["the schema has changed: raise its number in packages/dure/src/team/schema.ts"];
}

/** All that is wrong with the SQL of this tree. */
export async function troubleWithSql(): Promise<readonly string[]> {
  const [sources, noted] = await Promise.all([readSources(), readLock()]);
  return [
    ...troubleWithPlaces(sources, SCHEMA),
    ...troubleWithFormat(sources),
    ...troubleWithLock(lockOf(SCHEMA), noted),
  ];
}

async function readSources(): Promise<readonly Source[]> {
  const listed = await run("git", ["ls-files", "--cached", "--others", "--exclude-standard"]);
  const files = listed.stdout.split("\n").filter((file) => PRODUCT.test(file) && !TESTS.test(file));
  return Promise.all(
    files.map(async (file) => ({
      file,
      text: await readFile(path.join(root, file), "utf8").catch(() => ""), // removed, not committed
    })),
  );
}

async function readLock(): Promise<SchemaLock> {
  return JSON.parse(await readFile(LOCK, "utf8")) as SchemaLock;
}

/** `--drop dure.name` lets a signature go that no release in use calls. */
async function write(dropped: readonly string[]): Promise<readonly string[]> {
  const now = lockOf(SCHEMA);
  const noted = await readLock();
  const kept = {
    ...noted,
    signatures: noted.signatures.filter((one) => !dropped.includes(one.split("(")[0]!)),
  };
  const trouble = troubleWithLock(now, kept).filter((line) => !line.includes("is not noted"));
  if (trouble.length === 0) await writeFile(LOCK, `${JSON.stringify(now, null, 2)}\n`);
  return trouble;
}

if (import.meta.main) {
  const args = process.argv.slice(2);
  const dropped = args.filter((_, index) => args[index - 1] === "--drop");
  const trouble = args.includes("--write") ? await write(dropped) : await troubleWithSql();
  for (const line of trouble) console.error(line);
  process.exitCode = trouble.length > 0 ? 1 : 0;
}
