import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { makeFolder } from "./make-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "dure-make-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("a folder is made with those above it, and may be there already", async () => {
  const deep = path.join(folder, "a", "b", "c");

  await makeFolder(deep);
  await makeFolder(deep);

  expect((await stat(deep)).isDirectory()).toBe(true);
});

test("a folder below a file is refused with what stands in the way", async () => {
  await writeFile(path.join(folder, "file"), "");

  await expect(makeFolder(path.join(folder, "file", "data"))).rejects.toMatchObject({
    code: "FOLDER_UNUSABLE",
    message: expect.stringContaining("ENOTDIR") as string,
  });
});

test.runIf(process.platform === "linux")(
  "a folder that the kernel will not make is refused, where Node's own call never returns",
  async () => {
    await expect(makeFolder("/proc/nothing/data")).rejects.toMatchObject({
      code: "FOLDER_UNUSABLE",
    });
  },
);
