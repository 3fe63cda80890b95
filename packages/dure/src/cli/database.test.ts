import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { FULL } from "../kernel/test-tiers.ts";
import { Database } from "../durable/database.ts";
import { migrate } from "../durable/migrate.ts";
import { SCHEMA } from "../team/schema.ts";
import { stopTestServer, testDatabaseUrl } from "../durable/test-database.ts";
import { silentLogger } from "../kernel/logger.ts";

const PROGRAM = fileURLToPath(new URL("./main.ts", import.meta.url));

let folder: string;
let first: { url: string } & AsyncDisposable;
let second: { url: string } & AsyncDisposable;
beforeAll(async () => {
  first = await testDatabaseUrl();
  second = await testDatabaseUrl();
});
afterAll(async () => {
  await first[Symbol.asyncDispose]();
  await second[Symbol.asyncDispose]();
  await stopTestServer();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-db-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function dure(
  url: string,
  ...args: string[]
): Promise<{ exitCode: number | null; stdout: string; stderr: string }> {
  return run({ DATABASE_URL: url }, args);
}

function run(
  environment: Record<string, string>,
  args: readonly string[],
): Promise<{ exitCode: number | null; stdout: string; stderr: string }> {
  return new Promise((resolve, reject) => {
    const { PATH = "", HOME = "", NODE_COMPILE_CACHE } = process.env;
    const child = spawn(process.execPath, [PROGRAM, ...args, "--json"], {
      cwd: folder,
      env: { PATH, HOME, NODE_COMPILE_CACHE, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ exitCode, stdout, stderr }));
  });
}

const DERIVED =
  "create table dure.knowledge_near_0 (chunk bigint references dure.knowledge_chunks (id))";

async function query<Row extends object>(url: string, text: string): Promise<Row[]> {
  const database = await Database.open({
    url,
    applicationName: "dure:cli-test",
    logger: silentLogger,
  });
  try {
    return await database.query<Row>({ text });
  } finally {
    await database.close();
  }
}

test(
  "a backup of one database is restored into another, and nothing is replaced unasked",
  { ...FULL, timeout: 120_000 },
  async () => {
    const created = JSON.parse(
      (
        await dure(
          first.url,
          "token",
          "create",
          '두레 "quoted"\nline',
          "--scopes",
          "chat,admin",
          "--tenant",
          "acme",
        )
      ).stdout,
    ) as { token: string; record: { id: string } };
    await query(
      first.url,
      "insert into dure.audit (tenant, name, what, subject) select 'acme', 'n' || n, 'turn.stop', " +
        "repeat('가', 50) from generate_series(1, 1234) n",
    );
    await query(first.url, "update dure.release set version = 'of another release'");
    const file = path.join(folder, "team.dure.gz");
    await query(first.url, DERIVED); // both have an index of vectors
    await dure(second.url, "db", "migrate");
    await query(second.url, DERIVED);

    const saved = await dure(first.url, "db", "backup", file);
    const restored = await dure(second.url, "db", "restore", file);

    expect([saved.stderr, restored.stderr]).toEqual(["", ""]);
    expect(JSON.parse(restored.stdout)).toEqual(JSON.parse(saved.stdout));
    expect(await readdir(folder)).toEqual(["team.dure.gz"]);
    expect(saved.stdout).not.toContain("knowledge_near");
    const derived = "select to_regclass('dure.knowledge_near_0')::text as name";
    expect(await query(second.url, derived)).toEqual([{ name: null }]); // made anew from what came
    const everything =
      "select (select json_agg(t order by id) from dure.tokens t)::text as tokens, (select " +
      "json_agg(a order by a.name) from dure.audit a)::text as audit";
    expect(await query(second.url, everything)).toEqual(await query(first.url, everything));
    expect(JSON.parse((await dure(second.url, "token", "list")).stdout)).toMatchObject({
      items: [{ id: created.record.id, tenant: "acme", scopes: ["chat", "admin"] }],
    });
    expect(await query(second.url, "select era from dure.meta")).toEqual([{ era: 2 }]);
    expect(await query(second.url, "select version from dure.release")).toEqual([
      { version: SCHEMA.version }, // the functions are those of the database, not of the backup
    ]);
    await query(
      second.url,
      "insert into dure.audit (tenant, name, what, subject) values ('', 'next', 'x', 'y')",
    ); // its sequence goes on
  },
);

test("a backup that was cut is refused and changes nothing", FULL, async () => {
  await dure(first.url, "token", "create", "x");
  const file = path.join(folder, "team.dure.gz");
  await dure(first.url, "db", "backup", file);
  const bytes = await readFile(file);
  await writeFile(file, bytes.subarray(0, bytes.length - 12));
  const before = await query(first.url, "select count(*)::int as count from dure.tokens");

  const result = await dure(first.url, "db", "restore", file);

  expect(result.exitCode).toBe(2);
  expect(JSON.parse(result.stderr)).toMatchObject({
    code: expect.stringMatching(/^BACKUP_/) as string,
  });
  expect(await query(first.url, "select count(*)::int as count from dure.tokens")).toEqual(before);
});

test(
  "a backup from before the baseline brings its rows into a database of today",
  FULL,
  async () => {
    await dure(first.url, "token", "create", "old friend");
    const line = "('t', 1, '1 step:look', 'RECORD', '\"seen\"')";
    await query(
      first.url,
      `insert into dure.turn_events (turn_id, seq, place, type, data) values ${line}`,
    );
    const file = path.join(folder, "team.dure.gz");
    await dure(first.url, "db", "backup", file);
    const lines = gunzipSync(await readFile(file)).toString();
    const header = /"format":2,"migration":\d+/;
    const old = lines
      .replace(header, '"format":1,"migration":38')
      .replace('{"table":"turn_journal"', '{"table":"turn_events"');
    await writeFile(file, gzipSync(old));

    const restored = await dure(second.url, "db", "restore", file, "--replace");

    expect([lines.search(header) > 0, restored.stderr]).toEqual([true, ""]);
    expect(
      await query(second.url, "select name from dure.tokens where name = 'old friend'"),
    ).toEqual([{ name: "old friend" }]);
    expect(old).toContain('{"table":"turn_events"');
    expect(await query(second.url, "select place, data from dure.turn_events")).toEqual([
      { place: "1 step:look", data: "seen" },
    ]);
  },
);

test("a restore is refused where sessions stand, and while a process works", FULL, async () => {
  const file = path.join(folder, "team.dure.gz");
  const database = await Database.open({
    url: first.url,
    applicationName: "dure:process_01",
    logger: silentLogger,
  });
  try {
    await migrate(database, SCHEMA, { logger: silentLogger });
    await dure(first.url, "db", "backup", file);

    const result = await dure(first.url, "db", "restore", file);

    expect([result.exitCode, (JSON.parse(result.stderr) as { code: string }).code]).toEqual([
      1,
      "DATABASE_IN_USE",
    ]);
  } finally {
    await database.close();
  }
});

test(
  "making and revoking a token is in the audit log with its actor; a refusal is not",
  FULL,
  async () => {
    const { record } = JSON.parse(
      (await dure(first.url, "token", "create", "mina", "--scopes", "chat")).stdout,
    ) as { record: { id: string } };
    for (let times = 0; times < 2; times++) await dure(first.url, "token", "revoke", record.id);

    const rows = await query<{ name: string; what: string }>(
      first.url,
      `select name, what from dure.audit where subject = '${record.id}' order by id`,
    );
    expect(rows).toEqual(
      ["token.create", "token.revoke"].map((what) => ({
        name: `cli:${userInfo().username}`,
        what,
      })),
    );
  },
);

test(
  "stats name the tables, migrate says where the schema is, an unknown token cannot be revoked",
  FULL,
  async () => {
    expect(JSON.parse((await dure(first.url, "db", "migrate")).stdout)).toEqual({
      migration: SCHEMA.migrations.length,
      release: SCHEMA.number,
    });
    expect(JSON.parse((await dure(first.url, "db", "stats")).stdout)).toMatchObject({
      tables: expect.arrayContaining([
        expect.objectContaining({ name: "dure.turns" }),
      ]) as unknown[],
    });
    const revoked = await dure(first.url, "token", "revoke", "token_nobody");
    expect([revoked.exitCode, (JSON.parse(revoked.stderr) as { code: string }).code]).toEqual([
      1,
      "TOKEN_UNKNOWN",
    ]);
    const scope = await dure(first.url, "token", "create", "x", "--scopes", "chatt");
    expect([scope.exitCode, (JSON.parse(scope.stderr) as { hint: string }).hint]).toEqual([
      2,
      "Did you mean chat?",
    ]);
  },
);

test(
  "without DATABASE_URL a database under DURE_HOME keeps what the last command has written",
  { ...FULL, timeout: 60_000 },
  async () => {
    const home = { DURE_HOME: path.join(folder, "data of 두레") };
    const { record } = JSON.parse((await run(home, ["token", "create", "mina"])).stdout) as {
      record: { id: string };
    };

    expect(JSON.parse((await run(home, ["token", "list"])).stdout)).toMatchObject({
      items: [{ id: record.id, name: "mina" }],
    });
    expect(await readdir(folder)).toEqual(["data of 두레"]);
  },
);

test("a database that does not answer is one sentence and a hint", async () => {
  const result = await dure("postgres://nobody:hunter2@127.0.0.1:1/none", "db", "stats");

  expect(result.exitCode).toBe(1);
  expect(JSON.parse(result.stderr)).toMatchObject({
    code: "DATABASE_UNAVAILABLE",
    hint: expect.any(String) as string,
  });
  expect(result.stderr).not.toContain("hunter2");
});
