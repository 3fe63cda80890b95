import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** One address that leads to the server that is named now, as a load balancer does. */
export interface Switch extends AsyncDisposable {
  readonly url: string;
  /** New connections go there; `undefined`: they are refused. */
  leadTo(url: string | undefined): void;
}

export async function openSwitch(): Promise<Switch> {
  let target: URL | undefined;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    if (!target) return void client.destroy();
    const there = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [client, there],
      [there, client],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        open.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leadTo: (url) => void (target = url === undefined ? undefined : new URL(url)),
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
