/**
 * A process that leads the runs of one machine, for tests that kill it. Its argument: the options
 * of `startRealRuns` as JSON, `script` being a file.
 */
import { readFile } from "node:fs/promises";
import { startRealRuns, type RealRunsOptions } from "./real-runs.ts";

const { script, ...options } = JSON.parse(process.argv[2]!) as Omit<RealRunsOptions, "script"> & {
  script: string;
};
await using runs = await startRealRuns({ ...options, script: await readFile(script, "utf8") });
console.log(JSON.stringify({ ready: runs.lease.id }));
await new Promise((resolve) => process.once("SIGTERM", resolve));
