import { systemClock, type Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import { Database } from "../durable/database.ts";
import { EventLog } from "../durable/event-log.ts";
import { Notifications } from "../durable/notify.ts";
import { Outbox } from "../durable/outbox.ts";
import { Pauses } from "../durable/pauses.ts";
import { applicationName, ProcessLease } from "../durable/processes.ts";
import { Takeover } from "../durable/takeover.ts";
import { Inbox } from "../escalations/inbox.ts";
import { chatAgent } from "../engine/agent/agent.ts";
import { Engine } from "../engine/engine.ts";
import { defineService, flow, type Service } from "../engine/service/service.ts";
import type { AnyTool } from "../engine/agent/tool.ts";
import { Models } from "../models/models.ts";
import { offlineModel, type OfflineModel } from "../models/offline.ts";
import type { ModelRequest } from "../models/model.ts";
import { jobAttemptRules } from "./endings.ts";
import type { ExchangeAgent } from "./exchange.ts";
import { endConversationTool, finishTool } from "./exchange-tools.ts";
import type { AgentDirectory } from "./job-exchange-store.ts";
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
  readonly pauses: Pauses;
  readonly processId: string;
  /** What each agent was asked, in order. */
  readonly asked: Readonly<Record<string, ModelRequest[]>>;
}

export interface TestTeamOptions {
  readonly url: string;
  readonly agents: Readonly<Record<string, TestAgent>>;
  /** Further tools of every agent; `end_conversation` and `finish` are there already. */
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
  readonly engine?: Partial<ConstructorParameters<typeof Engine>[0]>;
  /** In the directory; default all of `agents`. */
  readonly known?: readonly string[] | undefined;
}

/**
 * One process of a team whose agents are functions: lease, takeover, engine and jobs over a real
 * database.
 */
export async function startTestTeam(options: TestTeamOptions): Promise<TestTeam> {
  await using stack = new AsyncDisposableStack();
  const base = await startBase(options, stack);
  const { database, notifications, lease } = base;
  const takeover = new Takeover(base);
  const outbox = new Outbox(base);
  const events = new EventLog(base);
  stack.defer(() => events.stop());
  const agents = testAgents(options);
  const engine = engineOf(options, base, agents);
  const jobs = new Jobs({
    ...base,
    events,
    conversations: engine,
    files: engine.files,
    random: () => 0,
    agents: directoryOf(options.known ?? agents.names),
    ...options.jobs,
  });
  agents.giveTools(jobs);

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
    pauses: base.pauses,
    processId: lease.id,
    asked: agents.asked,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

interface TestBase {
  readonly database: Database;
  readonly notifications: Notifications;
  readonly lease: ProcessLease;
  readonly pauses: Pauses;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Database, notifications and a lease that is held. */
async function startBase(
  { url, version = "test", onFenced, logger = silentLogger }: TestTeamOptions,
  stack: AsyncDisposableStack,
): Promise<TestBase> {
  const clock = systemClock;
  const id = newId("process");
  const name = applicationName(id);
  const database = await Database.open({ url, applicationName: name, logger, clock, max: 8 });
  stack.defer(() => database.close());
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const shared = { database, logger, clock, notifications };
  const lease = new ProcessLease({ ...shared, id, appVersion: version, onFenced });
  await lease.start();
  stack.defer(() => lease.stop());
  const pauses = new Pauses({ ...shared, signal: lease.signal });
  await pauses.start();
  stack.defer(() => pauses.stop());
  return { ...shared, lease, pauses };
}

interface TestAgents {
  readonly names: readonly string[];
  readonly services: readonly Service[];
  readonly models: readonly OfflineModel[];
  readonly asked: Record<string, ModelRequest[]>;
  /** The tools need the jobs, the jobs the engine, the engine the services. */
  giveTools(jobs: Jobs): void;
}

function testAgents(options: TestTeamOptions): TestAgents {
  const asked: Record<string, ModelRequest[]> = {};
  const names = Object.keys(options.agents);
  const models = names.map((name) =>
    offlineModel(name, (request, context) => {
      (asked[name] ??= []).push(request);
      return options.agents[name]!(request, context);
    }),
  );
  const toolsOf = new Map<string, Readonly<Record<string, AnyTool>>>();
  const services = names.map((name): Service => {
    const agent = chatAgent({
      name,
      prompt: options.prompt ?? `You are ${name}.`,
      tools: lookedUp(() => toolsOf.get(name) ?? {}),
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
  const giveTools = (jobs: Jobs): void => {
    for (const name of names) {
      const own = options.tools?.(jobs, name);
      toolsOf.set(name, {
        end_conversation: endConversationTool(jobs),
        finish: finishTool(jobs),
        ...own,
      });
    }
  };
  return { names, services, models, asked, giveTools };
}

/** Tools that are looked up when they are used. */
function lookedUp(find: () => Readonly<Record<string, AnyTool>>): Record<string, AnyTool> {
  return new Proxy({} as Record<string, AnyTool>, {
    get: (_, key) => find()[key as string],
    has: (_, key) => key in find(),
    ownKeys: () => Object.keys(find()),
    getOwnPropertyDescriptor: (_, key) => ({
      enumerable: true,
      configurable: true,
      value: find()[key as string],
    }),
  });
}

function engineOf(
  { engineClock, engine }: TestTeamOptions,
  { database, notifications, lease, clock, logger, pauses }: TestBase,
  { names, services, models: offline }: TestAgents,
): Engine {
  return new Engine({
    services,
    database,
    notifications,
    pauses,
    models: new Models({ clock, logger, offline }),
    clock: engineClock ?? clock,
    logger,
    processId: lease.id,
    attemptRules: jobAttemptRules({ random: () => 0 }),
    lease: lease.signal,
    defaultLlm: { provider: "offline", model: names[0]!, fallbacks: [] },
    ...engine,
  });
}

function directoryOf(names: readonly string[]): AgentDirectory {
  const all = names.map((id): ExchangeAgent => ({ id, displayName: id, service: id }));
  return { all: () => all, find: (id) => all.find((agent) => agent.id === id) };
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
