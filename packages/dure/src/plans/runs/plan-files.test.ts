import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { PlanFiles } from "./plan-files.ts";

test("a plan that does not exist is refused without where the team lies", async () => {
  const team = await mkdtemp(path.join(tmpdir(), "dure-plans-"));
  const folder = path.join(team, "plans");
  await mkdir(folder);
  const read = () => Promise.reject(new Error("no file to read"));
  const files = new PlanFiles({ folder, threads: { read }, importModule: read });

  await expect(files.read("../../etc/passwd")).rejects.toMatchObject({
    code: "PLAN_UNKNOWN",
    message: "There is no plan ../../etc/passwd in the folder plans.",
  });
  await rm(team, { recursive: true });
});
