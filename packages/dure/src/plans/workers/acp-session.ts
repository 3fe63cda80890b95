/** One session with an agent that speaks ACP. */

import {
  methods,
  PROTOCOL_VERSION,
  RequestError,
  type ClientContext,
  type PromptResponse,
  type StopReason,
  type LoadSessionResponse,
  type NewSessionRequest,
  type SessionModeState,
  type McpCapabilities,
  type McpServer as AcpServer,
} from "@agentclientprotocol/sdk";
import { type Clock, withTimeout } from "../../kernel/clock.ts";
import { messageOf, type DureError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { filledServers } from "../agents/mcp-servers.ts";
import { troubleIn } from "../agents/trouble.ts";
import type { SandboxEnd, SandboxProcess } from "../sandbox/sandbox.ts";
import { AcpService } from "./acp-service.ts";
import { messageStream } from "./acp-stream.ts";
import { AcpUpdates } from "./acp-updates.ts";
import { addUsage, usageIn } from "./acp-usage.ts";
import { headOf, tailOf } from "./bounded-text.ts";
import { readLetters } from "./letters.ts";
import { died, finished, troubleError } from "./processes.ts";
import { workerError } from "./worker-error.ts";
import type { WorkerRunEnd, WorkerReport } from "./worker-run.ts";
import { MAX_SUMMARY, type Assignment, type WorkerResult } from "./worker.ts";
import type { AcpOptions } from "./acp.ts";
import type { McpServer } from "../plan.ts";

/**
 * Milliseconds until an agent has answered `initialize` and `session/new`: a first start may fetch
 * its parts.
 */
const START_MS = 60_000;
/**
 * Milliseconds that an agent has to obey a cancel before its processes are ended. All is gone
 * within 2 s of an abort. Source: docs/spec/plans §3.
 */
const CANCEL_MS = 500;

/** The agent wants its user to sign in. Source: Agent Client Protocol, `auth_required`. */
const SIGN_IN = -32000;

/** What a stop reason means for the try. Source: Agent Client Protocol, "Stop Reasons". */
const STATUS_OF = {
  end_turn: "ready",
  max_tokens: "partial",
  max_turn_requests: "partial",
  refusal: "failed",
  cancelled: "failed",
} as const satisfies Record<StopReason, WorkerResult["status"]>;

/** Turns in which it reads what was said to it meanwhile, after the first one. */
const MAX_MORE_TURNS = 20;

/** One conversation with one agent process. */
export class AcpSession {
  readonly #assignment: Assignment;
  readonly #report: WorkerReport;
  readonly #process: SandboxProcess;
  readonly #clock: Clock;
  readonly #options: AcpOptions;
  readonly #service: AcpService;
  readonly #updates: AcpUpdates;
  #stderr = "";
  /** Called with each piece on stderr. */
  #onStderr = (): void => {};
  /**
   * Why the conversation cannot go on; knows more than the closed connection that follows from it.
   */
  #broken: Error | undefined;

  constructor(options: {
    assignment: Assignment;
    report: WorkerReport;
    process: SandboxProcess;
    options: AcpOptions;
  }) {
    this.#assignment = options.assignment;
    this.#report = options.report;
    this.#process = options.process;
    this.#clock = options.options.clock;
    this.#options = options.options;
    this.#service = new AcpService(options.assignment, options.report, {
      serves: options.options.clientFiles ?? true,
      servers: options.options.mcpServers?.map(({ name }) => name),
    });
    this.#updates = new AcpUpdates(options.report, {
      edit: (path) => this.#service.claim(path),
      output: (text) => this.#service.lookAt(text),
      tree: options.assignment.tree,
    });
    this.#process.stderr.on("data", (chunk: Buffer) => {
      this.#stderr = `${this.#stderr}${chunk.toString()}`.slice(-4_000);
      this.#onStderr();
    });
  }

  /** @param isCopy the process was started behind `TELL_FOLDERS`. */
  async run(isCopy: boolean): Promise<WorkerRunEnd> {
    const placed = isCopy ? this.#readFolders() : Promise.resolve();
    placed.catch(() => {});
    const stream = messageStream(this.#process, {
      onMessage: () => this.#report.alive(),
      onStray: (line) => this.#report.say(`not of the protocol: ${headOf(line, 300)}`),
      onBroken: (error) => (this.#broken ??= error),
    });
    const client = this.#service.client((notification) => this.#updates.take(notification));
    const conversation = client.connectWith(stream, async (agent) => {
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
      if (this.#report.signal.aborted) throw this.#report.signal.reason;
      throw await this.#failure(error);
    }
  }

  /** Ends the agent and its terminals. */
  async close(): Promise<void> {
    await this.#service.close();
    await finished(this.#process);
  }

  async #converse(agent: ClientContext): Promise<WorkerRunEnd> {
    const { sessionId, isResumed } = await withTimeout(
      this.#clock,
      { ms: START_MS, signal: this.#report.signal },
      () =>
        workerError("WORKER_PROTOCOL", `The agent did not open a session within ${START_MS} ms.`),
      (signal) => this.#open(agent, signal),
    );
    this.#report.progress({ progress: 0.05, currentTask: "working" });
    const { prompt, promptResumed = prompt } = this.#assignment;
    const ask = (text: string): Promise<PromptResponse> => this.#turn(agent, sessionId, text);
    let answer = await ask(isResumed ? promptResumed : prompt);
    let usage = this.#usageIn(answer);
    // What was said meanwhile is read before the try is over.
    for (let more = 0; more < MAX_MORE_TURNS && answer.stopReason === "end_turn"; more += 1) {
      const said = await readLetters(this.#assignment.channel, this.#report);
      if (said.length === 0) break;
      this.#updates.said += "\n\n";
      answer = await ask(said.join("\n\n"));
      usage = addUsage(usage, this.#usageIn(answer));
    }

    return this.#endOf(answer, usage);
  }

  #usageIn(answer: PromptResponse): WorkerRunEnd["tokens"] {
    const calls = this.#updates.takeCalls();

    const estimate = this.#updates.takeEstimate();
    // Each of its calls was told, and is counted.
    if (this.#updates.tellsCalls) return undefined;

    return usageIn(answer, { ofLastCall: this.#options.usageOfLastCall, calls }) ?? estimate;
  }

  /** Lets the agent do what it is told, to the end of its turn. */
  async #turn(agent: ClientContext, sessionId: string, text: string): Promise<PromptResponse> {
    this.#updates.asked(text);
    const prompt = agent.request(methods.agent.session.prompt, {
      sessionId,
      prompt: [{ type: "text", text }],
    });
    const stopped = this.#cancelled(agent, sessionId, prompt);
    prompt.catch(() => {});
    stopped.catch(() => {});
    // A model may think for minutes without a word.
    return this.#report.during(Promise.race([prompt, stopped]));
  }

  /** What the end of the agent's turn means for the try. */
  #endOf({ stopReason }: PromptResponse, tokens: WorkerRunEnd["tokens"]): WorkerRunEnd {
    const status = STATUS_OF[stopReason];
    const said = this.#updates.said.trim();
    const trouble = troubleIn(said, { isError: false, now: this.#clock.now() });
    if (trouble) throw troubleError(trouble);
    if (status === "ready" && !this.#updates.hasWorked && tokens === undefined) {
      throw workerError("WORKER_IDLE", "The agent ended its turn without a call of its model.");
    }
    const message = `The agent ended its work with ${stopReason}.`;

    return {
      status,
      summary:
        said === "" ? `The agent ended (${stopReason}) without a word.` : tailOf(said, MAX_SUMMARY),
      claimedFiles: [...this.#service.claimed],
      tokens,
      error: status === "failed" ? { code: "WORKER_REFUSED", message } : undefined,
    };
  }

  /** The first two lines on stderr; the rest is the agent's. */
  #readFolders(): Promise<void> {
    return new Promise((resolve) => {
      this.#onStderr = () => {
        const [tree, scratch, ...rest] = this.#stderr.split("\n");
        if (rest.length === 0) return;
        this.#service.place = { tree: tree!, scratch: scratch!, isCopy: true };
        this.#stderr = rest.join("\n");
        this.#onStderr = () => {};
        resolve();
      };
    });
  }

  async #open(
    agent: ClientContext,
    signal: AbortSignal,
  ): Promise<{ readonly sessionId: string; readonly isResumed: boolean }> {
    const { place } = this.#service;
    const { mode, clientFiles = true, version = "0", onAgent } = this.#options;
    const { mcpServers = [], env = {} } = this.#options;
    const filled = filledServers(mcpServers, env);
    const serves = !place.isCopy && clientFiles;
    const { protocolVersion, agentInfo, agentCapabilities } = await agent.request(
      methods.agent.initialize,
      {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {
          fs: { readTextFile: serves, writeTextFile: serves },
          terminal: serves,
        },
        clientInfo: { name: "dure", version },
      },
    );
    if (protocolVersion !== PROTOCOL_VERSION) {
      const versions = `version ${protocolVersion} of the protocol, dure speaks ${PROTOCOL_VERSION}`;

      throw workerError("WORKER_PROTOCOL", `The agent speaks ${versions}.`);
    }
    signal.throwIfAborted();
    if (agentInfo) onAgent?.({ name: agentInfo.name, version: agentInfo.version });
    const known = agentCapabilities?.loadSession === true ? this.#assignment.session : undefined;
    const { sessionId, modes, isResumed } = await openConversation(agent, {
      known,
      cwd: place.tree,
      servers: acpServers(filled, agentCapabilities?.mcpCapabilities),
      onReplay: (replays) => (this.#updates.isReplay = replays),
    });
    this.#report.session(sessionId, isResumed);
    if (mode !== undefined && modes) await setMode(agent, { sessionId, mode, modes });

    return { sessionId, isResumed };
  }

  /**
   * Rejects with the signal's reason: at once when the agent has stopped, or a little later when it
   * does not obey.
   */
  #cancelled(agent: ClientContext, sessionId: string, prompt: Promise<unknown>): Promise<never> {
    const { signal } = this.#report;

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

  /**
   * The reason behind a conversation that broke: the agent's end, when it has one, says more than
   * the closed connection.
   */
  async #failure(thrown: unknown): Promise<unknown> {
    if (this.#broken) return this.#broken;
    const gone = await Promise.race([this.#process.ended, this.#clock.sleep(200)]);
    if (gone) return this.#endedBy(gone);
    if (!(thrown instanceof RequestError)) return thrown;
    const data = isObject(thrown.data) ? ` ${headOf(JSON.stringify(thrown.data), 300)}` : "";
    const message = `The agent answered with an error: ${headOf(messageOf(thrown), 500)}${data}`;
    if (thrown.code === SIGN_IN) return workerError("WORKER_LOGIN", message);
    const words = `${message}\n${this.#stderr}`;
    const trouble = troubleIn(words, { isError: true, now: this.#clock.now() });

    return trouble ? troubleError(trouble) : workerError("WORKER_PROTOCOL", message);
  }

  /** Some agents tell what keeps them from their model, and leave. */
  #endedBy(end: SandboxEnd): DureError {
    const isExit = end.because === "exited";
    const reading = { isError: true, now: this.#clock.now() };
    const trouble = isExit ? troubleIn(this.#stderr, reading) : undefined;

    return trouble ? troubleError(trouble) : died(end, this.#stderr);
  }
}

/** A conversation with an agent. */
interface AcpConversation {
  readonly sessionId: string;
  readonly modes: SessionModeState | null | undefined;
  /** It goes on with an earlier one. */
  readonly isResumed: boolean;
}

/**
 * Goes on with the known conversation, else begins one: an agent may have lost it, or never kept it.
 * `onReplay` is told while the agent repeats what was said before.
 */
async function openConversation(
  agent: ClientContext,
  how: {
    readonly known: string | undefined;
    readonly cwd: string;
    readonly servers: NewSessionRequest["mcpServers"];
    readonly onReplay: (replays: boolean) => void;
  },
): Promise<AcpConversation> {
  const { known, cwd, servers: mcpServers, onReplay } = how;
  if (known !== undefined) {
    onReplay(true);
    try {
      const wanted = { sessionId: known, cwd, mcpServers };
      // Some agents answer with nothing.
      const loaded: LoadSessionResponse | undefined = await agent.request(
        methods.agent.session.load,
        wanted,
      );

      return { sessionId: known, modes: loaded?.modes, isResumed: true };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
    } finally {
      onReplay(false);
    }
  }
  const opened = await agent.request(methods.agent.session.new, { cwd, mcpServers });

  return { sessionId: opened.sessionId, modes: opened.modes, isResumed: false };
}

/** Throws `WORKER_PROTOCOL` where the agent has no such mode: in another one it may ask nothing. */
async function setMode(
  agent: ClientContext,
  wanted: { readonly sessionId: string; readonly mode: string; readonly modes: SessionModeState },
): Promise<void> {
  const { sessionId, mode, modes } = wanted;
  if (modes.currentModeId === mode) return;
  const known = modes.availableModes.map(({ id }) => id);
  if (!known.includes(mode)) {
    throw workerError("WORKER_PROTOCOL", `The agent has no mode ${mode} for its sessions.`, {
      hint: `Name one of these as mode in the plan: ${known.join(", ")}.`,
    });
  }
  await agent.request(methods.agent.session.setMode, { sessionId, modeId: mode });
}

/**
 * The servers as the protocol tells them to an agent. Throws `WORKER_PROTOCOL` for one that the
 * agent says it cannot reach. Pure.
 */
function acpServers(servers: readonly McpServer[], can: McpCapabilities | undefined): AcpServer[] {
  return servers.map((server): AcpServer => {
    const { name } = server;
    if ("command" in server) {
      const [command = "", ...args] = server.command;

      return { name, command, args, env: pairs(server.env) };
    }
    const { transport: type, url, headers } = server;
    if (can?.[type] === true) return { type, name, url, headers: pairs(headers) };
    throw workerError(
      "WORKER_PROTOCOL",
      `The agent reaches no MCP servers over ${type}: ${name}.`,
      {
        hint: "Give it a program that reaches the server for it, or take another agent.",
      },
    );
  });
}

function pairs(texts: Readonly<Record<string, string>> = {}): { name: string; value: string }[] {
  return Object.entries(texts).map(([name, value]) => ({ name, value }));
}
