/**
 * What scheduling a plan costs, without its work, and what a durable run of it does. `node
 * --conditions=dure-source bench/plans.ts [--ports 10000] [--slots 3,100] [--rounds 5] [--durable
 * 300]`.
 */

import { parseArgs } from "node:util";
import { migrate } from "../packages/dure/src/durable/migrate.ts";
import { SCHEMA } from "../packages/dure/src/team/schema.ts";
import { Database } from "../packages/dure/src/durable/database.ts";
import { systemClock } from "../packages/dure/src/kernel/clock.ts";
import { buildGraph, type PlanGraph, type PortNode } from "../packages/dure/src/plans/graph.ts";
import { parsePlan } from "../packages/dure/src/plans/plan-file.ts";
import { startTestRuns } from "../packages/dure/src/plans/runs/test-runs.ts";
import { decide, openRun } from "../packages/dure/src/plans/scheduler.ts";
import {
  type SchedulerAction,
  type SchedulerDecision,
} from "../packages/dure/src/plans/schedule-state.ts";
import { silentLogger } from "../packages/dure/src/kernel/logger.ts";
import { alternate } from "./lib/load.ts";
import { startPostgres } from "./lib/postgres.ts";
import {
  median,
  overRounds,
  percentile,
  printBound,
  printFact,
  printMachine,
  printTable,
  printTitle,
} from "./lib/figures.ts";

const { values: options } = parseArgs({
  options: {
    ports: { type: "string", default: "10000" },
    slots: { type: "string", default: "3,100" },
    rounds: { type: "string", default: "5" },
    durable: { type: "string", default: "300" },
  },
});
const size = Number(options.ports);
const rounds = Number(options.rounds);
/**
 * How long a port works, milliseconds of a clock that only this program moves. Source:
 * docs/spec/plans §3.
 */
const PORT_MS = 100;

type Shape = (index: number, random: () => number) => readonly number[];
/** What a port needs, by number; only earlier ones, so there is no circle. */
const SHAPES: Readonly<Record<string, Shape>> = {
  "no order": () => [],
  "one chain": (index) => (index === 0 ? [] : [index - 1]),
  "fan out, fan in": (index) =>
    index === 0
      ? []
      : index === size - 1
        ? Array.from({ length: size - 2 }, (_, other) => other + 1)
        : [0],
  "100 layers": (index, random) =>
    index < size / 100
      ? []
      : Array.from(
          { length: 3 },
          () =>
            Math.floor(index / (size / 100) - 1) * (size / 100) +
            Math.floor(random() * (size / 100)),
        ),
  "binary tree": (index) => (index === 0 ? [] : [Math.floor((index - 1) / 2)]),
  "at random": (index, random) =>
    Array.from({ length: Math.min(index, 3) }, () => Math.floor(random() * index)),
  "long tail": (index) => (index > size / 2 ? [index - 1] : []),
};

interface Figures {
  readonly usPerPort: number;
  /** Milliseconds of single decisions. */
  readonly decisions: readonly number[];
  readonly makespanMs: number;
}

printMachine();
readingCost();
for (const slots of options.slots.split(",").map(Number)) {
  printTitle(`${size.toLocaleString("en")} ports of ${PORT_MS} ms, ${slots} at the same time`);
  const rows: (readonly (string | number)[])[] = [];
  let slowest = 0;
  let longest = 0;
  for (const [name, shape] of Object.entries(SHAPES)) {
    const graph = buildGraph(portsOf(shape));
    const runs = Array.from({ length: rounds }, () => run(graph, slots, "succeeded"));
    const failing = overRounds(
      Array.from({ length: rounds }, () => run(graph, slots, "failed")),
      ({ usPerPort }) => usPerPort,
    );
    const usPerPort = overRounds(runs, (figures) => figures.usPerPort);
    const ratio = runs[0]!.makespanMs / referenceMakespan(graph, slots);
    slowest = Math.max(slowest, usPerPort, failing);
    longest = Math.max(longest, ratio);
    const decisions = runs.flatMap((figures) => figures.decisions);
    rows.push([
      name,
      usPerPort,
      failing,
      percentile(decisions, 0.5) * 1_000,
      percentile(decisions, 0.99) * 1_000,
      percentile(decisions, 1),
      runs[0]!.makespanMs / 1_000,
      ratio,
    ]);
  }
  printTable(
    [
      "shape",
      "µs per port",
      "all fail",
      "decision p50 µs",
      "p99 µs",
      "max ms",
      "makespan s",
      "÷ reference",
    ],
    rows,
  );
  printBound(
    "slowest shape, scheduler per port",
    slowest / 1_000,
    { direction: "≤", aim: 1 },
    " ms",
  );
  printBound("longest makespan against the reference", longest, { direction: "≤", aim: 1.05 });
}

if (Number(options.durable) > 0) await durableRuns(Number(options.durable));

/**
 * Runs whose ports do nothing for 100 ms: with rows, leases, events and a leader against the same
 * scheduler in memory, in turn.
 */
async function durableRuns(count: number): Promise<void> {
  await using postgres = await startPostgres();
  const url = await postgres.database("plans");
  const database = await Database.open({
    url,
    applicationName: "bench",
    logger: silentLogger,
    clock: systemClock,
    max: 1,
  });
  await migrate(database, SCHEMA, { logger: silentLogger });
  await database.close();
  for (const slots of [3, 20]) {
    await using runs = await startTestRuns({
      url,
      maxConcurrency: slots,
      build: async (_run, _port, { signal }) => {
        await systemClock.sleep(PORT_MS, { signal });
        return { status: "succeeded", commit: "done" };
      },
    });
    printTitle(
      `A durable run of ${count} ports of ${PORT_MS} ms, ${slots} at the same time (${rounds} ` +
        "rounds, in turn with the scheduler in memory)",
    );
    const rows: (readonly (string | number)[])[] = [];
    let longest = 0;
    for (const name of ["no order", "binary tree", "at random"]) {
      const nodes = portsOf(SHAPES[name]!, count);
      const graph = buildGraph(nodes);
      const plan = parsePlan(
        "plan.json",
        JSON.stringify({
          plan: "bench",
          roles: "modules",
          limits: { max_concurrency: Math.min(slots, 100) },
          workers: { default: { kind: "offline" } },
          ports: nodes.map((port, index) => ({
            ...port,
            role: "core",
            goal: "Do it.",
            acceptance: "true",
            noChange: "allowed",
            owns: [`src/${index}/**`],
          })),
        }),
      );
      const results = await alternate(rounds, {
        memory: async () => ({ ms: await inMemory(graph, slots) }),
        durable: async () => {
          const startedAt = systemClock.monotonic();
          const { id } = await runs.runs.run({ plan, repository: "/r", by: "bench" });
          for await (const _ of runs.runs.stream(id, { signal: new AbortController().signal }));
          return { ms: systemClock.monotonic() - startedAt };
        },
      });
      const durable = overRounds(results.durable, ({ ms }) => ms);
      const ratio = median(results.durable.map(({ ms }, index) => ms / results.memory[index]!.ms));
      const reference = referenceMakespan(graph, slots);
      longest = Math.max(longest, durable / reference);
      rows.push([
        name,
        durable / 1_000,
        overRounds(results.memory, ({ ms }) => ms) / 1_000,
        reference / 1_000,
        ratio,
        durable / reference,
        (durable - reference) / count,
      ]);
    }
    printTable(
      [
        "shape",
        "durable s",
        "in memory s",
        "reference s",
        "÷ memory",
        "÷ reference",
        "ms more per port",
      ],
      rows,
    );
    printBound("longest makespan of a durable run against the reference", longest, {
      direction: "≤",
      aim: 1.05,
    });
  }
}

/** The scheduler alone, with real time for the ports. */
async function inMemory(graph: PlanGraph, slots: number): Promise<number> {
  const startedAt = systemClock.monotonic();
  const ended = Promise.withResolvers<void>();
  let state = openRun({ graph, maxConcurrency: slots });
  const take = (decision: SchedulerDecision): void => {
    state = decision;
    for (const action of decision.actions) {
      if (action.type === "end") ended.resolve();
      if (action.type === "start") {
        void systemClock.sleep(PORT_MS, { signal: new AbortController().signal }).then(() =>
          take(
            decide(state.state, {
              type: "succeeded",
              port: action.port,
              attempt: action.attempt,
            }),
          ),
        );
      }
    }
  };
  take(state);
  await ended.promise;
  return systemClock.monotonic() - startedAt;
}

function portsOf(shape: Shape, count = size): PortNode[] {
  const random = seeded(1);
  return Array.from({ length: count }, (_, index) => ({
    id: `p${index}`,
    dependsOn: [...new Set(shape(index, random))].map((other) => `p${other}`),
  }));
}

/** Leads a run to its end; ports work in a time of their own, the scheduler in real time. */
function run(graph: PlanGraph, slots: number, outcome: "succeeded" | "failed"): Figures {
  const decisions: number[] = [];
  const working: { port: string; attempt: number; until: number }[] = [];
  let now = 0;
  const timed = (make: () => SchedulerDecision): SchedulerDecision => {
    const startedAt = systemClock.monotonic();
    const decision = make();
    decisions.push(systemClock.monotonic() - startedAt);
    for (const action of decision.actions) begin(action);
    return decision;
  };
  const begin = (action: SchedulerAction): void => {
    if (action.type === "start") {
      working.push({ port: action.port, attempt: action.attempt, until: now + PORT_MS });
    }
  };

  let { state } = timed(() => openRun({ graph, maxConcurrency: slots }));
  for (let next = 0; next < working.length; next++) {
    const { port, attempt, until } = working[next]!;
    now = until;
    ({ state } = timed(() => decide(state, { type: outcome, port, attempt })));
  }
  if (state.status === "running") throw new Error("the run did not end");
  return {
    usPerPort: (decisions.reduce((sum, ms) => sum + ms, 0) / graph.ids.length) * 1_000,
    decisions,
    makespanMs: now,
  };
}

/**
 * A list scheduler written straight down: at each step the ready ports with the longest chain
 * behind them. Milliseconds.
 */
function referenceMakespan(graph: PlanGraph, slots: number): number {
  const open = graph.dependencies.map((needed) => needed.length);
  let ready = graph.ids.flatMap((_id, index) => (open[index] === 0 ? [index] : []));
  let steps = 0;
  for (; ready.length > 0; steps++) {
    ready.sort((a, b) => graph.rank[b]! - graph.rank[a]!);
    const working = ready.slice(0, slots);
    ready = ready.slice(slots);
    for (const index of working) {
      for (const dependent of graph.dependents[index]!) {
        if (--open[dependent]! === 0) ready.push(dependent);
      }
    }
  }
  return steps * PORT_MS;
}

function readingCost(): void {
  const plan = JSON.stringify({
    plan: "bench",
    roles: "modules",
    workers: { default: { kind: "offline" } },
    ports: portsOf(SHAPES["at random"]!).map((port, index) => ({
      ...port,
      role: "core",
      goal: "Do it.",
      acceptance: "npm test",
      owns: [`src/${index}/**`],
    })),
  });
  const times = Array.from({ length: rounds }, () => {
    const startedAt = systemClock.monotonic();
    parsePlan("plan.json", plan);
    return systemClock.monotonic() - startedAt;
  });
  printTitle(`A plan of ${size.toLocaleString("en")} ports`);
  printFact("read and checked", median(times), " ms");
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
