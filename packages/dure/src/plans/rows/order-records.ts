import type { Database, Transaction } from "../../durable/database.ts";
import { storable } from "../../durable/storable.ts";
import type { OpenOrder, OrderOutcome } from "./run-changes.ts";
import type { RunOrder } from "./run.ts";
import * as sql from "./run-statements.ts";

/** The rows of orders: what people want of a run, until its leader has answered. */
export class OrderRecords {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async give(
    tx: Transaction | undefined,
    run: string,
    order: RunOrder,
    by: string,
  ): Promise<number> {
    const [row] = await (tx ?? this.#database).query<{ id: number }>(sql.ORDER, [
      run,
      storable(order),
      by,
    ]);
    return row!.id;
  }

  async open(run: string): Promise<readonly OpenOrder[]> {
    const rows = await this.#database.query<{ id: number; wish: RunOrder; by_whom: string }>(
      sql.OPEN_ORDERS,
      [run],
    );
    return rows.map(({ id, wish, by_whom }) => ({ id, order: wish, by: by_whom }));
  }

  async close(tx: Transaction, id: number, outcome: OrderOutcome): Promise<void> {
    await tx.query(sql.CLOSE_ORDER, [id, storable(outcome)]);
  }

  async outcome(id: number): Promise<OrderOutcome | undefined> {
    const [row] = await this.#database.query<{ outcome: OrderOutcome | null }>(sql.ORDER_OUTCOME, [
      id,
    ]);
    return row?.outcome ?? undefined;
  }
}
