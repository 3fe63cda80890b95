import {
  client,
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type ClientContext,
  type SessionNotification,
  type StopReason,
} from "@agentclientprotocol/sdk";
import type { Clock } from "../../kernel/clock.ts";
import { withTimeout } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import type { SandboxProcess } from "../sandbox/sandbox.ts";
import { sayReason } from "../scope.ts";
import { askedTool, decidePermission, optionFor, type PermissionScope } from "./acp-permission.ts";
import { messageStream } from "./acp-stream.ts";
import { AcpTerminals } from "./acp-terminals.ts";
import { headOf, tailOf } from "./bounded-text.ts";
import { died, finished, startProcess } from "./processes.ts";
import { ScopedFiles, type FileRefusal } from "./scoped-files.ts";
import { runWorker, workerError, type WorkerDesk } from "./worker-run.ts";
import {
  MAX_SUMMARY,
  type Assignment,
  type Worker,
  type WorkerEvent,
  type WorkerResult,
} from "./worker.ts";

/**
 * Milliseconds until an agent has answered `initialize` and `session/new`: a first start may fetch
 * its parts. Source: our choice.
 */
const START_MS = 60_000;
/**
 * Milliseconds that an agent has to obey a cancel before its processes are ended. All is gone
 * within 2 s of an abort. Source: docs/spec/plans §3.
 */
const CANCEL_MS = 500;
/**
 * Requests for permission in one round. Source: our choice; an agent that asks for ever does
 * nothing else.
 */
const MAX_PERMISSIONS = 500;

/**
 * Any agent that speaks the Agent Client Protocol, started by its command line in the sandbox; one
 * process and one session for each round. Files that it asks for are served by the scope,
 * permissions are answered by ownership, commands run in the sandbox. What it does with tools of
 * its own, unasked, only the sandbox can hold.
 */
export class AcpWorker implements Worker {
  readonly kind = "acp";
  readonly #command: readonly string[];
  readonly #clock: Clock;
  readonly #version: string;

  constructor(options: { command: readonly string[]; clock: Clock; version?: string }) {
    this.#command = options.command;
    this.#clock = options.clock;
    this.#version = options.version ?? "0";
  }

  run(assignment: Assignment, options: { signal: AbortSignal }): AsyncIterable<WorkerEvent> {
    return runWorker(assignment, (desk) => this.#work(assignment, desk), {
      clock: this.#clock,
      signal: options.signal,
    });
  }

  async #work(assignment: Assignment, desk: WorkerDesk): Promise<Omit<WorkerResult, "tokens">> {
    desk.progress({ currentTask: `starting ${this.#command[0]!}` });
    // Not ended by the desk's signal: the agent is asked to stop first.
    const isCopy = assignment.sandbox.kind === "other-user";
    const process = await startProcess(
      assignment,
      { command: isCopy ? [...TELL_FOLDERS, ...this.#command] : this.#command },
      { signal: new AbortController().signal },
    );
    const session = new AcpSession({
      assignment,
      desk,
      process,
      clock: this.#clock,
      version: this.#version,
    });
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
  'printf "%s\\n%s\\n" "$(pwd -P)" "$TMPDIR" >&2; exec "$@"',
  "sh",
];

/** What a stop reason means for the round. Source: Agent Client Protocol, "Stop Reasons". */
const STATUS_OF = {
  end_turn: "ready",
  max_tokens: "partial",
  max_turn_requests: "partial",
  refusal: "failed",
  cancelled: "failed",
} as const satisfies Record<StopReason, WorkerResult["status"]>;

/** One conversation with one agent process. */
class AcpSession {
  readonly #assignment: Assignment;
  readonly #desk: WorkerDesk;
  readonly #process: SandboxProcess;
  readonly #clock: Clock;
  readonly #version: string;
  readonly #files: ScopedFiles;
  readonly #terminals: AcpTerminals;
  readonly #claimed = new Set<string>();
  /**
   * Where the agent sees the tree and the scratch folder. As another user it works on copies, which
   * are brought back at its end: then it changes files and runs commands by itself alone, since
   * what we did here would be lost.
   */
  #place: { readonly tree: string; readonly scratch: string; readonly isCopy: boolean };
  /** What the agent said since its last tool call. */
  #said = "";
  #stderr = "";
  #permissions = 0;
  #used = 0;
  /** Called with each piece on stderr. */
  #onStderr = (): void => {};
  /**
   * Why the conversation cannot go on; knows more than the closed connection that follows from it.
   */
  #broken: Error | undefined;

  constructor(options: {
    assignment: Assignment;
    desk: WorkerDesk;
    process: SandboxProcess;
    clock: Clock;
    version: string;
  }) {
    this.#assignment = options.assignment;
    this.#desk = options.desk;
    this.#process = options.process;
    this.#clock = options.clock;
    this.#version = options.version;
    this.#files = new ScopedFiles(options.assignment);
    this.#terminals = new AcpTerminals(options.assignment, options.desk);
    this.#place = {
      tree: options.assignment.tree,
      scratch: options.assignment.scratch,
      isCopy: false,
    };
    this.#process.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk.toString()}`.slice(-4_000);
      this.#onStderr();
    });
  }

  /** @param isCopy the process was started behind `TELL_FOLDERS`. */
  async run(isCopy: boolean): Promise<Omit<WorkerResult, "tokens">> {
    const placed = isCopy ? this.#readFolders() : Promise.resolve();
    placed.catch(() => {});
    const stream = messageStream(this.#process, {
      onMessage: () => this.#desk.alive(),
      onStray: (line) => this.#desk.say(`not of the protocol: ${headOf(line, 300)}`),
      onBroken: (error) => (this.#broken ??= error),
    });
    const conversation = this.#client().connectWith(stream, async (agent) => {
      await Promise.race([placed, this.#process.ended]);
      return this.#converse(agent);
    });
    const ended = this.#process.ended.then(async (end): Promise<never> => {
      // What the agent sent before its end may still be on its way through the pipe.
      await this.#clock.sleep(50);
      throw this.#broken ?? died(end, this.#stderr);
    });
    conversation.catch(() => {});
    ended.catch(() => {});
    try {
      return await Promise.race([conversation, ended]);
    } catch (error) {
      if (this.#desk.signal.aborted) throw this.#desk.signal.reason;
      throw await this.#failure(error);
    }
  }

  /** Ends the agent and its terminals. */
  async close(): Promise<void> {
    await this.#terminals.close();
    await finished(this.#process);
  }

  async #converse(agent: ClientContext): Promise<Omit<WorkerResult, "tokens">> {
    const sessionId = await withTimeout(
      this.#clock,
      { ms: START_MS, signal: this.#desk.signal },
      () =>
        workerError("WORKER_PROTOCOL", `The agent did not open a session within ${START_MS} ms.`),
      (signal) => this.#open(agent, signal),
    );
    this.#desk.progress({ progress: 0.05, currentTask: "working" });
    const prompt = agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text: this.#assignment.prompt }],
    });
    const stopped = this.#cancelled(agent, sessionId, prompt);
    prompt.catch(() => {});
    const { stopReason } = await Promise.race([prompt, stopped]);
    const status = STATUS_OF[stopReason];
    const summary =
      this.#said.trim() === ""
        ? `The agent ended (${stopReason}) without a word.`
        : tailOf(this.#said.trim(), MAX_SUMMARY);
    return {
      status,
      summary,
      claimedFiles: [...this.#claimed],
      ...(status === "failed" && {
        error: { code: "WORKER_REFUSED", message: `The agent ended its work with ${stopReason}.` },
      }),
    };
  }

  /** The first two lines on stderr; the rest is the agent's. */
  #readFolders(): Promise<void> {
    return new Promise((resolve) => {
      this.#onStderr = () => {
        const [tree, scratch, ...rest] = this.#stderr.split("\n");
        if (rest.length === 0) return;
        this.#place = { tree: tree!, scratch: scratch!, isCopy: true };
        this.#stderr = rest.join("\n");
        this.#onStderr = () => {};
        resolve();
      };
    });
  }

  async #open(agent: ClientContext, signal: AbortSignal): Promise<string> {
    const serves = !this.#place.isCopy;
    const { protocolVersion } = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: { fs: { readTextFile: serves, writeTextFile: serves }, terminal: serves },
      clientInfo: { name: "dure", version: this.#version },
    });
    if (protocolVersion !== PROTOCOL_VERSION) {
      throw workerError(
        "WORKER_PROTOCOL",
        `The agent speaks version ${protocolVersion} of the protocol, dure speaks ${PROTOCOL_VERSION}.`,
      );
    }
    signal.throwIfAborted();
    const { sessionId } = await agent.request(methods.agent.session.new, {
      cwd: this.#place.tree,
      mcpServers: [],
    });
    return sessionId;
  }

  /**
   * Rejects with the signal's reason: at once when the agent has stopped, or a little later when it
   * does not obey.
   */
  #cancelled(agent: ClientContext, sessionId: string, prompt: Promise<unknown>): Promise<never> {
    const { signal } = this.#desk;
    return new Promise((_, reject) => {
      const cancel = (): void => {
        void agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => {});
        const patience = this.#clock.sleep(CANCEL_MS);
        void Promise.race([prompt.catch(() => {}), patience]).then(() =>
          reject(signal.reason as Error),
        );
      };
      if (signal.aborted) cancel();
      else signal.addEventListener("abort", cancel, { once: true });
    });
  }

  #client() {
    const { client: mine } = methods;
    return client({ name: "dure" })
      .onNotification(mine.session.update, ({ params }) => this.#update(params))
      .onRequest(mine.session.requestPermission, ({ params }) => {
        this.#live();
        const optionId = optionFor(params.options, this.#permit(askedTool(params.toolCall)));
        return {
          outcome:
            optionId === undefined
              ? { outcome: "cancelled" as const }
              : { outcome: "selected" as const, optionId },
        };
      })
      .onRequest(mine.fs.readTextFile, async ({ params: { path, line, limit } }) => {
        this.#serving();
        const file = await this.#files.read(this.#treePath(path, "read"));
        if (!file.ok) throw this.#refused(file);
        if (line == null && limit == null) return { content: file.text };
        const first = Math.max(0, (line ?? 1) - 1);
        return {
          content: file.text
            .split("\n")
            .slice(first, limit == null ? undefined : first + limit)
            .join("\n"),
        };
      })
      .onRequest(mine.fs.writeTextFile, async ({ params: { path, content } }) => {
        this.#serving();
        const name = this.#treePath(path, "write");
        // An agent may write what it has read with tools of its own; only what it read through us
        // can be stale.
        const done = await this.#files.write(name, content, { unread: "allowed" });
        if (!done.ok) throw this.#refused(done);
        this.#claimed.add(name);
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
      this.#desk.stop(
        workerError(
          "WORKER_ASKED_TOO_MUCH",
          `The agent asked for permission more than ${MAX_PERMISSIONS} times.`,
        ),
      );
    }
    const decision = decidePermission(asked, this.#permissionScope());
    if (decision.allowed) return true;
    if (decision.because === "violation") {
      this.#desk.violation({
        path: decision.path,
        wanted: decision.wanted,
        because: decision.reason,
        detail: `asked for permission (${asked.kind})`,
      });
    } else this.#desk.say(`refused a tool of kind ${asked.kind}: ${decision.because}`);
    return false;
  }

  #permissionScope(): PermissionScope {
    const { sandbox } = this.#assignment;
    const { scratch } = this.#place;
    return {
      relativePath: (path) => this.#relativePath(path),
      decideRead: (path) => this.#files.decideRead(path),
      decideWrite: (path) => this.#files.decideWrite(path),
      isScratch: (path) => path.startsWith(`${scratch}/`) && !path.split("/").includes(".."),
      isConfined: sandbox.kind !== "audit",
    };
  }

  /** The path of a request from the root of the tree; one outside of it is a violation. */
  #treePath(path: string, wanted: "read" | "write"): string {
    const relative = this.#relativePath(path);
    if (relative === undefined) {
      throw this.#refused({
        ok: false,
        kind: "violation",
        path,
        wanted,
        because: "absolute",
        message: "",
      });
    }
    return relative;
  }

  #refused(refusal: FileRefusal): RequestError {
    const { kind, path, wanted, because = "not-owned", message } = refusal;
    if (kind === "missing") return RequestError.resourceNotFound(path);
    if (kind !== "violation") return RequestError.invalidRequest({ reason: message });
    this.#desk.violation({
      path,
      wanted,
      because,
      detail: `asked to ${wanted}${message === "" ? "" : `; ${message}`}`,
    });
    return RequestError.invalidRequest({ reason: `Refused: ${sayReason(because)}.` });
  }

  #update({ update }: SessionNotification): void {
    switch (update.sessionUpdate) {
      case "agent_message_chunk":
        if (update.content.type === "text") {
          this.#said = `${this.#said}${update.content.text}`.slice(-MAX_SUMMARY * 2);
        }
        return;
      case "tool_call":
      case "tool_call_update": {
        if (this.#said.trim() !== "") this.#desk.say(this.#said.trim());
        if (update.sessionUpdate === "tool_call") this.#said = "";
        if (update.title) this.#desk.progress({ currentTask: update.title });
        const { kind, paths } = askedTool(update);
        if (["edit", "delete", "move"].includes(kind)) for (const path of paths) this.#claim(path);
        return;
      }
      case "plan": {
        const done = update.entries.filter(({ status }) => status === "completed").length;
        const now = update.entries.find(({ status }) => status === "in_progress");
        this.#desk.progress({
          ...(update.entries.length > 0 && {
            progress: 0.05 + (0.9 * done) / update.entries.length,
          }),
          ...(now && { currentTask: now.content }),
        });
        return;
      }
      case "usage_update":
        // What stands in its window now, summed up as it grows: the protocol tells no better
        // number.
        if (update.used > this.#used) {
          this.#desk.used({ input: update.used - this.#used, output: 0 });
        }
        this.#used = Math.max(this.#used, update.used);
        return;
      default: // thoughts, modes, commands: nothing that is shown or kept
    }
  }

  #claim(path: string): void {
    const relative = this.#relativePath(path);
    if (relative !== undefined && this.#claimed.size < 1_000) this.#claimed.add(relative);
  }

  /** From the root of the tree, wherever the agent sees it. */
  #relativePath(path: string): string | undefined {
    const { tree } = this.#place;
    return path.startsWith(`${tree}/`)
      ? path.slice(tree.length + 1)
      : this.#files.relativePath(path);
  }

  /** As `#live`; an agent on a copy was told that we serve no files and no terminals. */
  #serving(): void {
    this.#live();
    if (this.#place.isCopy) throw RequestError.methodNotFound("fs and terminal");
  }

  /** After the worker was stopped nothing is served any more. */
  #live(): void {
    if (this.#desk.signal.aborted) throw RequestError.requestCancelled();
  }

  /**
   * The reason behind a conversation that broke: the agent's end, when it has one, says more than
   * the closed connection.
   */
  async #failure(thrown: unknown): Promise<unknown> {
    if (this.#broken) return this.#broken;
    const gone = await Promise.race([this.#process.ended, this.#clock.sleep(200)]);
    if (gone) return died(gone, this.#stderr);
    if (!(thrown instanceof RequestError)) return thrown;
    const data = isObject(thrown.data) ? ` ${headOf(JSON.stringify(thrown.data), 300)}` : "";
    return workerError(
      thrown.code === -32000 ? "WORKER_NOT_STARTED" : "WORKER_PROTOCOL",
      `The agent answered with an error: ${headOf(messageOf(thrown), 500)}${data}`,
      thrown.code === -32000
        ? {
            hint: "Sign in with the agent's own program first, or pass its key on with env in the plan.",
          }
        : {},
    );
  }
}
