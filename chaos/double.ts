import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Largest body that a double reads, bytes; a prompt of this load is far below. */
const MAX_BYTES = 1024 * 1024;

export type Answer = (
  request: IncomingMessage,
  response: ServerResponse,
  body: string,
) => Promise<void>;

/**
 * Serves as a process of its own: prints `{"url"}` first, then one line per thing that happened,
 * and ends with its stdin, so that it never outlives the harness.
 */
export async function serveDouble(answer: Answer): Promise<void> {
  const server = createServer((request, response) => {
    response.on("error", () => {});
    bodyOf(request)
      .then((body) => answer(request, response, body))
      .catch((error: unknown) => {
        say(`could not answer ${request.url}: ${String(error)}`);
        response.destroy();
      });
  });
  server.keepAliveTimeout = 30_000;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  say(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
  process.stdin.resume().once("close", () => process.exit(0));
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const bytes of request.setEncoding("utf8")) {
    text += String(bytes);
    if (text.length > MAX_BYTES) throw new Error("the body is too large");
  }
  return text;
}
