import { constants } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import { codeOf } from "../../kernel/errors.ts";
import type { SandboxCommand } from "../sandbox/sandbox.ts";
import { tailOf } from "./bounded-text.ts";
import { died, notStarted, workerEnv } from "./processes.ts";
import { runWorker, type WorkerReport } from "./worker-run.ts";
import {
  MAX_SUMMARY,
  type Assignment,
  type Worker,
  type WorkerEvent,
  type WorkerResult,
} from "./worker.ts";

/** Stands in an argument for the path of the file with the prompt. */
const PROMPT_PLACEHOLDER = "{prompt_file}";
/** Characters that are looked at for lines of progress; a longer line is not one. */
const MAX_LINE = 2_000;

/**
 * Any program. It gets the prompt on its standard input or in a file (`{prompt_file}` in its
 * arguments, `DURE_PROMPT_FILE`), and what it changed is for git to say. Its exit code 0 is
 * `ready`; the summary is the end of its output. A line `::dure progress 0.4 what it does` anywhere
 * in the output is its progress (0–1).
 */
export class CommandWorker implements Worker {
  readonly kind = "command";
  readonly #command: readonly string[];
  readonly #prompt: "stdin" | "file";
  readonly #clock: Clock;

  constructor(options: { command: readonly string[]; prompt: "stdin" | "file"; clock: Clock }) {
    this.#command = options.command;
    this.#prompt = options.prompt;
    this.#clock = options.clock;
  }

  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent> {
    return runWorker(assignment, (report) => this.#work(assignment, report), {
      clock: this.#clock,
      signal: options.signal,
    });
  }

  async #work(assignment: Assignment, report: WorkerReport): Promise<Omit<WorkerResult, "tokens">> {
    const file = join(assignment.scratch, "dure-prompt.md");
    await writeFresh(file, assignment.prompt);
    const { timeMs, outputBytes, fileBytes, processes } = assignment.limits;
    const command: SandboxCommand = {
      command: this.#command.map((part) => part.replaceAll(PROMPT_PLACEHOLDER, file)),
      env: { ...workerEnv(assignment), DURE_PROMPT_FILE: file },
      input: this.#prompt === "stdin" ? assignment.prompt : "",
      limits: { timeMs, outputBytes, fileBytes, processes },
    };
    report.progress({ currentTask: `running ${this.#command[0]!}` });
    const progress = new ProgressLines((now) => report.progress(now));
    const onOutput = (chunk: string): void => {
      report.alive();
      progress.push(chunk);
    };
    // A program owes no output while it thinks, so its being there is its sign of life; the time
    // limit is the sandbox's.
    const end = await report.during(
      assignment.sandbox
        .run(assignment.confinement, command, {
          signal: report.signal,
          onOutput,
          onStart: assignment.onStart,
        })
        .catch((error: unknown) => {
          report.signal.throwIfAborted();
          throw notStarted(this.#command, error);
        }),
    );
    report.signal.throwIfAborted();
    if (end.because !== "exited" || end.exitCode !== 0) throw died(end, end.output);
    const words = end.output.replace(/^::dure .*\n?/gm, "").trim();
    return {
      status: "ready",
      summary: words === "" ? "It ended without a word." : tailOf(words, MAX_SUMMARY),
      claimedFiles: [],
    };
  }
}

/** Finds lines of progress in output that comes in pieces. */
export class ProgressLines {
  readonly #tell: (now: { progress: number; currentTask: string }) => void;
  #rest = "";

  constructor(tell: (now: { progress: number; currentTask: string }) => void) {
    this.#tell = tell;
  }

  push(chunk: string): void {
    const lines = `${this.#rest}${chunk}`.split("\n");
    this.#rest = lines.pop()!.slice(-MAX_LINE);
    for (const line of lines) {
      const match = /^::dure progress (0(?:\.\d+)?|1(?:\.0+)?)(?: (.*))?$/.exec(line.trimEnd());
      if (match) {
        this.#tell({ progress: Number(match[1]), currentTask: match[2]?.trim() || "working" });
      }
    }
  }
}

/**
 * The scratch folder is the worker's: whatever an earlier round left under this name is not written
 * through.
 */
async function writeFresh(path: string, text: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (codeOf(error) !== "ENOENT") throw error;
  });
  const file = await open(
    path,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    0o644,
  );
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}
