import type { Clock } from "../kernel/clock.ts";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { RouteTarget } from "../kernel/escalation.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Database, Queryable } from "../durable/database.ts";
import { Poller, type PollResult } from "../durable/poller.ts";
import type { Notifications } from "../durable/notify.ts";
import { enqueue, type NewEntry, type Outbox } from "../durable/outbox.ts";
import type { OutsideHandler } from "../durable/outbox-handler.ts";
import { ESCALATIONS_TOPIC, type EscalationAnswer, type Inbox } from "./inbox.ts";
import { decideRoute, type EscalationRoutes, type RouteDecision } from "./route.ts";
import { webhookHandler, type ToldEscalation, type WebhookOptions } from "./webhook.ts";
import type { Escalation } from "../wire/escalations.ts";

/** An agent that is asked before people are. */
export interface Operators {
  /** Stands in `resolvedBy`. */
  readonly name: string;
  /**
   * Returns the agent's decision; undefined: no decision, and people are told at once. May also
   * answer through the inbox by itself. `key` is the same after every crash.
   */
  ask(
    escalation: Escalation,
    options: { key: string; tenant: string; signal: AbortSignal },
  ): Promise<EscalationAnswer | undefined>;
}

export interface EscalationRouterOptions {
  readonly database: Database;
  readonly notifications: Pick<Notifications, "publish" | "subscribe">;
  readonly outbox: Outbox;
  readonly inbox: Inbox;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly afterMs: EscalationRoutes["afterMs"];
  readonly operators?: Operators | undefined;
  /** Says it in a room: a handler of the topic `escalation.room`. */
  readonly room?: Parameters<Outbox["handle"]>[1] | undefined;
  readonly webhook?: Pick<WebhookOptions, "url" | "secret"> | undefined;
  /** Tells those who decide, one by one: a handler of the topic `escalation.people`. */
  readonly people?: Parameters<Outbox["handle"]>[1] | undefined;
}

/** Outbox topics by who is told. Payloads are `ToldEscalation`s. */
const ROUTE_TOPICS = {
  operator: "escalation.operator",
  room: "escalation.room",
  webhook: "escalation.webhook",
  people: "escalation.people",
} as const satisfies Record<RouteTarget, string>;

/**
 * How often a process looks for due escalations, milliseconds. A person does not notice one second.
 */
const LOOK_EVERY_MS = 1_000;
/** Escalations that one look moves at most; the next one follows at once when there are more. */
const AT_ONCE = 50;
/**
 * Milliseconds that the operator agent has for one answer; then people are told. Below the
 * shortest step.
 */
const OPERATOR_TIMEOUT_MS = 120_000;
/** Escalations that the operator agent answers at the same time, in all processes together. */
const OPERATOR_LANES = 3;

/**
 * Moves open escalations from step to step: where they were raised → operator agent → people. The
 * step and its time are in the row; any process moves what is due by the clock of the database,
 * each in one transaction with its event and with the outbox entries that tell it.
 */
export class EscalationRouter {
  readonly #options: EscalationRouterOptions;
  readonly #routes: EscalationRoutes;
  readonly #poller: Poller;
  #unsubscribe: (() => void) | undefined;

  constructor(options: EscalationRouterOptions) {
    this.#options = options;
    this.#routes = {
      operator: options.operators !== undefined,
      room: options.room !== undefined,
      webhook: options.webhook !== undefined,
      people: options.people !== undefined,
      afterMs: options.afterMs,
    };

    this.#poller = new Poller({
      what: "escalations that are to go on",
      poll: () => this.#look(),
      everyMs: LOOK_EVERY_MS,
      clock: options.clock,
      logger: options.logger,
    });
  }

  start(): void {
    if (this.#unsubscribe) return;

    const { outbox, operators, room, webhook, people } = this.#options;
    const { inbox, clock, notifications } = this.#options;
    if (operators) outbox.handle(ROUTE_TOPICS.operator, this.#operatorHandler(operators));
    if (room) outbox.handle(ROUTE_TOPICS.room, room);
    if (people) outbox.handle(ROUTE_TOPICS.people, people);
    if (webhook) outbox.handle(ROUTE_TOPICS.webhook, webhookHandler({ ...webhook, inbox, clock }));
    this.#unsubscribe = notifications.subscribe(ESCALATIONS_TOPIC, () => this.#poller.wake());
    this.#poller.start();
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#poller.stop();
  }

  /**
   * Closes expired escalations and moves due ones to their next step. A call during a look causes
   * another look after it.
   */
  look(): Promise<void> {
    return this.#poller.poll();
  }

  async #look(): Promise<PollResult> {
    const { database, inbox, outbox, notifications } = this.#options;
    const late = await inbox.expire(AT_ONCE);
    const due = await database.query<{ id: string }>(DUE, [AT_ONCE]);
    for (const { id } of due) await this.#leadOn(id);

    if (due.length > 0) {
      outbox.announce();
      notifications.publish("events");
    }

    return late === AT_ONCE || due.length === AT_ONCE ? "more" : "idle";
  }

  /** One step of one escalation, unless another process takes it. */
  async #leadOn(id: string): Promise<void> {
    await this.#options.database.transaction(async (tx) => {
      const [due] = await tx.query<DueEscalation>(TAKE, [id]);
      if (!due) return;

      const decision = decideRoute(due, this.#routes);

      await tx.query(MOVE, [
        id,
        decision.step,
        decision.nextMs,
        JSON.stringify({
          from: due.step,
          step: decision.step,
          because: decision.because,
          told: decision.tell,
        }),
      ]);

      await enqueue(
        tx,
        decision.tell.map((target) => entryOf(target, due, decision)),
      );
    });
  }

  /** Asks, answers in the agent's name, and tells people at once when it has not decided. */
  #operatorHandler(operators: Operators): OutsideHandler {
    const { inbox, database, logger } = this.#options;
    return {
      policy: { attempts: 2, timeoutMs: OPERATOR_TIMEOUT_MS },
      send: async (payload, { key, signal }) => {
        const { id, tenant } = payload as unknown as ToldEscalation;
        const escalation = await openOne(inbox, id, tenant);
        if (escalation?.step !== "operator") return;

        const answer = await operators.ask(escalation, { key, tenant, signal });
        if (answer) await this.#answerFor(operators.name, escalation, answer, tenant);
        if (!(await openOne(inbox, id, tenant))) return;

        logger.info(
          { escalation: id, operator: operators.name },
          `the operator ${operators.name} has not decided ${id}; people are told`,
        );

        await handOn(database, id);
        this.#poller.wake();
      },
      onGivenUp: async ({ payload }, tx) => {
        await handOn(tx, (payload as unknown as ToldEscalation).id);
      },
    };
  }

  /** Another answer may have come first; an unknown value is no decision. */
  async #answerFor(
    name: string,
    { id }: Escalation,
    answer: EscalationAnswer,
    tenant: string,
  ): Promise<void> {
    try {
      await this.#options.inbox.answer(id, answer, { tenant, name });
    } catch (error) {
      if (!(error instanceof DureError) || !NO_ANSWER.has(error.code)) throw error;
      this.#options.logger.warn(
        { escalation: id, operator: name, code: error.code },
        `the answer of the operator ${name} to ${id} did not hold: ${error.message}`,
      );
    }
  }
}

const NO_ANSWER: ReadonlySet<string> = new Set([
  "ESCALATION_CLOSED",
  "ESCALATION_UNKNOWN",
  "ANSWER_INVALID",
]);

type DueEscalation = Pick<Escalation, "id" | "type" | "severity" | "step"> & {
  readonly tenant: string;
};

/** One entry per escalation, step and severity: a higher severity is told again. */
function entryOf(
  target: RouteTarget,
  { id, tenant, severity }: DueEscalation,
  { step }: RouteDecision,
): NewEntry {
  const ordering =
    target === "operator" ? `lane-${(id.codePointAt(id.length - 1) ?? 0) % OPERATOR_LANES}` : id;
  return {
    topic: ROUTE_TOPICS[target],
    ordering,
    key: `escalation/${id}/${step}/${severity}/${target}`,
    payload: { id, tenant } satisfies ToldEscalation,
  };
}

async function openOne(inbox: Inbox, id: string, tenant: string): Promise<Escalation | undefined> {
  try {
    const escalation = await inbox.get(id, { tenant });
    return escalation.status === "open" ? escalation : undefined;
  } catch (error) {
    if (codeOf(error) === "ESCALATION_UNKNOWN") return undefined; // aged out meanwhile
    throw error;
  }
}

async function handOn(database: Queryable, id: string): Promise<void> {
  await database.query(HAND_ON, [id]);
}

const DUE = {
  name: "route.due",
  text: `select id
    from dure.escalations
    where status = 'open' and next_step_at <= clock_timestamp()
    order by next_step_at
    limit $1`,
};
const TAKE = {
  name: "route.take",
  text: `select id, tenant, type, severity, step
    from dure.escalations
    where id = $1 and status = 'open' and next_step_at <= clock_timestamp()
    for update skip locked`,
};
const MOVE = {
  name: "route.move",
  text: `with moved as (
           update dure.escalations e
           set step = $2,
             next_step_at = clock_timestamp() + $3::double precision * interval '1 millisecond'
           where id = $1
           returning e.*)
         select dure.escalation_event(moved::dure.escalations, 'escalation.routed', $4)
         from moved`,
};
const HAND_ON = {
  name: "route.hand_on",
  text: `update dure.escalations
    set next_step_at = clock_timestamp()
    where id = $1 and status = 'open' and step = 'operator'`,
};
