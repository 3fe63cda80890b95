// Loaded before a program that must not reach beyond this machine: what it tries is refused and
// told on stderr. Plain JavaScript, because the program may run without the loader of TypeScript.

import dns from "node:dns";
import net from "node:net";

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/;

const connect = Reflect.get(net.Socket.prototype, "connect");
net.Socket.prototype.connect = function (...given) {
  const [first] = Array.isArray(given[0]) ? given[0] : given;
  const host =
    typeof first === "object" && first !== null
      ? (first.path ?? first.host ?? "localhost")
      : "localhost";
  refuseStranger(host);
  return connect.apply(this, given);
};

const lookup = dns.lookup;
dns.lookup = (host, ...rest) => {
  refuseStranger(host);
  return lookup(host, ...rest);
};

function refuseStranger(host) {
  if (host.startsWith("/") || LOOPBACK.test(host)) return;
  console.error(`REFUSED ${host}`);
  throw new Error(`${host} is not this machine`);
}
