import { EventLog } from "../../packages/dure/src/durable/event-log.ts";
import { Database, type Statement } from "../../packages/dure/src/durable/database.ts";
import { Leases } from "../../packages/dure/src/durable/leases.ts";
import { migrate } from "../../packages/dure/src/durable/migrate.ts";
import { SCHEMA } from "../../packages/dure/src/team/schema.ts";
import { Notifications } from "../../packages/dure/src/durable/notify.ts";
import { applicationName, ProcessLease } from "../../packages/dure/src/durable/processes.ts";
import { Retention } from "../../packages/dure/src/durable/retention.ts";
import { chatAgent } from "../../packages/dure/src/engine/agent/agent.ts";
import { BudgetKeeper, type BudgetLimits } from "../../packages/dure/src/engine/money/budgets.ts";
import { Engine } from "../../packages/dure/src/engine/engine.ts";
import {
  defineService,
  flow,
  type Service,
} from "../../packages/dure/src/engine/service/service.ts";
import { systemClock } from "../../packages/dure/src/kernel/clock.ts";
import { newId } from "../../packages/dure/src/kernel/ids.ts";
import { silentLogger } from "../../packages/dure/src/kernel/logger.ts";
import { Models, type ModelsOptions } from "../../packages/dure/src/models/models.ts";
import type { LlmRef } from "../../packages/dure/src/models/model.ts";
import type { OfflineModel } from "../../packages/dure/src/models/offline.ts";

/**
 * dure in this process, wired as `team/start.ts` does it, with the parts that a benchmark looks at.
 */
export interface BenchDure extends AsyncDisposable {
  readonly engine: Engine;
  readonly database: Database;
  readonly events: EventLog;
  /** Statements of the pool so far, by name. */
  readonly statements: ReadonlyMap<string, number>;
  /** One message to its `DONE`. */
  turn(session: string, message: string): Promise<void>;
}

/** A model behind a provider's wire format. */
export interface RemoteModel {
  readonly llm: LlmRef;
  readonly connection: { readonly apiKey: string; readonly baseUrl: string };
}

export interface BenchDureOptions {
  readonly url: string;
  readonly model: OfflineModel | RemoteModel;
  /** Default: one chat agent that answers. */
  readonly service?: Service;
  /** Absent: nothing is limited. */
  readonly budgets?: BudgetLimits;
  /** Sweeps this often, milliseconds. Absent: not at all; the product does it every 10 minutes. */
  readonly retentionEveryMs?: number;
}

/** One chat agent that answers: the plainest service. */
export function chatService(): Service {
  return defineService({
    name: "chat",
    agents: { helper: chatAgent({ name: "helper", prompt: "Answer briefly." }) },
    flows: {
      DEFAULT: flow(async (turn) =>
        turn.done({ message: (await turn.agent("helper", "thinking")).text }),
      ),
    },
  });
}

export async function startDure({
  url,
  model,
  service = chatService(),
  budgets: limits,
  retentionEveryMs,
}: BenchDureOptions): Promise<BenchDure> {
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
  const statements = countStatements(database);

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
  const events = new EventLog({ database, logger, clock, notifications });
  stack.defer(() => events.stop());

  const models = new Models({ clock, logger, ...modelOptions(model) });
  const budgets =
    limits &&
    new BudgetKeeper({
      limits,
      priceOf: (llm) => models.priceOf(llm),
      timeZone: "UTC",
      database,
      notifications,
      clock,
      logger,
      processId,
      lease: lease.signal,
    });
  budgets?.start();
  stack.defer(async () => budgets?.stop());
  const engine = new Engine({
    services: [service],
    database,
    notifications,
    models,
    clock,
    logger,
    processId,
    lease: lease.signal,
    defaultLlm: { ...llmOf(model), fallbacks: [] },
    ...(budgets && { budgets }),
  });
  engine.start();
  stack.defer(() => engine.stop());
  if (retentionEveryMs !== undefined) {
    const retention = new Retention({
      database,
      leases: new Leases({ database, lease, logger, clock }),
      logger,
      clock,
      everyMs: retentionEveryMs,
    });
    retention.start();
    stack.defer(() => retention.stop());
  }

  const kept = stack.move();
  return {
    engine,
    database,
    events,
    statements,
    async turn(session, message) {
      const done = await engine.turn({ session, message }).done;
      if (done.error) {
        throw new Error(
          `a turn of ${session} ended with ${done.error.code}: ${done.error.message}`,
        );
      }
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

function countStatements(database: Database): Map<string, number> {
  const counts = new Map<string, number>();
  const query = database.query.bind(database) as (
    statement: Statement,
    ...rest: unknown[]
  ) => Promise<never>;
  database.query = (statement: Statement, ...rest: unknown[]) => {
    const name = statement.name ?? statement.text.trim().slice(0, 30);
    counts.set(name, (counts.get(name) ?? 0) + 1);
    return query(statement, ...rest);
  };
  return counts;
}

/**
 * Turns that a session has in a benchmark: below the six from which dure folds memory, which is no
 * part of a turn. Source: docs/spec/conversation §5.
 */
const TURNS_PER_SESSION = 5;

/** The session of a worker's turn; the same for every peer, fresh in each round. */
export function sessionOf(round: string, worker: number, index: number): string {
  return `${round}-${worker}-${Math.floor(index / TURNS_PER_SESSION)}`;
}

function modelOptions(
  model: BenchDureOptions["model"],
): Pick<ModelsOptions, "offline" | "providers"> {
  if (!("llm" in model)) return { offline: [model] };
  return { providers: { [model.llm.provider]: model.connection } };
}

function llmOf(model: BenchDureOptions["model"]): LlmRef {
  return "llm" in model ? model.llm : { provider: "offline", model: model.name };
}
