/**
 * The model provider of a chaos run, a process of its own, on the wire of OpenAI's Chat
 * Completions. It answers what the agents of `team/` ask, counts calls by the nonce in the newest
 * message, and fails when it was told to.
 *
 * - `POST /life/{life}/v1/chat/completions`: the address tells which life of which server asks
 * - `POST /faults {kind, times}`: what the next calls suffer · `GET /report`: every call
 */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { answerOf, nonceOf } from "./words.ts";
import { pause, say, sendJson, serveDouble } from "./double.ts";

export type ProviderFault = "busy" | "down" | "cut" | "slow";

/**
 * One call as the provider saw it. Times: milliseconds since the epoch, its own clock, which is
 * the machine's.
 */
export interface ModelCall {
  readonly number: number;
  readonly life: string;
  readonly agent: string;
  /** What the call is about; empty where the prompt names nothing. */
  readonly nonce: string;
  readonly startedAt: number;
  /** The whole answer has left for the process that asked. */
  finishedAt?: number;
  fault?: ProviderFault;
}

const calls: ModelCall[] = [];
const faults: ProviderFault[] = [];

await serveDouble(async (request, response, body) => {
  const path = request.url ?? "";
  if (path === "/report") return sendJson(response, 200, calls);
  if (path === "/faults") {
    const { kind, times } = JSON.parse(body) as { kind: ProviderFault; times: number };
    for (let count = 0; count < times; count += 1) faults.push(kind);
    return sendJson(response, 201, {});
  }
  const life = /^\/life\/([\d.]+)\/v1\/chat\/completions$/.exec(path)?.[1];
  if (life === undefined) {
    return sendJson(response, 404, {
      error: { message: `nothing at ${path}`, type: "invalid_request_error" },
    });
  }
  await answer(life, JSON.parse(body) as ChatRequest, response);
});

interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

async function answer(life: string, request: ChatRequest, response: ServerResponse): Promise<void> {
  const system = request.messages
    .filter(({ role }) => role === "system" || role === "developer")
    .map(({ content }) => textOf(content))
    .join("\n");
  const newest = textOf(request.messages.findLast(({ role }) => role === "user")?.content);
  const agent = /agent:([a-z]+)/.exec(system)?.[1] ?? "unknown";
  const call: ModelCall = {
    number: calls.length + 1,
    life,
    agent,
    nonce: nonceOf(newest),
    startedAt: Date.now(),
  };
  const fault = faults.shift();
  if (fault) call.fault = fault;
  calls.push(call);
  const name = `call ${call.number} of ${agent} about ${call.nonce} from life ${life}`;
  say(`${name} begins${fault ? `; fault ${fault}` : ""}`);
  if (fault === "busy") {
    return sendJson(
      response,
      429,
      { error: { message: "too many requests", type: "rate_limit_error" } },
      { "retry-after": "1" },
    );
  }
  if (fault === "down") {
    return sendJson(response, 503, { error: { message: "overloaded", type: "server_error" } });
  }

  const text = answerOf(agent, newest);
  const isWhole =
    request.stream === true
      ? await streamed(text, response, fault)
      : await whole(text, response, fault);
  if (isWhole) call.finishedAt = Date.now();
  say(`${name} ${isWhole ? "finished" : "was cut"}`);
}

/** Gives whether all of it left. */
async function streamed(
  text: string,
  response: ServerResponse,
  fault: ProviderFault | undefined,
): Promise<boolean> {
  const pieces = text.match(/.{1,12}/gsu) ?? [];
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [index, piece] of pieces.entries()) {
    if (response.destroyed) return false;
    response.write(
      chunk({
        choices: [{ index: 0, delta: { role: "assistant", content: piece }, finish_reason: null }],
      }),
    );
    await pause(fault === "slow" ? 400 : 10);
    if (fault === "cut" && index + 1 >= pieces.length / 2) return response.destroy() && false;
  }
  if (response.destroyed) return false;
  response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
  response.write(
    chunk({
      choices: [],
      usage: {
        prompt_tokens: 20,
        completion_tokens: pieces.length,
        total_tokens: 20 + pieces.length,
      },
    }),
  );
  return ended(response, "data: [DONE]\n\n");
}

async function whole(
  text: string,
  response: ServerResponse,
  fault: ProviderFault | undefined,
): Promise<boolean> {
  await pause(fault === "slow" ? 2_000 : 30);
  if (fault === "cut") return response.destroy() && false;
  response.writeHead(200, { "content-type": "application/json" });
  return ended(
    response,
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1_700_000_000,
      model: "chaos-1",
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: { prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 },
    }),
  );
}

async function ended(response: ServerResponse, last: string): Promise<boolean> {
  if (response.destroyed) return false;
  response.end(last);
  if (!response.writableFinished) {
    await Promise.race([once(response, "finish"), once(response, "close")]);
  }
  return response.writableFinished;
}

function chunk(data: object): string {
  return (
    "data: " +
    `${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "chaos-1", ...data })}\n` +
    `\n`
  );
}

/** A text, or parts of which the text counts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as { text?: string }[]).map(({ text }) => text ?? "").join("");
}
