import { createInterface } from "node:readline";
import { isObject } from "../../kernel/json.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DureError } from "../../kernel/errors.ts";
import type { SandboxProcess } from "../sandbox/sandbox.ts";
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

// --- offline program

/**
 * The process of an offline worker: `node -e` with this text. It stands here as text, so that it
 * can be run by a user who may not read dure's own folder. It gets `{"edits": […]}` or
 * `{"crash": true}` line by line on its standard input and answers each with one line,
 * `{"ok": true}` or `{"ok": false, "code", "message"}`.
 */
const OFFLINE_PROGRAM = String.raw`
const fs = require("node:fs");
const path = require("node:path");

function change(edit) {
  if (edit.delete) return fs.rmSync(edit.path, { recursive: true });
  fs.mkdirSync(path.dirname(edit.path), { recursive: true });
  if (edit.link !== undefined) {
    fs.rmSync(edit.path, { force: true });
    return fs.symlinkSync(edit.link, edit.path);
  }
  if (edit.content !== undefined) return fs.writeFileSync(edit.path, edit.content);
  const before = fs.readFileSync(edit.path, "utf8");
  const parts = before.split(edit.replace.old);
  if (parts.length === 2) return fs.writeFileSync(edit.path, parts.join(edit.replace.new));
  if (parts.length === 1 && edit.replace.new !== "" && before.includes(edit.replace.new)) return;
  throw Object.assign(new Error("the text to replace stands in " + edit.path + " " + (parts.length - 1) + " times"), { code: "SCRIPT" });
}

function answer(line) {
  const step = JSON.parse(line);
  if (step.crash) process.kill(process.pid, "SIGKILL");
  try {
    for (const edit of step.edits) change(edit);
    return { ok: true };
  } catch (error) {
    return { ok: false, code: error.code ?? "UNKNOWN", message: error.message };
  }
}

require("node:readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => process.stdout.write(JSON.stringify(answer(line)) + "\n"));
`;
