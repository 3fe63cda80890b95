import { Agent, request } from "node:http";

/** How a server is asked for a streamed turn, and how its answer is known. */
export interface StreamKind {
  readonly path: string;
  readonly body: (session: string, message: string) => object;
  /** In the text of the stream. */
  readonly firstToken: string;
  readonly end: string;
}

/** The stream of dure itself. */
const NATIVE: StreamKind = {
  path: "/v1/agent/chat/stream",
  body: (session, message) => ({ session_id: session, message }),
  firstToken: "event: LLM_TOKEN",
  end: "event: DONE",
};

/**
 * Reads streamed turns over connections that stay. It only looks for the first token and the end,
 * so that it costs little.
 */
export class StreamClient {
  readonly #agent: Agent;
  readonly #url: URL;
  readonly #kind: StreamKind;

  constructor(serverUrl: string, connections: number, kind: StreamKind = NATIVE) {
    this.#kind = kind;
    this.#url = new URL(kind.path, serverUrl);
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections });
  }

  /** One turn to its `DONE`; milliseconds from the request to the first token. */
  turn(session: string, message: string): Promise<{ firstTokenMs: number }> {
    const { firstToken, end } = this.#kind;
    const body = JSON.stringify(this.#kind.body(session, message));
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
            if (Number.isNaN(firstTokenMs) && text.includes(firstToken)) {
              firstTokenMs = performance.now() - startedAt;
            }
          });
          response.on("end", () => {
            if (response.statusCode !== 200 || !text.includes(end) || text.includes('"error":{')) {
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
