import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerTransfer } from "../../../../examples/transfer/offline.ts";
import { agentAsked } from "../../../../examples/transfer/prompts.ts";
import { systemClock } from "../../src/kernel/clock.ts";

/** One call as the provider saw it. */
export interface SeenCall {
  /** From the prompt: `agent:slots` is `slots`. */
  readonly agent: string;
  /** The whole answer has left. */
  finished: boolean;
}

/**
 * Where a call is held until its client is gone: before the first byte, or when half of the text
 * has left and was stored.
 */
export type HoldPlace = "before" | "middle";

/**
 * A model provider that speaks OpenAI's Chat Completions as a stream, counts what it is asked, and
 * can hold a call for ever, as a slow model does when its caller is killed. It answers what the
 * service of this test asks and refuses everything else.
 */
export class ModelProvider implements AsyncDisposable {
  readonly url: string;
  /** Since the last `reset`. */
  calls: SeenCall[] = [];
  readonly #server: Server;
  #hold:
    | { readonly agent: string; readonly place: HoldPlace; readonly reached: () => void }
    | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  }

  static async start(): Promise<ModelProvider> {
    // A client that stood still finds its connection as it was.
    const server = createServer({ keepAliveTimeout: 60_000 });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const provider = new ModelProvider(server);
    server.on("request", (request, response) => {
      provider
        .#answer(request, response)
        .catch((error: unknown) => response.destroy(error as Error));
    });
    return provider;
  }

  /** Holds the next call of `agent`; resolves when it is held. */
  hold(agent: string, place: HoldPlace): Promise<void> {
    return new Promise((resolve) => {
      this.#hold = { agent, place, reached: resolve };
    });
  }

  reset(): void {
    this.calls = [];
    this.#hold = undefined;
  }

  /** How often each agent was asked, such as `intent 1, slots 2`. */
  get counts(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { agent } of this.calls) counts[agent] = (counts[agent] ?? 0) + 1;
    return counts;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(request)) as ChatRequest;
    const agent = agentOf(systemOf(body));
    if (request.url !== "/v1/chat/completions" || body.stream !== true || agent === undefined) {
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: { message: "not expected", type: "invalid_request_error" } }));
      return;
    }
    const call: SeenCall = { agent, finished: false };
    this.calls.push(call);
    const pieces = piecesOf(
      transferAnswer(body) ?? answerOf(agent, textOfContent(body.messages.at(-1)?.content ?? "")),
    );
    const hold = this.#hold?.agent === agent ? this.#hold : undefined;
    if (hold) this.#hold = undefined;
    if (hold?.place === "before") return this.#until(hold.reached, response);

    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [index, piece] of pieces.entries()) {
      response.write(
        chunk({
          choices: [
            { index: 0, delta: { role: "assistant", content: piece }, finish_reason: null },
          ],
        }),
      );
      // Slow enough that the text is stored in more than one chunk (100 ms each).
      if (agent === "receipt") await systemClock.sleep(15);
      if (hold && index + 1 >= pieces.length / 2) return this.#until(hold.reached, response);
    }
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
    response.end("data: [DONE]\n\n");
    call.finished = true;
  }

  async #until(reached: () => void, response: ServerResponse): Promise<void> {
    reached();
    if (!response.destroyed) await once(response, "close");
  }
}

/** The words of the receipt, long enough for several chunks. */
export const RECEIPT = Array.from({ length: 12 }, (_, index) => `영수증 ${index + 1}줄`).join(
  " · ",
);

interface ChatRequest {
  readonly stream?: boolean;
  readonly messages: readonly {
    readonly role: string;
    readonly content: string | readonly { readonly text?: string }[];
  }[];
}

function systemOf({ messages }: ChatRequest): string {
  return messages
    .filter(({ role }) => role === "system" || role === "developer")
    .map(({ content }) => textOfContent(content))
    .join("\n");
}

function agentOf(system: string): string | undefined {
  return agentAsked(system) ?? /^agent:(\w+)/.exec(system)?.[1];
}

/** What the agents of the example `transfer` are answered; undefined when none of them asks. */
function transferAnswer(request: ChatRequest): string | undefined {
  const messages = request.messages
    .filter(({ role }) => role === "user")
    .map(({ content }) => ({ role: "user" as const, text: textOfContent(content) }));
  const answer = answerTransfer({ system: systemOf(request), messages });
  return answer && JSON.stringify(answer.object);
}

/** A text, or parts of which the text counts. */
function textOfContent(content: string | readonly { readonly text?: string }[]): string {
  return typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");
}

function answerOf(agent: string, message: string): string {
  switch (agent) {
    case "intent":
      return JSON.stringify({ scenario: message.includes("보내") ? "TRANSFER" : "TALK" });
    case "slots":
      return JSON.stringify({ to: "홍길동", amount: 50_000, now: message.includes("바로") });
    case "receipt":
      return RECEIPT;
    default:
      return "안녕하세요.";
  }
}

function piecesOf(text: string): string[] {
  return text.match(/.{1,8}/gsu) ?? [];
}

function chunk(data: object): string {
  return (
    "data: " +
    `${JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_700_000_000, model: "crash-1", ...data })}\n` +
    `\n`
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const bytes of request.setEncoding("utf8")) text += String(bytes);
  return text;
}
