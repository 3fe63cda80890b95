/** `npm run build`, also before the library is packed: builds what is stale and says so. */

import { buildStale } from "./build.ts";

for (const result of await buildStale()) {
  const done = result.built ? "built" : "up to date";
  console.log(`[build] ${result.name}: ${result.exitCode === 0 ? done : "failed"}`);
  if (result.exitCode === 0) continue;
  console.error(result.output.trimEnd());
  process.exitCode = 1;
}
