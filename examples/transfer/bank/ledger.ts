import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";

/** A booking as the bank tells it. */
export interface Booking {
  readonly transaction_id: string;
  readonly status: "booked";
  /** The `Idempotency-Key` under which it was booked. */
  readonly key: string;
  readonly to: string;
  /** Whole won. */
  readonly amount: number;
  readonly memo?: string | undefined;
  /** `YYYY-MM-DD`. */
  readonly date?: string | undefined;
}

export interface TransferOrder {
  readonly to: string;
  readonly amount: number;
  readonly memo?: string | undefined;
  readonly date?: string | undefined;
}

export type RefusalCode = "INSUFFICIENT_FUNDS" | "LIMIT_EXCEEDED" | "UNKNOWN_ACCOUNT";
export interface Refusal {
  readonly code: RefusalCode;
  readonly message: string;
}

/** What the bank would answer to an order now, and what it goes by, won. */
export interface Preview {
  readonly refusal: Refusal | undefined;
  /** What is left to be spent. */
  readonly balance: number;
  /** The most that one transfer may be. */
  readonly limit: number;
}

export type Answer =
  | { readonly kind: "booked"; readonly booking: Booking }
  | { readonly kind: "refused"; readonly refusal: Refusal }
  | { readonly kind: "key-reused" };

export interface Accounts {
  /** What may be spent in all, won. Default 1 000 000 000. */
  readonly balance?: number;
  /** The most that one transfer may be, won. Default 10 000 000. */
  readonly limit?: number;
  /** If given, only these recipients exist. */
  readonly known?: readonly string[] | undefined;
  /** Recipients that do not exist. Default `없는사람`, `unknown`. */
  readonly unknown?: readonly string[];
}

type Line = { readonly key: string; readonly order: string } & (
  | { readonly booking: Booking }
  | { readonly refusal: Refusal }
);

/**
 * The bank's book: one answer per key, for ever. With a file each answer is written and synced
 * before it is given, so a kill loses none; a last line that a kill tore is dropped: its
 * answer was not given.
 */
export class Ledger {
  #accounts: Required<Omit<Accounts, "known">> & Pick<Accounts, "known">;
  readonly #bookings: Booking[] = [];
  readonly #answers = new Map<string, Line>();
  #spent = 0;
  #file: number | undefined;

  constructor({
    accounts = {},
    file,
  }: {
    readonly accounts?: Accounts | undefined;
    readonly file?: string | undefined;
  }) {
    this.#accounts = {
      balance: accounts.balance ?? 1_000_000_000,
      limit: accounts.limit ?? 10_000_000,
      unknown: accounts.unknown ?? ["없는사람", "unknown"],
      known: accounts.known,
    };
    if (file !== undefined) this.#file = this.#load(file);
  }

  /**
   * Books or refuses, once per key. `ignoreKey` books again under a key that has been seen; the
   * first booking stays the key's answer.
   */
  order(
    key: string,
    order: TransferOrder,
    { ignoreKey = false }: { readonly ignoreKey?: boolean } = {},
  ): Answer {
    const seen = this.#answers.get(key);
    if (seen && !ignoreKey) {
      return seen.order === fingerprint(order) ? answerOf(seen) : { kind: "key-reused" };
    }

    const refusal = this.#refusalOf(order);
    const line: Line = refusal
      ? { key, order: fingerprint(order), refusal }
      : {
          key,
          order: fingerprint(order),
          booking: {
            transaction_id: this.#nextId(),
            status: "booked",
            key,
            to: order.to,
            amount: order.amount,
            memo: order.memo,
            date: order.date,
          },
        };
    this.#write(line);
    this.#remember(line);
    return answerOf(line);
  }

  /** Books nothing, and promises nothing: the order is judged anew. */
  preview(order: Pick<TransferOrder, "to" | "amount">): Preview {
    const { balance, limit } = this.#accounts;
    return { refusal: this.#refusalOf(order), balance: balance - this.#spent, limit };
  }

  /** What others do meanwhile: money is withdrawn, an account is closed. */
  changeAccounts(changed: Accounts): void {
    this.#accounts = { ...this.#accounts, ...changed };
  }

  find(key: string): Booking | undefined {
    const line = this.#answers.get(key);
    return line && "booking" in line ? line.booking : undefined;
  }

  /** All bookings, oldest first. */
  bookings(): readonly Booking[] {
    return [...this.#bookings];
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #refusalOf({ to, amount }: Pick<TransferOrder, "to" | "amount">): Refusal | undefined {
    const { known, unknown, limit, balance } = this.#accounts;
    if (known ? !known.includes(to) : unknown.includes(to)) {
      return { code: "UNKNOWN_ACCOUNT", message: `No account is known as ${to}.` };
    }
    if (amount > limit) {
      return {
        code: "LIMIT_EXCEEDED",
        message: `${amount} won is over the limit of ${limit} won per transfer.`,
      };
    }
    if (amount > balance - this.#spent) {
      return {
        code: "INSUFFICIENT_FUNDS",
        message: `${amount} won is more than the ${balance - this.#spent} won left.`,
      };
    }
    return undefined;
  }

  #nextId(): string {
    return `tx_${String(this.#bookings.length + 1).padStart(6, "0")}`;
  }

  #remember(line: Line): void {
    if ("booking" in line) {
      this.#bookings.push(line.booking);
      this.#spent += line.booking.amount;
    }
    if (!this.#answers.has(line.key)) this.#answers.set(line.key, line);
  }

  #load(file: string): number {
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    const whole = text.slice(0, text.lastIndexOf("\n") + 1);
    for (const line of whole.split("\n")) if (line !== "") this.#remember(JSON.parse(line) as Line);

    const handle = openSync(file, "a+", 0o600);
    if (whole.length < text.length) ftruncateSync(handle, Buffer.byteLength(whole));
    return handle;
  }

  #write(line: Line): void {
    if (this.#file === undefined) return;
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    for (let written = 0; written < bytes.length;) written += writeSync(this.#file, bytes, written);
    fsyncSync(this.#file);
  }
}

function answerOf(line: Line): Answer {
  return "booking" in line
    ? { kind: "booked", booking: line.booking }
    : { kind: "refused", refusal: line.refusal };
}

function fingerprint({ to, amount, memo, date }: TransferOrder): string {
  return JSON.stringify([to, amount, memo ?? null, date ?? null]);
}
