import path from "node:path";
import { BRIDGE_PROGRAM } from "./bridge-program.ts";
import { DOOR_INSIDE, openEgressProxy, SOCKET_NAME } from "./egress-proxy.ts";
import { HOOK_HOST, type HookWay } from "./hook-way.ts";
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
const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
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

interface WayOutOrder {
  /** Of the process. */
  readonly folder: string;
  readonly policy: NetworkPolicy;
  readonly command: SandboxCommand;
  readonly setting: SandboxSetting;
}

/** Undefined for a process without a network. */
export async function openWayOut({
  folder,
  policy,
  command,
  setting,
}: WayOutOrder): Promise<WayOut | undefined> {
  const hook = hookOf(command.env);
  if (policy.kind === "none" && !hook) return undefined;
  const doorFolder = path.join(folder, "door");
  const door = await openEgressProxy({
    folder: doorFolder,
    policy,
    hook,
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
  const proxyEnv = policy.kind === "none" ? {} : PROXY_ENV;
  return {
    folder: doorFolder,
    command: { ...command, env: { ...command.env, ...proxyEnv, ...hookEnv } },
    bridge:
      policy.kind === "none"
        ? undefined
        : [
            process.execPath,
            "-e",
            BRIDGE_PROGRAM,
            socket,
            String(PROXY_PORT),
            ...portsHere(policy),
          ],
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
