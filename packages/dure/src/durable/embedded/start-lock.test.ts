import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { acquireStartLock } from "./start-lock.ts";

test("holders take turns, and old generations are removed", async () => {
  using folder = temporaryFolder();
  let inside = 0;
  let most = 0;

  await Promise.all(
    Array.from({ length: 12 }, async () => {
      const release = await acquireStartLock(folder.path, { clock: systemClock });
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
      await release();
    }),
  );

  expect(most).toBe(1);
  expect(readdirSync(folder.path)).toEqual(["lock.12"]);
});

test("a lock whose holder is dead, or whose number belongs to a later process, is free", async () => {
  using folder = temporaryFolder();
  writeFileSync(
    join(folder.path, "lock.7"),
    JSON.stringify({ pid: process.pid, born: "an earlier process" }),
  );

  const release = await acquireStartLock(folder.path, { clock: systemClock, patience: 0 });

  expect(readdirSync(folder.path)).toEqual(["lock.8"]);
  await release();
});

test("a process that waits too long is told for which", async () => {
  using folder = temporaryFolder();
  const release = await acquireStartLock(folder.path, { clock: systemClock });

  await expect(
    acquireStartLock(folder.path, { clock: systemClock, patience: 0 }),
  ).rejects.toMatchObject({
    code: "EMBEDDED_BUSY",
    message: expect.stringContaining(`Process ${process.pid} `) as string,
  });
  await release();
});

function temporaryFolder(): { path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "dure-lock-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
