import { Agent, request } from "node:http";

/**
 * Reads streamed turns over connections that stay. It only looks for the first token and the end,
 * so that it costs little.
 */
export class StreamClient {
  readonly #agent: Agent;
  readonly #url: URL;

  constructor(serverUrl: string, connections: number) {
    this.#url = new URL("/v1/agent/chat/stream", serverUrl);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** One turn to its `DONE`; milliseconds from the request to the first token. */
  turn(session: string, message: string): Promise<{ firstTokenMs: number }> {
    const body = JSON.stringify({ session_id: session, message });
    const startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const asked = request(
        this.#url,
        {
          agent: this.#agent,
          method: "POST",
          headers: {
            "content-type": "application/json",
            "content-length": Buffer.byteLength(body),
          },
        },
        (response) => {
          let firstTokenMs = Number.NaN;
          let text = "";
          response.setEncoding("utf8");
          response.on("data", (piece: string) => {
            text += piece;
            if (Number.isNaN(firstTokenMs) && text.includes("event: LLM_TOKEN")) {
              firstTokenMs = performance.now() - startedAt;
            }
          });
          response.on("end", () => {
            if (
              response.statusCode !== 200 ||
              !text.includes("event: DONE") ||
              text.includes('"error":{')
            ) {
              reject(
                new Error(
                  `the stream answered ${response.statusCode} and ended with: ${text.slice(-300)}`,
                ),
              );
            } else resolve({ firstTokenMs });
          });
          response.on("error", reject);
        },
      );
      asked.on("error", reject);
      asked.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
