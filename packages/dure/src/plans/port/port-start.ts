import type { PlanPort } from "../rows/run.ts";
import { exitWords, SETUP_HINT } from "../rows/step-log.ts";
import { resultsOf } from "./module-trial.ts";
import type { PortWork } from "./pair-parts.ts";
import { PortFailure } from "./port-failure.ts";

/** Characters of the end of a set-up's output that the operator sees. */
const SETUP_OUTPUT = 4_000;

/**
 * What the port starts from. It is decided once, so that a port that is tried again does not change
 * its ground.
 */
export async function startOf(work: PortWork): Promise<string> {
  const { account, files } = work;
  const known = account.port.startCommit;
  if (known !== null) return known;

  const composed = await files.compose(resultsOf(await portsBefore(work)));
  if ("conflicts" in composed) {
    const first = composed.conflicts[0]!;
    throw new PortFailure(
      "same-file",
      {
        code: "CONFLICT",
        message: `${first.ports.join(" and ")} both changed ${first.path}.`,
        hint: "Give the file to one of them.",
      },
      { conflicts: composed.conflicts.slice(0, 20) },
    );
  }
  await account.startFrom(composed.commit);
  return composed.commit;
}

/** What the port needs; in one context, every port that has succeeded before it. */
async function portsBefore({ run, port, parts }: PortWork): Promise<readonly PlanPort[]> {
  const { records, modules } = parts;
  if (run.mode?.oneContext !== true) {
    return records.portsNamed(run.id, [...modules.neededBy([port.id])]);
  }
  const all = await records.portsNamed(
    run.id,
    run.plan.ports.map(({ id }) => id),
  );
  return all.filter(({ id, status }) => status === "succeeded" && id !== port.id);
}

export async function setUp({ run, files, steps }: PortWork, start: string): Promise<void> {
  const { setup } = run.plan;
  // The tree tells whether it is set up: it may be another one than that of an earlier try.
  if (setup === undefined || (await files.isSetUp())) return;
  await steps.step({ try: 0, kind: "setup", again: true }, async (step) => {
    await files.checkout(start);
    const ran = await steps.command(setup, await files.open(start), step);
    if (ran.exitCode !== 0) {
      throw new PortFailure(
        "build-failed",
        {
          code: "SETUP_FAILED",
          message: `The set-up ended with ${exitWords(ran)}.`,
          hint: SETUP_HINT,
        },
        { output: ran.output.slice(-SETUP_OUTPUT) },
      );
    }
    await files.markSetUp(start);
    return { output: { exitCode: ran.exitCode }, log: ran.output };
  });
}
