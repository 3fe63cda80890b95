import { EventSourceParserStream } from "eventsource-parser/stream";
import type { Clock } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { fetchAtOrigin } from "../../kernel/fetch-at-origin.ts";
import { isObject } from "../../kernel/json.ts";
import type { Done, TurnEvent } from "../../kernel/turn-events.ts";
import type { RemoteService, RemoteCall } from "./remote-service.ts";

/** Where a server says what it is. Source: A2A 1.0 §8.2, §14.3. */
const CARD_PATH = "/.well-known/agent-card.json";
/** Sent with every request. Source: A2A 1.0 §3.6. */
const VERSION = "1.0";
/**
 * Times that a cut stream is taken up again, and the first pause before it, milliseconds; it
 * doubles.
 */
const MAX_RECONNECTS = 5;
const FIRST_PAUSE_MS = 100;
/**
 * Tasks of a context that are looked through for an earlier call, and their messages: a
 * session's last ones.
 */
const MAX_TASKS = 20;
const MAX_HISTORY = 50;
/**
 * Between two looks at a task whose server cannot tell of it by itself, milliseconds.
 */
const LOOK_EVERY_MS = 1_000;

/** What a person says to an agent. */
export interface A2aRequest {
  readonly session: string;
  readonly message: string;
  /** The task that asked for it. A task that asked, and was left, is not gone on with. */
  readonly task?: string | undefined;
}

/**
 * One turn with an agent that speaks A2A 1.0 over JSON-RPC. The session is its context; a task that
 * asks for input is continued.
 *
 * Before the message is sent, and after every cut, dure looks for it among the tasks of the
 * context: a call that has arrived is followed, never made twice. Only where the server lists no
 * tasks is it sent again, under the same id. Throws `REMOTE_UNAVAILABLE`, or what the agent said of
 * its failure.
 */
export async function* a2aTurn(
  remote: RemoteService,
  request: A2aRequest,
  call: RemoteCall,
): AsyncGenerator<TurnEvent, Done> {
  const { key, clock } = call;
  const startedAt = clock.monotonic();
  const label = remote.title ?? remote.name;
  yield { type: "AGENT_START", data: { agent: remote.name, label } };

  const answer = new Answer();
  yield* untilEnded(remote, answer, request, call);
  const failure = failureOf(remote, answer);
  if (failure) throw failure;

  const elapsedMs = Math.round(clock.monotonic() - startedAt);
  const about = { agent: remote.name, elapsedMs, success: true };
  const message = answer.text;
  yield { type: "LLM_DONE", data: { message } };
  yield { type: "AGENT_DONE", data: { ...about, label, retryCount: 0 } };
  const trace = { ...about, retries: 0, error: null, tokensIn: 0, tokensOut: 0 };
  return {
    message,
    nextAction: answer.state === "TASK_STATE_COMPLETED" ? "DONE" : "ASK",
    stateSnapshot: { stage: answer.state ?? "MESSAGE", task: answer.task },
    hooks: [],
    trace: { turnId: key, totalElapsedMs: elapsedMs, agents: [trace] },
  };
}

/** Follows the call until it has ended there; a cut connection is opened again. */
async function* untilEnded(
  remote: RemoteService,
  answer: Answer,
  request: A2aRequest,
  call: RemoteCall,
): AsyncGenerator<TurnEvent, void> {
  const { clock, signal } = call;
  let connection: A2aConnection | undefined;
  for (let tries = 0; ; tries++) {
    try {
      connection ??= await A2aConnection.open(remote, signal);
      for await (const event of followCall(connection, answer, request, call)) {
        const { text, isVoid } = answer.take(event);
        if (answer.task !== undefined) call.onBegun(answer.task);
        if (isVoid) yield startedAgain(remote, tries + 1);
        if (text !== "") yield { type: "LLM_TOKEN", data: text };
      }
      if (answer.isEnded) return;
      throw new Error(`the stream ended in ${answer.state ?? "no state"}`);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof DureError) throw error;
      if (tries >= MAX_RECONNECTS) throw unreachable(remote, error);
      await clock.sleep(FIRST_PAUSE_MS * 2 ** tries, { signal });
    }
  }
}

function startedAgain(remote: RemoteService, attempt: number): TurnEvent {
  const label = remote.title ?? remote.name;
  return { type: "AGENT_START", data: { agent: remote.name, label, attempt, restart: true } };
}

function unreachable(remote: RemoteService, error: unknown): DureError {
  return new DureError(
    "REMOTE_UNAVAILABLE",
    `The agent ${remote.name} at ${remote.url} cannot be reached: ${messageOf(error)}.`,
    {
      class: "unavailable",
      hint: "Check that the other server runs and that its address is right.",
      cause: error,
    },
  );
}

/**
 * Ends a task there whose turn here is over; one whose id has not come yet is looked for
 * among those of its context. What cannot be found or cancelled goes on alone. Throws where the
 * agent cannot be reached.
 */
export async function stopA2aTask(
  remote: RemoteService,
  request: { session: string },
  { key, task, signal }: { key: string; task?: string | undefined; signal: AbortSignal },
): Promise<void> {
  try {
    const connection = await A2aConnection.open(remote, signal);
    const id =
      task ??
      (await connection.tasksOf(request.session, signal)).find(({ history = [] }) =>
        history.some(({ messageId }) => messageId === key),
      )?.id;
    if (id !== undefined) await connection.call("CancelTask", { id }, signal);
  } catch (error) {
    if (!(error instanceof DureError)) throw error; // else the agent has said that it cannot
  }
}

/**
 * What the call brings from where it stands: a task that is known is followed, else looked for,
 * else begun.
 */
async function* followCall(
  connection: A2aConnection,
  answer: Answer,
  request: A2aRequest,
  { key, clock, signal }: RemoteCall,
): AsyncGenerator<StreamResponse> {
  const tasks = answer.task === undefined ? await connection.tasksOf(request.session, signal) : [];
  const known =
    answer.task === undefined
      ? tasks.find(({ history = [] }) => history.some(({ messageId }) => messageId === key))
      : await connection.task(answer.task, signal);
  if (known) {
    yield { task: known };
    if (!isOver(known.status?.state)) yield* following(connection, known.id, { clock, signal });
    return;
  }
  const asking = tasks.find(({ id, status }) => id === request.task && status?.state === ASKING);
  const message = {
    messageId: key,
    contextId: request.session,
    role: "ROLE_USER",
    parts: [{ text: request.message }],
    taskId: asking?.id,
  };
  if (connection.isStreaming) yield* connection.stream("SendStreamingMessage", { message }, signal);
  else yield (await connection.call("SendMessage", { message }, signal)) as StreamResponse;
}

/**
 * Outcome of a task. Where the server does not stream, or no longer streams this one, it is polled
 * until it has ended.
 */
async function* following(
  connection: A2aConnection,
  id: string,
  { clock, signal }: { clock: Clock; signal: AbortSignal },
): AsyncGenerator<StreamResponse> {
  try {
    if (connection.isStreaming) return yield* connection.stream("SubscribeToTask", { id }, signal);
  } catch (error) {
    if (!(error instanceof DureError) || error.details?.["rpcCode"] !== UNSUPPORTED_OPERATION) {
      throw error;
    }
  }
  while (true) {
    const task = await connection.task(id, signal);
    yield { task };
    if (isOver(task.status?.state)) return;
    await clock.sleep(LOOK_EVERY_MS, { signal });
  }
}

/** What has come of one call: text, and the state of its task. */
class Answer {
  task: string | undefined;
  state: string | undefined;
  /** A message instead of a task. */
  #isMessage = false;
  /** By artifact id, in the order of their coming. */
  readonly #artifacts = new Map<string, string>();
  #said = "";
  #shown = "";

  get isEnded(): boolean {
    return this.#isMessage || isOver(this.state);
  }

  /** The artifacts, then what the agent says about them. */
  get text(): string {
    const said = this.isEnded ? this.#said : "";
    return [...this.#artifacts.values(), said].filter((text) => text.trim() !== "").join("\n\n");
  }

  /** The text that is new. `isVoid`: what was shown before does not stand any more. */
  take(event: StreamResponse): { text: string; isVoid: boolean } {
    const { task, message, statusUpdate, artifactUpdate } = event;
    if (task) {
      this.task = task.id;
      this.#artifacts.clear();
      for (const artifact of task.artifacts ?? []) {
        this.#artifacts.set(artifact.artifactId, textOf(artifact.parts));
      }
      this.#status(task.status);
    }
    if (message) {
      this.#isMessage = true;
      this.#said = textOf(message.parts);
    }
    if (statusUpdate) {
      this.task = statusUpdate.taskId;
      this.#status(statusUpdate.status);
    }
    if (artifactUpdate) {
      this.task = artifactUpdate.taskId;
      const { artifactId, parts } = artifactUpdate.artifact;
      const before = artifactUpdate.append ? (this.#artifacts.get(artifactId) ?? "") : "";
      this.#artifacts.set(artifactId, before + textOf(parts));
    }
    const text = this.text;
    const isVoid = !text.startsWith(this.#shown);
    const fresh = isVoid ? text : text.slice(this.#shown.length);
    this.#shown = text;
    return { text: fresh, isVoid };
  }

  #status(status: RemoteTaskStatus | undefined): void {
    if (!status) return;
    this.state = status.state;
    // While it works an agent tells how it gets on; only its last words are an answer.
    this.#said = isOver(status.state) ? textOf(status.message?.parts) : "";
  }
}

/** Where an agent's card leads. */
class A2aConnection {
  readonly isStreaming: boolean;
  readonly #remote: RemoteService;
  readonly #url: string;
  readonly #tenant: string | undefined;
  #id = 0;

  private constructor(remote: RemoteService, card: AgentCard, face: AgentInterface) {
    this.#remote = remote;
    this.#url = face.url;
    this.#tenant = face.tenant === "" ? undefined : face.tenant;
    this.isStreaming = card.capabilities?.streaming === true;
  }

  static async open(remote: RemoteService, signal: AbortSignal): Promise<A2aConnection> {
    const response = await fetchAtOrigin(`${remote.url}${CARD_PATH}`, {
      headers: { ...remote.headers(), accept: "application/json", "a2a-version": VERSION },
      signal,
    });
    if (!response.ok) {
      throw refused(
        remote,
        response.status,
        `its card at ${CARD_PATH} answers HTTP ${response.status}`,
      );
    }
    const card = (await response.json()) as AgentCard;
    const faces = Array.isArray(card.supportedInterfaces) ? card.supportedInterfaces : [];
    const face = faces.find(
      ({ protocolBinding, protocolVersion }) =>
        protocolBinding === "JSONRPC" && /^1\.\d+$/.test(protocolVersion),
    );
    if (!face) {
      const offered = faces
        .map(({ protocolBinding, protocolVersion }) => `${protocolBinding} ${protocolVersion}`)
        .join(", ");
      throw new DureError(
        "REMOTE_UNSUPPORTED",
        `The agent ${remote.name} offers ${offered || "no interface"}; dure speaks A2A 1.x over JSONRPC.`,
        { class: "unavailable", hint: "Ask its operator for a JSON-RPC interface of A2A 1.0." },
      );
    }
    // The card must not lead the token to another server.
    if (
      new URL(face.url).origin !== new URL(remote.url).origin &&
      Object.keys(remote.headers()).length > 0
    ) {
      throw new DureError(
        "REMOTE_UNTRUSTED",
        [
          `The card of ${remote.name} leads to ${new URL(face.url).origin},`,
          "which is not where its token belongs.",
        ].join(" "),
        { class: "forbidden", hint: "Give remoteService the address that the card names." },
      );
    }
    return new A2aConnection(remote, card, face);
  }

  /**
   * The newest tasks of a context, with their messages and artifacts; none where the server does
   * not list them.
   */
  async tasksOf(contextId: string, signal: AbortSignal): Promise<readonly RemoteTask[]> {
    try {
      const { tasks } = (await this.call(
        "ListTasks",
        { contextId, pageSize: MAX_TASKS, historyLength: MAX_HISTORY, includeArtifacts: true },
        signal,
      )) as { tasks?: readonly RemoteTask[] };
      return tasks ?? [];
    } catch (error) {
      if (
        error instanceof DureError &&
        (error.details?.["rpcCode"] === METHOD_NOT_FOUND ||
          error.details?.["rpcCode"] === UNSUPPORTED_OPERATION)
      ) {
        return [];
      }
      throw error;
    }
  }

  async task(id: string, signal: AbortSignal): Promise<RemoteTask> {
    return (await this.call("GetTask", { id }, signal)) as RemoteTask;
  }

  async call(method: string, params: object, signal: AbortSignal): Promise<unknown> {
    const response = await this.#post(method, params, "application/json", signal);
    return this.#resultOf(await response.json());
  }

  async *stream(
    method: string,
    params: object,
    signal: AbortSignal,
  ): AsyncGenerator<StreamResponse> {
    const response = await this.#post(method, params, "text/event-stream", signal);
    if (!response.headers.get("content-type")?.includes("text/event-stream")) {
      yield this.#resultOf(await response.json()) as StreamResponse;
      return;
    }
    const frames = response
      .body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
      .pipeThrough(new EventSourceParserStream());
    for await (const frame of frames) {
      yield this.#resultOf(JSON.parse(frame.data)) as StreamResponse;
    }
  }

  async #post(
    method: string,
    params: object,
    accept: string,
    signal: AbortSignal,
  ): Promise<Response> {
    const response = await fetchAtOrigin(this.#url, {
      method: "POST",
      headers: {
        ...this.#remote.headers(),
        "content-type": "application/json",
        accept,
        "a2a-version": VERSION,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: ++this.#id,
        method,
        params: { tenant: this.#tenant, ...params },
      }),
      signal,
    });
    if (response.ok) return response;
    // An error of JSON-RPC may come with a status of HTTP too; it says more.
    const body: unknown = await response.json().catch(() => undefined);
    const isFinal = !mayPass(response.status);
    if (isFinal && isObject(body) && "error" in body) this.#resultOf(body);
    throw refused(this.#remote, response.status, `${method} answers HTTP ${response.status}`);
  }

  #resultOf(answer: unknown): unknown {
    if (isObject(answer) && isObject(answer["error"])) {
      const { code, message } = answer["error"];
      throw new DureError(
        "REMOTE_REFUSED",
        `${this.#remote.name}: ${String(message)} (${String(code)})`,
        { class: "unavailable", hint: "See the other agent's log.", details: { rpcCode: code } },
      );
    }
    if (isObject(answer) && "result" in answer) return answer["result"];
    throw new Error("the answer is no JSON-RPC");
  }
}

/** Source: A2A 1.0 §5.4, §9.5. */
const METHOD_NOT_FOUND = -32_601;
const UNSUPPORTED_OPERATION = -32_004;

const ASKING = "TASK_STATE_INPUT_REQUIRED";

/** The task that asks for the person's next words, of the `DONE` of an agent's turn. */
export function askingTaskOf({ stateSnapshot: { stage, task } }: Done): string | undefined {
  return stage === ASKING && typeof task === "string" ? task : undefined;
}

function mayPass(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

/** What is wrong with our call stays wrong; what is wrong with their server may pass. */
function refused(remote: RemoteService, status: number, what: string): Error {
  if (mayPass(status)) return new Error(what);
  return new DureError(
    status === 401 || status === 403 ? "REMOTE_UNAUTHORIZED" : "REMOTE_REFUSED",
    `${remote.name}: ${what}.`,
    {
      class: status === 401 || status === 403 ? "forbidden" : "unavailable",
      hint: "Check the address and the token of the remote service.",
    },
  );
}

/**
 * States in which nothing more comes by itself, each with what it means for the turn. Source: A2A
 * 1.0 §4.1.3.
 */
const END_STATES = {
  TASK_STATE_COMPLETED: undefined,
  TASK_STATE_INPUT_REQUIRED: undefined,
  TASK_STATE_FAILED: "REMOTE_FAILED",
  TASK_STATE_REJECTED: "REMOTE_REJECTED",
  TASK_STATE_CANCELED: "REMOTE_CANCELLED",
  TASK_STATE_AUTH_REQUIRED: "REMOTE_AUTH_REQUIRED",
} as const satisfies Record<string, string | undefined>;

function isOver(state: string | undefined): state is keyof typeof END_STATES {
  return state !== undefined && Object.hasOwn(END_STATES, state);
}

function failureOf(remote: RemoteService, answer: Answer): DureError | undefined {
  const code = isOver(answer.state) ? END_STATES[answer.state] : undefined;
  return (
    code &&
    new DureError(code, `${remote.name}: ${answer.text || answer.state}`, {
      class: "unavailable",
      hint: "The other agent has said why, or its log does.",
      details: { task: answer.task },
    })
  );
}

/** Text as it is; a file as a link, data as JSON. */
function textOf(parts: readonly RemotePart[] = []): string {
  return parts
    .map(({ text, url, data, filename }) => {
      if (text !== undefined) return text;
      if (url !== undefined) return `[${filename || url}](${url})`;
      return data === undefined ? "" : `\`\`\`json\n${JSON.stringify(data, null, 2)}\n\`\`\``;
    })
    .join("");
}

// What is used of the protocol's objects. Source: A2A 1.0, specification/a2a.proto in its JSON
// form.

interface AgentCard {
  readonly capabilities?: { readonly streaming?: boolean };
  readonly supportedInterfaces?: readonly AgentInterface[];
}

interface AgentInterface {
  readonly url: string;
  readonly protocolBinding: string;
  readonly protocolVersion: string;
  readonly tenant?: string;
}

interface RemoteTask {
  readonly id: string;
  readonly status?: RemoteTaskStatus;
  readonly artifacts?: readonly Artifact[];
  readonly history?: readonly RemoteMessage[];
}

interface RemoteTaskStatus {
  readonly state: string;
  readonly message?: RemoteMessage;
}

interface RemoteMessage {
  readonly messageId: string;
  readonly parts?: readonly RemotePart[];
}

interface Artifact {
  readonly artifactId: string;
  readonly parts?: readonly RemotePart[];
}

interface RemotePart {
  readonly text?: string;
  readonly url?: string;
  readonly data?: unknown;
  readonly filename?: string;
}

interface StreamResponse {
  readonly task?: RemoteTask;
  readonly message?: RemoteMessage;
  readonly statusUpdate?: { readonly taskId: string; readonly status?: RemoteTaskStatus };
  readonly artifactUpdate?: {
    readonly taskId: string;
    readonly artifact: Artifact;
    readonly append?: boolean;
  };
}
