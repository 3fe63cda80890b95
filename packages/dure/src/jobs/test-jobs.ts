import { systemClock, type Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { Database } from "../durable/database.ts";
import { EventLog } from "../durable/event-log.ts";
import { Notifications } from "../durable/notify.ts";
import { Outbox } from "../durable/outbox.ts";
import { applicationName, ProcessLease } from "../durable/processes.ts";
import { Takeover } from "../durable/takeover.ts";
import { Inbox } from "../escalations/inbox.ts";
import { chatAgent } from "../engine/agent.ts";
import { Engine } from "../engine/engine.ts";
import { defineService, flow, type Service } from "../engine/service.ts";
import type { AnyTool } from "../engine/tool.ts";
import { Models } from "../models/models.ts";
import { offlineModel, type OfflineModel } from "../models/offline.ts";
import type { ModelRequest } from "../models/model.ts";
import { jobAttemptRules } from "./endings.ts";
import type { ExchangeAgent } from "./exchange.ts";
import { endConversationTool } from "./exchange-tools.ts";
import { Jobs, type JobsOptions } from "./jobs.ts";

/** What an agent of a test says when it is asked. */
export type TestAgent = OfflineModel["respond"];

export interface TestTeam extends AsyncDisposable {
  readonly jobs: Jobs;
  readonly engine: Engine;
  readonly database: Database;
  readonly events: EventLog;
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly notifications: Notifications;
  readonly lease: ProcessLease;
  readonly takeover: Takeover;
  readonly processId: string;
  /** What each agent was asked, in order. */
  readonly asked: Readonly<Record<string, ModelRequest[]>>;
}

export interface TestTeamOptions {
  readonly url: string;
  readonly agents: Readonly<Record<string, TestAgent>>;
  /** Further tools of every agent; `end_conversation` is there already. */
  readonly tools?: (jobs: Jobs, agent: string) => Readonly<Record<string, AnyTool>>;
  readonly jobs?: Partial<JobsOptions>;
  readonly logger?: Logger;
  readonly version?: string;
  readonly card?: Parameters<typeof chatAgent>[0]["card"];
  /** Of every agent; default one that says its name. */
  readonly prompt?: string;
  readonly onFenced?: () => void;
  /** Of the engine alone; default the system's. */
  readonly engineClock?: Clock;
  /** In the directory; default all of `agents`. */
  readonly known?: readonly string[] | undefined;
}

/**
 * One process of a team whose agents are functions: lease, takeover, engine and jobs over a real
 * database.
 */
export async function startTestTeam(options: TestTeamOptions): Promise<TestTeam> {
  await using stack = new AsyncDisposableStack();
  const { url, logger = silentLogger } = options;
  const clock = systemClock;
  const processId = newId("process");
  const database = await Database.open({
    url,
    applicationName: applicationName(processId),
    logger,
    clock,
    max: 8,
  });
  stack.defer(() => database.close());
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const lease = new ProcessLease({
    database,
    id: processId,
    appVersion: options.version ?? "test",
    logger,
    clock,
    notifications,
    onFenced: options.onFenced,
  });
  await lease.start();
  stack.defer(() => lease.stop());
  const shared = { database, lease, logger, clock, notifications };
  const takeover = new Takeover(shared);
  const outbox = new Outbox(shared);
  const events = new EventLog(shared);
  stack.defer(() => events.stop());

  const asked: Record<string, ModelRequest[]> = {};
  const names = Object.keys(options.agents);
  const offline = names.map((name) =>
    offlineModel(name, (request, context) => {
      (asked[name] ??= []).push(request);
      return options.agents[name]!(request, context);
    }),
  );
  const models = new Models({ clock, logger, offline });
  const toolsOf = new Map<string, Readonly<Record<string, AnyTool>>>();
  const services = names.map((name): Service => {
    // The tools need the jobs, the jobs the engine, the engine its services: they are looked up
    // when they are used.
    const tools = new Proxy({} as Record<string, AnyTool>, {
      get: (_, key) => toolsOf.get(name)?.[key as string],
      has: (_, key) => key in (toolsOf.get(name) ?? {}),
      ownKeys: () => Object.keys(toolsOf.get(name) ?? {}),
      getOwnPropertyDescriptor: (_, key) => ({
        enumerable: true,
        configurable: true,
        value: toolsOf.get(name)?.[key as string],
      }),
    });
    const agent = chatAgent({
      name,
      prompt: options.prompt ?? `You are ${name}.`,
      tools,
      card: { llm: `offline:${name}`, policy: { maxAttempts: 1 }, ...options.card },
    });
    return defineService({
      name,
      version: options.version,
      agents: { [name]: agent },
      flows: {
        DEFAULT: flow(async (turn) => turn.done({ message: (await turn.agent(name, name)).text })),
      },
    });
  });
  const attemptRules = jobAttemptRules({ random: () => 0 });
  const engine = new Engine({
    services,
    database,
    notifications,
    models,
    clock: options.engineClock ?? clock,
    logger,
    processId,
    attemptRules,
    lease: lease.signal,
    defaultLlm: { provider: "offline", model: names[0]!, fallbacks: [] },
  });
  const directory = (options.known ?? names).map((id): ExchangeAgent => ({
    id,
    displayName: id,
    service: id,
  }));
  const jobs = new Jobs({
    database,
    notifications,
    events,
    lease,
    conversations: engine,
    clock,
    logger,
    random: () => 0,
    agents: { all: () => directory, find: (id) => directory.find((agent) => agent.id === id) },
    ...options.jobs,
  });
  for (const name of names) {
    toolsOf.set(name, {
      end_conversation: endConversationTool(jobs),
      ...options.tools?.(jobs, name),
    });
  }

  takeover.onDead("jobs", (dead) => jobs.recoverDead(dead));
  takeover.onDead("turns", async (dead) => void (await engine.store.release(dead.id)));
  engine.start();
  stack.defer(() => engine.stop({ graceMs: 500 }));
  jobs.start();
  stack.defer(() => jobs.stop());
  await takeover.start();
  stack.defer(() => takeover.stop());
  outbox.start();
  stack.defer(() => outbox.stop({ graceMs: 500 }));
  const kept = stack.move();
  return {
    jobs,
    engine,
    database,
    events,
    inbox: new Inbox({ database, notifications }),
    outbox,
    notifications,
    lease,
    takeover,
    processId,
    asked,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/**
 * Several looks at the line later: when the running time has grown by `ms`. It grows only while
 * some job is open.
 */
export async function looksLater(team: TestTeam, ms = 1_500): Promise<void> {
  const at = async (): Promise<number> =>
    (
      await team.database.query<{ at: number }>({
        text: "select running_ms::float8 as at from dure.job_clock",
      })
    )[0]!.at;
  const until = (await at()) + ms;
  while ((await at()) < until) await systemClock.sleep(50);
}

/** Gives its answers in order, regardless of the question. */
export function saying(...texts: readonly string[]): TestAgent {
  let next = 0;
  return () => texts[Math.min(next++, texts.length - 1)]!;
}

/** Says something new in each turn, long enough to go on. The same turn gives the same words. */
export const talkative: TestAgent = (request) => {
  const user = request.messages.findLast((message) => message.role === "user");
  const background = request.messages
    .map((message) => ("text" in message ? message.text : ""))
    .join("\n");
  const turn =
    /turn (\d+) of/.exec(background.slice(background.lastIndexOf("This is turn")))?.[1] ?? "?";
  return (
    WORDS.slice(Number(turn) * 6, Number(turn) * 6 + 6).join(" ") +
    ` (${turn}, ${user?.text.length ?? 0})`
  );
};

const WORDS = Array.from({ length: 400 }, (_, index) => `word${index}`);

/** Never answers, until it is cut. */
export const hanging: TestAgent = (_request, { signal }) =>
  new Promise((_, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
