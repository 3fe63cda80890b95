import {
  client,
  methods,
  RequestError,
  type SessionNotification,
  type CreateTerminalRequest,
  type TerminalOutputResponse,
  type WaitForTerminalExitResponse,
} from "@agentclientprotocol/sdk";
import { sayReason } from "../scope.ts";
import { askedTool, decidePermission, optionFor, type PermissionScope } from "./acp-permission.ts";
import { violation, type FileRefusal } from "./file-answer.ts";
import { RefusedWrites } from "./refused-writes.ts";
import { ScopedFiles } from "./scoped-files.ts";
import { workerError } from "./worker-error.ts";
import type { WorkerReport } from "./worker-run.ts";
import type { Assignment } from "./worker.ts";
import type { SandboxEnd, SandboxProcess } from "../sandbox/sandbox.ts";
import { tailOf } from "./bounded-text.ts";
import { finished, startProcess } from "./processes.ts";

/** Requests for permission in one try. An agent that asks for ever does nothing else. */
const MAX_PERMISSIONS = 500;
/** Files that an agent may say it changed. */
const MAX_CLAIMED = 1_000;

/**
 * Where the agent sees the tree and the scratch folder. As another user it works on copies, which
 * are brought back at its end: then it changes files and runs commands by itself alone, since what
 * dure did here would be lost.
 */
export interface AgentPlace {
  readonly tree: string;
  readonly scratch: string;
  readonly isCopy: boolean;
}

/** What one agent process is served: files, permissions, terminals. */
export class AcpService {
  place: AgentPlace;
  /** Files that the agent wrote, or says it changed. */
  readonly claimed = new Set<string>();
  readonly #assignment: Assignment;
  readonly #report: WorkerReport;
  readonly #files: ScopedFiles;
  readonly #terminals: AcpTerminals;
  readonly #refusedWrites: RefusedWrites;
  readonly #serves: boolean;
  readonly #servers: readonly string[];
  #permissions = 0;

  /**
   * @param options.serves whether the agent is served files and terminals.
   * @param options.servers MCP servers that it is told of, by name.
   */
  constructor(
    assignment: Assignment,
    report: WorkerReport,
    {
      serves,
      servers = [],
    }: { readonly serves: boolean; readonly servers?: readonly string[] | undefined },
  ) {
    this.#serves = serves;
    this.#servers = servers;
    this.#assignment = assignment;
    this.#report = report;
    this.#files = new ScopedFiles(assignment);
    this.#refusedWrites = new RefusedWrites(assignment);
    this.#terminals = new AcpTerminals(assignment, report);
    this.place = { tree: assignment.tree, scratch: assignment.scratch, isCopy: false };
  }

  /** Ends the agent's terminals. */
  async close(): Promise<void> {
    await this.#terminals.close();
  }

  /**
   * Answers the agent's requests. `onUpdate` comes first: each handler before it would delay it, and
   * an update must be heard before the answer that follows it.
   */
  client(onUpdate: (notification: SessionNotification) => void) {
    const { client: mine } = methods;

    return client({ name: "dure" })
      .onNotification(mine.session.update, ({ params }) => onUpdate(params))
      .onRequest(mine.session.requestPermission, ({ params }) => {
        this.#live();
        const optionId = optionFor(params.options, this.#permit(askedTool(params.toolCall)));
        if (optionId === undefined) return { outcome: { outcome: "cancelled" as const } };

        return { outcome: { outcome: "selected" as const, optionId } };
      })
      .onRequest(mine.fs.readTextFile, async ({ params: { path, line, limit } }) => {
        this.#serving();
        const file = await this.#files.read(this.#treePath(path, "read"));
        if (!file.ok) throw this.#refused(file);
        if (line == null && limit == null) return { content: file.text };
        const first = Math.max(0, (line ?? 1) - 1);
        const last = limit == null ? undefined : first + limit;

        return { content: file.text.split("\n").slice(first, last).join("\n") };
      })
      .onRequest(mine.fs.writeTextFile, async ({ params: { path, content } }) => {
        this.#serving();
        const name = this.#treePath(path, "write");
        // An agent may write what it has read with tools of its own; only what it read through
        // dure can be stale.
        const done = await this.#files.write(name, content, { unread: "allowed" });
        if (!done.ok) throw this.#refused(done);
        this.claimed.add(name);

        return {};
      })
      .onRequest(
        mine.terminal.create,
        ({ params }) => (this.#serving(), this.#terminals.create(params)),
      )
      .onRequest(mine.terminal.output, ({ params }) => this.#terminals.output(params.terminalId))
      .onRequest(mine.terminal.waitForExit, ({ params }) =>
        this.#terminals.waitForExit(params.terminalId),
      )
      .onRequest(
        mine.terminal.kill,
        async ({ params }) => (await this.#terminals.kill(params.terminalId), {}),
      )
      .onRequest(
        mine.terminal.release,
        async ({ params }) => (await this.#terminals.release(params.terminalId), {}),
      );
  }

  /** Whether the agent may; a request for what is outside of its scope is recorded. */
  #permit(asked: ReturnType<typeof askedTool>): boolean {
    if (++this.#permissions > MAX_PERMISSIONS) {
      this.#report.stop(
        workerError(
          "WORKER_ASKED_TOO_MUCH",
          `The agent asked for permission more than ${MAX_PERMISSIONS} times.`,
        ),
      );
    }
    const decision = decidePermission(asked, this.#permissionScope());
    if (decision.allowed) return true;
    if (decision.because === "violation") {
      this.#report.violation({
        path: decision.path,
        wanted: decision.wanted,
        because: decision.reason,
        detail: `asked for permission (${asked.kind})`,
      });
    } else this.#report.say(`refused a tool of kind ${asked.kind}: ${decision.because}`);

    return false;
  }

  #permissionScope(): PermissionScope {
    const { sandbox } = this.#assignment;
    const { scratch } = this.place;

    return {
      relativePath: (path) => this.#relativePath(path),
      decideRead: (path) => this.#files.decideRead(path),
      decideWrite: (path) => this.#files.decideWrite(path),
      isScratch: (path) => path.startsWith(`${scratch}/`) && !path.split("/").includes(".."),
      isConfined: sandbox.kind !== "audit",
      servers: this.#servers,
    };
  }

  /** The path of a request from the root of the tree; one outside of it is a violation. */
  #treePath(path: string, wanted: "read" | "write"): string {
    const relative = this.#relativePath(path);
    if (relative === undefined) {
      throw this.#refused(violation(path, wanted, "absolute"));
    }

    return relative;
  }

  #refused(refusal: FileRefusal): RequestError {
    const { kind, path, wanted, because = "not-owned", message } = refusal;
    if (kind === "missing") return RequestError.resourceNotFound(path);
    if (kind !== "violation") return RequestError.invalidRequest({ reason: message });
    const more = message === "" ? "" : `; ${message}`;
    this.#report.violation({ path, wanted, because, detail: `asked to ${wanted}${more}` });

    return RequestError.invalidRequest({ reason: `Refused: ${sayReason(because)}.` });
  }

  /** Records writes that the sandbox refused to the agent's own tools, as far as they tell it. */
  lookAt(output: string): void {
    const held = [...this.#refusedWrites.push(`${output}\n`)];
    for (const { path, because } of held) {
      const detail = "the sandbox refused it";
      this.#report.violation({ path, wanted: "write", because, detail, isHeld: true });
    }
  }

  /** Notes a file that the agent says it changed. */
  claim(path: string): void {
    const relative = this.#relativePath(path);
    if (relative !== undefined && this.claimed.size < MAX_CLAIMED) this.claimed.add(relative);
  }

  /** From the root of the tree, wherever the agent sees it. */
  #relativePath(path: string): string | undefined {
    const { tree } = this.place;
    if (path.startsWith(`${tree}/`)) return path.slice(tree.length + 1);

    return this.#files.relativePath(path);
  }

  /** As `#live`; an agent that was told that no files and no terminals are served gets none. */
  #serving(): void {
    this.#live();
    if (this.place.isCopy || !this.#serves) throw RequestError.methodNotFound("fs and terminal");
  }

  /** After the worker was stopped nothing is served any more. */
  #live(): void {
    if (this.#report.signal.aborted) throw RequestError.requestCancelled();
  }
}

// --- acp terminals

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
class AcpTerminals {
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
