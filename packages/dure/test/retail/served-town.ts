import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { testDatabaseUrl } from "../../src/durable/test-database.ts";
import { onlyDefined, type Json } from "../../src/kernel/json.ts";
import { ServerProcess } from "../crash/server-process.ts";
import { TurnReader } from "../crash/turn-reader.ts";
import type { Answer } from "./customer.ts";
import type { Host, Message } from "./play.ts";
import type { DeskCall } from "./service.ts";
import { Kills, Life } from "./steps.ts";
import { Town } from "./town.ts";

const TEAM = fileURLToPath(new URL("team", import.meta.url));

/** What the process of the server calls: a tool of the shop, or a step of its model. */
type Call = DeskCall & { readonly key: string };

/** The shops behind HTTP, and a real server that gets SIGKILL at steps of its play. */
export class ServedTown implements Host, AsyncDisposable {
  kills = new Kills({ every: 1, first: 1 });
  readonly town = new Town();
  readonly #stack: AsyncDisposableStack;
  readonly #environment: Readonly<Record<string, string>>;
  #life = new Life(this);
  #server: ServerProcess;

  private constructor(stack: AsyncDisposableStack, environment: Record<string, string>) {
    this.#stack = stack;
    this.#environment = environment;
    this.#server = ServerProcess.spawn(environment, TEAM);
  }

  static async open(): Promise<ServedTown> {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(await testDatabaseUrl());
    const desk = createServer((request, response) => {
      served.#answer(request, response).catch(() => response.destroy());
    });
    desk.listen(0, "127.0.0.1");
    await once(desk, "listening");
    stack.defer(async () => {
      desk.closeAllConnections();
      desk.close();
    });
    const { port } = desk.address() as AddressInfo;
    const environment = { DATABASE_URL: database.url, RETAIL_DESK: `http://127.0.0.1:${port}` };
    const served: ServedTown = new ServedTown(stack.move(), environment);
    await served.#server.url;
    return served;
  }

  async kill(): Promise<void> {
    this.#life.isOver = true;
    const dead = this.#server;
    dead.signal("SIGKILL");
    this.#life = new Life(this);
    this.#server = ServerProcess.spawn(this.#environment, TEAM);
    await dead.exit;
    // It may take the work over and be killed again before it is ready.
    await this.#server.url.catch(() => undefined);
  }

  async say({ session, text: said, key, confirmId }: Message) {
    const message = { session, text: said, key, service: "retail", ...onlyDefined({ confirmId }) };
    const reader = new TurnReader(message, () => this.#server.url);
    if (this.kills.isDue("accept", key)) await this.kill();
    const done = (await reader.done) as unknown as Answer;
    return { turn: reader.turnId!, done };
  }

  /** A request of a process that dies over it gets no answer. */
  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = JSON.parse(await text(request)) as Call;
    const desk = this.#life.deskOf(this.town);
    const works: Readonly<Record<string, () => Promise<Json>>> = {
      "/read": () => desk.read(call),
      "/write": () => desk.write(call),
      "/find": () => desk.find(call),
      "/model": () => this.#life.around("model", call.key, () => null),
    };
    response.end(JSON.stringify(await works[request.url!]!()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
    await this.#stack.disposeAsync();
  }
}
