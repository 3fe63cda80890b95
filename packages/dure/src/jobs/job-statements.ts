import type { Database } from "../durable/database.ts";
import { retryUntilAnswered } from "../durable/retry-until-answered.ts";
import type { Clock } from "../kernel/clock.ts";

export interface JobStatementsOptions {
  readonly database: Database;
  readonly clock: Clock;
  /** Aborts when this process may not write any longer. */
  readonly signal: AbortSignal;
}

/** How the statements of jobs are asked: a lost answer is asked for again. */
export class JobStatements {
  readonly #options: JobStatementsOptions;

  constructor(options: JobStatementsOptions) {
    this.#options = options;
  }

  /** For what is not safe to repeat, or is asked again anyway. */
  once<Row extends object>(
    statement: { readonly name?: string; readonly text: string },
    values: readonly unknown[],
  ): Promise<Row[]> {
    return this.#options.database.query<Row>(statement, values);
  }

  /** For one row with one `value`. */
  async retrying<Value>(name: string, text: string, values: readonly unknown[]): Promise<Value> {
    const [row] = await this.many<{ value: Value }>(name, text, values);
    return row!.value;
  }

  many<Row extends object>(name: string, text: string, values: readonly unknown[]): Promise<Row[]> {
    return retryUntilAnswered(() => this.once<Row>({ name, text }, values), this.#options);
  }
}
