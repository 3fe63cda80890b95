import type { FastifyReply, FastifyRequest } from "fastify";
import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import { createHttp, readJson } from "../client/http.ts";
import { DureError } from "../kernel/errors.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import { boundsOf } from "../server/bounds.ts";
import { acceptOptionsOf, turnRequestOf, withUploads } from "../server/conversation-routes.ts";
import { callerOf } from "../server/guard.ts";
import { PARTS_BYTES, fileOfPart } from "../server/part-files.ts";
import type { RouteApp, ServerParts } from "../server/server.ts";
import { asAnsweredBy } from "../server/known-person.ts";
import { answerWithStream } from "../server/stream-answer.ts";
import { keyOfSession, viewOf } from "../server/tenants.ts";
import { AgUiInput, AgUiParams, AgUiContent } from "../wire/ag-ui.ts";
import { FAREWELL, RunEvents, type AskedDecision } from "./run-events.ts";
import type { TurnFrame } from "../engine/api.ts";
import type { Clock } from "../kernel/clock.ts";
import type { SseStream } from "../server/sse.ts";
import { TokenBatch } from "../server/turn-stream.ts";
import { createHash } from "node:crypto";
import { cutBytes } from "../kernel/cut-bytes.ts";
import { turnOfCall, type CallerTools } from "../engine/caller/caller-tools.ts";
import { isObject, type JsonObject } from "../kernel/json.ts";
import type { Upload } from "../server/uploads.ts";
import { fieldError } from "../server/problem.ts";

/** What a run of AG-UI asks for: words for a service, or a decision that is open. */
type AskedRun =
  | {
      readonly kind: "message";
      readonly text: string;
      readonly files: readonly Upload[];
      /** The question that it answers. */
      readonly confirmId: string | undefined;
      readonly background: string | undefined;
      /** Tools of the page, and what they gave. */
      readonly callerTools: CallerTools | undefined;
    }
  | {
      readonly kind: "decision";
      readonly escalation: string;
      /** Undefined: it is dismissed. */
      readonly value: string | undefined;
    };

type Resume = NonNullable<AgUiInput["resume"]>[number];

/** Bytes of what a page tells beside the message. */
const MAX_CONTEXT = 32_000;

/** Throws `NOT_SPOKEN`, `REQUEST_INVALID`. Pure. */
function askedRun(input: AgUiInput): AskedRun {
  const [resume] = input.resume ?? [];
  if (resume?.interruptId.startsWith("escalation_")) return decisionOf(resume);

  const results = resume ? undefined : lastResults(input);
  const said = results ? NOTHING : saidBy(input, resume);
  return {
    kind: "message",
    ...said,
    confirmId: resume?.interruptId,
    background: backgroundOf(input),
    callerTools: callerToolsOf(input, results),
  };
}

type RunInput = Pick<Extract<AskedRun, { kind: "message" }>, "text" | "files">;

const NOTHING: RunInput = { text: "", files: [] };

function saidBy(input: AgUiInput, resume: Resume | undefined): RunInput {
  return resume ? { text: replyOf(resume), files: [] } : lastMessage(input);
}

/**
 * The same run however often it is asked for. Pages answer a question under the id of the run that
 * asked it: that is another run, and each question has one. Pure.
 */
function keyOfRun({ threadId, runId, resume }: AgUiInput): string {
  const answered = resume?.[0]?.interruptId;
  const said =
    answered === undefined ? `${threadId} ${runId}` : JSON.stringify([threadId, runId, answered]);
  return `ag-ui-${createHash("sha256").update(said).digest("hex")}`;
}

function decisionOf({ interruptId: escalation, status, payload }: Resume): AskedRun {
  if (status === "cancelled") return { kind: "decision", escalation, value: undefined };

  const value = isObject(payload) ? payload["value"] : payload;
  if (typeof value === "string" && value !== "") return { kind: "decision", escalation, value };

  const why = "does not name one of the values of the interrupt";
  throw fieldError("REQUEST_INVALID", "resume", why, "Send payload: {value: …}, or the value.");
}

/** A button's label, or a plain yes or no. */
function replyOf({ status, payload }: Resume): string {
  if (status === "cancelled") return "no";
  const said = isObject(payload) ? (payload["value"] ?? payload["approved"]) : payload;
  if (typeof said === "string" && said.trim() !== "") return said;

  return said === false ? "no" : "ok";
}

function lastMessage({ messages }: AgUiInput): RunInput {
  const last = messages.at(-1);
  if (last?.role !== "user") {
    throw fieldError("REQUEST_INVALID", "messages", "does not end with a message of the user");
  }

  const content = AgUiContent.safeParse(last.content);
  if (!content.success) {
    throw fieldError("REQUEST_INVALID", "messages", "ends with a message that is no text");
  }
  if (typeof content.data === "string") return { text: content.data, files: [] };

  const pieces: string[] = [];
  const files: Upload[] = [];
  for (const { type, text, source } of content.data) {
    if (type === "text" && text !== undefined) pieces.push(text);
    else if (source?.type === "data") {
      files.push(fileOfPart({ data: source.value, field: "messages" }));
    } else {
      const why = `a part of the type "${type}" is not taken; only text and bytes are`;
      throw fieldError("NOT_SPOKEN", "messages", why);
    }
  }

  return { text: pieces.join("\n"), files };
}

/** What the page's tools gave for the calls of the last turn; undefined: it says something else. */
function lastResults({ messages }: AgUiInput): CallerTools["results"] {
  const last = messages.at(-1);
  const turn = last?.role === "tool" ? turnOfCall(last.toolCallId ?? "") : undefined;
  if (turn === undefined) return undefined;

  return messages.flatMap(({ role, toolCallId: callId = "", content }) =>
    role === "tool" && turnOfCall(callId) === turn ? [{ callId, output: wordsOf(content) }] : [],
  );
}

function wordsOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content ?? null);
}

function callerToolsOf(
  { tools }: AgUiInput,
  results: CallerTools["results"],
): CallerTools | undefined {
  if (!tools?.length && results === undefined) return undefined;
  const specs = (tools ?? []).map(({ name, description, parameters }) => ({
    name,
    description: description ?? "",
    inputSchema: { type: "object", properties: {}, ...parameters } as JsonObject,
  }));

  return { tools: specs, results };
}

function backgroundOf({ context }: AgUiInput): string | undefined {
  if (!context || context.length === 0) return undefined;
  const lines = context.map(({ description, value }) => `${description}: ${value}`);

  return cutBytes(lines.join("\n"), MAX_CONTEXT);
}

/** Services and agents for AG-UI's clients. Source: docs/spec/interop §9. */
export const agUiRoutes: FastifyPluginAsyncZod<ServerParts> = async (app, parts) => {
  app.post(
    "/ag-ui/v1/agents/:service",
    {
      config: { scope: "chat", stream: true, audit: false, uploads: "parts" },
      bodyLimit: PARTS_BYTES, // clients send all messages each time
      schema: { hide: true, params: AgUiParams, body: AgUiInput },
    },
    async (request, reply) => {
      const { body: input, params } = request;
      request.sessionId = input.threadId;
      const asked = askedRun(input);
      const turnId = await begin(asked, { app, parts, request, input, service: params.service });

      await stream({ parts, request, reply, input }, turnId);
    },
  );
};

interface BegunRun {
  readonly app: RouteApp;
  readonly parts: ServerParts;
  readonly request: FastifyRequest;
  readonly input: AgUiInput;
  readonly service: string;
}

/** Undefined: no turn comes of it. */
async function begin(asked: AskedRun, begun: BegunRun): Promise<string | undefined> {
  if (asked.kind === "decision") return decide(asked, begun);

  const { parts, request, input, service } = begun;
  const { text: message, confirmId: confirm_id, background, files } = asked;
  const callerTools = takesTools(parts, service) ? asked.callerTools : undefined;
  const body = { session_id: input.threadId, service, message, confirm_id };
  const mayBeEmpty = callerTools?.results !== undefined || files.length > 0;
  const words = turnRequestOf(body, boundsOf(parts.limits), { mayBeEmpty });
  request.uploads = files;
  const turn = await withUploads(parts, request, words);
  const options = { ...acceptOptionsOf(request), key: keyOfRun(input) };
  const said = { ...turn, background, callerTools };
  const { turnId } = await parts.conversations.accept(said, options);

  return turnId;
}

/** A page sends its tools to every agent: a service with a handler of its own passes them over. */
function takesTools({ conversations }: ServerParts, service: string): boolean {
  return conversations.describe().some(({ name, callerTools }) => name === service && callerTools);
}

/**
 * A request to the server itself, in the name of who asks: the same scope, audit and refusals. Only
 * what waits in this thread can be decided here. @throws ESCALATION_UNKNOWN
 */
async function decide(
  { escalation: id, value }: Extract<AskedRun, { kind: "decision" }>,
  { app, parts, request, input }: BegunRun,
): Promise<string | undefined> {
  const open = await openDecisions(parts, request, input.threadId);
  if (!open.some((one) => one.id === id)) throw notOpen(id);

  const principal = request.principal!;
  const http = createHttp({
    baseUrl: "http://localhost",
    fetch: (address, init) => app.web.fetch(new Request(address, init), principal),
  });
  const answer = await http.request(
    `/v1/escalations/${id}/${value === undefined ? "dismiss" : "answer"}`,
    {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(value === undefined ? {} : { value }),
    },
  );

  return ((await readJson(answer)) as { turn_id?: string | null }).turn_id ?? undefined;
}

interface RunExchange {
  readonly parts: ServerParts;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly input: AgUiInput;
}

async function stream(exchange: RunExchange, turnId: string | undefined): Promise<void> {
  const { parts, request, reply, input } = exchange;
  const { conversations, clock } = parts;
  const run = new RunEvents(input, turnId ?? "");
  request.turnId = turnId;

  await answerWithStream(parts, request, reply, {
    what: `run ${input.runId}`,
    firstFrame: run.begin(),
    farewell: FAREWELL,
    headers: turnId === undefined ? {} : { "turn-id": turnId },
    fields: { turn: turnId ?? "" },
    send: async (reader) => {
      if (turnId === undefined) {
        reader.write(run.endWithout());
        return;
      }

      const options = { caller: callerOf(request), signal: reader.signal };
      const waits = (done: Done) => decisionsOf(done, exchange);
      const frames = conversations.read(turnId, options);
      return tellRun(frames, { run, stream: reader, clock, waits });
    },
  });
}

/** A turn that ends so is gone on with when a person has decided. */
const WAITS_FOR_A_PERSON: ReadonlySet<string> = new Set(["APPROVAL_PENDING", "EFFECT_UNKNOWN"]);

async function decisionsOf(done: Done, exchange: RunExchange): Promise<readonly AskedDecision[]> {
  if (!WAITS_FOR_A_PERSON.has(done.error?.code ?? "")) return [];
  const { parts, request, input } = exchange;
  const open = await openDecisions(parts, request, input.threadId);

  return open.filter(({ source }) => source.turn === done.trace.turnId);
}

/** What waits for a decision in a session, as far as the caller may know it. */
async function openDecisions({ inbox, members }: ServerParts, request: FastifyRequest, id: string) {
  if (!inbox) return [];
  const { items } = await inbox.list({
    status: "open",
    tenant: viewOf(request),
    knownTo: members.listedFor(request.principal!),
    session: keyOfSession(request, id),
    limit: 50,
  });

  return items.map((item) => asAnsweredBy(item, request.principal!));
}

function notOpen(id: string): DureError {
  return new DureError("ESCALATION_UNKNOWN", `No decision ${id} is open in this thread.`, {
    class: "not-found",
    hint: "It was decided already, or waits elsewhere: GET /v1/escalations.",
  });
}

// --- tell run

interface RunTelling {
  readonly run: RunEvents;
  readonly stream: SseStream;
  readonly clock: Clock;
  /** Decisions that a turn which ends like this waits for. */
  readonly waits: (done: Done) => Promise<readonly AskedDecision[]>;
}

/** Sends a turn until its end or the reader's. What ends the reader leaves the turn alone. */
async function tellRun(told: AsyncIterable<TurnFrame>, telling: RunTelling): Promise<void> {
  const { run, stream, clock, waits } = telling;
  const batch = new TokenBatch(clock, (text) => stream.write(run.say(text)));

  try {
    for await (const { event } of told) {
      if (stream.ended) return;

      if (event.type === "LLM_TOKEN") batch.add(event.data);
      else {
        batch.flush();
        const isOver = event.type === "DONE";
        stream.write(isOver ? run.end(event.data, await waits(event.data)) : between(event, run));
        if (isOver) return;
      }

      if (stream.isFull) await stream.roomAgain();
    }
  } finally {
    batch.flush();
  }
}

function between(event: Exclude<TurnEvent, { type: "DONE" }>, run: RunEvents): string {
  if (event.type === "AGENT_START") return run.agentBegins(event.data.agent);
  if (event.type === "AGENT_DONE") return run.agentEnds(event.data);
  if (event.type === "TOOL_START") return run.toolBegins(event.data);
  if (event.type === "TOOL_DONE") return run.toolEnds(event.data);
  if (event.type === "TASK_PROGRESS") return run.progress(event.data);

  return "";
}
