import { Database } from "../../durable/database.ts";
import { EventLog } from "../../durable/event-log.ts";
import { Leases } from "../../durable/leases.ts";
import { Notifications } from "../../durable/notify.ts";
import { applicationName, ProcessLease } from "../../durable/processes.ts";
import { Inbox } from "../../escalations/inbox.ts";
import { systemClock } from "../../kernel/clock.ts";
import { newId } from "../../kernel/ids.ts";
import { silentLogger } from "../../kernel/logger.ts";
import type { PortOutcome } from "../rows/outcomes.ts";
import type { RunWork } from "../lead/leader-parts.ts";
import type { Plan } from "../plan.ts";
import { parsePlan } from "../plan-file.ts";
import { Runs, type RunsOptions } from "./runs.ts";
import type { PlanPort, PlanRun } from "../rows/run.ts";

/** One process that leads runs whose work is a function. */
export interface TestRuns extends AsyncDisposable {
  readonly runs: Runs;
  readonly inbox: Inbox;
  readonly events: EventLog;
  readonly notifications: Notifications;
  readonly database: Database;
  readonly lease: ProcessLease;
}

export interface TestRunsOptions {
  readonly url: string;
  readonly host?: string;
  readonly build: (
    run: PlanRun,
    port: PlanPort,
    options: { attempt: number; signal: AbortSignal },
  ) => Promise<PortOutcome>;
  readonly work?: Partial<RunWork>;
  readonly maxConcurrency?: number;
  readonly runsOptions?: Partial<RunsOptions>;
  /** Another process has taken this one over. */
  readonly onFenced?: () => void;
}

export async function startTestRuns(options: TestRunsOptions): Promise<TestRuns> {
  await using stack = new AsyncDisposableStack();
  const processId = newId("process");
  const clock = systemClock;
  const logger = silentLogger;
  const database = await Database.open({
    url: options.url,
    applicationName: applicationName(processId),
    logger,
    clock,
    max: 6,
  });
  stack.defer(() => database.close());
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const lease = new ProcessLease({
    database,
    id: processId,
    appVersion: "test",
    logger,
    clock,
    notifications,
    ...(options.onFenced && { onFenced: options.onFenced }),
  });
  await lease.start();
  stack.defer(() => lease.stop());
  const events = new EventLog({ database, logger, clock, notifications });
  stack.defer(() => events.stop());
  const inbox = new Inbox({ database, notifications });
  const runs = new Runs({
    database,
    notifications,
    events,
    lease,
    leases: new Leases({ database, lease, logger, clock }),
    inbox,
    clock,
    logger,
    env: {},
    home: "/nowhere",
    host: options.host ?? "host-1",
    resolveBase: async (repository) => ({ commit: "base", repository }),
    work: () => testWork(options),
    ...options.runsOptions,
  });
  runs.start();
  stack.defer(() => runs.stop());
  const kept = stack.move();
  return {
    runs: runs,
    inbox,
    events,
    notifications,
    database,
    lease,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Work that touches no file: every port does what `build` says. */
function testWork({ build, maxConcurrency, work }: TestRunsOptions): RunWork {
  return {
    clear: async () => {},
    whyKept: async () => undefined,
    remove: async () => {},
    tryMerged: async () => {
      throw new Error("this work has no tree");
    },
    solveMoved: async () => {
      throw new Error("this work has no tree");
    },
    tidy: async () => {},
    mergeReady: async () => {},
    prepare: async ({ plan }) => ({
      maxConcurrency: maxConcurrency ?? plan.limits.maxConcurrency,
    }),
    build,
    merge: async (_run, ports) => ({
      report: {
        commit: "merged",
        branch: "dure/test",
        kept: ports.filter(({ status }) => status === "succeeded").map(({ id }) => id),
        missing: [],
        conflicts: [],
      },
      dropped: [],
    }),
    ...work,
  };
}

/** A plan from `a`, `b: a`, `c: a b`: a port and what it needs. */
export function planOf(
  ports: Readonly<Record<string, string>>,
  limits = "{ max_concurrency: 2 }",
): Plan {
  const lines = Object.entries(ports).map(([id, needs]) => {
    const dependsOn = needs.split(" ").filter(Boolean).join(", ");
    const work = `id: ${id}, goal: do ${id}, role: ${id}, owns: [${id}/**]`;
    return `  - { ${work}, dependsOn: [${dependsOn}], acceptance: "true" }`;
  });
  const text = [
    "plan: test",
    "roles: modules",
    `limits: ${limits}`,
    "workers: { default: { kind: command, command: [nobody] } }",
    "ports:",
    ...lines,
    "",
  ];
  return parsePlan("test.yaml", text.join("\n"));
}
