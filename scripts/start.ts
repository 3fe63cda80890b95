/**
 * `npm start`: builds what is stale, then runs the example team with the command line of the
 * package.
 */

import path from "node:path";
import { makeShop } from "../examples/dev-team/repository.ts";
import { buildStale } from "./build.ts";
import { root, run } from "./processes.ts";

for (const result of await buildStale({ product: true })) {
  if (result.built) {
    console.log(`[start] ${result.name} ${result.exitCode === 0 ? "built" : "could not be built"}`);
  }
  if (result.exitCode !== 0) {
    console.error(result.output.trimEnd());
    process.exit(1);
  }
}

const examples = path.join(root, "examples");
const place = isKorean(process.env) ? examples : path.join(examples, "english");

// The plan of the example works on a repository of its own.
await makeShop(path.join(place, ".dure", "shop")).catch((error: unknown) =>
  console.error(`[start] the repository of the plan dev-team could not be made: ${String(error)}`),
);

const program = path.join(root, "packages", "dure", "bin", "dure.mjs");
const team = await run(process.execPath, [program, "start", ...process.argv.slice(2)], {
  cwd: place,
  show: true,
});
process.exitCode = team.exitCode;

/** The example team is there in Korean and in English; the language of the terminal chooses. */
function isKorean({ LC_ALL, LC_MESSAGES, LANG }: NodeJS.ProcessEnv): boolean {
  return (LC_ALL || LC_MESSAGES || LANG || "").startsWith("ko");
}
