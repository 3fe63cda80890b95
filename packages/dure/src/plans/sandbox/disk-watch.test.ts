import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { diskUseOf, grownBy, watchDisk } from "./disk-watch.ts";

test("a folder that a worker closes to dure counts with what the file system has lost", () => {
  const before = { bytes: 1_000, isWhole: true };

  expect(grownBy(before, { bytes: 1_200, isWhole: true }, 9_000)).toBe(200);
  expect(grownBy(before, { bytes: 900, isWhole: false }, 9_000)).toBe(9_000);
  expect(grownBy(before, { bytes: 9_900, isWhole: false }, 300)).toBe(8_900);
});

test("what a tree writes before the first look counts, and what was there before it does not", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "dure-disk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, "old"), Buffer.alloc(3_000_000, 1));
  const before = await diskUseOf([folder]);
  writeFileSync(path.join(folder, "new"), Buffer.alloc(3_000_000, 1));
  const over = Promise.withResolvers<void>();

  const bound = { bytes: 2_000_000, places: [folder], before };
  const cancel = watchDisk(bound, { clock: systemClock, onOver: over.resolve });
  onTestFinished(cancel);

  await over.promise;
  const now = await diskUseOf([folder]);
  expect(grownBy(before.size, now.size, 0)).toBeLessThan(4_000_000);
});
