import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { onTestFinished, test, expect } from "vitest";
import { Forwarder } from "./forwarder.ts";

async function echo(): Promise<{ readonly forwarder: Forwarder; readonly served: Socket[] }> {
  const served: Socket[] = [];
  const server = createServer((socket) => {
    served.push(socket);
    socket.on("error", () => {}).pipe(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const forwarder = await Forwarder.start("127.0.0.1", {
    host: "127.0.0.1",
    port: (server.address() as AddressInfo).port,
  });
  onTestFinished(async () => {
    await forwarder[Symbol.asyncDispose]();
    server.close();
  });
  return { forwarder, served };
}

async function said(socket: Socket, text: string): Promise<string> {
  socket.write(text);
  const [bytes] = (await once(socket, "data")) as [Buffer];
  return bytes.toString();
}

test("a half-open connection is lost to the far side and stands, silent, on the near side", async () => {
  const { forwarder, served } = await echo();
  const client = connect(forwarder.port, forwarder.host);
  expect(await said(client, "one")).toBe("one");
  const heard: string[] = [];
  client.on("data", (bytes) => heard.push(bytes.toString()));

  const farEnd = once(served[0]!, "close");
  forwarder.fallSilent();
  await farEnd;
  client.write("two");
  const late = connect(forwarder.port, forwarder.host);
  await once(late, "connect");

  expect([heard, client.destroyed, late.destroyed]).toEqual([[], false, false]);
  const ends = Promise.all([once(client, "close"), once(late, "close")]);
  forwarder.speakAgain();
  await ends;
  const next = connect(forwarder.port, forwarder.host);
  expect(await said(next, "three")).toBe("three");
  next.destroy();
});

test("a cut closes both sides of every connection", async () => {
  const { forwarder, served } = await echo();
  const client = connect(forwarder.port, forwarder.host);
  await said(client, "one");

  const ends = Promise.all([once(client, "close"), once(served[0]!, "close")]);

  expect(forwarder.cut()).toBe(1);
  await ends;
});
