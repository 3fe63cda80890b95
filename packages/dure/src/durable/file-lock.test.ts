import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock, type Clock } from "../kernel/clock.ts";
import { FileLock } from "./file-lock.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-lock-"));
  file = path.join(folder, "x.lock");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const lockOf = (): FileLock => new FileLock(file, systemClock);

async function leaveLock(number: number): Promise<void> {
  const dead = spawn(process.execPath, ["-e", ""]);
  await new Promise((resolve) => dead.once("exit", resolve));
  await writeFile(`${file}.${number}`, `${hostname()} ${dead.pid} x\n`, { mode: 0o600 });
}

test("a lock that a killed process has left is taken over", async () => {
  await leaveLock(7);
  expect(await lockOf().take()).toBe(8);
});

test("of many that find a lock that was left, each works alone", async () => {
  await leaveLock(1);
  let inside = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    const lock = lockOf();
    const taken = await lock.take();
    most = Math.max(most, ++inside);
    await readdir(folder);
    inside--;
    await lock.free(taken!);
  };

  await Promise.all(Array.from({ length: 20 }, work));

  expect(most).toBe(1);
});

test("a process that looked too early takes no number that was used before", async () => {
  await writeFile(`${file}.1`, "free\n", { mode: 0o600 });
  let looks = 0;
  const now = (): number => {
    // Meanwhile others have held 2 and 3, and 2 has been removed.
    if (++looks === 1) writeFileSync(`${file}.3`, "free\n", { mode: 0o600 });
    return Date.now();
  };
  const clock: Clock = { ...systemClock, now };

  expect(await new FileLock(file, clock).take()).toBe(4);
  expect(await readdir(folder)).not.toContain("x.lock.2");
});

test("a lock of a living process is waited for, until the caller gives up or it is too old", async () => {
  const held = (await lockOf().take())!;
  await expect(lockOf().take(AbortSignal.timeout(1))).rejects.toThrow("timeout");

  await utimes(`${file}.${held}`, 0, 0);
  expect(await lockOf().take()).toBe(held + 1);
});

test("files of earlier holders go when they are old; the newest stays", async () => {
  const lock = lockOf();
  for (let times = 0; times < 3; times++) await lock.free((await lock.take())!);
  await utimes(`${file}.1`, 0, 0);
  await lock.free((await lock.take())!);

  expect(await readdir(folder)).toEqual(["x.lock.2", "x.lock.3", "x.lock.4"]);
});
