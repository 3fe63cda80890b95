/**
 * What a streamed turn costs through the OpenAI-compatible endpoint, as a ratio to dure's own
 * stream in the same process: `node --conditions=dure-source bench/openai.ts [--rounds 5]
 * [--turns 200]`. Source: docs/spec/interop §3.
 */

import { parseArgs } from "node:util";
import { sessionOf } from "./lib/dure.ts";
import { median, printBound, printFact, printMachine, printTitle } from "./lib/figures.ts";
import { alternate, closedLoop, type Round } from "./lib/load.ts";
import { LONG } from "./lib/model.ts";
import { PeerProcess } from "./lib/peers.ts";
import { startPostgres } from "./lib/postgres.ts";
import { StreamClient, type StreamKind } from "./lib/stream-client.ts";

const MESSAGE = "When does my parcel arrive?";
const OPENAI: StreamKind = {
  path: "/openai/v1/chat/completions",
  body: (session, content) => ({
    model: "chat",
    user: session,
    stream: true,
    messages: [{ role: "user", content }],
  }),
  firstToken: `"content":"${LONG[0]!.slice(0, 1)}`,
  end: "data: [DONE]",
};

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    turns: { type: "string", default: "200" },
  },
});

printMachine();
await using postgres = await startPostgres();
await using dure = await PeerProcess.start("dure", {
  databaseUrl: await postgres.database("dure_openai"),
});
await compare(1, Number(options.turns));
await compare(20, Number(options.turns) * 5);

async function compare(workers: number, turns: number): Promise<void> {
  const loop = async (name: string, count: number, kind?: StreamKind): Promise<Round> => {
    const client = new StreamClient(dure.url, workers, kind);
    const figures = await closedLoop({
      workers,
      turns: count,
      turn: async (worker, index) =>
        void (await client.turn(sessionOf(name, worker, index), MESSAGE)),
    });
    client.close();

    return figures;
  };

  printTitle(`Streamed turn, ${LONG.length} tokens, ${workers} at once (${turns} turns a round)`);
  await loop(`warm-native${workers}`, Math.ceil(turns / 2));
  await loop(`warm-openai${workers}`, Math.ceil(turns / 2), OPENAI);

  const { native, openai } = await alternate(Number(options.rounds), {
    native: (round) => loop(`native${workers}.${round}`, turns),
    openai: (round) => loop(`openai${workers}.${round}`, turns, OPENAI),
  });

  printFact("native, p50", median(native.map(({ p50 }) => p50)), " ms");
  printFact("openai, p50", median(openai.map(({ p50 }) => p50)), " ms");
  const ratios = openai.map(({ p50 }, round) => p50 / native[round]!.p50);
  printBound(
    "p50, ratio to the native stream",
    median(ratios),
    { direction: "≤", must: 1.2 },
    " ×",
  );
}
