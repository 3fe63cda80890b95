import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { keyOf, openPeerOwners, ownerOfListener, PeerOwners, readRow } from "./peer-owner.ts";
import { boundMs } from "../kernel/test-bounds.ts";

const isLinuxRoot = process.platform === "linux" && process.getuid?.() === 0;
/** Debian's `nobody`: not the user of these tests. */
const OTHER_USER = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/** The server's end of a connection that `dial` makes. */
async function accepted(server: Server, dial: (port: number) => void): Promise<Socket> {
  const connection = once(server, "connection");
  dial((server.address() as AddressInfo).port);
  return (await connection)[0] as Socket;
}

async function listening(host: string): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }).listen(0, host);
  await once(server, "listening");
  return server;
}

describe("a row of the table of connections", () => {
  const line =
    "  12: 0100007F:A2C4 0100007F:11F8 01 00000000:00000000 02:000AB7D4 00000000  1000        0 " +
    "81234 2 000000007d30ac5d 20 4 30 10 -1";
  const line6 =
    "   3: 0000000000000000FFFF00000100007F:A2C4 0000000000000000FFFF00000100007F:11F8 01 " +
    "00000000:00000000 00:00000000 00000000 65534        0 99 1 0000000000000000 20 4 0 10 -1";

  test("gives both ends, the owner and the inode; IPv4 within IPv6 reads as IPv4", () => {
    const ends = { local: "0100007F:A2C4", remote: "0100007F:11F8", state: "01" };

    expect(readRow(line)).toEqual({ ...ends, uid: 1_000, inode: 81_234 });
    expect(readRow(line6)).toEqual({ ...ends, uid: 65_534, inode: 99 });
  });

  test.for([
    "",
    "  sl  local_address rem_address   st",
    line.slice(0, 60),
    line.replace("1000", "-1"),
    line.replace("0100007F:A2C4", "0100007G:A2C4"),
    "x".repeat(10_000),
  ])("%s is none", (text) => {
    expect(readRow(text)).toBeUndefined();
  });

  test.for([
    ["127.0.0.1", "127.0.0.1", "0100007F:0050 0100007F:11F8"],
    ["::ffff:127.0.0.1", "127.0.0.1", "0100007F:0050 0100007F:11F8"],
    ["::1", "::1", "00000000000000000000000001000000:0050 00000000000000000000000001000000:11F8"],
    [
      "fe80::1%eth0",
      "::1",
      "000080FE000000000000000001000000:0050 00000000000000000000000001000000:11F8",
    ],
    ["nonsense", "127.0.0.1", undefined],
    ["127.0.0.256", "127.0.0.1", undefined],
  ] as const)(
    "a connection from %s to %s is looked for as %s",
    ([remoteAddress, localAddress, key]) => {
      expect(keyOf({ remoteAddress, remotePort: 80, localAddress, localPort: 4_600 })).toBe(key);
    },
  );
});

describe.runIf(process.platform === "linux")("whose connection it is", () => {
  test.for([
    ["127.0.0.1", "127.0.0.1"],
    ["::1", "::1"],
    ["::", "127.0.0.1"],
    ["::", "::ffff:127.0.0.1"],
  ] as const)("listening on %s, a connection to %s of our own is ours", async ([host, to]) => {
    const owners = (await openPeerOwners())!;
    await using server = await listening(host);

    const socket = await accepted(server, (port) => connect(port, to).once("close", () => {}));

    expect(await owners.of(socket)).toBe("same-user");
    socket.destroy();
  });

  test("for another uid the same connection is another user's, also where root asks for it", async () => {
    await using server = await listening("127.0.0.1");
    const socket = await accepted(server, (port) => connect(port, "127.0.0.1"));

    expect(await new PeerOwners({ uid: process.getuid!() + 1 }).of(socket)).toBe("other-user");
    socket.destroy();
  });

  test("a connection that its program has closed has no owner, though the system names root for it", async () => {
    await using server = await listening("127.0.0.1");
    const client = { socket: undefined as Socket | undefined };
    const socket = await accepted(server, (port) => (client.socket = connect(port, "127.0.0.1")));
    await once(client.socket!, "connect").catch(() => {});
    const ended = once(socket.resume(), "end");
    client.socket!.end();
    client.socket!.destroySoon();
    await ended;

    expect(await new PeerOwners({ uid: 0 }).of(socket)).toBe("unknown");
    socket.destroy();
  });

  test("a hundred that ask at once share one look, and each has its answer", async () => {
    const owners = (await openPeerOwners())!;
    await using server = await listening("127.0.0.1");
    const sockets: Socket[] = [];
    for (let index = 0; index < 100; index++) {
      sockets.push(await accepted(server, (port) => connect(port, "127.0.0.1")));
    }

    const begunAt = performance.now();
    const found = await Promise.all(sockets.map((socket) => owners.of(socket)));

    expect(new Set(found)).toEqual(new Set(["same-user"]));
    expect(performance.now() - begunAt).toBeLessThan(boundMs(1_000));
    for (const socket of sockets) socket.destroy();
  });

  test("is found while the loop is busy and the table long", async () => {
    const owners = (await openPeerOwners())!;
    await using server = await listening("127.0.0.1");
    const sockets: Socket[] = [];
    for (let index = 0; index < 200; index++) {
      sockets.push(await accepted(server, (port) => connect(port, "127.0.0.1")));
    }
    const last = sockets.at(-1)!;
    let turns = 0;
    let isBusy = true;
    const beBusy = (): void => {
      const until = performance.now() + 30;
      while (performance.now() < until);
      turns += 1;
      if (isBusy) setImmediate(beBusy);
    };
    beBusy();

    const owner = await owners.of(last);
    isBusy = false;

    // A table of 400 rows has 15 pages; a look that came back to the loop for each took as many turns.
    expect({ owner, isSoon: turns < 10 }).toEqual({ owner: "same-user", isSoon: true });
    for (const socket of sockets) socket.destroy();
  });

  test("is asked once per connection", async () => {
    const owners = (await openPeerOwners())!;
    await using server = await listening("127.0.0.1");
    const socket = await accepted(server, (port) => connect(port, "127.0.0.1"));

    expect(owners.of(socket)).toBe(owners.of(socket));
    socket.destroy();
  });

  test("a port of our own is ours; one where nothing listens is unknown", async () => {
    const server = await listening("127.0.0.1");
    const { port } = server.address() as AddressInfo;
    const own = await ownerOfListener(port);
    server.close();
    await once(server, "close");

    expect([own, await ownerOfListener(port)]).toEqual(["same-user", "unknown"]);
  });
});

describe.runIf(isLinuxRoot)("another user of the machine", () => {
  const script = (code: string): ReturnType<typeof spawn> =>
    spawn("setpriv", [...OTHER_USER, "/usr/bin/env", "bash", "-c", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });

  test("is told apart, also when root asks", async () => {
    const owners = (await openPeerOwners())!;
    await using server = await listening("127.0.0.1");
    const socket = await accepted(
      server,
      (port) => void script(`exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3`),
    );

    expect(await owners.of(socket)).toBe("other-user");
    socket.destroy();
  });

  test("that closes at once is not taken for root", async () => {
    const owners = (await openPeerOwners())!;
    await using server = await listening("127.0.0.1");
    const socket = await accepted(
      server,
      (port) => void script(`exec 3<>/dev/tcp/127.0.0.1/${port}; echo hello >&3; exec 3>&-`),
    );
    await once(socket.resume(), "end");

    expect(await owners.of(socket)).toBe("unknown");
    socket.destroy();
  });
});
