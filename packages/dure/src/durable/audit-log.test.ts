import { afterAll, expect, test } from "vitest";
import { AuditLog } from "./audit-log.ts";
import { stopTestServer, testDatabase } from "./test-database.ts";

afterAll(() => stopTestServer());

const deed = { tenant: "acme", name: "mina", what: "job.cancel", subject: "job_1" };

test("a deed stands there before it is done, without an outcome; the first outcome holds", async () => {
  await using stored = await testDatabase();
  const log = new AuditLog(stored);

  const id = await log.begin(deed);
  const before = (await log.list()).items;
  await log.end(id, { outcome: "JOB_UNKNOWN" });
  await log.end(id, { outcome: "done", subjects: ["job_2", "job_3"] });

  expect(before).toEqual([
    { ...deed, id, at: expect.any(Number), person: null, role: null, outcome: null },
  ]);
  expect((await log.list()).items).toEqual([{ ...before[0], outcome: "JOB_UNKNOWN" }]);
});

test("what it was done to can be said at its end: of several each has an entry, of none it stays as it was", async () => {
  await using stored = await testDatabase();
  const log = new AuditLog(stored);

  await log.end(await log.begin({ ...deed, what: "run.clean", subject: "" }), {
    outcome: "done",
    subjects: ["run_1", "run_2\u0000", "run_3"],
  });
  await log.end(await log.begin({ ...deed, subject: "jobs\u0000" }), { outcome: "done" });

  expect(
    (await log.list()).items.map(({ tenant, name, what, subject, outcome }) => [
      tenant,
      name,
      what,
      subject,
      outcome,
    ]),
  ).toEqual([
    ["acme", "mina", "job.cancel", "jobs\uFFFD", "done"],
    ["acme", "mina", "run.clean", "run_3", "done"],
    ["acme", "mina", "run.clean", "run_2\uFFFD", "done"],
    ["acme", "mina", "run.clean", "run_1", "done"],
  ]);
});

test("entries are listed newest first, in pages, by tenant, deed, kind, person or subject, or by a word", async () => {
  await using stored = await testDatabase();
  const log = new AuditLog(stored);
  await stored.database.query({
    text: "insert into dure.tokens (id, hash, name, scopes) values ('token_1', sha256('x'), '민준', '{admin}')",
  });
  for (let n = 1; n <= 5; n++) await log.note({ ...deed, subject: `job_${n}` });
  await log.note({ tenant: "", name: "token_1", what: "job.retry", subject: "JOB_100%" });
  await log.note({ tenant: "", name: "token_1", what: "jobs.purge", subject: "7d" });
  const subjects = async (filter: Parameters<AuditLog["list"]>[0]): Promise<string[]> =>
    (await log.list(filter)).items.map(({ subject }) => subject);

  const first = await log.list({ tenant: "acme", limit: 3 });
  const second = await log.list({ tenant: "acme", limit: 3, cursor: first.nextCursor! });

  expect([first, second].map(({ items }) => items.map(({ subject }) => subject))).toEqual([
    ["job_5", "job_4", "job_3"],
    ["job_2", "job_1"],
  ]);
  expect(second.nextCursor).toBeNull();
  expect(await subjects({ what: "job.retry" })).toEqual(["JOB_100%"]);
  expect(await subjects({ what: "job.*", limit: 2 })).toEqual(["JOB_100%", "job_5"]);
  expect(await subjects({ name: "민준" })).toEqual(["7d", "JOB_100%"]);
  expect(await subjects({ name: "token_1", subject: "7d" })).toEqual(["7d"]);
  expect(await subjects({ search: "100%" })).toEqual(["JOB_100%"]);
  expect(await subjects({ search: "PURGE" })).toEqual(["7d"]);
  expect(await subjects({ search: "nothing" })).toEqual([]);
  await expect(log.list({ cursor: "1; drop" })).rejects.toMatchObject({ code: "CURSOR_INVALID" });
});
