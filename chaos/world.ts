import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Double } from "./doubles.ts";
import { Forwarder } from "./forwarder.ts";
import type { Journal } from "./journal.ts";
import { writeLeft } from "./left.ts";
import { openNetwork, type Network } from "./network.ts";
import { makeRepository } from "./plans.ts";
import { Cluster } from "./postgres.ts";
import { OWN_TREE, Server } from "./servers.ts";

const CLEANER = fileURLToPath(new URL("cleaner.ts", import.meta.url));
/** Where a server lives; those of one name share a folder of data. */
export interface Seat {
  readonly hostName: string;
  /** Of the release that runs there. Default: the tree of this file. */
  readonly tree?: string;
}

/** The first two servers are one machine, the third is another. */
const SEATS: readonly Seat[] = [
  { hostName: "chaos-a" },
  { hostName: "chaos-a" },
  { hostName: "chaos-b" },
];
/** A free port in each namespace; on loopback each server gets one of its own. */
const PORT = 4_600;
/** What runs is noted for the cleaner so often, milliseconds. */
const NOTE_MS = 500;

/** All that a run starts: PostgreSQL, bank, provider, and the servers with their forwarders. */
export interface World extends AsyncDisposable {
  readonly token: string;
  readonly network: Network;
  readonly cluster: Cluster;
  readonly bank: Double;
  readonly provider: Double;
  readonly servers: readonly Server[];
  /** Of the plan, with the commit that it began with. */
  readonly repository: { readonly folder: string; readonly base: string };
  /** The folder stays when all is over. */
  keepFolder(): void;
}

/** Starts everything but the servers. What was started before a failure is ended. */
export async function openWorld(
  folder: string,
  journal: Journal,
  options: { isLoopback: boolean },
  seats: readonly Seat[] = SEATS,
): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const cleaner = spawn(process.execPath, [CLEANER, folder], {
    stdio: ["pipe", "ignore", "inherit"],
    detached: true,
  });
  stack.defer(async () => {
    const exit = once(cleaner, "exit");
    cleaner.stdin.end();
    await exit;
  });
  const network = stack.use(
    await openNetwork(
      seats.map(({ hostName }) => hostName),
      options,
    ),
  );
  const cluster = stack.use(await Cluster.start(join(folder, "postgres")));
  const bank = stack.use(
    await Double.start("bank", journal, ["--file", join(folder, "bookings.ndjson")]),
  );
  const provider = stack.use(await Double.start("provider", journal));
  const repository = {
    folder: join(folder, "repository"),
    base: await makeRepository(join(folder, "repository")),
  };
  const token = crypto.randomUUID();
  const servers: Server[] = [];
  for (const [index, host] of network.hosts.entries()) {
    const relay = async (target: { host: string; port: number }): Promise<Forwarder> =>
      stack.use(await Forwarder.start(host.gateway, target));
    const database = await relay({ host: "127.0.0.1", port: cluster.port });
    const toBank = await relay(bank);
    const toProvider = await relay(provider);
    const home = join(folder, host.hostName);
    mkdirSync(home, { recursive: true });
    const environment = (life: string): Record<string, string> => ({
      DATABASE_URL: cluster.urlAt(database.host, database.port),
      OPENAI_API_KEY: "chaos",
      OPENAI_BASE_URL: `http://${toProvider.host}:${toProvider.port}/life/${life}/v1`,
      CHAOS_BANK_URL: `http://${toBank.host}:${toBank.port}`,
      CHAOS_ALLOWED_HOST: host.address,
      DURE_HOME: home,
      DURE_TOKEN: token,
      HOST: host.address,
      PORT: String(port),
      LOG_LEVEL: "info",
    });
    const port = network.kind === "namespaces" ? PORT : await freePort();
    const tree = seats[index]!.tree ?? OWN_TREE;
    servers.push(new Server({ index, host, port, journal, database, environment, tree }));
  }
  let keep = false;
  const note = (): void => {
    const pids = [cluster.pid, ...servers.map(({ pid }) => pid)].filter((pid) => pid !== undefined);
    writeLeft(folder, pids, { namespaces: network.namespaces, keep });
  };
  note();
  const noting = setInterval(note, NOTE_MS);
  stack.defer(async () => {
    clearInterval(noting);
    note();
  });
  const kept = stack.move();
  return {
    token,
    network,
    cluster,
    bank,
    provider,
    servers,
    repository,
    keepFolder: () => {
      keep = true;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => void server.close(resolve));
  return port;
}
