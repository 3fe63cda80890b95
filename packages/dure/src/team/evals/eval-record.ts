/** What runs of evaluations have found, one file of JSON lines for each run. */

import { appendFile, mkdir, readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { UnmetExpectation } from "./expectation.ts";

/** What a run was made of, for the reader of a comparison. */
export interface RunHead {
  readonly run: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** As the person names what is tried. */
  readonly label?: string | undefined;
  /** Of the team, as it was read. */
  readonly model: string;
  /** Files that it plays, from the folder of the team; a case of them by its name alone. */
  readonly files: readonly string[];
  readonly only?: string | undefined;
  readonly repeat?: number | undefined;
}

/** One repetition of one case. */
export interface CaseResult {
  readonly evaluation: string;
  readonly case: string;
  /** 1-based. */
  readonly repetition: number;
  readonly failures: readonly UnmetExpectation[];
  readonly turns: number;
  readonly ms: number;
  readonly tokensIn: number;
  readonly tokensOut: number;
  /** Turns of it, for the one who looks why. */
  readonly turnIds: readonly string[];
}

/** A run as its file tells it. */
export interface RecordedRun extends RunHead {
  readonly results: readonly CaseResult[];
  /** Whether it came to its end. */
  readonly isOver: boolean;
}

const RUN_FILE = /^([a-z0-9_]+)\.jsonl$/i;
/** Runs that are listed; older files stay. */
const MOST_RUNS = 100;

/** Adds to the file of a run. A line that a crash cut is passed over when it is read. */
export class EvalRecord {
  readonly #file: string;

  constructor(folder: string, run: string) {
    this.#file = path.join(folder, `${run}.jsonl`);
  }

  async begin(head: RunHead): Promise<void> {
    await mkdir(path.dirname(this.#file), { recursive: true });
    await this.#add({ begins: head });
  }

  add(result: CaseResult): Promise<void> {
    return this.#add({ result });
  }

  end(): Promise<void> {
    return this.#add({ ends: true });
  }

  /** The line break stands first: what is added behind a cut line is a line of its own. */
  async #add(line: object): Promise<void> {
    await appendFile(this.#file, `\n${JSON.stringify(line)}`);
  }
}

/** The newest runs of a folder, newest first. */
export async function recordedRuns(folder: string): Promise<readonly RecordedRun[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === "ENOENT") return [];
    throw error;
  });
  const ids = names.flatMap((name) => RUN_FILE.exec(name)?.[1] ?? []);
  // Ids begin with their time.
  const newest = ids.toSorted().toReversed().slice(0, MOST_RUNS);
  const runs: RecordedRun[] = [];
  for (const id of newest) {
    const run = await readRun(folder, id);
    if (run !== undefined) runs.push(run);
  }
  return runs;
}

/** Throws `EVAL_RUN_UNKNOWN`. @param name an id, the beginning of one, a label, or `last` */
export async function findRun(folder: string, name: string): Promise<RecordedRun> {
  const runs = await recordedRuns(folder);
  const found =
    name === "last"
      ? runs.at(0)
      : (runs.find(({ run }) => run === name) ??
        runs.find(({ label }) => label === name) ??
        runs.find(({ run }) => run.startsWith(name)));
  if (found) return found;

  const known = runs.slice(0, 10).map(({ run, label }) => label ?? run);
  throw new DureError("EVAL_RUN_UNKNOWN", `There is no run "${name}".`, {
    class: "not-found",
    hint:
      known.length > 0 ? `The newest runs are: ${known.join(", ")}.` : "Make one with: dure eval",
  });
}

async function readRun(folder: string, id: string): Promise<RecordedRun | undefined> {
  const text = await readFile(path.join(folder, `${id}.jsonl`), "utf8").catch((cause: unknown) => {
    throw new DureError(
      "EVAL_RUN_UNREADABLE",
      `The run ${id} cannot be read: ${messageOf(cause)}`,
      {
        class: "input",
        hint: `Look at ${path.join(folder, `${id}.jsonl`)}.`,
        cause,
      },
    );
  });
  const lines = text.split("\n").flatMap(parsed);
  const head = lines.find((line) => isObject(line["begins"]))?.["begins"] as RunHead | undefined;
  if (head === undefined) return undefined;
  const results = lines.flatMap((line) =>
    isObject(line["result"]) ? [line["result"] as unknown as CaseResult] : [],
  );

  return { ...head, results, isOver: lines.some((line) => line["ends"] === true) };
}

function parsed(line: string): Record<string, unknown>[] {
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) ? [value] : [];
  } catch {
    return []; // cut by a crash, or empty
  }
}
