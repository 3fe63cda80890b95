import { systemClock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { silentLogger, type Logger } from "../kernel/logger.ts";
import type { Done, TurnEvent } from "../kernel/turn-events.ts";
import { Database } from "../durable/database.ts";
import { Notifications } from "../durable/notify.ts";
import { testDatabase } from "../durable/test-database.ts";
import { Models, type ModelsOptions } from "../models/models.ts";
import type { OfflineModel } from "../models/offline.ts";
import { heldModel, type HeldRequests } from "../models/test-providers.ts";
import type { TurnRequest } from "./api.ts";
import type { AnyService } from "./service/combine.ts";
import { Engine, type EngineOptions } from "./engine.ts";

/**
 * An engine with a database of its own, for tests. A second one on the same database is a second
 * process.
 */
export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine;
  readonly database: Database;
  readonly models: Models;
  readonly notifications: Notifications;
  /** Of its database, for a second engine. */
  readonly url: string;
  /** The holder of its turns: what is released when it has died. */
  readonly processId: string;
  /** Aborts the lease, as fencing does: nothing more is written. */
  fence(): void;
  /** Sends a message and reads to `DONE`. */
  say(
    message: string,
    request?: Partial<TurnRequest> & { key?: string },
  ): Promise<{ turnId: string; done: Done; events: readonly TurnEvent[] }>;
}

export interface TestEngineOptions {
  readonly offline?: readonly OfflineModel[];
  readonly model?: string;
  readonly providers?: ModelsOptions["providers"];
  readonly on?: { readonly url: string } | undefined;
  readonly logger?: Logger;
  /** Requests of a model that are held against the rules of every provider. Default: the first 20. */
  readonly held?: HeldRequests | undefined;
  readonly engine?: Partial<EngineOptions> | undefined;
}

export async function startTestEngine(
  services: AnyService | readonly AnyService[],
  options: TestEngineOptions = {},
): Promise<TestEngine> {
  await using stack = new AsyncDisposableStack();
  const processId = options.engine?.processId ?? newId("process");
  const logger = options.logger ?? silentLogger;
  const clock = systemClock;
  const owned = options.on ? undefined : stack.use(await testDatabase());
  const database = await Database.open({
    url: options.on?.url ?? owned!.url,
    applicationName: `dure:${processId}`,
    logger,
    clock,
  });
  stack.defer(() => database.close());
  const notifications = new Notifications({ database, logger, clock });
  await notifications.start();
  stack.defer(() => notifications.stop());
  const lease = new AbortController();
  const offline = heldModels(stack, options);
  const models = new Models({ clock, logger, offline, providers: options.providers });
  await registerProcess(database, processId);
  const engine = new Engine({
    services: [services].flat(),
    database,
    notifications,
    models,
    clock,
    logger,
    processId,
    lease: lease.signal,
    defaultLlm: llmOf(options),
    devMode: true,
    ...options.engine,
  });
  engine.start();
  stack.defer(async () => {
    await engine.stop({ graceMs: 2_000 });
    lease.abort(new Error("the test is over"));
  });
  const kept = stack.move();
  return {
    engine,
    database,
    models,
    notifications,
    url: options.on?.url ?? owned!.url,
    processId,
    fence: () => lease.abort(new Error("fenced by the test")),
    say: (message, request) => say(engine, message, request),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** What they are asked is held against the rules of every provider, beside the test's own time. */
function heldModels(
  stack: AsyncDisposableStack,
  { offline = [], held: most }: TestEngineOptions,
): readonly OfflineModel[] {
  const held: Promise<readonly string[]>[] = [];
  stack.defer(async () => {
    const refusals = (await Promise.all(held)).flat();
    if (refusals.length > 0) throw new Error(`providers refuse: ${refusals.join("; ")}`);
  });
  return offline.map((model) => heldModel(model, held, most));
}

async function registerProcess(database: Database, processId: string): Promise<void> {
  const text = `insert into dure.processes (id, app_version, host, machine, pid, pid_started)
    values ($1, '0', '', '', 0, '')`;
  await database.query({ text }, [processId]);
}

function llmOf({ model, offline }: TestEngineOptions): EngineOptions["defaultLlm"] {
  const name = model ?? (offline?.[0] ? `offline:${offline[0].name}` : "offline:echo");
  const colon = name.indexOf(":");
  const provider = name.slice(0, colon) as "offline";
  return { provider, model: name.slice(colon + 1), fallbacks: [] };
}

async function say(
  engine: Engine,
  message: string,
  { key, ...request }: Partial<TurnRequest> & { key?: string } = {},
): ReturnType<TestEngine["say"]> {
  const turn = engine.turn({ session: "s1", message, ...request }, { key });
  const events: TurnEvent[] = [];
  for await (const event of turn) events.push(event);
  const last = events.at(-1);
  if (last?.type !== "DONE") throw new Error("the turn ended without DONE");
  return { turnId: await turn.turnId, done: last.data, events };
}
