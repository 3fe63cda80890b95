import type { ServerResponse } from "node:http";
import { RawProvider, sendFrames } from "../conversation/raw-provider.ts";

/** What a model says in one round. */
export interface Said {
  readonly text?: string;
  readonly call?: { readonly name: string; readonly args: object };
  /** It fails with this status instead. */
  readonly status?: number;
  /** With which `code` of the provider. */
  readonly code?: string;
}

/** A request to a model. */
export interface Asked {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** What a model answers in a round of a turn, from 0. */
export type Script = (asked: Asked, round: number) => Said;

/** `<model> <round>`, or of which request: before the model answers. `world <path>`: after a tool's deed. */
export type Moment = string | ((asked: Asked) => boolean);

const LEDGER = Array.from({ length: 900 }, (_, line) => `line ${line} of the ledger`).join("\n");

/**
 * Models and tools of a team that is killed. It stands outside of the servers, so it counts what
 * they did in all their lives; and it says when one has come to a moment.
 */
export class World implements AsyncDisposable {
  readonly url: string;
  /** Calls of tools that came, in their order. */
  readonly done: string[] = [];
  /** Requests that a model has answered, or refused. */
  readonly answered: { readonly asked: Asked; readonly said: Said }[] = [];
  script: Script = () => ({ text: "…" });
  readonly #provider: RawProvider;
  #kill: { readonly at: Moment; readonly reached: () => void } | undefined;

  private constructor(provider: RawProvider) {
    this.#provider = provider;
    this.url = provider.url;
  }

  static async start(): Promise<World> {
    const provider = await RawProvider.start((response, _number, { path, body }) => {
      if (path.startsWith("/world/")) world.#act(path.slice("/world/".length), response);
      else world.#answer(JSON.parse(body) as Asked, response);
    });
    const world = new World(provider);
    return world;
  }

  /**
   * The server that comes to this moment next is left without an answer. Resolves when it is reached.
   */
  reached(at: Moment): Promise<void> {
    return new Promise((resolve) => (this.#kill = { at, reached: resolve }));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#provider[Symbol.asyncDispose]();
  }

  #isHeld(name: string, asked?: Asked): boolean {
    if (!this.#kill) return false;
    const { at } = this.#kill;
    const isThere = typeof at === "string" ? at === name : asked !== undefined && at(asked);
    if (!isThere) return false;
    const { reached } = this.#kill;
    this.#kill = undefined;
    reached();
    return true;
  }

  #act(path: string, response: ServerResponse): void {
    if (path === "paid") return sendJson(response, { paid: this.done.some(isPayment) });
    this.done.push(path);
    if (this.#isHeld(`world ${path}`)) return;
    sendJson(response, path === "ledger" ? LEDGER : { receipt: `tx of ${path}` });
  }

  #answer(asked: Asked, response: ServerResponse): void {
    const { messages } = asked;
    const from = messages.findLastIndex(({ role }) => role === "user");
    const round = messages.slice(from).filter(({ role }) => role === "assistant").length;
    if (this.#isHeld(`${asked.model} ${round}`, asked)) return;
    const said = this.script(asked, round);
    this.answered.push({ asked, said });
    if (said.status === undefined) return sendFrames(response, framesOf(said));
    const error = { message: "it fails", type: "error", code: said.code };
    sendJson(response, { error }, said.status);
  }
}

function isPayment(path: string): boolean {
  return path.startsWith("pay/");
}

/** Each answer costs the same. */
const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

function framesOf({ text, call }: Said): readonly (object | string)[] {
  const calls = call && [
    {
      index: 0,
      id: `c_${call.name}`,
      type: "function",
      function: { name: call.name, arguments: JSON.stringify(call.args) },
    },
  ];
  const delta = { role: "assistant", content: text ?? null, tool_calls: calls };
  return [
    { choices: [{ index: 0, delta, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: calls ? "tool_calls" : "stop" }] },
    { choices: [], usage: USAGE },
    "data: [DONE]\n\n",
  ];
}

function sendJson(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
