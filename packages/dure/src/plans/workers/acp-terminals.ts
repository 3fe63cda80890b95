import {
  RequestError,
  type CreateTerminalRequest,
  type TerminalOutputResponse,
  type WaitForTerminalExitResponse,
} from "@agentclientprotocol/sdk";
import type { SandboxEnd, SandboxProcess } from "../sandbox/sandbox.ts";
import { tailOf } from "./bounded-text.ts";
import { finished, startProcess } from "./processes.ts";
import type { WorkerReport } from "./worker-run.ts";
import type { Assignment } from "./worker.ts";

/** Terminals of one try, ended ones that were not released included. */
const MAX_TERMINALS = 16;
/** Characters that are kept of one terminal, from its end. */
const MAX_OUTPUT = 200_000;

interface Terminal {
  readonly process: SandboxProcess;
  readonly most: number;
  output: string;
  truncated: boolean;
  end: SandboxEnd | undefined;
}

/**
 * The commands that an agent has run by dure: in the sandbox, each with the assignment's
 * confinement and limits.
 */
export class AcpTerminals {
  readonly #assignment: Assignment;
  readonly #report: WorkerReport;
  readonly #terminals = new Map<string, Terminal>();
  #made = 0;

  constructor(assignment: Assignment, report: WorkerReport) {
    this.#assignment = assignment;
    this.#report = report;
  }

  async create({
    command,
    args,
    env = [],
    cwd,
    outputByteLimit,
  }: CreateTerminalRequest): Promise<{ terminalId: string }> {
    const { tree, scratch } = this.#assignment;
    if (this.#terminals.size >= MAX_TERMINALS) {
      throw RequestError.invalidRequest({
        reason: `There are ${MAX_TERMINALS} terminals; release one.`,
      });
    }
    const inside = (folder: string): boolean => cwd === folder || cwd!.startsWith(`${folder}/`);
    if (cwd != null && (cwd.split("/").includes("..") || !(inside(tree) || inside(scratch)))) {
      throw RequestError.invalidParams({
        reason: "The working folder is outside of the repository.",
      });
    }
    this.#report.progress({ currentTask: `running ${command}` });
    const process = await startProcess(
      this.#assignment,
      // Some agents send a line for a shell as the command.
      {
        command: args === undefined || args.length === 0 ? command : [command, ...args],
        env: Object.fromEntries(env.map(({ name, value }) => [name, value])),
        cwd: cwd ?? undefined,
      },
      { signal: this.#report.signal },
    );
    process.stdin.end();
    const terminal: Terminal = {
      process,
      most: Math.min(outputByteLimit ?? MAX_OUTPUT, MAX_OUTPUT),
      output: "",
      truncated: false,
      end: undefined,
    };
    for (const stream of [process.stdout, process.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#report.alive();
        terminal.output += text;
        if (terminal.output.length <= terminal.most) return;
        terminal.truncated = true;
        terminal.output = tailOf(terminal.output, terminal.most);
      });
    }
    process.ended.then(
      (end) => (terminal.end = end),
      () =>
        (terminal.end = {
          exitCode: null,
          signal: null,
          because: "exited",
          outputTruncated: false,
        }),
    );
    const terminalId = `terminal_${++this.#made}`;
    this.#terminals.set(terminalId, terminal);
    return { terminalId };
  }

  output(id: string): TerminalOutputResponse {
    const { output, truncated, end } = this.#get(id);
    if (!end) return { output, truncated };
    const { exitCode, signal } = end;
    return { output, truncated, exitStatus: { exitCode, signal } };
  }

  async waitForExit(id: string): Promise<WaitForTerminalExitResponse> {
    const { exitCode, signal } = await this.#report.during(this.#get(id).process.ended);
    return { exitCode, signal };
  }

  async kill(id: string): Promise<void> {
    await finished(this.#get(id).process);
  }

  async release(id: string): Promise<void> {
    const { process } = this.#get(id);
    this.#terminals.delete(id);
    await finished(process);
  }

  /** Ends all that still run. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#terminals.values()].map(({ process }) => finished(process)));
    this.#terminals.clear();
  }

  #get(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (!terminal) throw RequestError.resourceNotFound(id);
    return terminal;
  }
}
