/**
 * A process that leads jobs: `node jobs-process.ts <database url> <agents> <jobs to ask for>
 * <turns> <stuck | instant>`. A stuck one answers the first exchange turn of each job and never the
 * second. Killed by its parent, or ends when that disconnects.
 */

import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { exchangeTurnOf, startJobs, wordsOf } from "./jobs-team.ts";

const [url = "", agents = "", count = "0", turns = "", how] = process.argv.slice(2);
/** Jobs that are asked for at the same time. */
const AT_ONCE = 50;

const team = await startJobs({
  url,
  agents: Number(agents),
  respond: (request, { signal }) =>
    how === "stuck" && exchangeTurnOf(request) > 1
      ? new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
        )
      : wordsOf(request),
  // A permit for every job: recovery is measured, not the line before an agent.
  limits: { permits: 2_000, running: 2_000 },
});
process.send?.({ readyAt: systemClock.now() });
for (let asked = 0; asked < Number(count); asked += AT_ONCE) {
  await Promise.all(
    Array.from({ length: Math.min(AT_ONCE, Number(count) - asked) }, (_, index) => {
      const pair = (asked + index) % (Number(agents) / 2);
      return team.jobs.ask({
        requester: `a${pair * 2}`,
        agent: `a${pair * 2 + 1}`,
        message: "Please go on",
        maxTurns: Number(turns),
        waitSec: 0,
      });
    }),
  );
}
process.once("disconnect", () => void team[Symbol.asyncDispose]());
