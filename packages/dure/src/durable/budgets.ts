import type { Clock } from "../kernel/clock.ts";
import type { Database } from "./database.ts";
import type { Notifications } from "./notify.ts";
import type { RetentionRule } from "./retention.ts";
import { storable } from "./storable.ts";
import { retryUntilAnswered } from "./retry-until-answered.ts";
import { FencedError, type JournalRow, type StoredModelCall } from "./turns.ts";

/** What is counted: tokens in and out together, or millionths of a US dollar. */
export type BudgetUnit = "tokens" | "usd";

/** A bound that only the turn's own rows decide. */
export interface OwnBound {
  readonly scope: "turn" | "session";
  /** null: of all agents together. */
  readonly agent: string | null;
  readonly unit: BudgetUnit;
  readonly most: number;
  /** What the call may use of it. */
  readonly amount: number;
}

/** A reservation for one model call, with the journal rows that go into the same statement. */
export interface BudgetReservation {
  readonly turn: string;
  readonly epoch: number;
  /** The call's place in the turn's journal. */
  readonly place: string;
  readonly agent: string;
  readonly tokens: number;
  /** 0 for a model without a price. */
  readonly micro_usd: number;
  /** Keys of the pools that are charged; the process holds enough of each. */
  readonly pools: readonly string[];
  readonly bounds: readonly OwnBound[];
  readonly rows: readonly JournalRow[];
  readonly calls: readonly StoredModelCall[];
}

export type ReserveAnswer =
  | { readonly outcome: "reserved" }
  /**
   * By an earlier life of the turn, charged to `process` (`""`: to the pools themselves, because
   * that process is dead).
   */
  | { readonly outcome: "found"; readonly process: string }
  | {
      readonly outcome: "exceeded";
      readonly scope: "turn" | "session";
      readonly agent: string | null;
      readonly unit: BudgetUnit;
      readonly left: number;
    }
  | { readonly outcome: "stop" }
  /** The blocks of this process were taken back meanwhile; ask for new ones. */
  | { readonly outcome: "blocks_gone" };

/** A call outside of turns, and what it may use at the most. */
export interface OutsideCharge {
  /** Groups the calls of one work, such as a run of a plan. */
  readonly session: string;
  readonly pools: readonly {
    readonly key: string;
    readonly most: number;
    readonly amount: number;
  }[];
  /** Money of everything recorded at or below `path`, in millionths of a US dollar. */
  readonly bounds: readonly {
    readonly scope: string;
    readonly path: string;
    readonly most: number;
    readonly amount: number;
  }[];
  /** Of a call that belongs to a conversation, between its turns; the session must be at rest. */
  readonly conversation?: ConversationCharge | undefined;
}

/** What a call of a session may use, and the session's own bounds. */
export interface ConversationCharge {
  readonly agent: string;
  readonly tokens: number;
  readonly micro_usd: number;
  readonly bounds: readonly OwnBound[];
}

export type ChargeAnswer =
  | { readonly outcome: "charged" }
  /** `key`: of the pool, or the scope of the bound. */
  | { readonly outcome: "exceeded"; readonly key: string; readonly left: number }
  /** By a bound of the session. */
  | {
      readonly outcome: "exceeded";
      readonly scope: "session";
      readonly agent: string | null;
      readonly unit: BudgetUnit;
      readonly left: number;
    }
  /** A turn runs in the session, or it is gone. */
  | { readonly outcome: "busy" };

/**
 * Settled reservations are of use to their running turn only. Source: turns are read for 24 h,
 * docs/spec/conversation §6; pools so that a year can be looked back on.
 */
export const BUDGET_RULES: readonly RetentionRule[] = [
  {
    name: "budget_reservations",
    keep: "24h",
    table: "dure.budget_reservations",
    ageColumn: "at",
    where: "folded and settled_at is not null",
  },
  {
    name: "budget_pools",
    keep: "400d",
    table: "dure.budget_pools",
    ageColumn: "touched_at",
    where: "lent = 0 and key like '%/day/%'",
  },
];

/**
 * The statements of budgets, each safe to repeat; a lost answer is asked for again until `lease`
 * aborts.
 */
export class BudgetStore {
  readonly #database: Database;
  readonly #notifications: Pick<Notifications, "publish">;
  readonly #clock: Clock;
  readonly #process: string;
  readonly #lease: AbortSignal;

  constructor(options: {
    database: Database;
    notifications: Pick<Notifications, "publish">;
    clock: Clock;
    process: string;
    lease: AbortSignal;
  }) {
    this.#database = options.database;
    this.#notifications = options.notifications;
    this.#clock = options.clock;
    this.#process = options.process;
    this.#lease = options.lease;
  }

  /** Throws `FencedError`. */
  async reserve(reservation: BudgetReservation): Promise<ReserveAnswer> {
    const values = [storable({ ...reservation, process: this.#process })];
    const answer = await this.#retryUntilAnswered<ReserveAnswer | { readonly outcome: "fenced" }>(
      { name: "reserve_budget", text: "select dure.reserve_budget($1) as value" },
      values,
    );

    if (answer.outcome === "fenced") throw new FencedError(reservation.turn);

    if (reservation.rows.length > 0) this.#notifications.publish("turns");

    return answer;
  }

  /** Whether an earlier life of the turn has reserved at this place. */
  async isReserved(turn: string, place: string): Promise<boolean> {
    return this.#retryUntilAnswered(
      {
        name: "find_budget",
        text: `select exists (select from dure.budget_reservations
            where turn_id = $1
            and place = $2) as value`,
      },
      [turn, place],
    );
  }

  /**
   * Asks for `want` of a pool, or what is left of it, but at least `need` or nothing. `granted` is
   * the sum of all that this process was ever lent of it, `left` what the pool still has after
   * that; null when the process is over.
   */
  async grant(
    pool: string,
    limit: number,
    need: number,
    want: number,
  ): Promise<{ readonly granted: number; readonly left: number } | null> {
    const answer = await this.#retryUntilAnswered<{
      outcome: "granted" | "fenced";
      granted: number;
      left: number;
    }>({ name: "grant_budget", text: "select dure.grant_budget($1, $2, $3, $4, $5) as value" }, [
      this.#process,
      pool,
      limit,
      need,
      want,
    ]);
    return answer.outcome === "fenced" ? null : answer;
  }

  /**
   * Brings settled reservations of this process into the pools' sums; at most 5,000, returns how
   * many.
   */
  async fold(): Promise<number> {
    return this.#retryUntilAnswered(
      { name: "fold_budget", text: "select dure.fold_budget($1, null) as value" },
      [this.#process],
    );
  }

  /** Gives back what is left of one block; nothing may be open in it. */
  async giveBack(pool: string): Promise<void> {
    await this.#retryUntilAnswered(
      { name: "return_budget", text: "select dure.return_budget($1, $2)::text as value" },
      [this.#process, pool],
    );
  }

  /**
   * Takes all blocks of a process back that is dead or stops. Its turns are released before, so
   * that it cannot reserve any more. Returns how many blocks.
   */
  async release(process: string): Promise<number> {
    const [row] = await this.#database.query<{ value: number }>(
      { name: "release_budget", text: "select dure.release_budget($1) as value" },
      [process],
    );
    return row?.value ?? 0;
  }

  /** Charges all pools or none. Not repeated: where the answer is lost, it stays charged. */
  async charge(charge: OutsideCharge): Promise<ChargeAnswer> {
    const [row] = await this.#database.query<{ value: ChargeAnswer }>(
      { name: "charge_call", text: "select dure.charge_call($1) as value" },
      [storable(charge)],
    );
    return row!.value;
  }

  /**
   * What a charged call came to. Not repeated: where it fails, the call stays charged with what it
   * might have used.
   */
  async recordCall(call: {
    readonly session: string;
    readonly path: string;
    readonly service: string;
    readonly call: StoredModelCall;
    readonly pools: OutsideCharge["pools"];
    readonly conversation?: ConversationCharge | undefined;
  }): Promise<void> {
    await this.#database.query({ name: "record_call", text: "select dure.record_call($1)" }, [
      storable(call),
    ]);
  }

  /** How far pools are used; `lent` is what processes hold of them for calls to come. */
  async pools(
    keys: readonly string[],
  ): Promise<readonly { readonly key: string; readonly used: number; readonly lent: number }[]> {
    return this.#database.query(
      {
        name: "budget_pools",
        text: `
          select key, used, lent
          from dure.budget_pools
          where key = any($1)
          order by key`,
      },
      [keys],
    );
  }

  #retryUntilAnswered<Value>(
    statement: { name: string; text: string },
    values: readonly unknown[],
  ): Promise<Value> {
    const ask = async (): Promise<Value> => {
      const [row] = await this.#database.query<{ value: Value }>(statement, values);
      return row!.value;
    };
    return retryUntilAnswered(ask, { clock: this.#clock, signal: this.#lease });
  }
}
