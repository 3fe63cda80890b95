import { createInterface } from "node:readline";
import { isObject } from "../../kernel/json.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { SandboxProcess } from "../sandbox/sandbox.ts";
import { OFFLINE_PROGRAM } from "./offline-program.ts";
import {
  roundOf,
  type OfflineEdit,
  type OfflineRound,
  type OfflineScript,
} from "./offline-script.ts";
import { died, finished, startProcess } from "./processes.ts";
import { ScopedFiles } from "./scoped-files.ts";
import { runWorker, workerError, type WorkerReport } from "./worker-run.ts";
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
    const round = roundOf(this.#script, assignment);
    if (!round) {
      return {
        status: "ready",
        summary: "The script says nothing about this round.",
        claimedFiles: [],
      };
    }
    const files = new ScopedFiles({ tree: assignment.tree, scope: assignment.scope });
    await this.#wait(round, report);
    for (const query of round.queries ?? []) {
      const asked = assignment.channel.query(query, { signal: report.signal });
      report.say(`asked: ${query} — answered: ${await report.during(asked)}`);
    }
    for (const { path, wants, why = "the script says so" } of round.requestAccess ?? []) {
      if ((await report.requestAccess({ path, wants, why })).granted) files.grant(path, wants);
    }
    if (round.tokens !== undefined) report.used({ input: round.tokens, output: 0 });
    report.signal.throwIfAborted();
    await this.#edit(round, assignment, files, report);
    report.progress({ progress: 1, currentTask: "done" });
    const { status = "ready", summary = `Did round ${assignment.round}.` } = round;
    return {
      status,
      summary,
      claimedFiles: round.claims ?? (round.edits ?? []).map(({ path }) => path),
      error: status === "failed" ? { code: "WORKER_SCRIPT", message: summary } : undefined,
    };
  }

  async #wait({ delay = 0 }: OfflineRound, report: WorkerReport): Promise<void> {
    for (let step = 1; delay > 0 && step <= DELAY_STEPS; step++) {
      await report.during(this.#clock.sleep(delay / DELAY_STEPS, { signal: report.signal }));
      report.progress({
        progress: step / (DELAY_STEPS + 1),
        currentTask: `working (${step} of ${DELAY_STEPS})`,
      });
    }
  }

  async #edit(
    round: OfflineRound,
    assignment: Assignment,
    files: ScopedFiles,
    report: WorkerReport,
  ): Promise<void> {
    if (!round.edits?.length && !round.crash && !round.hang) return;
    const process = await startProcess(
      assignment,
      { command: [this.#node, "-e", OFFLINE_PROGRAM] },
      { signal: report.signal },
    );
    try {
      const program = new OfflineProcess(process);
      for (const edit of round.edits ?? []) {
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
      if (round.crash) await program.tell({ crash: true });
      if (round.hang) await process.ended;
      report.signal.throwIfAborted();
      if (round.hang) throw died(await process.ended, "");
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
