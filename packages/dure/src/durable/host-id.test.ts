import { mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../kernel/clock.ts";
import { hostOf } from "./host-id.ts";
import { makeFile } from "./make-file.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "dure-host-"));
});
afterEach(() => rm(home, { recursive: true }));

test("twenty that name a folder of data at once get one name, which stays", async () => {
  const names = await Promise.all(Array.from({ length: 20 }, () => hostOf(home, systemClock)));

  expect(new Set(names).size).toBe(1);
  expect(names[0]).toMatch(/^host_[0-9A-Z]{26}$/);
  expect(await hostOf(home, systemClock)).toBe(names[0]);
  expect(await readdir(home)).toEqual(["host-id"]);
});

test.each([
  ["an empty one", ""],
  ["half a name", "host_01M84QFAYRCMQ"],
])("a file without a whole name is refused: %s", async (_what, text) => {
  const file = join(home, "host-id");
  await writeFile(file, text);

  await expect(hostOf(home, systemClock)).rejects.toMatchObject({
    code: "HOST_ID_BROKEN",
    message: expect.stringContaining(file) as string,
  });
  expect(await readFile(file, "utf8")).toBe(text);
});

test("of twenty that make a file at once one does, and all read its whole text", async () => {
  const file = join(home, "a.txt");
  const makers = Array.from({ length: 20 }, async (_, index) => {
    const isMade = await makeFile(file, `text ${index}\n`);
    return { isMade, index, text: await readFile(file, "utf8") };
  });
  const results = await Promise.all(makers);

  const made = results.filter(({ isMade }) => isMade);
  expect(made).toHaveLength(1);
  expect(new Set(results.map(({ text }) => text))).toEqual(new Set([`text ${made[0]!.index}\n`]));
  expect(await readdir(home)).toEqual(["a.txt"]);
});
