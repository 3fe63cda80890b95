import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";

/** Where one server lives: its own network and host name where the machine allows it. */
export interface ServerHost {
  /** The server listens here, and clients find it here. */
  readonly address: string;
  /** Forwarders for this server listen here: the only thing that it reaches. */
  readonly gateway: string;
  /** What the server takes its machine for. */
  readonly hostName: string;
  /**
   * Turns a command into one that runs there. It replaces itself, so that its pid is the server's.
   */
  wrap(command: readonly string[]): readonly string[];
}

export interface Network extends AsyncDisposable {
  readonly kind: "namespaces" | "loopback";
  /** Why it is not namespaces. */
  readonly because?: string | undefined;
  /** Names of what stays behind a crash of the harness. */
  readonly namespaces: readonly string[];
  readonly hosts: readonly ServerHost[];
}

const run = promisify(execFile);

/** Addresses for tests of networks, used by no other network. Source: RFC 2544, 198.18.0.0/15. */
const subnetOf = (run: number, server: number): string =>
  `198.${18 + (run % 2)}.${(run >> 1) % 256}.${server * 4}`;

/**
 * One network namespace per server as root on Linux, else loopback. `hostNames` has one entry per
 * server.
 */
export async function openNetwork(
  hostNames: readonly string[],
  { isLoopback }: { isLoopback: boolean },
): Promise<Network> {
  const because = isLoopback ? "it was asked for" : whyLoopback();
  if (because !== undefined) return loopback(hostNames, because);
  const namespaces: string[] = [];
  try {
    const hosts: ServerHost[] = [];
    for (const [index, hostName] of hostNames.entries()) {
      const name = `dure-chaos-${process.pid}-${index + 1}`;
      namespaces.push(name);
      hosts.push(await makeNamespace(name, index, hostName));
    }
    return {
      kind: "namespaces",
      namespaces,
      hosts,
      [Symbol.asyncDispose]: () => removeNamespaces(namespaces),
    };
  } catch (error) {
    await removeNamespaces(namespaces);
    return loopback(hostNames, (error as Error).message.trim());
  }
}

export async function removeNamespaces(names: readonly string[]): Promise<void> {
  for (const name of names) await run("ip", ["netns", "delete", name]).catch(() => {});
}

function loopback(hostNames: readonly string[], because: string): Network {
  const hosts = hostNames.map((hostName): ServerHost => ({
    address: "127.0.0.1",
    gateway: "127.0.0.1",
    hostName,
    wrap: (command) => command,
  }));
  return {
    kind: "loopback",
    because,
    namespaces: [],
    hosts,
    [Symbol.asyncDispose]: async () => {},
  };
}

function whyLoopback(): string | undefined {
  if (process.platform !== "linux") return "namespaces need Linux";
  if (process.getuid?.() !== 0) return "namespaces need root";
  for (const [program, ...args] of [
    ["ip", "-V"],
    ["unshare", "--version"],
  ] as const) {
    if (spawnSync(program, args).status !== 0) return `the program ${program} is missing`;
  }
  return undefined;
}

/** A namespace with one way out: to the harness, over a pair of virtual cards. */
async function makeNamespace(name: string, index: number, hostName: string): Promise<ServerHost> {
  const subnet = subnetOf(process.pid, index + 1);
  const base = subnet.slice(0, subnet.lastIndexOf(".") + 1);
  const first = (index + 1) * 4 + 1;
  const gateway = `${base}${first}`;
  const address = `${base}${first + 1}`;
  const card = `dc${process.pid.toString(36)}${index + 1}`; // at most 15 characters
  await run("ip", ["netns", "add", name]);
  await run("ip", ["link", "add", card, "type", "veth", "peer", "name", "eth0", "netns", name]);
  await run("ip", ["address", "add", `${gateway}/30`, "dev", card]);
  await run("ip", ["link", "set", card, "up"]);
  const inside = (...args: string[]): Promise<unknown> => run("ip", ["-n", name, ...args]);
  await inside("address", "add", `${address}/30`, "dev", "eth0");
  await inside("link", "set", "eth0", "up");
  await inside("link", "set", "lo", "up");
  return {
    address,
    gateway,
    hostName,
    wrap: (command) => [
      "ip",
      "netns",
      "exec",
      name,
      "unshare",
      "--uts",
      "sh",
      "-c",
      'hostname "$0" && exec "$@"',
      hostName,
      ...command,
    ],
  };
}
