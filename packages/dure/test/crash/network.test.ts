import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { expect, test } from "vitest";
import { expectTransferred, expectWholeStream } from "./checks.ts";
import { ServerProcess, within } from "./server-process.ts";
import { World } from "./world.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";

/**
 * The way from one process to its database, lost in the two ways in which networks lose it. Source:
 * docs/spec/platform §8.
 */
const TEXT = "홍길동에게 5만원 바로 보내줘";

/** Both wait most of their time, so they do it side by side, each in a world of its own. */
test.concurrent(
  "a process whose network is cut is taken over, steps down when it is back, and repeats nothing",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using world = await World.start();
    await using network = await Network.start(world.proxy.url);
    world.bank.addFaults({ kind: "ignore_keys", times: "always" });
    await using cutOff = serveThrough(world, network);
    await using other = world.serve();
    await Promise.all([cutOff.url, other.url]);
    const old = await cutOff.url;
    let url = cutOff.url;
    const session = world.newSession();
    world.bank.addFaults({ kind: "delay", when: "before", ms: 1_500 });
    const reader = world.send({ session, text: TEXT, key: "all" }, () => url);
    await world.until(
      "the bank was not called",
      () => world.bank.faults().every(({ kind }) => kind !== "delay"),
      () => cutOff.log,
    );

    network.silence();
    url = other.url;
    reader.reconnect();
    const done = await within(reader.done, "the other process did not end the turn", () => [
      ...cutOff.log,
      ...other.log,
    ]);
    const stored = await world.storedEvents(reader.turnId!);
    const health = await Promise.all(
      ["/healthz", "/readyz"].map(async (path) => (await fetch(old + path)).status),
    );
    network.heal();
    const code = await cutOff.exit;

    expect(health).toEqual([200, 503]);
    expect(code).toBe(75);
    await expectTransferred(world, session, reader.turnId!, done);
    expect(await world.storedEvents(reader.turnId!)).toEqual(stored);
    await expectWholeStream(world, reader);
    expect(world.provider.counts).toEqual({ intent: 1, slots: 1, receipt: 1 });
  },
);

test.concurrent(
  "a process that loses its database says that it is not ready, comes back by itself and loses nothing",
  { ...FULL, timeout: 240_000 },
  async () => {
    await using world = await World.start();
    await using network = await Network.start(world.proxy.url);
    await using server = serveThrough(world, network);
    const url = await server.url;
    const session = world.newSession();
    const status = async (path: string): Promise<number> => (await fetch(url + path)).status;
    world.bank.addFaults({ kind: "delay", when: "before", ms: 1_000 });
    const reader = world.send({ session, text: TEXT, key: "all" }, () => server.url);
    await world.until(
      "the bank was not called",
      () => world.bank.faults().every(({ kind }) => kind !== "delay"),
      () => server.log,
    );

    network.unplug();
    await world.until(
      "it went on saying that it is ready",
      async () => (await status("/readyz")) === 503,
      () => server.log,
    );
    const alive = await status("/healthz");
    const meanwhile = world.newSession();
    const second = world.send({ session: meanwhile, text: TEXT, key: "all" }, () => server.url);
    network.heal();
    const done = await within(reader.done, "the turn did not end", () => server.log);
    const secondDone = await within(
      second.done,
      "what was said meanwhile was not answered",
      () => server.log,
    );
    await world.until(
      "it did not get ready again",
      async () => (await status("/readyz")) === 200,
      () => server.log,
    );

    expect(alive).toBe(200);
    await expectTransferred(world, session, reader.turnId!, done);
    await expectTransferred(world, meanwhile, second.turnId!, secondDone);
    expect(world.provider.counts).toEqual({ intent: 2, slots: 2, receipt: 2 });
    await expectWholeStream(world, reader);
    expect(await world.turnsOf(session)).toEqual([{ id: reader.turnId, status: "done" }]);
    expect(server.isOver).toBe(false);
  },
);

function serveThrough(world: World, network: Network): ServerProcess {
  return ServerProcess.spawn({
    DATABASE_URL: network.url,
    OPENAI_BASE_URL: world.provider.url,
    CRASH_BANK_URL: world.bank.url,
    CRASH_HOOK_URL: world.hooks.url,
  });
}

/**
 * A line between one client and a server that can fall silent, as a cut cable does, or refuse, as a
 * host that is down.
 */
class Network implements AsyncDisposable {
  readonly url: string;
  readonly #listener: Server;
  readonly #sockets = new Set<Socket>();
  #state: "whole" | "silent" | "unplugged" = "whole";

  private constructor(target: URL, listener: Server) {
    this.#listener = listener;
    listener.on("connection", (client: Socket) =>
      this.#open(client, { host: target.hostname, port: Number(target.port) }),
    );
    const url = new URL(target);
    url.port = String((listener.address() as AddressInfo).port);
    this.url = url.href;
  }

  static async start(target: string): Promise<Network> {
    const listener = createServer({ noDelay: true }).listen(0, "127.0.0.1");
    await once(listener, "listening");
    return new Network(new URL(target), listener);
  }

  /** Nothing passes any more, and neither side is told. */
  silence(): void {
    this.#state = "silent";
    for (const socket of this.#sockets) socket.pause();
  }

  /** Every connection breaks, and none is made. */
  unplug(): void {
    this.#state = "unplugged";
    for (const socket of this.#sockets) socket.destroy();
  }

  /** What was on its way arrives. */
  heal(): void {
    this.#state = "whole";
    for (const socket of this.#sockets) socket.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
    await once(this.#listener, "close");
  }

  #open(client: Socket, target: { host: string; port: number }): void {
    if (this.#state === "unplugged") return void client.destroy();
    const server = connect({ ...target, noDelay: true });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (bytes: Buffer) => void to.write(bytes));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#state === "silent") from.pause();
    }
  }
}
