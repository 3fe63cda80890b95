/**
 * `npm run try-package`: builds, packs, installs into an empty project and uses it there. A part of
 * the long tests.
 */

import { buildStale } from "./build.ts";
import { tryPackage } from "./package.ts";

const failed = (await buildStale()).find((result) => result.exitCode !== 0);
if (failed) {
  console.error(failed.output.trimEnd());
  process.exit(1);
}
const result = await tryPackage(process.env);
console.log(result.ok ? `[package] works: ${result.note}` : `[package] ${result.output}`);
if (!result.ok) process.exitCode = 1;
