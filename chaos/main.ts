/**
 * The promise under attack: three servers, one PostgreSQL, a bank and a model provider apart,
 * clients, and one seeded timeline of faults. What must hold is checked from outside. `npm run
 * chaos -- --seed 7 --minutes 10`; docs/reliability.md says more.
 */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Journal } from "./journal.ts";
import { MODES, weightsOf, type ModeName } from "./modes.ts";
import { machineName, tableOf, type Summary } from "./report.ts";
import { runChaos, type RunOptions } from "./run.ts";
import { storyOf } from "./story.ts";
import { FAULT_KINDS, type FaultKind } from "./timeline.ts";
import { openWorld } from "./world.ts";

const HELP = `npm run chaos -- [options]
  --seed N       of the timeline; without it one is drawn and printed
  --mode NAME    what the run is about: ${Object.keys(MODES).join(", ")}. Default all
                 database: it restarts in four faults of five, while 8 workers ask for jobs
  --minutes N    how long faults last, with 115 faults per minute (10 minutes: 1,150)
                 database: 4 per minute
  --faults N     so many faults; without --minutes at 48 per minute. Default 60
                 database: 4 per minute, default 12
  --only a,b     only these kinds: ${Object.keys(FAULT_KINDS).join(", ")}
  --out FILE     the summary as JSON
  --loopback     no network namespaces
  --keep         keeps the folder with all logs; a violation always does
Exit code 1 on a violation, 2 when the run could not be made.`;

/** Stories that are printed for one invariant; the others stand there by their sentence. */
const MAX_STORIES = 2;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    mode: { type: "string", default: "all" },
    minutes: { type: "string" },
    faults: { type: "string" },
    only: { type: "string" },
    out: { type: "string" },
    keep: { type: "boolean", default: false },
    loopback: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(HELP);
} else {
  process.exitCode = await main(readOptions());
}

interface Options extends RunOptions {
  readonly out: string | undefined;
  readonly keep: boolean;
  readonly isLoopback: boolean;
}

function readOptions(): Options {
  const seed = numberOf("seed", values.seed) ?? Math.floor(Math.random() * 1_000_000);
  const mode = modeOf(values.mode);
  const { perMinute, short, weights } = MODES[mode];
  const minutes = numberOf("minutes", values.minutes);
  const faults =
    numberOf("faults", values.faults) ??
    (minutes === undefined ? short.faults : Math.round(minutes * perMinute));
  const durationMs = (minutes ?? faults / short.perMinute) * 60_000;
  const only = values.only?.split(",").map((kind) => kindOf(kind.trim()));
  return {
    seed,
    mode,
    faults,
    durationMs,
    weights: only === undefined ? weights : weightsOf(only),
    out: values.out,
    keep: values.keep,
    isLoopback: values.loopback,
  };
}

function numberOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isFinite(number) && number >= 0) return number;
  console.error(`--${name} must be a number, and is ${JSON.stringify(text)}.`);
  process.exit(2);
}

function modeOf(text: string): ModeName {
  if (text in MODES) return text as ModeName;
  const names = Object.keys(MODES).join(", ");
  console.error(`--mode: there is no mode ${JSON.stringify(text)}; there are ${names}.`);
  process.exit(2);
}

function kindOf(text: string): FaultKind {
  if (text in FAULT_KINDS) return text as FaultKind;
  console.error(
    `--only: there is no fault ${JSON.stringify(text)}; there are ${Object.keys(FAULT_KINDS).join(", ")}.`,
  );
  process.exit(2);
}

async function main(options: Options): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "dure-chaos-"));
  const journal = new Journal(folder);
  const over = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.once(name, () => over.abort(new Error(`${name} received`)));
  }
  const startedAt = performance.now();
  try {
    await using world = await openWorld(folder, journal, options);
    const { kind, because } = world.network;
    const network =
      kind === "namespaces"
        ? "a network namespace and host name each"
        : `loopback, because ${because}`;
    console.log(
      `chaos: mode ${options.mode}, seed ${options.seed}, ${options.faults} faults in ` +
        `${Math.round(options.durationMs / 1_000)} s; servers on ${network}; logs in ${folder}`,
    );
    const outcome = await runChaos(world, journal, options, over.signal);
    if (options.keep || outcome.violations.length > 0) world.keepFolder();
    const summary: Summary = {
      seed: options.seed,
      mode: options.mode,
      machine: machineName(),
      network,
      ...outcome,
      seconds: { ...outcome.seconds, all: Math.round((performance.now() - startedAt) / 1_000) },
    };
    print(summary, journal);
    if (options.out !== undefined) {
      writeFileSync(options.out, `${JSON.stringify(summary, null, 2)}\n`);
    }
    return summary.violations.length > 0 ? 1 : 0;
  } catch (error) {
    console.error(
      over.signal.aborted
        ? `chaos: ended, because ${(over.signal.reason as Error).message}`
        : error,
    );
    return 2;
  } finally {
    await journal.close();
  }
}

function print(summary: Summary, journal: Journal): void {
  for (const alike of Map.groupBy(summary.violations, ({ invariant }) => invariant).values()) {
    // What happened to one subject is one story.
    const subjects = [
      ...new Map(
        alike.toReversed().map((violation) => [violation.ids.join(" "), violation]),
      ).values(),
    ].toReversed();
    const told = new Set(subjects.slice(0, MAX_STORIES));
    for (const violation of told) console.log(`\n${storyOf(violation, journal.lines).join("\n")}`);
    for (const violation of alike) {
      if (!told.has(violation)) console.log(`VIOLATION ${violation.invariant}: ${violation.text}`);
    }
  }
  console.log(`\n${tableOf(summary).join("\n")}`);
}
