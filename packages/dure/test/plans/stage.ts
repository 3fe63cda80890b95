import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { testDatabase } from "../../src/durable/test-database.ts";
import type { TestRuns } from "../../src/plans/runs/test-runs.ts";
import {
  startRealRuns,
  testRepository,
  type RealRunsOptions,
  type TestRepository,
} from "./real-runs.ts";

/**
 * A database, a repository with these files, and runs that work on it, all gone when the test is
 * over.
 */
export async function openStage(
  files: Readonly<Record<string, string>>,
  options: Partial<RealRunsOptions> = {},
): Promise<{ runs: TestRuns; repository: TestRepository; home: string; url: string }> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const { url } = stack.use(await testDatabase());
  const repository = stack.use(await testRepository(files));
  const home = await mkdtemp(join(tmpdir(), "dure-home-"));
  stack.defer(() => rm(home, { recursive: true, force: true }));
  const runs = stack.use(await startRealRuns({ url, home, ...options }));
  return { runs, repository, home, url };
}
