import { defineService, type Service } from "dure";
import { slotFlow, type Deed, type Look } from "dure/slots";
import { AGENTS } from "./agents.ts";
import type { PreviewAnswer } from "./bank/client.ts";
import { exampleBank } from "./bank/start.ts";
import { lookAtBankTool, plannedOf, refusedSlots, type Planned } from "./look-at-bank.ts";
import { MESSAGES, refusalOf } from "./messages.ts";
import { EXAMPLES } from "./prompts.ts";
import { orderOf, sendMoneyTool, type BankUrl, type Order, type Sent } from "./send-money.ts";
import { doubtsIn, SLOTS, type TransferSlots } from "./slots.ts";

export interface TransferServiceOptions {
  readonly bankUrl: BankUrl;
  /**
   * Turns in FILLING before a transfer is given up. Default: the team's `limits.maxFillTurns` (5).
   * Source: docs/spec/conversation §8.
   */
  readonly maxFillTurns?: number;
}

/**
 * Money transfers in Korean and English: the reference for slots, state and an effect that happens
 * once.
 */
export function createTransferService({ bankUrl, maxFillTurns }: TransferServiceOptions): Service {
  return defineService({
    name: "transfer",
    version: "3",
    title: "이체",
    description: "홍길동에게 5만원 보내줘: 내용을 모으고, 확인을 받고, 한 번만 보내요.",
    examples: ["홍길동에게 5만원 보내줘", "엄마에게 3만원, 민지에게 2만원 보내줘"],
    translations: {
      en: {
        title: "Transfer",
        description: "Sends money: asks for what is missing, asks for a yes, sends it once.",
        examples: ["Send 50,000 won to John", "Send 30,000 won to Mom and 20,000 won to Minji"],
      },
    },
    agents: AGENTS,
    ...slotFlow<TransferSlots>({
      flow: "TRANSFER",
      slots: SLOTS,
      deed: sendingOf(bankUrl),
      look: lookingAt(bankUrl),
      texts: MESSAGES,
      refuses: refusalOf,
      doubts: doubtsIn,
      examples: EXAMPLES,
      maxFillTurns,
    }),
  });
}

function lookingAt(bankUrl: BankUrl): Look<TransferSlots, Planned, PreviewAnswer> {
  return {
    call: "preview",
    tool: lookAtBankTool(bankUrl),
    input: plannedOf,
    errors: refusedSlots,
  };
}

function sendingOf(bankUrl: BankUrl): Deed<TransferSlots, Order, Sent> {
  return {
    call: "transfer",
    tool: sendMoneyTool(bankUrl),
    input: orderOf,
    details: ({ result }) => {
      const number = (result as Sent | null)?.transactionId; // absent when a person has found it out
      return number === undefined ? {} : { transaction_id: number };
    },
  };
}

export default createTransferService({ bankUrl: exampleBank() });
