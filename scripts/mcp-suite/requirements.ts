import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";

/*
 * What a revision of MCP requires, by the public conformance suite: its own list, run at that
 * revision's wire. Nothing of it is chosen here. The suite's `--requirements` starts all clients at
 * once; here each scenario is run as that does, one after the other, so that few processors suffice.
 */

export interface RequirementsRun {
  /** The suite's program, `dist/index.js`. */
  readonly suite: string;
  readonly role: "client" | "server";
  readonly revision: string;
  /** Says what is judged: `--command …`, or `--url …`. */
  readonly args: readonly string[];
  /** Where the suite writes what it has seen; empty before. */
  readonly folder: string;
}

/** One scenario of the list. */
export interface Judged {
  readonly scenario: string;
  /** The suite runs some others too, and counts them for nothing. */
  readonly isScored: boolean;
  readonly passed: number;
  /** Checks that failed or warned; a scenario that was not judged has one. */
  readonly wrong: readonly string[];
}

type Listed = Pick<Judged, "scenario" | "isScored">;

/** As the suite writes it. */
interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
}

/** One scenario, milliseconds. */
const PATIENCE_MS = 120_000;
const MAX_OUTPUT = 16 * 1_024 * 1_024;
const run = promisify(execFile);
const WRONG: ReadonlySet<Check["status"]> = new Set(["FAILURE", "WARNING"]);

/** Runs and judges each scenario of the list. */
export async function* runRequirements(asked: RequirementsRun): AsyncGenerator<Judged> {
  for (const [index, listed] of (await listOf(asked)).entries()) {
    const folder = path.join(asked.folder, String(index));
    const isPassed = await runScenario(asked, listed.scenario, folder);
    yield judged(listed, isPassed, await checksIn(folder));
  }
}

/** Whether the suite passes it: no check fails, and the client neither ends badly nor stays. */
async function runScenario(
  { suite, role, revision, args }: RequirementsRun,
  scenario: string,
  folder: string,
): Promise<boolean> {
  const one = ["--scenario", scenario, "--spec-version", revision, "--force", "-o", folder];
  const options = { cwd: path.dirname(suite), timeout: PATIENCE_MS, maxBuffer: MAX_OUTPUT };
  return run(process.execPath, [suite, role, ...args, ...one], options).then(
    () => true,
    () => false,
  );
}

/** As the suite tells it: those of each role, then those that it does not score. */
async function listOf({ suite, role, revision }: RequirementsRun): Promise<readonly Listed[]> {
  const { stdout } = await run(process.execPath, [suite, "list", "--requirements", revision]);
  const parts = stdout.split(/^(?=\S)/mu);
  const ofRole = parts.find((part) => part.toLowerCase().startsWith(`${role} scenarios`)) ?? "";
  const others = parts.find((part) => part.startsWith("Run and reported")) ?? "";
  const scored = [...ofRole.matchAll(/^ {2}- (\S+)$/gmu)];
  if (scored.length === 0) throw new Error(`The suite lists nothing for a ${role}, ${revision}.`);
  const notScored = [...others.matchAll(/^ {4}- (\S+) \[(\w+)\]$/gmu)];

  return [
    ...scored.map(([, scenario]) => ({ scenario: scenario!, isScored: true })),
    ...notScored
      .filter(([, , leg]) => leg === role)
      .map(([, scenario]) => ({ scenario: scenario!, isScored: false })),
  ];
}

/** The suite writes them into a folder of the scenario's name and the time. */
async function checksIn(folder: string): Promise<readonly Check[]> {
  const files = await readdir(folder, { recursive: true }).catch(() => []);
  const file = files.find((one) => path.basename(one) === "checks.json");
  if (file === undefined) return [];
  return JSON.parse(await readFile(path.join(folder, file), "utf8")) as Check[];
}

function judged(listed: Listed, isPassed: boolean, checks: readonly Check[]): Judged {
  const passed = checks.filter(({ status }) => status === "SUCCESS").length;
  const failed = checks.filter(({ status }) => WRONG.has(status)).map(({ id }) => id);
  const wrong = [...new Set(failed)];
  if (wrong.length === 0 && !isPassed) wrong.push("did not end well");
  if (wrong.length === 0 && passed === 0) wrong.push("no result");

  return { ...listed, passed, wrong };
}
