import { createInterface } from "node:readline";
import { isObject } from "../../kernel/json.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { SandboxProcess } from "../sandbox/sandbox.ts";
import { OFFLINE_PROGRAM } from "./offline-program.ts";
import { tryOf, type OfflineEdit, type OfflineTry, type OfflineScript } from "./offline-script.ts";
import { died, finished, startProcess } from "./processes.ts";
import { ScopedFiles } from "./scoped-files.ts";
import { workerError } from "./worker-error.ts";
import { runWorker, type WorkerReport } from "./worker-run.ts";
import type { Assignment, Worker, WorkerEvent, WorkerResult } from "./worker.ts";

/** Steps in which a delay is told. */
const DELAY_STEPS = 4;

/**
 * Does what a script says, always the same, without a model: for examples and tests. The edits are
 * real ones, made by a process in the sandbox, so that isolation holds for it as for all others.
 */
export class OfflineWorker implements Worker {
  readonly kind = "offline";
  readonly #script: OfflineScript;
  readonly #clock: Clock;
  readonly #node: string;

  /**
   * @param options.node path of Node.js as processes of the worker see it. Default: the one that
   * runs dure.
   */
  constructor(options: {
    script?: OfflineScript | undefined;
    clock: Clock;
    node?: string | undefined;
  }) {
    this.#script = options.script ?? { ports: {} };
    this.#clock = options.clock;
    this.#node = options.node ?? process.execPath;
  }

  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent> {
    return runWorker(assignment, (report) => this.#work(assignment, report), {
      clock: this.#clock,
      signal: options.signal,
    });
  }

  async #work(assignment: Assignment, report: WorkerReport): Promise<Omit<WorkerResult, "tokens">> {
    const todo = tryOf(this.#script, assignment);
    if (!todo) {
      return {
        status: "ready",
        summary: "The script says nothing about this try.",
        claimedFiles: [],
      };
    }
    const files = new ScopedFiles({ tree: assignment.tree, scope: assignment.scope });
    await this.#wait(todo, report);
    for (const query of todo.queries ?? []) {
      const asked = assignment.channel.query(query, { signal: report.signal });
      report.say(`asked: ${query} — answered: ${await report.during(asked)}`);
    }
    for (const { path, wants, why = "the script says so" } of todo.requestAccess ?? []) {
      if ((await report.requestAccess({ path, wants, why })).granted) files.grant(path, wants);
    }
    if (todo.tokens !== undefined) report.used({ input: todo.tokens, output: 0 });
    report.signal.throwIfAborted();
    await this.#edit(todo, assignment, files, report);
    report.progress({ progress: 1, currentTask: "done" });
    const { status = "ready", summary = `Did try ${assignment.try}.` } = todo;
    return {
      status,
      summary,
      claimedFiles: todo.claims ?? (todo.edits ?? []).map(({ path }) => path),
      error: status === "failed" ? { code: "WORKER_SCRIPT", message: summary } : undefined,
    };
  }

  async #wait({ delay = 0 }: OfflineTry, report: WorkerReport): Promise<void> {
    for (let step = 1; delay > 0 && step <= DELAY_STEPS; step++) {
      await report.during(this.#clock.sleep(delay / DELAY_STEPS, { signal: report.signal }));
      report.progress({
        progress: step / (DELAY_STEPS + 1),
        currentTask: `working (${step} of ${DELAY_STEPS})`,
      });
    }
  }

  async #edit(
    todo: OfflineTry,
    assignment: Assignment,
    files: ScopedFiles,
    report: WorkerReport,
  ): Promise<void> {
    if (!todo.edits?.length && !todo.crash && !todo.hang) return;
    const process = await startProcess(
      assignment,
      { command: [this.#node, "-e", OFFLINE_PROGRAM] },
      { signal: report.signal },
    );
    try {
      const program = new OfflineProcess(process);
      for (const edit of todo.edits ?? []) {
        report.signal.throwIfAborted();
        if (!edit.unasked && isRefused(edit, files, report)) continue;
        const answer = await report.during(program.tell({ edits: [edit] }));
        if (answer.ok) continue;
        if (answer.code === "SCRIPT") {
          throw workerError(
            "WORKER_SCRIPT",
            `The script does not fit the files: ${answer.message}.`,
          );
        }
        report.say(`${edit.path} could not be changed: ${answer.message}`);
      }
      if (todo.crash) await program.tell({ crash: true });
      if (todo.hang) await process.ended;
      report.signal.throwIfAborted();
      if (todo.hang) throw died(await process.ended, "");
    } finally {
      await finished(process);
    }
  }
}

/** Every edit but an unasked one is decided first, as for a model. */
function isRefused(edit: OfflineEdit, files: ScopedFiles, report: WorkerReport): boolean {
  const decision = files.decideWrite(edit.path);
  if (!decision.allowed) {
    report.violation({
      path: edit.path,
      wanted: "write",
      because: decision.because,
      detail: "an edit of the script",
    });
  }
  return !decision.allowed;
}

/** Line by line: one answer for one step. */
class OfflineProcess {
  readonly #process: SandboxProcess;
  readonly #lines: AsyncIterator<string>;
  #stderr = "";

  constructor(process: SandboxProcess) {
    this.#process = process;
    this.#lines = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
    process.stderr.on(
      "data",
      (chunk: Buffer) => (this.#stderr = `${this.#stderr}${chunk.toString()}`.slice(-2_000)),
    );
  }

  async tell(
    step: { readonly edits: readonly OfflineEdit[] } | { readonly crash: true },
  ): Promise<{ ok: true } | { ok: false; code: string; message: string }> {
    this.#process.stdin.write(`${JSON.stringify(step)}\n`);
    const line = await this.#lines.next();
    if (line.done) throw died(await this.#process.ended, this.#stderr);
    const answer: unknown = JSON.parse(line.value);
    if (!isObject(answer)) {
      throw new DureError(
        "WORKER_SCRIPT",
        "The process of the offline worker said something strange.",
      );
    }
    return answer as { ok: true };
  }
}
