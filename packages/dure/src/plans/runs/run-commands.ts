/** What people order of a run, and how they review a port's work. */

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
import type { PortComment, TreeDiff } from "../../wire/runs.ts";
import type { Database } from "../../durable/database.ts";
import { assertInChange, MAX_COMMENTS, reviewOf } from "../ask/review.ts";
import { addComment, commentsOf, dropComment, type NewComment } from "../rows/comment-rows.ts";

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

/** Characters of all comments that wait; what is written at sending comes on top. */
const MAX_WAITING = 12_000;

interface ReviewedPort {
  readonly run: string;
  readonly port: string;
  readonly tenant: TenantView;
}

/**
 * What people say about the work of a port. Comments are rows until they are sent; sending makes an
 * order of them, which the run's leader carries out once.
 */
export class RunReviews {
  readonly #database: Database;
  readonly #queries: RunQueries;

  constructor(options: { database: Database; queries: RunQueries }) {
    this.#database = options.database;
    this.#queries = options.queries;
  }

  /** Oldest first. Throws `RUN_UNKNOWN`, `PLAN_PORT_UNKNOWN`. */
  async comments(about: ReviewedPort): Promise<readonly PortComment[]> {
    await this.#find(about);
    return commentsOf(this.#database, about.run, about.port);
  }

  /**
   * Throws `COMMENT_OUTSIDE`, `REVIEW_TOO_LONG`, `RUN_CLEANED` and as {@link comments}.
   *
   * @param change what the port has changed.
   */
  async add(
    about: ReviewedPort,
    comment: NewComment,
    change: () => Promise<TreeDiff>,
  ): Promise<readonly PortComment[]> {
    const run = await this.#find(about);
    if (run.cleanedAt !== null) throw runCleaned(run);
    assertInChange(await change(), comment);
    const waiting = await this.#waiting(about);
    reviewOf(comment.by, [...waiting, comment], "", MAX_WAITING);
    const { run: id, port } = about;
    const most = MAX_COMMENTS;
    await addComment(this.#database, { run: id, port, most }, comment);

    return this.comments(about);
  }

  /** Throws `COMMENT_UNKNOWN`, and as {@link comments}. */
  async drop(about: ReviewedPort, id: number): Promise<readonly PortComment[]> {
    await this.#find(about);
    if (await dropComment(this.#database, about.run, about.port, id)) return this.comments(about);
    throw new DureError("COMMENT_UNKNOWN", `No comment ${id} waits to be sent.`, {
      class: "not-found",
      hint: "What was sent stays.",
    });
  }

  /** The order that sends what waits. Throws `REVIEW_EMPTY`, `REVIEW_TOO_LONG`. */
  async order(about: ReviewedPort, by: string, text: string | undefined): Promise<RunOrder> {
    await this.#find(about);
    const waiting = await this.#waiting(about);
    const feedback = reviewOf(by, waiting, text);
    const comments = waiting.map(({ id }) => id);

    return { type: "review", port: about.port, feedback, comments };
  }

  async #waiting({ run, port }: ReviewedPort): Promise<readonly PortComment[]> {
    const all = await commentsOf(this.#database, run, port);
    return all.filter(({ sentTry }) => sentTry === null);
  }

  async #find({ run, port, tenant }: ReviewedPort): Promise<PlanRun> {
    const found = await this.#queries.find(run, tenant);
    await this.#queries.findPort(found, port);

    return found;
  }
}
