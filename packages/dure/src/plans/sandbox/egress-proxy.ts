import { chmodSync, chownSync, closeSync, mkdirSync, openSync } from "node:fs";
import { lookup } from "node:dns/promises";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { connect, isIP, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import path from "node:path";
import type { Duplex } from "node:stream";
import { withTimeout } from "../../kernel/clock.ts";
import { messageOf } from "../../kernel/errors.ts";
import {
  decideHost,
  type NetworkPolicy,
  refusedAddress,
  type NetworkTarget,
  targetOfUrl,
} from "./network.ts";
import type { SandboxSetting } from "./sandbox.ts";
import { endToEnd, say } from "./door-http.ts";
import { callHook, HOOK_HOST, type HookWay } from "./hook-way.ts";
import { callModel, MODELS_PATH, type ModelDesk, type ModelReach } from "./model-way.ts";

/** Where the door stands inside. Short: a Unix socket takes 107 bytes. Source: unix(7). */
export const DOOR_INSIDE = "/run/dure";
export const SOCKET_NAME = "door";

/** One request for the world, as it is logged. */
export interface EgressRequest {
  readonly host: string;
  readonly port: number;
  readonly allowed: boolean;
  readonly because?: string | undefined;
}

export interface EgressOrder {
  /** A folder of its own, empty. */
  readonly folder: string;
  readonly policy: NetworkPolicy;
  readonly hook: HookWay | undefined;
  /** Who sees to calls of models that come by the door. Absent: none do. */
  readonly models?: ModelDesk | undefined;
  /** Told each host that the policy refuses. */
  readonly onRefused?: ((host: string) => void) | undefined;
  /** Who may connect. Absent: our own user. */
  readonly user: number | undefined;
  readonly setting: Pick<SandboxSetting, "clock" | "logger" | "network">;
}

export interface EgressProxy {
  close(): void;
}

/**
 * Connections of one process at a time. Source: an agent with a browser's worth of connections to
 * each of 20 hosts.
 */
const MAX_CONNECTIONS = 128;
/** Bytes of the head of a request. Source: Node's own default, `--max-http-header-size`. */
const HEAD_BYTES = 16_384;
/** Milliseconds until a head is there, and until a connection is made. */
const HEAD_MS = 10_000;
const CONNECT_MS = 15_000;
const NO_UPGRADE =
  "HTTP/1.1 426 Upgrade Required\r\nupgrade: HTTP/1.1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
/** The status of what the policy does not allow. A host that is not found is another matter. */
const REFUSED = 403;
/**
 * Milliseconds without a byte. Source: docs/spec/plans §6: a model may be silent for minutes;
 * agents wait 10 min for one answer.
 */
const IDLE_MS = 10 * 60_000;

/**
 * The only way out of a process's network: a forward proxy on a Unix socket, which resolves names
 * itself and connects to the very address that it has looked at. Ends with `close`, with all that
 * goes through it.
 */
export async function openEgressProxy(order: EgressOrder): Promise<EgressProxy> {
  const server = createServer({
    maxHeaderSize: HEAD_BYTES,
    headersTimeout: HEAD_MS,
    requestTimeout: 0,
    keepAliveTimeout: HEAD_MS,
  });
  const ends = new Set<Duplex>();
  const keep = <S extends Duplex>(socket: S): S => {
    ends.add(socket);
    socket.once("close", () => ends.delete(socket));
    return socket;
  };
  server.maxConnections = MAX_CONNECTIONS;
  server.on(
    "connection",
    (socket: Socket) => void keep(socket).setTimeout(IDLE_MS, () => socket.destroy()),
  );
  server.on(
    "connect",
    (message: IncomingMessage, socket: Socket, head: Buffer) =>
      void tunnel(order, message, { socket, head, keep }),
  );
  server.on(
    "request",
    (message: IncomingMessage, response: ServerResponse) =>
      void answer(order, message, response, keep),
  );
  // Some agents try a web socket to their model first, and then do without it.
  server.on(
    "upgrade",
    (_message: IncomingMessage, socket: Socket) =>
      void socket.on("error", () => socket.destroy()).end(NO_UPGRADE),
  );
  server.on("clientError", (_error: Error, socket: Duplex) => socket.destroy());

  const opened = await listen(server, order);
  return {
    close() {
      server.close(); // removes the socket, by the name below
      closeSync(opened);
      for (const socket of ends) socket.destroy();
    },
  };
}

/**
 * Listens in the folder by a short name of it, since that of the socket itself may be longer than a
 * socket's name can be. Gives the descriptor that the name stands for: it is closed after the
 * server.
 */
async function listen(
  server: ReturnType<typeof createServer>,
  { folder, user }: EgressOrder,
): Promise<number> {
  mkdirSync(folder, { recursive: true });
  const opened = openSync(folder, "r");
  try {
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(`/proc/self/fd/${opened}/${SOCKET_NAME}`, resolve);
    });
  } catch (error) {
    closeSync(opened);
    throw error;
  }
  const socket = path.join(folder, SOCKET_NAME);
  chmodSync(socket, 0o600);
  chmodSync(folder, 0o711);
  if (user !== undefined) chownSync(socket, user, user);
  server.on("error", () => {}); // a connection that could not be taken
  return opened;
}

// --- out into the world

interface Tunnel {
  readonly socket: Socket;
  readonly head: Buffer;
  readonly keep: <S extends Duplex>(socket: S) => S;
}

/** `CONNECT host:port`: bytes both ways. */
async function tunnel(
  order: EgressOrder,
  message: IncomingMessage,
  { socket, head, keep }: Tunnel,
): Promise<void> {
  socket.on("error", () => socket.destroy());
  const target = targetOfUrl(
    `http://${/:\d+$/.test(message.url ?? "") ? message.url : `${message.url}:443`}`,
  );
  const way = await wayTo(order, target);
  if (!way.open) return refuseTunnel(socket, way.status, way.because);
  try {
    const there = keep(await connectTo(order, way.address, target!.port));
    there.setTimeout(IDLE_MS, () => there.destroy());
    there.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("close", () => there.destroy());
    socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
    there.write(head);
    socket.pipe(there);
    there.pipe(socket);
  } catch (error) {
    refuseTunnel(socket, 502, messageOf(error));
  }
}

function refuseTunnel(socket: Socket, status: number, because: string): void {
  const body = `dure: ${because}\n`;
  socket.end(
    [
      `HTTP/1.1 ${status} Refused`,
      "content-type: text/plain",
      `content-length: ${Buffer.byteLength(body)}`,
      "connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}

async function answer(
  order: EgressOrder,
  message: IncomingMessage,
  response: ServerResponse,
  keep: Tunnel["keep"],
): Promise<void> {
  response.on("error", () => response.destroy());
  const url = message.url ?? "";
  if (order.models && url.startsWith(MODELS_PATH)) {
    const called = callModel(modelReach(order, order.models, keep), message, response);
    return called.catch((error: unknown) => say(response, 502, messageOf(error)));
  }
  const isWhole = /^http:\/\//i.test(url);
  const target = targetOfUrl(isWhole ? url : `http://${message.headers.host ?? ""}${url}`);
  if (target?.host === HOOK_HOST) return callHook(order, message, response);
  if (!isWhole) return say(response, 400, "this is a proxy: it takes CONNECT and whole addresses");
  const way = await wayTo(order, target);
  if (!way.open) return say(response, way.status, way.because);
  const { pathname, search, host } = new URL(url);
  const headers: OutgoingHttpHeaders = { ...endToEnd(message.headers), host };
  const asked = requestHttp({
    host: way.address,
    port: target!.port,
    method: message.method,
    path: `${pathname}${search}`,
    headers,
    agent: false,
    timeout: IDLE_MS,
  });
  asked.on("socket", keep);
  asked.on("timeout", () => asked.destroy());
  asked.on("error", (error) => say(response, 502, messageOf(error)));
  asked.on("response", (answered) => {
    response.writeHead(answered.statusCode ?? 502, endToEnd(answered.headers));
    answered.pipe(response);
  });
  response.on("close", () => asked.destroy());
  message.pipe(asked);
}

/** Each call of a model is decided about, and logged, as any other request. */
function modelReach(order: EgressOrder, desk: ModelDesk, keep: Tunnel["keep"]): ModelReach {
  const { logger } = order.setting;
  return {
    desk,
    keep,
    way: (target) => wayTo(order, target),
    refused: (because) =>
      logger.warn({ allowed: false, because }, `a worker called a model: refused, ${because}`),
  };
}

type ConnectionWay =
  | { readonly open: true; readonly address: string }
  | { readonly open: false; readonly status: number; readonly because: string };

/** Decides, resolves, looks at the address, and writes it down. */
async function wayTo(
  order: EgressOrder,
  target: NetworkTarget | undefined,
): Promise<ConnectionWay> {
  if (!target) return { open: false, status: 400, because: "the address cannot be read" };
  const { logger } = order.setting;
  const way = await findWay(order, target);
  const noted: EgressRequest = {
    ...target,
    allowed: way.open,
    because: way.open ? undefined : way.because,
  };
  const answer = way.open ? "allowed" : `refused, ${way.because}`;
  const line = `a worker asked for ${target.host}:${target.port}: ${answer}`;
  if (way.open) logger.info(noted, line);
  else logger.warn(noted, line);
  if (!way.open && way.status === REFUSED) order.onRefused?.(target.host);
  return way;
}

async function findWay(
  { policy, setting }: EgressOrder,
  target: NetworkTarget,
): Promise<ConnectionWay> {
  const reach = decideHost(target, policy);
  if (!reach.allowed) {
    return {
      open: false,
      status: REFUSED,
      because: `${target.host}:${target.port} is refused: ${reach.because}`,
    };
  }
  const own = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  let because = "no address was found";
  try {
    const never = (
      await Promise.all(setting.network.never().map((one) => addressesOf(setting, one)))
    ).flat();
    for (const { host: address } of await addressesOf(setting, target)) {
      const refused = refusedAddress(address, target.port, { isNamed: reach.isNamed, own, never });
      if (refused === undefined) return { open: true, address };
      because = refused;
    }
  } catch (error) {
    return {
      open: false,
      status: 502,
      because: `${target.host} was not found: ${messageOf(error)}`,
    };
  }
  return {
    open: false,
    status: REFUSED,
    because: `${target.host}:${target.port} is refused: ${because}`,
  };
}

async function addressesOf(
  { clock, network }: EgressOrder["setting"],
  { host, port }: NetworkTarget,
): Promise<readonly NetworkTarget[]> {
  if (isIP(host) !== 0) return [{ host, port }];
  const late = (): Error => new Error(`no answer within ${CONNECT_MS} ms`);
  const found = await withTimeout(clock, CONNECT_MS, late, () =>
    (network.resolve ?? resolveName)(host),
  );
  return found.map((address) => ({ host: address, port }));
}

async function resolveName(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

async function connectTo({ setting }: EgressOrder, address: string, port: number): Promise<Socket> {
  const late = (): Error => new Error(`${address}:${port} did not answer within ${CONNECT_MS} ms`);
  const socket = connect({ host: address, port });
  try {
    await withTimeout(
      setting.clock,
      CONNECT_MS,
      late,
      () =>
        new Promise<void>(
          (resolve, reject) => void socket.once("connect", resolve).once("error", reject),
        ),
    );
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return socket;
}
