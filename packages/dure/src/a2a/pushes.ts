import type { Conversations } from "../engine/api.ts";
import type { Database } from "../durable/database.ts";
import { Poller, type PollResult } from "../durable/poller.ts";
import { enqueue, type Outbox } from "../durable/outbox.ts";
import type { FailureVerdict, OutsideHandler } from "../durable/outbox-handler.ts";
import type { ProcessLease } from "../durable/processes.ts";
import { webhookHeaders } from "../escalations/sign-webhook.ts";
import { WebhookError } from "../escalations/webhook.ts";
import { postGuarded } from "../engine/agent/public-post.ts";
import type { Clock } from "../kernel/clock.ts";
import { codeOf } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";
import type { Logger } from "../kernel/logger.ts";
import { isTerminal, lastOf, stateOf, taskJson, type StoredTask } from "./a2a-task.ts";
import { PUSH_TO } from "./push-desk.ts";
import { noteTold, PushRows, type DuePush, type Push } from "./push-rows.ts";
import { TaskRows } from "./task-rows.ts";

/** Topic of the outbox. */
export const PUSH_TOPIC = "a2a.push";

/** Between two looks for tasks that have gone on, milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** Pushes that one look takes. */
const AT_ONCE = 100;

export interface PushesOptions {
  readonly database: Database;
  readonly lease: ProcessLease;
  readonly outbox: Pick<Outbox, "announce">;
  readonly conversations: Pick<Conversations, "describe">;
  /** Signs what is sent. Absent: it is not signed. */
  readonly secret: string | undefined;
  /** Receivers inside the network that may be told, as `host:port`. */
  readonly allowed: ReadonlySet<string>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What an entry of the outbox holds. */
interface PushEntry {
  readonly taskId: string;
  readonly id: string;
}

/** An address inside stays one. */
function verdictOf(error: unknown): FailureVerdict | undefined {
  if (error instanceof WebhookError) return error.verdict;
  const code = codeOf(error);
  const isInside = code === "PUSH_ADDRESS" || code === "WEB_ADDRESS_PRIVATE";

  return isInside ? { class: "permanent", notSent: true } : undefined;
}

/**
 * Tells clients of their tasks: of each end of a turn one entry of the outbox, over all processes.
 * What is sent is the task as it is then. Source: docs/spec/interop §7.
 */
export class Pushes {
  readonly #options: PushesOptions;
  readonly #pushes: PushRows;
  readonly #tasks: TaskRows;
  readonly #poller: Poller;

  constructor(options: PushesOptions) {
    const { database, clock, logger, lease } = options;
    this.#options = options;
    this.#pushes = new PushRows(database);
    this.#tasks = new TaskRows(database);
    this.#poller = new Poller({
      what: "tasks that clients are told of",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock,
      logger,
      signal: lease.signal,
    });
  }

  start(): void {
    this.#poller.start();
  }

  async stop(): Promise<void> {
    await this.#poller.stop();
  }

  /** Sends to the receivers. */
  handler(): OutsideHandler {
    return {
      send: async (payload, { key, signal }) => {
        const { taskId, id } = payload as unknown as PushEntry;
        const push = (await this.#pushes.list(taskId)).find((one) => one.id === id);
        const [task] = await this.#tasks.tasks([taskId], null);
        if (push && task) await this.#send(push, task, { key, signal });
      },
      classify: verdictOf,
    };
  }

  async #send(
    { url, secrets }: Push,
    task: StoredTask,
    { key, signal }: { key: string; signal: AbortSignal },
  ): Promise<void> {
    const { secret, clock, allowed } = this.#options;
    const told = taskJson(task, { stages: this.#stagesOf(task), historyLength: 0 });
    const body = JSON.stringify({ task: told });
    const { token, scheme, credentials } = secrets;
    const headers: Record<string, string> = webhookHeaders({ id: key, body }, { secret, clock });
    if (token !== undefined) headers["x-a2a-notification-token"] = token;
    if (scheme !== undefined) headers["authorization"] = `${scheme} ${credentials ?? ""}`.trim();

    const { status, retryAfter } = await postGuarded(url, {
      headers,
      body,
      allowed,
      setting: PUSH_TO,
      clock,
      signal,
    });
    if (status < 200 || status > 299) throw new WebhookError(status, retryAfter);
  }

  async #look(): Promise<PollResult> {
    const due = await this.#pushes.due(AT_ONCE);
    if (due.length === 0) return "idle";

    const ids = [...new Set(due.map(({ taskId }) => taskId))];
    const tasks = await this.#tasks.tasks(ids, null);
    for (const push of due) {
      const task = tasks.find(({ id }) => id === push.taskId);
      if (task) await this.#take(push, task);
    }

    return due.length === AT_ONCE ? "more" : "idle";
  }

  /** The row says what was told before it is sent; both are one transaction. */
  async #take(push: DuePush, task: StoredTask): Promise<void> {
    const { database, lease, outbox } = this.#options;
    const state = stateOf(task, this.#stagesOf(task));
    const last = lastOf(task);
    const isNews = last.status === "done";
    const told = isNews ? `${last.id} ${state}` : push.told;
    const { taskId, id } = push;
    const entry = {
      topic: PUSH_TOPIC,
      ordering: `${taskId}/${id}`,
      key: `${taskId}/${id}/${last.id}/${state}`,
      payload: { taskId, id } satisfies Json,
    };

    await database.transaction(async (tx) => {
      await lease.guard(tx);
      const isOver = isNews && isTerminal(state);
      const isOurs = await noteTold(tx, push, { told, isOver });
      if (isOurs && isNews && told !== push.told) await enqueue(tx, [entry]);
    });
    outbox.announce();
  }

  #stagesOf({ service }: StoredTask) {
    return this.#options.conversations.describe().find(({ name }) => name === service)?.stages;
  }
}
