import { Database } from "../../packages/dure/src/durable/database.ts";
import { EventLog } from "../../packages/dure/src/durable/event-log.ts";
import { migrate } from "../../packages/dure/src/durable/migrate.ts";
import { SCHEMA } from "../../packages/dure/src/team/schema.ts";
import { Notifications } from "../../packages/dure/src/durable/notify.ts";
import { applicationName, ProcessLease } from "../../packages/dure/src/durable/processes.ts";
import { Takeover } from "../../packages/dure/src/durable/takeover.ts";
import { chatAgent } from "../../packages/dure/src/engine/agent/agent.ts";
import { Engine } from "../../packages/dure/src/engine/engine.ts";
import { defineService, flow } from "../../packages/dure/src/engine/service/service.ts";
import { Jobs } from "../../packages/dure/src/jobs/jobs.ts";
import type { JobLimits } from "../../packages/dure/src/jobs/limits.ts";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { newId } from "../../packages/dure/src/kernel/ids.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { Models } from "../../packages/dure/src/models/models.ts";
import type { ModelRequest } from "../../packages/dure/src/models/model.ts";
import { offlineModel, type OfflineRespond } from "../../packages/dure/src/models/offline.ts";

/** Agents that can ask each other, in this process, wired as `team/start.ts` does it. */
export interface BenchJobs extends AsyncDisposable {
  readonly jobs: Jobs;
  readonly database: Database;
}

/** `agents` of them, `a0` and so on, all with one model. */
export async function startJobs({
  url,
  agents,
  respond,
  limits,
}: {
  url: string;
  agents: number;
  respond: OfflineRespond;
  limits: Partial<JobLimits>;
}): Promise<BenchJobs> {
  await using stack = new AsyncDisposableStack();
  const clock = systemClock;
  const logger = silentLogger;
  const processId = newId("process");
  const database = await Database.open({
    url,
    applicationName: applicationName(processId),
    logger,
    clock,
  });
  stack.defer(() => database.close());
  await migrate(database, SCHEMA, { logger });
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const lease = new ProcessLease({
    database,
    id: processId,
    appVersion: "bench",
    logger,
    clock,
    notifications,
    onFenced: (error) => console.error(error),
  });
  await lease.start();
  stack.defer(() => lease.stop());
  const takeover = new Takeover({ database, lease, logger, clock, notifications });
  const events = new EventLog({ database, logger, clock, notifications });
  await events.start();
  stack.defer(() => events.stop());

  const all = Array.from({ length: agents }, (_, index) => ({
    id: `a${index}`,
    displayName: `A${index}`,
    service: `a${index}`,
  }));
  const services = all.map(({ id }) =>
    defineService({
      name: id,
      agents: {
        [id]: chatAgent({ name: id, prompt: "Answer briefly.", card: { llm: "offline:bench" } }),
      },
      flows: {
        DEFAULT: flow(async (turn) =>
          turn.done({ message: (await turn.agent(id, "thinking")).text }),
        ),
      },
    }),
  );
  const engine = new Engine({
    services,
    database,
    notifications,
    models: new Models({ clock, logger, offline: [offlineModel("bench", respond)] }),
    clock,
    logger,
    processId,
    lease: lease.signal,
    defaultLlm: { provider: "offline", model: "bench", fallbacks: [] },
  });
  const jobs = new Jobs({
    database,
    notifications,
    events,
    lease,
    conversations: engine,
    clock,
    logger,
    limits,
    agents: { all: () => all, find: (id) => all.find((agent) => agent.id === id) },
  });
  takeover.onDead("jobs", (dead) => jobs.recoverDead(dead));
  takeover.onDead("turns", async (dead) => {
    await engine.store.release(dead.id);
    await engine.pickUp();
  });
  engine.start();
  stack.defer(() => engine.stop());
  await takeover.start();
  stack.defer(() => takeover.stop());
  jobs.start();
  stack.defer(() => jobs.stop());
  const kept = stack.move();
  return { jobs, database, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Other words in each exchange turn, so that none ends an exchange; at once. */
export function wordsOf(request: ModelRequest): {
  chunks: string[];
  usage: { tokensIn: number; tokensOut: number };
} {
  const turn = exchangeTurnOf(request);
  return {
    chunks: Array.from({ length: 6 }, (_, index) => `word${turn * 6 + index} `),
    usage: { tokensIn: 10, tokensOut: 6 },
  };
}

/** The exchange turn that a model is asked for; it stands in its background. */
export function exchangeTurnOf(request: ModelRequest): number {
  const all = request.messages.map((message) => ("text" in message ? message.text : "")).join("\n");
  return Number([...all.matchAll(/This is turn (\d+) of/g)].at(-1)?.[1] ?? 1);
}
