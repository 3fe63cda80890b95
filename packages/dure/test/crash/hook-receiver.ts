import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * Where the hooks of the test's service arrive: counts deliveries by their key, and can hold one
 * without an answer.
 */
export class HookReceiver implements AsyncDisposable {
  readonly url: string;
  /** Keys in the order of their arrival since the last `reset`. */
  deliveries: string[] = [];
  readonly #server: Server;
  #hold: (() => void) | undefined;

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    server.on("request", (request, response: ServerResponse) => {
      request.resume();
      this.deliveries.push(String(request.headers["idempotency-key"]));
      const hold = this.#hold;
      this.#hold = undefined;
      if (hold) hold();
      else response.end("ok");
    });
  }

  static async start(): Promise<HookReceiver> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new HookReceiver(server);
  }

  /** The next delivery arrives and is never answered; resolves when it has arrived. */
  hold(): Promise<void> {
    return new Promise((resolve) => {
      this.#hold = resolve;
    });
  }

  reset(): void {
    this.deliveries = [];
    this.#hold = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
