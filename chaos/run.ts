import { setTimeout as sleep } from "node:timers/promises";
import { checkAll, lastEvent, untilQuiet } from "./checks.ts";
import { Client } from "./client.ts";
import { doFault } from "./faults.ts";
import type { Journal } from "./journal.ts";
import { Load } from "./load.ts";
import { Random } from "./random.ts";
import { MODES, type ModeName } from "./modes.ts";
import type { Summary } from "./report.ts";
import { planFaults, type FaultKind, type FaultWeights, type PlannedFault } from "./timeline.ts";
import type { Violation } from "./violations.ts";
import type { World } from "./world.ts";

export interface RunOptions {
  readonly seed: number;
  readonly faults: number;
  readonly durationMs: number;
  readonly mode: ModeName;
  readonly weights: FaultWeights;
}

/** The first start of three servers on a busy machine, milliseconds. */
const START_MS = 120_000;
/** The load begins before the first fault, milliseconds. */
const WARM_MS = 3_000;
/**
 * All open work must be over so long after the last fault: a takeover takes 10 s, a probed effect
 * 60 s, and the machine has other work.
 */
const QUIET_MS = 150_000;
/**
 * Clients get their last answers, and followers their last events, within so long, milliseconds.
 */
const ANSWER_MS = 150_000;

/** Load and faults, then rest, then every check. */
export async function runChaos(
  world: World,
  journal: Journal,
  options: RunOptions,
  signal: AbortSignal,
): Promise<Omit<Summary, "seed" | "mode" | "machine" | "network">> {
  const violations: Violation[] = [];
  const onViolation = (violation: Violation): void => {
    violations.push(violation);
    journal.note("faults", `VIOLATION ${violation.invariant}: ${violation.text}`);
  };
  const end = new AbortController();
  const client = new Client({
    ...world,
    journal,
    random: new Random(options.seed + 1),
    onViolation,
    signal: AbortSignal.any([signal, end.signal]),
  });
  const load = new Load(client, world.repository.folder, MODES[options.mode].load);
  try {
    for (const server of world.servers) server.start();
    await until(
      "three servers are ready",
      START_MS,
      () => world.servers.every(({ isReady }) => isReady),
      signal,
    );
    load.start();
    const startedAt = performance.now();
    await sleep(WARM_MS, undefined, { signal });
    const timeline = planFaults({ ...options, servers: world.servers.length });
    const done = await attack(timeline, { ...world, client, journal, onViolation }, signal);
    const restAt = performance.now();
    console.log(`chaos: ${done.length} faults done, letting it come to rest`);
    violations.push(...(await rest(world, load, signal)));
    const checked = await checkAll({ ...world, load });
    violations.push(...checked.violations);
    return {
      faults: { planned: timeline.length, done: done.length, byKind: countKinds(done) },
      counts: checked.counts,
      requests: client.counts,
      seconds: {
        load: Math.round((restAt - startedAt) / 1_000),
        settling: Math.round((performance.now() - restAt) / 1_000),
        all: 0,
      },
      violations,
    };
  } finally {
    end.abort(new Error("the run is over"));
    await Promise.all(world.servers.map((server) => server.stop(15_000)));
  }
}

/** Does each fault at its time; gives those that found their target. */
async function attack(
  timeline: readonly PlannedFault[],
  targets: Parameters<typeof doFault>[1],
  signal: AbortSignal,
): Promise<readonly PlannedFault[]> {
  const startedAt = performance.now();
  const done: PlannedFault[] = [];
  const running: Promise<void>[] = [];
  for (const fault of timeline) {
    await sleep(Math.max(0, fault.at - (performance.now() - startedAt)), undefined, { signal });
    running.push(doFault(fault, targets).then((wasDone) => void (wasDone && done.push(fault))));
  }
  await Promise.all(running);
  return done;
}

/**
 * No new load; every client has its answer, nothing is open, every follower has read to the end.
 */
export async function rest(
  world: World,
  load: Load,
  signal: AbortSignal,
): Promise<readonly Violation[]> {
  await until(
    "the servers are ready again",
    START_MS,
    () => world.servers.every(({ isReady }) => isReady),
    signal,
  );
  const answered = await within(load.settled(), ANSWER_MS);
  const open = await untilQuiet(world.cluster, QUIET_MS);
  const last = await lastEvent(world.cluster);
  const followed = await within(load.followed(last), ANSWER_MS);
  return [
    ...open,
    ...(answered
      ? []
      : [
          {
            invariant: "stuck" as const,
            text:
              `clients wait for an answer ${ANSWER_MS / 1_000} s after the last fault: ` +
              unanswered(load).join(", "),
            ids: unanswered(load),
          },
        ]),
    ...(followed
      ? []
      : [
          {
            invariant: "events" as const,
            text:
              `followers have not read up to ${last} within ${ANSWER_MS / 1_000} s: they are at ` +
              load.followers.map((follower) => follower.last).join(", "),
            ids: ["follower-"],
          },
        ]),
  ];
}

function unanswered(load: Load): readonly string[] {
  const payments = load.payments.filter(({ said, turns }) => !said || turns.length === 0);
  const jobs = load.jobs.filter(({ ended }) => ended === undefined);
  return [...payments.map(({ session }) => session), ...jobs.map(({ name }) => name)];
}

export async function until(
  what: string,
  patienceMs: number,
  isSo: () => boolean,
  signal: AbortSignal,
): Promise<void> {
  const giveUpAt = performance.now() + patienceMs;
  while (!isSo()) {
    if (performance.now() > giveUpAt) {
      throw new Error(`not within ${patienceMs / 1_000} s: ${what}`);
    }
    await sleep(100, undefined, { signal });
  }
}

/** Whether `work` ended in time. */
async function within(work: Promise<void>, ms: number): Promise<boolean> {
  const isOver = new AbortController();
  const late = sleep(ms, false, { signal: isOver.signal }).catch(() => false);
  return Promise.race([work.then(() => true), late]).finally(() => isOver.abort());
}

function countKinds(faults: readonly PlannedFault[]): Partial<Record<FaultKind, number>> {
  const counts: Partial<Record<FaultKind, number>> = {};
  for (const { kind } of faults) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}
