import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { systemClock } from "../../kernel/clock.ts";
import { callModel, MODELS_PATH, type ModelWay } from "../sandbox/model-way.ts";
import { ModelCalls, type ModelDeskOptions, type SeenCall } from "./model-desk.ts";
import type { ProviderTrouble } from "./provider-trouble.ts";

/** What a provider does with one request. */
export type Answer = (response: ServerResponse, body: string) => void;

/** A provider that answers in this order, the last answer again and again. */
export async function startProvider(answers: readonly Answer[]) {
  const asked: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      asked.push({ url: request.url ?? "", headers: request.headers, body });
      answers[Math.min(asked.length, answers.length) - 1]!(response, body);
    });
  });
  const url = await listening(server);

  return { url, asked };
}

/** dure's door on a port of its own, and what it has seen. */
export async function openDoor(
  base: string,
  more: Partial<ModelDeskOptions> & { readonly keys?: ModelWay["keys"] } = {},
) {
  const way = { name: "mock", base, provider: "mock", keys: more.keys ?? {} };
  const calls = new ModelCalls({
    ways: [way],
    gate: undefined,
    pay: undefined,
    clock: systemClock,
    ...more,
  });
  const seen: SeenCall[] = [];
  const troubles: (ProviderTrouble | undefined)[] = [];
  const refused: string[] = [];
  let usedUp = 0;
  calls.listen({
    began: () => {},
    seen: (call) => void seen.push(call),
    trouble: (trouble) => void troubles.push(trouble),
    usedUp: () => void usedUp++,
  });
  const server = createServer((request, response) => {
    const reach = {
      desk: calls,
      way: async () => ({ open: true as const, address: "127.0.0.1" }),
      keep: <S>(socket: S): S => socket,
      refused: (because: string) => void refused.push(because),
    };
    void callModel(reach, request, response);
  });
  const at = await listening(server);

  return {
    url: `${at}${MODELS_PATH}mock`,
    origin: at,
    calls,
    seen,
    troubles,
    refused,
    get usedUp() {
      return usedUp;
    },
  };
}

async function listening(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });

  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Refuses, as providers do. */
export function refusing(status: number, headers: Record<string, string> = {}): Answer {
  return (response) => {
    const error = { type: "error", error: { type: "api_error", message: `it is ${status}` } };
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(error));
  };
}

export function streaming(...all: readonly object[]): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const one of all) response.write(eventOf(one));
    response.end();
  };
}

/** Breaks off after these events. */
export function cutting(...all: readonly object[]): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(all.map(eventOf).join(""), () => setImmediate(() => response.destroy()));
  };
}

function eventOf(one: object): string {
  const type = "type" in one ? `event: ${String(one.type)}\n` : "";
  return `${type}data: ${JSON.stringify(one)}\n\n`;
}
