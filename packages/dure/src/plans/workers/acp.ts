import type { Clock } from "../../kernel/clock.ts";
import type { McpServer } from "../plan.ts";
import { startProcess } from "./processes.ts";
import { runWorker, type WorkerRunEnd, type WorkerReport } from "./worker-run.ts";
import { type Assignment, type Worker, type WorkerEvent } from "./worker.ts";

export interface AcpOptions {
  /** That the agent is told of. Default none. */
  readonly mcpServers?: readonly McpServer[] | undefined;
  /** dure's own environment, for the variables that those are given. Default: nothing. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly command: readonly string[];
  readonly clock: Clock;
  /** Of dure; told to the agent. */
  readonly version?: string | undefined;
  /** Of its session. Default: the one that it starts in. */
  readonly mode?: string | undefined;
  /** `false`: it is served no files and no terminals. */
  readonly clientFiles?: boolean | undefined;
  /** At the end of a turn it tells the tokens of its last call, not of all. */
  readonly usageOfLastCall?: boolean | undefined;
  /** Told what the agent calls itself. */
  readonly onAgent?:
    | ((agent: { readonly name: string; readonly version: string }) => void)
    | undefined;
}

/**
 * Any agent that speaks the Agent Client Protocol, started by its command line in the sandbox; one
 * process and one session for each try. Files that it asks for are served by the scope,
 * permissions are answered by ownership, commands run in the sandbox. What it does with tools of
 * its own, unasked, only the sandbox can hold.
 */
export class AcpWorker implements Worker {
  readonly kind = "acp";
  readonly #options: AcpOptions;

  constructor(options: AcpOptions) {
    this.#options = options;
  }

  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent> {
    return runWorker(assignment, (report) => this.#work(assignment, report), {
      clock: this.#options.clock,
      signal: options.signal,
    });
  }

  async #work(assignment: Assignment, report: WorkerReport): Promise<WorkerRunEnd> {
    const { command } = this.#options;
    report.progress({ currentTask: `starting ${command[0]!}` });
    const { AcpSession } = await import("./acp-session.ts"); // its protocol, for a team that has such
    // Not ended by the report's signal: the agent is asked to stop first.
    const isCopy = assignment.sandbox.kind === "other-user";
    const process = await startProcess(
      assignment,
      { command: isCopy ? [...TELL_FOLDERS, ...command] : command },
      { signal: new AbortController().signal },
    );
    const session = new AcpSession({ assignment, report, process, options: this.#options });
    try {
      return await session.run(isCopy);
    } finally {
      await session.close();
    }
  }
}

/**
 * Runs the rest of the line after it has told on stderr where it is and where its scratch folder
 * is.
 */
const TELL_FOLDERS = [
  "/bin/sh",
  "-c",
  'printf "%s\\n%s\\n" "$(pwd -P)" "$DURE_SCRATCH" >&2; exec "$@"',
  "sh",
];
