import type { PortComment } from "../../wire/runs.ts";
import type { Database } from "../../durable/database.ts";
import { DureError } from "../../kernel/errors.ts";
import type { TenantView } from "../../kernel/tenant.ts";
import { MAX_COMMENTS, reviewOf } from "../ask/review.ts";
import { addComment, commentsOf, dropComment, type NewComment } from "../rows/comment-rows.ts";
import type { PlanRun, RunOrder } from "../rows/run.ts";
import type { RunQueries } from "./run-queries.ts";
import { runCleaned } from "./run-requests.ts";

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

  /** Throws `REVIEW_TOO_LONG`, `RUN_CLEANED` and as {@link comments}. */
  async add(about: ReviewedPort, comment: NewComment): Promise<readonly PortComment[]> {
    const run = await this.#find(about);
    if (run.cleanedAt !== null) throw runCleaned(run);
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
