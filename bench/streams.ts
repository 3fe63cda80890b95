/**
 * What open event streams cost a server. `node --conditions=dure-source bench/streams.ts [--streams
 * 10000] [--kind events|turns]`.
 */

import { connect, type Socket } from "node:net";
import { parseArgs } from "node:util";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import { printBound, printFact, printMachine, printTitle } from "./lib/figures.ts";
import { PeerProcess } from "./lib/peers.ts";
import { startPostgres } from "./lib/postgres.ts";

const { values: options } = parseArgs({
  options: {
    streams: { type: "string", default: "10000" },
    kind: { type: "string", default: "events,turns" },
  },
});
const streams = Number(options.streams);
/** Connections that are being opened at the same time. */
const OPENING = 100;

printMachine();
await using postgres = await startPostgres();
for (const kind of options.kind.split(",")) await hold(kind);

/** `events`: readers of the event log; `turns`: readers of one turn whose model says nothing. */
async function hold(kind: string): Promise<void> {
  await using dure = await PeerProcess.start("dure", {
    answer: "stuck",
    databaseUrl: await postgres.database(`streams_${kind}`),
    nodeOptions: ["--expose-gc"],
  });
  const url = new URL(dure.url);
  const turn = kind === "turns" ? await beginTurn(dure.url) : undefined;
  const path = turn === undefined ? "/v1/events" : `/v1/agent/turns/${turn}/stream`;
  const sockets: Socket[] = [];
  const openMany = async (count: number): Promise<void> => {
    for (let opened = 0; opened < count; opened += OPENING) {
      sockets.push(
        ...(await Promise.all(
          Array.from({ length: Math.min(OPENING, count - opened) }, () => openStream(url, path)),
        )),
      );
    }
  };

  await openMany(200); // routes compiled, pools filled
  await systemClock.sleep(500);
  await dure.figures();
  const before = await dure.figures();
  const startedAt = systemClock.monotonic();
  await openMany(streams);
  const openedMs = systemClock.monotonic() - startedAt;
  await systemClock.sleep(1_000);
  await dure.figures();
  const after = await dure.figures();
  const idleAt = systemClock.monotonic();
  await systemClock.sleep(5_000);
  const { cpuMs } = await dure.figures();
  const idleMs = systemClock.monotonic() - idleAt;

  printTitle(`${streams.toLocaleString("en")} open streams of ${kind} on one process`);
  printFact("opened per second", (streams / openedMs) * 1_000);
  printBound(
    "memory per stream, RSS after garbage collection",
    (after.rssBytes - before.rssBytes) / streams / 1_024,
    { direction: "≤", aim: 20 },
    " KiB",
  );
  printFact(
    "of it JavaScript heap",
    (after.heapBytes - before.heapBytes) / streams / 1_024,
    " KiB",
  );
  printFact("CPU while they are idle", (cpuMs / idleMs) * 100, " %");
  printFact("streams that were cut meanwhile", sockets.filter((socket) => socket.destroyed).length);
  for (const socket of sockets) socket.destroy();
}

async function beginTurn(serverUrl: string): Promise<string> {
  const response = await fetch(new URL("/v1/agent/chat/stream", serverUrl), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ session_id: "s1", message: "hello" }),
  });
  const turn = response.headers.get("turn-id");
  await response.body?.cancel();
  if (turn === null) throw new Error(`the server answered ${response.status}`);
  return turn;
}

/**
 * A socket that has received the head of an event stream. Plain, so that 10,000 of them are light
 * on this side.
 */
function openStream(url: URL, path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port), url.hostname, () =>
      socket.write(
        `GET ${path} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`,
      ),
    );
    socket.once("data", (head: Buffer) => {
      if (!head.toString("latin1").startsWith("HTTP/1.1 200")) {
        return reject(new Error(`the server answered: ${head.toString("latin1").slice(0, 200)}`));
      }
      socket.resume();
      resolve(socket);
    });
    socket.once("error", reject);
  });
}
