// Tries to get from inside of a worker at what it must not reach. Its argument: a file or a text of
// JSON with what there is. Prints one line.
import { createSocket } from "node:dgram";
import { existsSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";

const {
  name,
  tcp = [],
  sockets = [],
  files = [],
  udp,
  proxied = [],
} = JSON.parse(
  existsSync(process.argv[2]) ? readFileSync(process.argv[2], "utf8") : process.argv[2],
);
const reached = [];
const WAIT_MS = 3_000;

/**
 * Whether PostgreSQL may be spoken to with TLS; it answers with one letter. Source: its protocol,
 * SSLRequest.
 */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * @param greeting what is said to the server, which then has to answer. Absent: a connection is
 * enough.
 */
function knock(what, target, greeting) {
  return new Promise((resolve) => {
    const arrived = () => {
      reached.push(what);
      socket.destroy();
    };
    const socket = connect(target, () =>
      greeting === undefined ? arrived() : socket.write(greeting),
    );
    socket.once("data", arrived);
    socket.setTimeout(WAIT_MS, () => socket.destroy());
    socket.on("error", () => {}).on("close", resolve);
  });
}

/** By the proxy that workers get, as a program would. */
function ask(url) {
  return new Promise((resolve) => {
    const proxy = process.env.HTTP_PROXY;
    if (proxy === undefined) return resolve();
    const { host } = new URL(url);
    const asked = request(proxy, { path: url, headers: { host }, timeout: WAIT_MS }, (answer) => {
      if (answer.statusCode === 200) reached.push(`${url} by the proxy`);
      answer.resume().on("end", resolve).on("error", resolve);
    });
    asked
      .on("timeout", () => asked.destroy())
      .on("error", resolve)
      .end();
  });
}

/** What the token of a step must not open, by the way that is there for its hooks. */
function callDure(method, path) {
  return new Promise((resolve) => {
    const { DURE_HOOK_SOCKET: socketPath, DURE_HOOK_TOKEN: token } = process.env;
    if (socketPath === undefined) return resolve();
    const headers = {
      host: "dure.hook",
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
    };
    const asked = request({ socketPath, method, path, headers, timeout: WAIT_MS }, (answer) => {
      if (answer.statusCode < 400) reached.push(`${method} ${path} with the hook's token`);
      answer.resume().on("end", resolve).on("error", resolve);
    });
    asked
      .on("timeout", () => asked.destroy())
      .on("error", resolve)
      .end(method === "POST" ? "{}" : undefined);
  });
}

for (const [what, host, port] of tcp) {
  await knock(what, { host, port }, what === "PostgreSQL" ? SSL_REQUEST : "GET / HTTP/1.0\r\n\r\n");
}
for (const [what, path] of sockets) await knock(what, { path });
for (const url of proxied) await ask(url);
for (const [method, path] of [
  ["GET", "/v1/runs"],
  ["POST", "/v1/runs"],
  ["POST", "/v1/hooks/../runs"],
  ["GET", "/v1/hooks/ask"],
  ["POST", "/v1/hooks/ask?x=1"],
]) {
  await callDure(method, path);
}
for (const [what, path] of files) {
  try {
    if (readFileSync(path).length > 0) reached.push(what);
  } catch {
    // It is held.
  }
}
if (udp !== undefined) {
  const socket = createSocket("udp4");
  await new Promise((resolve) => socket.send("a name", udp, "127.0.0.1", resolve));
  socket.close();
}
console.log(`probe ${name ?? process.argv[3] ?? ""}: ${reached.join(", ") || "nothing"}`);
