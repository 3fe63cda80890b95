import { createHash } from "node:crypto";
import { NotSentError, tool, type Tool } from "dure";
import { z } from "zod";
import { bankClient, BankError } from "./bank/client.ts";
import type { TransferSlots } from "./slots.ts";

/**
 * Where the bank is, or how to find out; asked before every request, so that a bank that starts
 * late is found.
 */
export type BankUrl = string | (() => Promise<string>);

export interface Order {
  readonly to: string;
  /** Whole won. */
  readonly amount: number;
  readonly memo?: string | undefined;
  /** `YYYY-MM-DD`; absent means at once. */
  readonly date?: string | undefined;
}

/** The bank's number; unknown when a person has found out that the transfer happened. */
export interface Sent {
  readonly transactionId?: string | undefined;
}

const orderSchema: z.ZodType<Order> = z.object({
  to: z.string().min(1),
  amount: z.int().min(1),
  memo: z.string().optional(),
  date: z.string().optional(),
});

/**
 * The one thing that this service does to the outside: at most once per key, however often it is
 * asked for. A definite refusal and a request that never left are failures; whatever else goes
 * wrong is unknown until the bank has been asked.
 */
export function sendMoneyTool(bankUrl: BankUrl): Tool<Order, Sent> {
  const bank = async () => bankClient(typeof bankUrl === "string" ? bankUrl : await bankUrl());
  return tool({
    description: "Sends money to a recipient.",
    inputSchema: orderSchema,
    effect: "once",
    timeout: "5s",
    settle: "2s", // source: docs/spec/conversation §4
    async execute(order, { key }, { signal }): Promise<Sent> {
      const client = await bank().catch((cause: unknown) => {
        throw new NotSentError("BANK_UNREACHABLE", "The bank could not be found or started.", {
          cause,
        });
      });
      const answer = await client
        .transfer(order, { key: bankKeyOf(key), signal })
        .catch((cause: unknown) => {
          if (cause instanceof BankError && cause.outcome === "not_sent") {
            throw new NotSentError(cause.code, cause.message, { cause });
          }
          throw cause;
        });
      if (answer.status === "refused") throw new NotSentError(answer.code, answer.message);
      return { transactionId: answer.transactionId };
    },
    async probe({ key }, { signal }) {
      const found = await (await bank()).find(bankKeyOf(key), { signal });
      if (found.outcome !== "happened") return found.outcome;
      return { status: "happened", result: { transactionId: found.transactionId } satisfies Sent };
    },
  });
}

export function orderOf({ target, amount, memo, transfer_date: date }: TransferSlots): Order {
  if (target === undefined || amount === undefined) {
    throw new Error("A transfer without recipient or amount was confirmed.");
  }
  // Without members that are undefined: an order is stored, and compared with what was stored.
  const order: Order = { to: target, amount };
  const withMemo = memo === undefined ? order : { ...order, memo };
  return date === undefined ? withMemo : { ...withMemo, date };
}

/** Longest `Idempotency-Key` that the bank takes; a session's id alone may have 200 characters. */
const LONGEST_KEY = 255;

/** The effect's key as the bank keeps it: readable while it fits. */
function bankKeyOf(key: string): string {
  return key.length <= LONGEST_KEY ? key : createHash("sha256").update(key).digest("base64url");
}
