import { DureError } from "../../kernel/errors.ts";
import { ulid } from "../../kernel/ids.ts";
import type { Member } from "../../kernel/plans.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { sendFromOutside } from "../rows/outside-message.ts";
import type { RunRecords } from "../rows/records.ts";
import type { PlanRun, RunOrder } from "../rows/run.ts";
import type { RunQueries } from "./run-queries.ts";
import {
  assertListens,
  assertOrchestrator,
  assertRetry,
  assertWords,
  runCleaned,
} from "./run-requests.ts";
import type { RunsOptions } from "./runs.ts";

/**
 * Longest wait for an order to be carried out, in milliseconds; it is carried out later all the
 * same.
 */
const ORDER_WAIT_MS = 5_000;
const ORDER_LOOK_MS = 50;
/** Messages of the operator that a port hears in all. */
const MAX_SAYINGS = 50;

interface CommandParts extends Pick<RunsOptions, "database" | "clock" | "notifications"> {
  readonly records: RunRecords;
  readonly queries: RunQueries;
  /** Wakes the leaders of this machine. */
  readonly wake: () => void;
  /** Aborts when this process stops. */
  readonly signal: AbortSignal;
}

/** What people tell a run that goes on: orders to its leader, and words to its workers. */
export class RunCommands {
  readonly #options: CommandParts;
  readonly #records: RunRecords;
  readonly #queries: RunQueries;

  constructor(options: CommandParts) {
    this.#options = options;
    this.#records = options.records;
    this.#queries = options.queries;
  }

  /**
   * Orders are carried out by the leader; this waits 5 s for it. Throws `RUN_UNKNOWN`,
   * `PLAN_PORT_UNKNOWN`, `TRIES_EXHAUSTED`, `ORCHESTRATOR_MISSING`, `PATH_INVALID`,
   * `RUN_ORDER_REFUSED`.
   */
  async order(
    id: string,
    given: RunOrder,
    {
      tenant = "",
      by,
      signal = this.#options.signal,
    }: { tenant?: TenantView } & { by: string; signal?: AbortSignal },
  ): Promise<{ carriedOut: boolean }> {
    const run = await this.#queries.find(id, tenant);
    if (run.cleanedAt !== null) throw runCleaned(run);
    const order = await this.#checkedOrder(run, given);
    const number = await this.#records.orders.give(undefined, id, order, by);
    this.#options.wake();

    return { carriedOut: await this.#isCarriedOut(number, signal) };
  }

  async #checkedOrder(run: PlanRun, order: RunOrder): Promise<RunOrder> {
    if (order.type !== "retry" && order.type !== "skip") return order;
    const isReassigned = order.type === "retry" && order.by === "orchestrator";
    if (isReassigned) assertOrchestrator(run, order.port);
    const port = await this.#queries.findPort(run, order.port);
    if (order.type === "retry") assertRetry(order, port);
    if (!isReassigned) return order;

    return { ...order, pairTries: await this.#records.steps.pairTries(run.id, order.port) };
  }

  /** False: the leader has not come to it yet. Throws `RUN_ORDER_REFUSED`. */
  async #isCarriedOut(order: number, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    const until = clock.monotonic() + ORDER_WAIT_MS;
    for (;;) {
      const outcome = await this.#records.orders.outcome(order);
      if (outcome?.ok) return true;
      if (outcome) {
        throw new DureError("RUN_ORDER_REFUSED", outcome.message, {
          class: "conflict",
          details: { because: outcome.code },
          hint: "Look at the run with: dure plan status",
        });
      }
      if (clock.monotonic() >= until) return false;
      await clock.sleep(ORDER_LOOK_MS, { signal });
    }
  }

  /**
   * Sends the operator's message to a member of a port. A listening worker reads it at its next turn;
   * others in their next prompt. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`, `MESSAGE_INVALID`,
   * `RUN_OVER`, `PORT_OVER`, `TESTER_MISSING`, `ORCHESTRATOR_MISSING`, `WORKER_DEAF`, `MEMBER_DONE`,
   * `CHANNEL_FULL`.
   */
  async say(
    id: string,
    port: string,
    words: { to: Member; text: string },
    { tenant = "", by, key }: { tenant?: TenantView } & { by: string; key?: string | undefined },
  ): Promise<{ id: number }> {
    const text = words.text.trim();
    assertWords(text);
    const run = await this.#queries.find(id, tenant);
    const found = await this.#queries.findPort(run, port);
    const steps = await this.#records.steps.of(id, port);
    assertListens(run, { ...found, steps }, words.to);
    const message = await sendFromOutside(this.#options, {
      run: id,
      port,
      from: "operator",
      to: words.to,
      payload: { text, by },
      key: `operator:${key ?? ulid(this.#options.clock.now())}`,
      most: { keys: "operator:", count: MAX_SAYINGS },
    });

    return { id: message };
  }
}
