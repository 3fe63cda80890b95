// @module-tag slow
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { silentLogger } from "../../kernel/logger.ts";
import { systemClock } from "../../kernel/clock.ts";
import type { Database } from "../database.ts";
import { Leases } from "../leases.ts";
import { Retention } from "../retention.ts";
import { forgetSession } from "../sessions.ts";
import { testDatabase } from "../test-database.ts";
import { joinTeam } from "../test-members.ts";
import type { ByteStore } from "./byte-store.ts";
import { fileRules } from "./file-rules.ts";
import { Files, IN_DATABASE_BYTES, type FilesOptions } from "./files.ts";
import { folderStore } from "./folder-store.ts";
import { PNG, pngOf } from "./test-files.ts";

const LARGE = IN_DATABASE_BYTES + 1;
const clock = systemClock;
const mina = { tenant: "", session: "mina" };

async function sessionOf(database: Database, id: string, tenant = ""): Promise<void> {
  const text = "insert into dure.sessions (id, tenant, service) values ($1, $2, 'faq')";
  await database.query({ text }, [id, tenant]);
}

async function rowsOf(database: Database): Promise<{ files: number; bytes: number }> {
  const [row] = await database.query<{ files: number; bytes: number }>({
    text: `select (select count(*) from dure.files)::int as files,
      (select count(*) from dure.file_bytes)::int as bytes`,
  });
  return row!;
}

/** A folder that is gone with the test. */
async function aFolder(): Promise<{ readonly folder: string } & AsyncDisposable> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-files-"));
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
}

/** One sweep of the rules of files, by a process of its own. */
async function sweep(url: string, options: FilesOptions): Promise<void> {
  await using us = await joinTeam(url);
  const files = new Files({ ...options, database: us.database });
  const retention = new Retention({ ...us, leases: new Leases(us), rules: fileRules(files) });
  await retention.sweep();
}

test("the same bytes are stored once for a tenant, and never for two", async () => {
  await using db = await testDatabase();
  const files = new Files({ database: db.database, clock });

  const first = await files.put({ ...mina, name: "a.png", bytes: PNG });
  const again = await files.put({ ...mina, name: "a.png", bytes: PNG });
  const other = await files.put({ tenant: "", session: "jun", name: "a.png", bytes: PNG });
  expect(await rowsOf(db.database)).toEqual({ files: 2, bytes: 1 });
  await files.put({ tenant: "acme", session: "acme/mina", name: "a.png", bytes: PNG });

  expect(again).toEqual(first);
  expect(other.id).not.toBe(first.id);
  expect(await rowsOf(db.database)).toEqual({ files: 3, bytes: 2 });
});

test("a file is found and read by its own tenant and session alone", async () => {
  await using db = await testDatabase();
  const files = new Files({ database: db.database, clock });
  const own = { tenant: "acme", session: "acme/mina" };

  const { id } = await files.put({ ...own, name: "a.png", bytes: PNG });

  expect(await files.find([id], own)).toEqual([
    {
      ...{ id, name: "a.png", type: "image/png", bytes: 70 },
      sha256: createHash("sha256").update(PNG).digest("hex"),
    },
  ]);
  for (const other of [
    { tenant: "beta", session: "acme/mina" },
    { tenant: "acme", session: "acme/jun" },
  ]) {
    await expect(files.find([id], other)).rejects.toMatchObject({ code: "FILE_UNKNOWN" });
  }
  expect(await files.look(id, "beta")).toBeUndefined();
  expect(await files.read(id, { session: "acme/jun" })).toBeUndefined();
  expect(await files.read(id, own)).toEqual(Buffer.from(PNG));
});

test("a file is what its first bytes say, under a harmless name", async () => {
  await using db = await testDatabase();
  const files = new Files({ database: db.database, clock });
  const put = (name: string, bytes: Uint8Array) => files.put({ ...mina, name, bytes });

  expect(await put("../../etc/pass\u202Egnp.exe", PNG)).toMatchObject({ name: "passgnp.png" });
  expect(await put("page.html", Buffer.from("<script>alert(1)</script>"))).toMatchObject({
    name: "page.txt",
    type: "text/plain",
  });
  await expect(put("run.png", Buffer.from("MZ\x00\x01"))).rejects.toMatchObject({
    code: "FILE_TYPE_REFUSED",
  });
  await expect(put("none.png", new Uint8Array())).rejects.toMatchObject({ code: "FILE_EMPTY" });
});

test("without a store a larger file is refused, and nothing is changed", async () => {
  await using db = await testDatabase();
  const files = new Files({ database: db.database, clock });

  await expect(files.put({ ...mina, name: "a.png", bytes: pngOf(LARGE) })).rejects.toMatchObject({
    code: "FILE_STORE_MISSING",
  });

  expect(await rowsOf(db.database)).toEqual({ files: 0, bytes: 0 });
});

test("what a session or a tenant may not hold any more is refused, and nothing is changed", async () => {
  await using db = await testDatabase();
  const files = new Files({
    database: db.database,
    clock,
    bounds: { sessionBytes: 2_500, tenantBytes: 4_500 },
  });
  const put = (session: string, mark: number) =>
    files.put({ tenant: "", session, name: "a.png", bytes: pngOf(1_000, mark) });
  await put("mina", 1);
  await put("mina", 2);

  await expect(put("mina", 3)).rejects.toMatchObject({ code: "FILES_FULL" });
  await put("jun", 4);
  await put("jun", 5);
  await expect(put("sol", 6)).rejects.toMatchObject({ code: "FILES_FULL" });

  expect(await rowsOf(db.database)).toEqual({ files: 4, bytes: 4 });
  expect(await put("mina", 1)).toMatchObject({ bytes: 1_000 }); // it is there already
});

test("a forgotten session leaves no byte in the database and none in the store", async () => {
  await using db = await testDatabase();
  await using place = await aFolder();
  const options = { database: db.database, clock, store: folderStore(place.folder) };
  const files = new Files(options);
  await sessionOf(db.database, "mina");
  await sessionOf(db.database, "jun");
  await files.put({ ...mina, name: "a.png", bytes: PNG });
  await files.put({ ...mina, name: "b.png", bytes: pngOf(LARGE, 1) });
  const shared = { name: "c.png", bytes: pngOf(LARGE, 2) };
  await files.put({ ...mina, ...shared });
  const kept = await files.put({ tenant: "", session: "jun", ...shared });

  await forgetSession(db.database, "mina", "");
  await sweep(db.url, options);

  expect(await rowsOf(db.database)).toEqual({ files: 1, bytes: 1 });
  expect(await files.read(kept.id, { session: "jun" })).toEqual(Buffer.from(shared.bytes));
  await forgetSession(db.database, "jun", "");
  await sweep(db.url, options);
  expect(await rowsOf(db.database)).toEqual({ files: 0, bytes: 0 });
  expect(await filesIn(place.folder)).toEqual([]);
});

test("a process that dies between the bytes and their row leaves what the next upload, or retention, ends", async () => {
  await using db = await testDatabase();
  await using place = await aFolder();
  const folder = folderStore(place.folder);
  const fenced = new AbortController();
  const dying: ByteStore = {
    ...folder,
    put: async (key, bytes, options) => {
      await folder.put(key, bytes, options);
      fenced.abort(new Error("fenced by the test"));
    },
  };
  const bytes = pngOf(LARGE);
  const put = (store: ByteStore, signal?: AbortSignal) =>
    new Files({ database: db.database, clock, store }).put(
      { ...mina, name: "a.png", bytes },
      { signal },
    );
  await expect(put(dying, fenced.signal)).rejects.toThrow("fenced by the test");
  expect(await rowsOf(db.database)).toEqual({ files: 0, bytes: 1 });

  const { id } = await put(folder);
  expect(await filesIn(place.folder)).toHaveLength(1);
  await db.database.query({ text: "delete from dure.files where id = $1" }, [id]);
  await expect(put(dying, fenced.signal)).rejects.toThrow("fenced by the test");
  await db.database.query({
    text: "update dure.file_bytes set touched_at = now() - interval '2 hours'",
  });
  await sweep(db.url, { database: db.database, clock, store: folder });

  expect(await rowsOf(db.database)).toEqual({ files: 0, bytes: 0 });
  expect(await filesIn(place.folder)).toEqual([]);
});

test("bytes that come after their place was given up are not taken for those of a later upload", async () => {
  await using db = await testDatabase();
  await using place = await aFolder();
  const folder = folderStore(place.folder);
  const late: ByteStore = {
    ...folder,
    put: async () => {
      // Retention has given up the row meanwhile, and another upload has begun a new one.
      await db.database.query({ text: "update dure.file_bytes set store_key = 'another'" });
    },
  };
  const files = new Files({ database: db.database, clock, store: late });

  await expect(files.put({ ...mina, name: "a.png", bytes: pngOf(LARGE) })).rejects.toMatchObject({
    code: "DATABASE_UNAVAILABLE",
  });

  expect(await rowsOf(db.database)).toEqual({ files: 0, bytes: 1 });
});

test("files that no message carries go after a day", async () => {
  await using db = await testDatabase();
  const options = { database: db.database, clock, logger: silentLogger };
  const files = new Files(options);
  await files.put({ ...mina, name: "a.png", bytes: PNG });
  const used = await files.put({ ...mina, name: "b.png", bytes: PNG, turn: "turn_1" });
  await db.database.query({
    text: "update dure.files set touched_at = now() - interval '25 hours'",
  });

  await sweep(db.url, options);

  expect(await rowsOf(db.database)).toEqual({ files: 1, bytes: 1 });
  expect(await files.look(used.id, null)).toBeDefined();
});

test("two processes that put the same file at once give one file", async () => {
  await using db = await testDatabase();
  await using place = await aFolder();
  await using one = await joinTeam(db.url);
  await using two = await joinTeam(db.url);
  const put = ({ database }: { database: Database }) =>
    new Files({ database, clock, store: folderStore(place.folder) }).put({
      ...mina,
      name: "a.png",
      bytes: pngOf(LARGE),
    });

  const [a, b] = await Promise.all([put(one), put(two)]);

  expect(a).toEqual(b);
  expect(await rowsOf(db.database)).toEqual({ files: 1, bytes: 1 });
  expect(await filesIn(place.folder)).toHaveLength(1);
});
