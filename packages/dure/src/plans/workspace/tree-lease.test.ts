import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LeaseFile } from "./tree-lease.ts";

const FIRST = { run: "run1", processId: "one", epoch: 1 };

test("one process holds a tree, and one with a higher epoch takes it", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "tree-lease-"));
  const file = new LeaseFile(folder.path, "api");
  await file.take(FIRST);
  await file.take(FIRST);

  await expect(file.take({ ...FIRST, processId: "two" })).rejects.toThrow("process one (epoch 1)");
  const second = { run: "run1", processId: "two", epoch: 2 };
  await file.take(second);

  await expect(file.take(FIRST)).rejects.toMatchObject({ code: "TREE_LEASED" });
  expect(await file.holder()).toEqual(second);
});

test("a process that held a tree under an earlier epoch takes it anew under the later one", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "tree-lease-"));
  const file = new LeaseFile(folder.path, "api");
  const later = { ...FIRST, epoch: 3 };
  await file.take(FIRST);

  await file.take(later);

  expect(await file.holder()).toEqual(later);
  const between = { run: "run1", processId: "two", epoch: 2 };
  await expect(file.take(between)).rejects.toMatchObject({ code: "TREE_LEASED" });
});
