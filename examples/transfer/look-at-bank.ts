import { tool, type Tool } from "dure";
import { z } from "zod";
import { bankClient, type PreviewAnswer } from "./bank/client.ts";
import type { BankUrl } from "./send-money.ts";
import type { LookErrorKey, TransferSlots } from "./slots.ts";

/** What the bank is asked before the person is. */
export interface Planned {
  readonly to: string;
  /** Whole won. */
  readonly amount: number;
}

/**
 * What the bank would say to a transfer now. It books nothing, and the bank decides anew at the
 * transfer: the balance may have changed by then.
 */
export function lookAtBankTool(bankUrl: BankUrl): Tool<Planned, PreviewAnswer> {
  return tool({
    description: "Asks the bank whether a transfer would be possible now.",
    inputSchema: z.object({ to: z.string().min(1), amount: z.int().min(1) }),
    effect: "none",
    timeout: "3s", // source: docs/spec/conversation §8
    async execute(planned, _call, { signal }) {
      const url = typeof bankUrl === "string" ? bankUrl : await bankUrl();
      return bankClient(url).preview(planned, { signal });
    },
  });
}

export function plannedOf({ target, amount }: TransferSlots): Planned {
  if (target === undefined || amount === undefined) {
    throw new Error("The bank was asked about a transfer without recipient or amount.");
  }
  return { to: target, amount };
}

/** What the bank would refuse, by slot, with what is possible instead. Pure. */
export function refusedSlots(
  seen: PreviewAnswer,
  { target = "" }: TransferSlots,
): Readonly<Partial<Record<"target" | "amount", LookErrorKey>>> {
  if (seen.possible) return {};
  const { code, balance, limit } = seen;
  if (code === "UNKNOWN_ACCOUNT") return { target: `TARGET_NOT_FOUND:${target}` };
  // Both may stand in the way; the lower one says what is possible.
  const isOverLimit = code === "LIMIT_EXCEEDED" && limit <= balance;
  return {
    amount: isOverLimit ? `AMOUNT_OVER_LIMIT:${limit}` : `AMOUNT_OVER_BALANCE:${balance}`,
  };
}
