import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A request as it came over the wire. */
export interface RawRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * A provider of which every byte is the test's: for answers that a well-meaning mock cannot give.
 */
export class RawProvider implements AsyncDisposable {
  /** Without a path. */
  readonly url: string;
  /** Requests so far. */
  requests = 0;
  readonly #close: () => Promise<void>;

  private constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /**
   * @param answer gets each response, unanswered, the number of its request, from 1, and what was
   * asked.
   */
  static async start(
    answer: (response: ServerResponse, request: number, asked: RawRequest) => void,
  ): Promise<RawProvider> {
    const server = createServer((request, response) => {
      const number = ++provider.requests;
      text(request).then(
        (body) =>
          answer(response, number, { path: request.url ?? "", headers: request.headers, body }),
        () => response.destroy(),
      );
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const provider = new RawProvider(
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      async () => {
        server.closeAllConnections();
        server.close();
        await once(server, "close");
      },
    );
    return provider;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#close();
  }
}

/** Sends server-sent events in the envelope of either wire format; strings go as they are. */
export function sendFrames(response: ServerResponse, frames: readonly (object | string)[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const frame of frames) {
    if (typeof frame === "string") response.write(frame);
    else if ("type" in frame) {
      response.write(`event: ${String(frame.type)}\ndata: ${JSON.stringify(frame)}\n\n`);
    } else {
      response.write(
        "data: " +
          `${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", ...frame })}\n` +
          `\n`,
      );
    }
  }
  response.end();
}

/** The first frame of every answer of Anthropic's. */
export const MESSAGE_START = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 3, output_tokens: 0 },
  },
};
