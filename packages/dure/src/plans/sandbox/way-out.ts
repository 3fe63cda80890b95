import path from "node:path";
import { DOOR_INSIDE, openEgressProxy, SOCKET_NAME } from "./egress-proxy.ts";
import { HOOK_HOST, type HookWay } from "./hook-way.ts";
import type { ModelDesk } from "./model-way.ts";
import { parseHost, type NetworkPolicy } from "./network.ts";
import type { SandboxCommand, SandboxSetting } from "./sandbox.ts";

/** How one process gets out: dure's egress proxy, and what makes it a proxy inside. */
export interface WayOut {
  /** Holds the socket; it is mounted at `DOOR_INSIDE`. */
  readonly folder: string;
  /** The command, told where the egress proxy is. */
  readonly command: SandboxCommand;
  /**
   * Runs inside before the command. Absent where only hooks are reached: those are asked by the
   * socket itself.
   */
  readonly bridge: readonly string[] | undefined;
  close(): void;
}

/**
 * Port of the proxy inside: beyond those that Linux gives out by itself. Source: ip(7),
 * ip_local_port_range, 32768–60999.
 */
const PROXY_PORT = 61_080;
/** dure's egress proxy, as processes inside reach it. */
export const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
/**
 * What programs look at to find a proxy. Source: curl(1), Node.js NODE_USE_ENV_PROXY, npm config.
 */
const PROXY_ENV: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [
      [name, PROXY],
      [name.toLowerCase(), PROXY],
    ]),
  ),
  NO_PROXY: "localhost,127.0.0.1,::1",
  no_proxy: "localhost,127.0.0.1,::1",
  NODE_USE_ENV_PROXY: "1",
  npm_config_proxy: PROXY,
  npm_config_https_proxy: PROXY,
};
const HOOK_ENV = ["DURE_HOOK_URL", "DURE_HOOK_TOKEN"] as const;

/**
 * What package managers alone look at. A command without a network gets these, so that it is known
 * at once which host it wanted; tests that it runs see no proxy. Source: npm config, pip and Cargo on
 * their environment variables, Yarn on httpsProxy.
 */
const FETCHER_ENV: Readonly<Record<string, string>> = Object.fromEntries(
  [
    "npm_config_proxy",
    "npm_config_https_proxy",
    "PIP_PROXY",
    "CARGO_HTTP_PROXY",
    "YARN_HTTP_PROXY",
    "YARN_HTTPS_PROXY",
  ].map((name) => [name, PROXY]),
);

interface WayOutOrder {
  /** Of the process. */
  readonly folder: string;
  readonly policy: NetworkPolicy;
  readonly command: SandboxCommand;
  readonly setting: SandboxSetting;
  /** Told each host that the policy refuses; then a process without a network has a proxy too. */
  readonly onRefused?: ((host: string) => void) | undefined;
  readonly models?: ModelDesk | undefined;
}

/** Undefined for a process without a network. */
export async function openWayOut({
  folder,
  policy,
  command,
  setting,
  onRefused,
  models,
}: WayOutOrder): Promise<WayOut | undefined> {
  const hook = hookOf(command.env);
  const hasNone = policy.kind === "none";
  if (hasNone && !hook && !onRefused) return undefined;
  const doorFolder = path.join(folder, "door");
  const door = await openEgressProxy({
    folder: doorFolder,
    policy,
    hook,
    onRefused,
    models: hasNone ? undefined : models,
    user: setting.user,
    setting,
  });
  const socket = path.join(DOOR_INSIDE, SOCKET_NAME);
  const hookEnv = hook
    ? {
        DURE_HOOK_URL: `http://${HOOK_HOST}${new URL(hook.url).pathname}`,
        DURE_HOOK_SOCKET: socket,
      }
    : {};
  const isBridged = !hasNone || onRefused !== undefined;
  const proxyEnv = isBridged ? (hasNone ? FETCHER_ENV : PROXY_ENV) : {};
  return {
    folder: doorFolder,
    command: { ...command, env: { ...command.env, ...proxyEnv, ...hookEnv } },
    bridge: isBridged
      ? [process.execPath, "-e", BRIDGE_PROGRAM, socket, String(PROXY_PORT), ...portsHere(policy)]
      : undefined,
    close: () => door.close(),
  };
}

function hookOf(env: SandboxCommand["env"]): HookWay | undefined {
  const [url, token] = HOOK_ENV.map((name) => env[name]);
  return url !== undefined && token !== undefined && URL.canParse(url) ? { url, token } : undefined;
}

/**
 * Ports of this machine's loopback that the policy names: programs ask no proxy for those. Pure.
 */
function portsHere({ hosts }: NetworkPolicy): readonly string[] {
  const here = hosts
    .flatMap((text) => parseHost(text) ?? [])
    .filter(({ host }) => ["localhost", "127.0.0.1", "::1"].includes(host));
  return [
    ...new Set(
      here.flatMap(({ port }) => (port === undefined || port === PROXY_PORT ? [] : [String(port)])),
    ),
  ];
}

// --- bridge program

/**
 * Runs inside, by Node.js and nothing else: brings connections to a port of the process's own
 * loopback to dure's egress proxy. Its arguments: path of the egress proxy's socket, port of the proxy, and ports
 * that stand for the same port of the machine's loopback, which the door is asked for. Writes `up`
 * to descriptor 3 once it listens everywhere, and closes it.
 */
const BRIDGE_PROGRAM = String.raw`
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
