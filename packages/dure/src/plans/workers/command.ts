import { constants } from "node:fs";
import { open, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../kernel/clock.ts";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { codeOf } from "../../kernel/errors.ts";
import type { AgentPrints } from "../agents/printed/printed.ts";
import { HOME_PLACEHOLDER } from "../agents/mcp-servers.ts";
import { troubleIn } from "../agents/trouble.ts";
import { HeadAndTail } from "../sandbox/head-and-tail.ts";
import type { SandboxCommand, SandboxEnd } from "../sandbox/sandbox.ts";
import { AgentOutput } from "./agent-output.ts";
import { tailOf } from "./bounded-text.ts";
import { died, notStarted, troubleError, workerEnv } from "./processes.ts";
import { RefusedWrites, type HeldWrite } from "./refused-writes.ts";
import { workerError } from "./worker-error.ts";
import { runWorker, type WorkerRunEnd, type WorkerReport } from "./worker-run.ts";
import { MAX_SUMMARY, type Assignment, type Worker, type WorkerEvent } from "./worker.ts";

/** Stands in an argument for the path of the file with the prompt. */
const PROMPT_PLACEHOLDER = "{prompt_file}";
/** How long output may still be under way after the last process has ended, milliseconds. */
const DRAIN_MS = 5_000;
/** Characters that are looked at for lines of progress; a longer line is not one. */
const MAX_LINE = 2_000;

export interface CommandWorkerOptions {
  readonly command: readonly string[];
  readonly prompt: "stdin" | "file";
  /** The form in which it prints its turn. Absent: any program, whose output is text. */
  readonly prints?: AgentPrints | undefined;
  readonly clock: Clock;
}

/**
 * Any program. It gets the prompt on its standard input or in a file (`{prompt_file}` in its
 * arguments, `DURE_PROMPT_FILE`), and what it changed is for git to say. Its exit code 0 is
 * `ready`; the summary is the end of its standard output, or else of all that it wrote. A line
 * `::dure progress 0.4 what it does` anywhere in the output is its progress (0–1). A coding agent
 * that prints its turn is read as one: its words, tools and tokens are known while it works.
 */
export class CommandWorker implements Worker {
  readonly kind = "command";
  readonly #command: readonly string[];
  readonly #prompt: "stdin" | "file";
  readonly #prints: AgentPrints | undefined;
  readonly #clock: Clock;

  constructor(options: CommandWorkerOptions) {
    this.#command = options.command;
    this.#prompt = options.prompt;
    this.#prints = options.prints;
    this.#clock = options.clock;
  }

  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent> {
    return runWorker(assignment, (report) => this.#work(assignment, report), {
      clock: this.#clock,
      signal: options.signal,
    });
  }

  async #work(assignment: Assignment, report: WorkerReport): Promise<WorkerRunEnd> {
    const file = join(assignment.scratch, "dure-prompt.md");
    await writeFresh(file, assignment.prompt);
    const { timeMs, outputBytes, fileBytes, processes } = assignment.limits;
    const home = assignment.env["HOME"] ?? assignment.scratch;
    const command: SandboxCommand = {
      command: this.#command.map((part) =>
        part.replaceAll(PROMPT_PLACEHOLDER, file).replaceAll(HOME_PLACEHOLDER, home),
      ),
      env: { ...workerEnv(assignment), DURE_PROMPT_FILE: file },
      input: this.#prompt === "stdin" ? assignment.prompt : "",
      limits: { timeMs, outputBytes, fileBytes, processes },
    };
    report.progress({ currentTask: `running ${this.#command[0]!}` });
    const output = new ProgramOutput(assignment, report, this.#prints);
    // A program owes no output while it thinks, so its being there is its sign of life; the time
    // limit is the sandbox's.
    const end = await report.during(this.#runToEnd(assignment, { command, output, report }));
    report.signal.throwIfAborted();
    this.#judge(end, output);
    const { own } = output.texts();

    return {
      status: "ready",
      summary: own === "" ? "It ended without a word." : tailOf(own, MAX_SUMMARY),
      claimedFiles: [],
      tokens: output.agent?.tokens,
    };
  }

  /** Throws where its end is no success. */
  #judge(end: SandboxEnd, output: ProgramOutput): void {
    const { all } = output.texts();
    const hasFailed = end.because !== "exited" || end.exitCode !== 0;
    const trouble = troubleIn(all, { isError: hasFailed, now: this.#clock.now() });
    if (trouble && (end.because === "exited" || !hasFailed)) throw troubleError(trouble);
    if (hasFailed) throw died(end, all);
    if (output.agent?.isIdle === true) {
      throw workerError("WORKER_IDLE", "The agent ended its turn without a call of its model.");
    }
  }

  async #runToEnd(
    assignment: Assignment,
    run: { command: SandboxCommand; output: ProgramOutput; report: WorkerReport },
  ): Promise<SandboxEnd> {
    const { command, output, report } = run;
    const { sandbox, confinement, onStart } = assignment;
    try {
      const process = await sandbox.spawn(confinement, command, {
        signal: report.signal,
        onStart,
      });
      process.stdin.on("error", () => {}); // it may end without having read its prompt
      const read = Promise.all([
        output.read(process.stdout, "stdout"),
        output.read(process.stderr, "stderr"),
      ]);
      const end = await process.ended;
      // What is still in the pipes.
      await Promise.race([read, this.#clock.sleep(DRAIN_MS)]);

      return end;
    } catch (error) {
      report.signal.throwIfAborted();
      throw notStarted(this.#command, error);
    }
  }
}

/** What one program writes: kept in bounds, looked at for progress and for writes that were held. */
class ProgramOutput {
  /** Reads standard output, where it is an agent's turn. */
  readonly agent: AgentOutput | undefined;
  readonly #assignment: Assignment;
  readonly #report: WorkerReport;
  readonly #all: HeadAndTail;
  readonly #own: HeadAndTail;

  constructor(assignment: Assignment, report: WorkerReport, prints: AgentPrints | undefined) {
    const { outputBytes } = assignment.limits;
    this.#assignment = assignment;
    this.#report = report;
    this.#all = new HeadAndTail(outputBytes);
    this.#own = new HeadAndTail(outputBytes);
    if (prints === undefined) return;
    const words = this.#watch();
    this.agent = new AgentOutput(prints, report, {
      onWords: (text) => words.push(text),
      onPlain: (text) => {
        this.#all.add(Buffer.from(text));
        words.push(text);
      },
    });
  }

  /** Resolves at the end of the stream. */
  async read(stream: Readable, name: "stdout" | "stderr"): Promise<void> {
    const decoder = new StringDecoder("utf8");
    const agent = name === "stdout" ? this.agent : undefined;
    const watched = this.#watch();
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const text = decoder.write(chunk);
      if (agent) {
        agent.push(text);
        continue;
      }
      this.#all.add(chunk);
      if (name === "stdout") this.#own.add(chunk);
      this.#report.note({ kind: name, text });
      watched.push(text);
    }
    agent?.end();
    watched.end();
  }

  /** All that it wrote, and what it says of itself: its last words, or its standard output. */
  texts(): { readonly all: string; readonly own: string } {
    const [all, out] = [this.#all, this.#own].map((kept) => withoutProgress(kept.text()));
    const said = withoutProgress(this.agent?.said ?? "");
    const everything = [all!, said].filter(Boolean).join("\n");

    return { all: everything, own: said || out! || all! };
  }

  /** Looks for progress, and for writes that were held, in output that comes in pieces. */
  #watch(): { push(text: string): void; end(): void } {
    const progress = new ProgressLines((now) => this.#report.progress(now));
    const refused = new RefusedWrites(this.#assignment);

    return {
      push: (text) => {
        progress.push(text);
        this.#tell(refused.push(text));
      },
      end: () => this.#tell(refused.end()),
    };
  }

  #tell(held: readonly HeldWrite[]): void {
    for (const { path, because } of held) {
      const detail = "the sandbox refused it";
      this.#report.violation({ path, wanted: "write", because, detail, isHeld: true });
    }
  }
}

function withoutProgress(text: string): string {
  return text.replace(/^::dure .*\n?/gm, "").trim();
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
 * The scratch folder is the worker's: whatever an earlier try left under this name is not written
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
