import type { Clock } from "../../kernel/clock.ts";
import type { BudgetStore } from "../../durable/budgets.ts";

/** A process asks for this part of a limit at once. Source: docs/spec/conversation §4. */
const BLOCK_PART = 100;
/**
 * After a refusal nothing is asked that the pool had too little for, this long, milliseconds: an
 * exhausted pool is not locked by every turn.
 */
const REFUSED_FOR_MS = 500;

export type TakenBudget = { readonly ok: true } | { readonly ok: false; readonly left: number };

/**
 * What this process holds of a limit that all processes share. Taking from the block is arithmetic;
 * only when the block is used up is the database asked for the next one, by one caller for all that
 * wait.
 */
export class BudgetPool {
  readonly key: string;
  readonly #store: Pick<BudgetStore, "grant" | "giveBack">;
  readonly #clock: Clock;
  /**
   * Sum of all that was lent to this process, and of all reservations and settled uses charged to
   * it.
   */
  #granted = 0;
  #charged = 0;
  /** Reservations that are not settled yet. */
  #open = 0;
  #waiting = 0;
  #wanted = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #refused = { left: 0, until: -Infinity };
  #usedSinceTidy = false;

  constructor(options: {
    key: string;
    store: Pick<BudgetStore, "grant" | "giveBack">;
    clock: Clock;
  }) {
    this.key = options.key;
    this.#store = options.store;
    this.#clock = options.clock;
  }

  /**
   * Charges `amount` if it fits under `most`, in the order of asking. `"over"`: this process is,
   * and may spend nothing any more.
   */
  async take(amount: number, most: number): Promise<TakenBudget | "over"> {
    this.#usedSinceTidy = true;
    if (this.#waiting === 0 && amount <= this.#free) return this.#charge(amount);
    this.#waiting += 1;
    this.#wanted += amount;
    return this.#inTurn(async () => {
      try {
        const left = await this.#fill(amount, most);
        if (left === "over") return left;
        return amount <= this.#free
          ? this.#charge(amount)
          : { ok: false, left: Math.max(0, this.#free) + left };
      } finally {
        this.#waiting -= 1;
        this.#wanted -= amount;
      }
    });
  }

  /** What was reserved has become `used`, and that is stored. */
  settle(reserved: number, used: number): void {
    this.#open -= 1;
    this.#charged += used - reserved;
  }

  /**
   * Gives the block back when nothing was taken since the last time and nothing is open, so that
   * others can use it.
   */
  async tidy(): Promise<"returned" | "in use"> {
    const idle = !this.#usedSinceTidy;
    this.#usedSinceTidy = false;
    if (!idle || this.#open > 0 || this.#waiting > 0) return "in use";
    return this.#inTurn(async () => {
      if (this.#open > 0 || this.#usedSinceTidy) return "in use";
      this.#granted = 0;
      this.#charged = 0;
      await this.#store.giveBack(this.key);
      return "returned";
    });
  }

  get #free(): number {
    return this.#granted - this.#charged;
  }

  #charge(amount: number): TakenBudget {
    this.#open += 1;
    this.#charged += amount;
    return { ok: true };
  }

  /** Tries to make `amount` free. Returns what the pool still has beside this block. */
  async #fill(amount: number, most: number): Promise<number | "over"> {
    const need = amount - this.#free;
    if (need <= 0) return 0;
    if (need > this.#refused.left && this.#clock.monotonic() < this.#refused.until) {
      return this.#refused.left;
    }
    const block = Math.ceil(most / BLOCK_PART);
    const answer = await this.#store.grant(
      this.key,
      most,
      need,
      Math.max(block, Math.min(this.#wanted - this.#free, MAX_BLOCKS * block)),
    );
    if (answer === null) return "over";
    this.#granted = answer.granted;
    if (amount > this.#free) {
      this.#refused = { left: answer.left, until: this.#clock.monotonic() + REFUSED_FOR_MS };
    }
    return answer.left;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}

/**
 * However many wait, one question asks for at most so many blocks. Others need
 * some too.
 */
const MAX_BLOCKS = 2;
