/**
 * `npm run example:…` and `npm run bench`: runs a file of this workspace from its sources, without
 * a build.
 */

import path from "node:path";
import { root, run } from "./processes.ts";

const [file = "", ...rest] = process.argv.slice(2);
const program = await run(
  process.execPath,
  ["--conditions=dure-source", path.join(root, file), ...rest],
  { cwd: root, show: true },
);
process.exitCode = program.exitCode;
