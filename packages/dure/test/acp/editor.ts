import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type ClientConnection,
  type ContentBlock,
  type InitializeResponse,
  type ListSessionsResponse,
  type LoadSessionResponse,
  type PromptResponse,
  type RequestPermissionRequest,
  type SessionModeState,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { until } from "../until.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Which option is chosen; undefined: the person has closed the question. */
export type Choose = (asked: RequestPermissionRequest) => number | undefined;

/** An editor with a real `dure acp`: the official client, version 2.4. */
export class Editor implements AsyncDisposable {
  /** What was told, by who speaks. */
  readonly told: { readonly who: "user" | "agent"; readonly text: string }[] = [];
  /** All other updates. */
  readonly updates: SessionUpdate[] = [];
  readonly asked: RequestPermissionRequest[] = [];
  initialized: InitializeResponse | undefined;
  choose: Choose = () => undefined;
  readonly #child: ChildProcess;
  readonly #connection: ClientConnection;

  private constructor(child: ChildProcess) {
    this.#child = child;
    const stream = ndJsonStream(
      Writable.toWeb(child.stdin!),
      Readable.toWeb(child.stdout!) as ReadableStream<Uint8Array>,
    );
    this.#connection = client({ name: "test" })
      .onNotification(methods.client.session.update, ({ params: { update } }) => {
        const isUser = update.sessionUpdate === "user_message_chunk";
        if (!isUser && update.sessionUpdate !== "agent_message_chunk") {
          return void this.updates.push(update);
        }
        if (update.content.type !== "text") return;
        this.told.push({ who: isUser ? "user" : "agent", text: update.content.text });
      })
      .onRequest(methods.client.session.requestPermission, ({ params }) => {
        this.asked.push(params);
        const chosen = this.choose(params);
        if (chosen === undefined) return { outcome: { outcome: "cancelled" as const } };
        const { optionId } = params.options[chosen]!;
        return { outcome: { outcome: "selected" as const, optionId } };
      })
      .connect(stream);
  }

  /** @param more Further words of the command line */
  static async open(
    team: string,
    environment: Readonly<Record<string, string>>,
    more: readonly string[] = [],
  ): Promise<Editor> {
    const child = spawn(
      process.execPath,
      ["--conditions=dure-source", MAIN, "acp", "--dir", team, ...more],
      { env: { ...process.env, ...environment }, stdio: ["pipe", "pipe", "ignore"] },
    );
    child.stdin.on("error", () => undefined); // it was killed
    const editor = new Editor(child);
    editor.initialized = await editor.#agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: {},
    });

    return editor;
  }

  get #agent(): ClientConnection["agent"] {
    return this.#connection.agent;
  }

  get said(): string {
    return this.told.flatMap(({ who, text }) => (who === "agent" ? [text] : [])).join("");
  }

  /** @param folder That is open in it */
  async begin(mode?: string, folder = "/"): Promise<{ session: string; modes: SessionModeState }> {
    const { sessionId: session, modes } = await this.#agent.request(methods.agent.session.new, {
      cwd: folder,
      mcpServers: [],
    });
    if (mode !== undefined) await this.setMode(session, mode);

    return { session, modes: modes! };
  }

  async setMode(sessionId: string, modeId: string): Promise<void> {
    await this.#agent.request(methods.agent.session.setMode, { sessionId, modeId });
  }

  async load(sessionId: string): Promise<SessionModeState> {
    const loading = { sessionId, cwd: "/", mcpServers: [] };
    const load = methods.agent.session.load;
    const { modes } = await this.#agent.request<LoadSessionResponse>(load, loading);
    return modes!;
  }

  list(cursor?: string): Promise<ListSessionsResponse> {
    return this.#agent.request(methods.agent.session.list, { cwd: "/project", cursor });
  }

  async resume(sessionId: string): Promise<void> {
    await this.#agent.request(methods.agent.session.resume, { sessionId, cwd: "/" });
  }

  async close(sessionId: string): Promise<void> {
    await this.#agent.request(methods.agent.session.close, { sessionId });
  }

  prompt(sessionId: string, said: string | ContentBlock[]): Promise<PromptResponse> {
    const prompt = typeof said === "string" ? [{ type: "text" as const, text: said }] : said;
    return this.#agent.request(methods.agent.session.prompt, { sessionId, prompt });
  }

  async cancel(sessionId: string): Promise<void> {
    await this.#agent.notify(methods.agent.session.cancel, { sessionId });
  }

  async saying(words: string): Promise<void> {
    await until(
      () => this.said.includes(words),
      () => `“${words}” was not said: ${this.said}`,
    );
  }

  async kill(): Promise<void> {
    const exit = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exit;
  }

  /** Closes its input. Gives its exit code. */
  async leave(): Promise<number | null> {
    const exit = once(this.#child, "exit");
    this.#child.stdin!.end();
    const [code] = (await exit) as [number | null];
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.kill();
  }
}
