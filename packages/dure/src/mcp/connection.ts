import {
  Client,
  type CallToolResult,
  type ClientCapabilities,
  type Tool as Definition,
  InsufficientScopeError,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  type ElicitResult,
} from "@modelcontextprotocol/client";
import { NotSentError } from "../engine/agent/tool.ts";
import { backOffMs } from "../kernel/back-off.ts";
import { withTimeout } from "../kernel/clock.ts";
import { messageOf, codeOf, DureError } from "../kernel/errors.ts";
import type { JsonObject } from "../kernel/json.ts";
import type { Offers } from "./offer-tools.ts";
import { isLocal, type McpServerSpec } from "./server-spec.ts";
import { openTransport, type Surroundings } from "./open-transport.ts";
import { isolateTools } from "./sound-tools.ts";
import { endLeftOf } from "./strays.ts";

/** How a server stands. */
export type McpState =
  | { readonly status: "starting" | "stopped" }
  | { readonly status: "ready"; readonly protocol: string; readonly version: string }
  /** It is tried again; `because` is a message for people. */
  | { readonly status: "unavailable"; readonly code: string; readonly because: string };

export interface McpConnectionOptions extends Surroundings {
  readonly name: string;
  readonly spec: McpServerSpec;
  /** Of dure, which the server is told. */
  readonly version: string;
  /** The server's tools are others now. */
  readonly onTools: (tools: readonly Definition[]) => void;
}

/** From the start of a server to its list of tools, milliseconds: `npx` may install it first. */
const CONNECT_MS = 60_000;
/** An older server may never answer what it does not know: then it is spoken to as one. */
const PROBE_MS = 5_000;
const AGAIN = { firstMs: 1_000, maxMs: 60_000 } as const;
/** A server that answers no call in time is asked whether it lives, milliseconds. */
const PING_MS = 5_000;
/** The tool's own timeout aborts the signal; the SDK's stands behind it. */
const NO_TIMEOUT = 2 ** 31 - 1;
/** Pages of one list of tools; the SDK's 64 would end a server with 883 tools in pages of ten. */
const MAX_PAGES = 500;
/** Characters of a server's question in the log. */
const MAX_QUESTION = 200;

/** A server that is not told so asks nothing. */
const ANSWERS_FORMS: ClientCapabilities = { elicitation: { form: {} } };

/**
 * One MCP server: connected, kept, connected again with growing pauses when it is lost. Nothing here
 * ends the process, whatever the server does.
 */
export class McpConnection {
  readonly #options: McpConnectionOptions;
  readonly #over = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #state: McpState = { status: "starting" };
  #client: Client | undefined;
  #lives: Promise<void> | undefined;

  constructor(options: McpConnectionOptions) {
    this.#options = options;
  }

  get state(): McpState {
    return this.#state;
  }

  /** What it has beside tools; nothing before it is ready. */
  get offers(): Offers {
    const { resources, prompts } = this.#client?.getServerCapabilities() ?? {};
    return { resources: resources !== undefined, prompts: prompts !== undefined };
  }

  /** Resolves when the server was connected, or the first attempt has failed. */
  get tried(): Promise<void> {
    return this.#first.promise;
  }

  /** Idempotent. */
  start(): void {
    this.#lives ??= this.#live();
  }

  /** Ends the server and all that it has started. Idempotent. */
  async stop(): Promise<void> {
    this.#over.abort(new DOMException("The MCP server was stopped.", "AbortError"));
    await this.#client?.close().catch(() => {});
    await this.#lives;
    this.#first.resolve();
    this.#state = { status: "stopped" };
  }

  /**
   * Calls a tool. Throws `MCP_UNAVAILABLE` and `MCP_REFUSED` where nothing has happened, and
   * `MCP_CALL_LOST` where that is not known.
   */
  async call(
    name: string,
    input: JsonObject,
    { signal }: { signal: AbortSignal },
  ): Promise<CallToolResult> {
    return this.ask(
      name,
      (client) => client.callTool({ name, arguments: input }, { signal, timeout: NO_TIMEOUT }),
      { signal },
    );
  }

  /** Asks the server something; `name` is for the error. Throws as `call` does. */
  async ask<T>(
    name: string,
    work: (client: Client, signal: AbortSignal) => Promise<T>,
    { signal }: { signal: AbortSignal },
  ): Promise<T> {
    const client = this.#client;
    if (!client || this.#state.status !== "ready") throw this.#notConnected();
    try {
      return await work(client, signal);
    } catch (error) {
      if (signal.aborted) void this.#pingOrEnd(client);
      throw callError(error, name, this.#asked);
    }
  }

  get #asked(): ServerContact {
    const { name: server, spec, prefix = "" } = this.#options;
    const hasLogin = !isLocal(spec) && spec.login !== undefined;
    return { server, login: hasLogin ? `${prefix}${server}` : undefined };
  }

  #notConnected(): NotSentError {
    const { name } = this.#options;
    const why = this.#state.status === "unavailable" ? this.#state.because : "it is being started";
    return new NotSentError("MCP_UNAVAILABLE", `The MCP server ${name} is not there: ${why}`);
  }

  async #live(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#over;
    for (let failures = 0; !signal.aborted;) {
      const wasReady = await this.#liveOnce();
      failures = wasReady ? 1 : failures + 1;
      this.#first.resolve();
      await clock.sleep(backOffMs(failures, AGAIN), { signal }).catch(() => {});
    }
  }

  /** One life of the server, from its start to its loss. Whether it was ready. Never rejects. */
  async #liveOnce(): Promise<boolean> {
    const { name, spec, logger } = this.#options;
    let wasReady = false;
    try {
      const { lost } = await this.#connect();
      wasReady = true;
      this.#first.resolve();
      await lost;
      if (!this.#over.signal.aborted) throw new Error("its connection was closed");
    } catch (error) {
      if (!this.#over.signal.aborted) {
        const { code, because } = unavailable(error, this.#asked);
        this.#state = { status: "unavailable", code, because };
        logger.warn(
          { mcp: name, code, error: because },
          `the MCP server ${name} is not there; it is tried again`,
        );
      }
    } finally {
      const client = this.#client;
      this.#client = undefined;
      await client?.close().catch(() => {});
      if (isLocal(spec)) endLeftOf(name);
    }
    return wasReady;
  }

  /** Resolves when the tools are known, with a promise that resolves when the connection is lost. */
  async #connect(): Promise<{ readonly lost: Promise<void> }> {
    const { name, spec, version, clock, logger, onTools } = this.#options;
    const transport = openTransport(name, spec, this.#options);
    const client = new Client(
      { name: "dure", version },
      {
        capabilities: spec.questions === undefined ? {} : ANSWERS_FORMS,
        versionNegotiation: { mode: "auto", probe: { timeoutMs: PROBE_MS } },
        listMaxPages: MAX_PAGES,
        listChanged: {
          tools: { onChanged: (error, tools) => this.#changed(error, tools ?? undefined) },
        },
      },
    );
    if (spec.questions === "defaults") this.#answerQuestions(client);
    const lost = Promise.withResolvers<void>();
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
    client.onclose = () => lost.resolve();
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it is no event target
    client.onerror = (error) =>
      logger.debug({ mcp: name, error: messageOf(error) }, `${name} sent what cannot be used`);
    this.#client = client;

    const late = (): Error => new Error(`it was not ready within ${CONNECT_MS / 1_000} s`);
    const patience = { ms: CONNECT_MS, signal: this.#over.signal };
    const { tools } = await withTimeout(clock, patience, late, async (signal) => {
      await client.connect(transport, { signal });
      isolateTools(transport);
      return client.listTools(undefined, { signal });
    });
    onTools(tools);
    this.#state = {
      status: "ready",
      protocol: client.getNegotiatedProtocolVersion() ?? "",
      version: client.getServerVersion()?.version ?? "",
    };
    logger.info(
      { mcp: name, tools: tools.length, ...this.#state },
      `the MCP server ${name} is ready and lists ${tools.length} tools`,
    );
    return { lost: lost.promise };
  }

  #answerQuestions(client: Client): void {
    const { name, logger } = this.#options;
    client.setRequestHandler("elicitation/create", ({ params }) => {
      if (params.mode === "url") return { action: "decline" };
      const answer = answerByDefaults(params.requestedSchema);
      const question = params.message.slice(0, MAX_QUESTION);
      const { action } = answer;
      logger.debug({ mcp: name, question, action }, `${name} asks: ${question} (${action})`);

      return answer;
    });
  }

  #changed(error: Error | null, tools: readonly Definition[] | undefined): void {
    const { name, logger, onTools } = this.#options;
    if (tools) return onTools(tools);
    logger.warn(
      { mcp: name, error: messageOf(error) },
      `${name} says that its tools are others, and does not tell them`,
    );
  }

  /** A server that does not answer is ended; the next life begins after a pause. Never rejects. */
  async #pingOrEnd(client: Client): Promise<void> {
    const { name, logger } = this.#options;
    try {
      // The protocol of July 2026 has no ping; its discovery asks for as little.
      const isModern = client.getProtocolEra() === "modern";
      await (isModern ? client.discover({ timeout: PING_MS }) : client.ping({ timeout: PING_MS }));
    } catch (error) {
      if (this.#client !== client || this.#over.signal.aborted) return;
      logger.warn(
        { mcp: name, error: messageOf(error) },
        `the MCP server ${name} answers nothing; it is started again`,
      );
      await client.close().catch(() => {});
    }
  }
}

// --- mcp errors

/** What an error of a server is about. */
interface ServerContact {
  readonly server: string;
  /** As `dure mcp login` is told it; undefined: no person logs in there. */
  readonly login: string | undefined;
}

/** Codes with which a server refuses a call before it begins. Source: JSON-RPC 2.0, section 5.1. */
const REFUSALS: ReadonlySet<number> = new Set([
  ProtocolErrorCode.ParseError,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.InvalidParams,
]);
/** The server would ask, and was told that it cannot. */
const WANTS_INPUT: number = ProtocolErrorCode.MissingRequiredClientCapability;
/** Nothing has left this process. */
const UNSENT: ReadonlySet<unknown> = new Set([
  SdkErrorCode.NotConnected,
  SdkErrorCode.NotInitialized,
  SdkErrorCode.CapabilityNotSupported,
]);

/** Why a server cannot be used. Pure. */
function unavailable(error: unknown, asked: ServerContact): { code: string; because: string } {
  if (error instanceof InsufficientScopeError) {
    return { code: "MCP_SCOPE_MISSING", because: scopeWords(error, asked) };
  }
  if (isLoginRefused(error, asked)) {
    return { code: "MCP_NOT_LOGGED_IN", because: refusedWords(asked) };
  }
  return { code: codeOf(error) ?? "MCP_UNAVAILABLE", because: messageOf(error) };
}

/** What is known of a call that gave no result. Pure. */
function callError(error: unknown, name: string, asked: ServerContact): Error {
  const { server } = asked;
  if (error instanceof ProtocolError && REFUSALS.has(error.code)) {
    return new NotSentError("MCP_REFUSED", `${server} refused ${name}: ${error.message}`, {
      cause: error,
    });
  }
  if (codeOf(error) === "MCP_NOT_LOGGED_IN") {
    return new NotSentError("MCP_NOT_LOGGED_IN", `${server}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (isLoginRefused(error, asked)) {
    const words = `${server} did not do ${name}: ${refusedWords(asked)}`;
    return new NotSentError("MCP_NOT_LOGGED_IN", words, { cause: error });
  }
  if (error instanceof InsufficientScopeError) {
    const words = `${server} did not do ${name}: ${scopeWords(error, asked)}`;
    return new NotSentError("MCP_SCOPE_MISSING", words, { cause: error });
  }
  if (isQuestion(error)) return inputWanted(error, name, asked);
  if (error instanceof SdkError && UNSENT.has(error.code)) {
    return new NotSentError("MCP_UNAVAILABLE", `${server} is not there: ${error.message}`, {
      cause: error,
    });
  }
  return new DureError(
    "MCP_CALL_LOST",
    `${server} gave no answer to ${name}: ${messageOf(error)}`,
    {
      class: "unavailable",
      cause: error,
    },
  );
}

function scopeWords(
  { requiredScope }: InsufficientScopeError,
  { server, login }: ServerContact,
): string {
  const scope = requiredScope === undefined ? "" : ` (${requiredScope})`;
  return `the login does not allow it${scope}; dure mcp login ${login ?? server} asks for it`;
}

/** The token was renewed, and is refused all the same: another server may log people in now. */
function isLoginRefused(error: unknown, { login }: ServerContact): boolean {
  const isRefused =
    error instanceof SdkError && error.code === SdkErrorCode.ClientHttpAuthentication;
  return isRefused && login !== undefined;
}

function refusedWords({ login }: ServerContact): string {
  return `the login is not taken any more: run dure mcp login ${login}`;
}

/** The server wants an answer in the middle of the call, or says that it would. */
function isQuestion(error: unknown): error is Error {
  if (error instanceof ProtocolError) return error.code === WANTS_INPUT;
  const isUnsupported =
    error instanceof SdkError && error.code === SdkErrorCode.CapabilityNotSupported;
  const { key } = (isUnsupported ? (error.data ?? {}) : {}) as { key?: string };
  return key !== undefined;
}

/** The server knows of the call; what it has done before it asked is not known. */
function inputWanted(error: Error, name: string, { server }: ServerContact): DureError {
  return new DureError(
    "MCP_INPUT_WANTED",
    `${server} asks something in the middle of ${name}, and gets no answer: ${error.message}`,
    {
      class: "input",
      hint: 'With questions: "defaults" in its settings, forms are answered with their defaults.',
      cause: error,
    },
  );
}

// --- answer question

/** What a server asks in the middle of a call: a form of flat fields. */
interface ElicitedQuestion {
  readonly properties: Readonly<Record<string, object>>;
  readonly required?: readonly string[] | undefined;
}

type ElicitedContent = NonNullable<ElicitResult["content"]>;

/**
 * Answers with the defaults that the server has given. Declines where a field that it requires has
 * none, and where it gives none at all: a bare yes is a person's. Pure.
 */
export function answerByDefaults({ properties, required = [] }: ElicitedQuestion): ElicitResult {
  const given = Object.entries(properties).flatMap(([name, field]) =>
    "default" in field ? [[name, field.default]] : [],
  );
  const content = Object.fromEntries(given) as ElicitedContent;
  const isWhole = required.every((name) => Object.hasOwn(content, name));

  return isWhole && given.length > 0 ? { action: "accept", content } : { action: "decline" };
}
