/** A process that leads the runs of one machine, for tests that kill it. Arguments: database URL, folder of data, file of the offline script. */
import { readFile } from "node:fs/promises";
import { startRealRuns } from "./real-runs.ts";

const [url, home, script] = process.argv.slice(2) as [string, string, string];
await using runs = await startRealRuns({ url, home, script: await readFile(script, "utf8") });
console.log(JSON.stringify({ ready: runs.lease.id }));
await new Promise((resolve) => process.once("SIGTERM", resolve));
