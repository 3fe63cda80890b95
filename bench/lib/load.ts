import { percentile } from "./figures.ts";

/** What one peer did in one round. */
export interface Round {
  readonly turns: number;
  readonly perSecond: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** CPU of this process per turn, milliseconds, user and system; PostgreSQL's is not in it. */
  readonly cpuPerTurn: number;
}

/** Runs one turn for `worker`; `index` counts that worker's turns from 0. */
export type OneTurn = (worker: number, index: number) => Promise<void>;

/** Closed loop: each of `workers` begins its next turn when its last one has ended. */
export async function closedLoop({
  workers,
  turns,
  turn,
}: {
  workers: number;
  turns: number;
  turn: OneTurn;
}): Promise<Round> {
  const latencies: number[] = [];
  let begun = 0;
  const cpuBefore = process.cpuUsage();
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: workers }, async (_, worker) => {
      for (let index = 0; begun < turns; index++) {
        begun++;
        const at = performance.now();
        await turn(worker, index);
        latencies.push(performance.now() - at);
      }
    }),
  );
  const elapsed = performance.now() - startedAt;
  const cpu = process.cpuUsage(cpuBefore);
  return {
    turns: latencies.length,
    perSecond: (latencies.length / elapsed) * 1_000,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    cpuPerTurn: (cpu.user + cpu.system) / 1_000 / latencies.length,
  };
}

/**
 * Each round every peer once, in an order that turns round, so that a slow moment of the machine
 * meets all of them.
 */
export async function alternate<
  Peers extends Readonly<Record<string, (round: number) => Promise<unknown>>>,
>(rounds: number, peers: Peers): Promise<Results<Peers>> {
  const names: (keyof Peers)[] = Object.keys(peers);
  const results = Object.fromEntries(Object.keys(peers).map((name) => [name, [] as unknown[]]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      results[name as string]!.push(await peers[name]!(round));
    }
  }
  return results as Results<Peers>;
}

type Results<Peers extends Readonly<Record<string, (round: number) => Promise<unknown>>>> = {
  [Name in keyof Peers]: Awaited<ReturnType<Peers[Name]>>[];
};
