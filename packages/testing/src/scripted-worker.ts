import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DureError, systemClock, type Clock } from "dure/client";
import type { Assignment, Worker, WorkerEvent, WorkerReport, WorkerResult } from "dure/team";

/** What a scripted worker does in one try, in this order; everything may be left out. */
export interface ScriptedTry {
  /** Which assignment must come. Strict: another one breaks the script. */
  readonly expect?: Partial<Pick<Assignment, "port" | "member" | "try">> & {
    readonly prompt?: string | RegExp;
  };
  /** Files as they are afterwards, by path; `null` deletes. Written without asking anybody. */
  readonly files?: Readonly<Record<string, string | null>>;
  /** Anything else: questions, violations, a wait for the test's word. */
  readonly act?: (report: WorkerReport, assignment: Assignment) => void | Promise<void>;
  readonly result?: Partial<WorkerResult>;
}

/**
 * A worker that knows in advance what it will be asked, for tests of what calls workers. It works
 * in the test's own process: no sandbox holds it. A call beyond the script fails, and makes
 * `assertComplete` fail too.
 *
 * ```ts
 * const first = { files: { "src/a.ts": "1" } };
 * const second = { expect: { try: 2, prompt: /expected 5/ }, files: { "src/a.ts": "5" } };
 * const worker = new ScriptedWorker([first, second]);
 * // …
 * worker.assertComplete();
 * ```
 */
export class ScriptedWorker implements Worker {
  readonly kind = "offline";
  /** What it was given so far, in order. */
  readonly assignments: Assignment[] = [];
  readonly #tries: readonly ScriptedTry[];
  readonly #clock: Clock;
  readonly #problems: string[] = [];

  constructor(tries: readonly ScriptedTry[], options: { clock?: Clock } = {}) {
    this.#tries = tries;
    this.#clock = options.clock ?? systemClock;
  }

  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent> {
    this.assignments.push(assignment);
    const number = this.assignments.length;
    return this.#frame(number, assignment, options);
  }

  /** Throws unless exactly the expected tries were asked for. */
  assertComplete(): void {
    const missing = this.#tries.length - this.assignments.length;
    const problems = [
      ...this.#problems,
      ...(missing > 0
        ? [`${missing} of ${this.#tries.length} expected tries were not asked for`]
        : []),
    ];

    if (problems.length > 0) {
      throw new DureError(
        "SCRIPT_BROKEN",
        `The script of the worker was not followed: ${problems.join("; ")}.`,
      );
    }
  }

  /** Loads the door when a worker runs: a test of models does not wait for it. */
  async *#frame(
    number: number,
    assignment: Assignment,
    { signal }: { signal: AbortSignal },
  ): AsyncGenerator<WorkerEvent> {
    const { runWorker } = await import("dure/team");
    yield* runWorker(assignment, (report) => this.#work(number, assignment, report), {
      clock: this.#clock,
      signal,
    });
  }

  async #work(
    number: number,
    assignment: Assignment,
    report: WorkerReport,
  ): Promise<Omit<WorkerResult, "tokens"> & Partial<WorkerResult>> {
    const todo = this.#tries[number - 1];
    if (!todo) {
      throw this.#problem(`try ${number} was not expected; the script has ${this.#tries.length}`);
    }

    const mismatch = mismatchOf(todo, assignment);
    if (mismatch !== undefined) throw this.#problem(`try ${number} ${mismatch}`);

    for (const [path, text] of Object.entries(todo.files ?? {})) {
      const file = join(assignment.tree, path);
      await mkdir(dirname(file), { recursive: true });
      await (text === null ? rm(file, { recursive: true }) : writeFile(file, text));
    }

    await todo.act?.(report, assignment);

    return {
      status: "ready",
      summary: `Did try ${number}.`,
      claimedFiles: Object.keys(todo.files ?? {}),
      ...todo.result,
    };
  }

  #problem(what: string): DureError {
    this.#problems.push(what);
    return new DureError("SCRIPT_BROKEN", `The script of the worker was not followed: ${what}.`);
  }
}

function mismatchOf({ expect = {} }: ScriptedTry, assignment: Assignment): string | undefined {
  const { prompt, ...members } = expect;
  for (const [key, wanted] of Object.entries(members)) {
    const got = assignment[key as keyof typeof members];
    if (got !== wanted) return `has ${key} ${String(got)} instead of ${String(wanted)}`;
  }

  const fits =
    prompt === undefined ||
    (typeof prompt === "string"
      ? assignment.prompt.includes(prompt)
      : prompt.test(assignment.prompt));

  return fits ? undefined : `has a prompt that does not match ${String(prompt)}`;
}
