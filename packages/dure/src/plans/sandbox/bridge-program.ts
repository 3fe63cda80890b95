/**
 * Runs inside, by Node.js and nothing else: brings connections to a port of the process's own
 * loopback to dure's egress proxy. Its arguments: path of the egress proxy's socket, port of the proxy, and ports
 * that stand for the same port of the machine's loopback, which the door is asked for. Writes `up`
 * to descriptor 3 once it listens everywhere, and closes it.
 */
export const BRIDGE_PROGRAM = String.raw`
const fs = require("node:fs");
const net = require("node:net");
const [socket, proxyPort, ...named] = process.argv.slice(1);

function tie(one, other) {
  for (const [from, to] of [[one, other], [other, one]]) {
    from.pipe(to);
    from.on("error", () => to.destroy());
    from.on("close", () => to.end());
  }
}

function toDoor(client) {
  tie(client, net.connect({ path: socket, allowHalfOpen: true }));
}

function toPort(port, client) {
  const door = net.connect({ path: socket, allowHalfOpen: true });
  let head = Buffer.alloc(0);
  client.on("error", () => door.destroy());
  door.on("error", () => client.destroy());
  door.on("end", () => client.destroy());
  door.write("CONNECT 127.0.0.1:" + port + " HTTP/1.1\r\nHost: 127.0.0.1:" + port + "\r\n\r\n");
  door.on("data", function answer(chunk) {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0 && head.length < 16384) return;
    door.off("data", answer);
    if (end < 0 || !/^HTTP\/1\.1 200 /.test(head.toString("latin1"))) return client.destroy();
    door.removeAllListeners("end");
    client.write(head.subarray(end + 4));
    tie(client, door);
  });
}

function listen(port, host, onClient) {
  return new Promise((resolve, reject) => {
    net.createServer({ allowHalfOpen: true }, onClient).on("error", reject).listen(port, host, resolve);
  });
}

async function listenAll() {
  await listen(Number(proxyPort), "127.0.0.1", toDoor);
  for (const port of named) {
    await listen(Number(port), "127.0.0.1", (client) => toPort(port, client));
    await listen(Number(port), "::1", (client) => toPort(port, client)).catch(() => {});
  }
  fs.writeSync(3, "up");
  fs.closeSync(3);
}

listenAll().catch(() => process.exit(1));
`;
