import { defineService, defineState, flow, type Service } from "dure";
import { AGENTS } from "./agents.ts";
import { localeOf, TransferTurn } from "./flow.ts";
import { MESSAGES } from "./messages.ts";
import { sendMoneyTool, type BankUrl } from "./send-money.ts";
import { SLOTS } from "./slots.ts";
import { NEXT_STAGES, TERMINAL_STAGES } from "./stages.ts";
import { initialState, SLOT_NAMES, transferStateSchema, type SlotName } from "./state.ts";
import { exampleBank } from "./bank/start.ts";

export interface TransferServiceOptions {
  readonly bankUrl: BankUrl;
  /**
   * Turns in FILLING before a transfer is given up. Default: the team's `limits.maxFillTurns` (5).
   * Source: docs/spec/conversation §8.
   */
  readonly maxFillTurns?: number;
}

const SLOT_TYPES = {
  target: "text",
  amount: "integer",
  memo: "text",
  alias: "text",
  transfer_date: "date",
} as const satisfies Record<SlotName, string>;

const state = defineState({
  schema: transferStateSchema,
  initial: initialState,
  stages: { initial: "INIT", terminal: TERMINAL_STAGES, transitions: NEXT_STAGES },
  slots: SLOT_NAMES.map((name) => ({
    name,
    label: MESSAGES.ko.slotNames[name],
    required: SLOTS[name].required,
    type: SLOT_TYPES[name],
  })),
});

/**
 * Money transfers in Korean and English: the reference for slots, state and an effect that happens
 * once.
 */
export function createTransferService({ bankUrl, maxFillTurns }: TransferServiceOptions): Service {
  const sendMoney = sendMoneyTool(bankUrl);
  return defineService({
    name: "transfer",
    version: "1",
    title: "이체",
    description: "홍길동에게 5만원 보내줘: 내용을 모으고, 확인을 받고, 한 번만 보냅니다.",
    examples: [
      "홍길동에게 5만원 보내줘",
      "엄마에게 3만원, 민지에게 2만원 보내줘",
      "Send 50,000 won to John",
    ],
    agents: AGENTS,
    state,
    router: (scenario) => (scenario === "TRANSFER" ? "TRANSFER" : "DEFAULT"),
    flows: {
      DEFAULT: flow((turn) =>
        new TransferTurn(turn, {
          sendMoney,
          maxFillTurns: maxFillTurns ?? turn.limits.maxFillTurns,
        }).chat(),
      ),
      TRANSFER: flow((turn) =>
        new TransferTurn(turn, {
          sendMoney,
          maxFillTurns: maxFillTurns ?? turn.limits.maxFillTurns,
        }).run(),
      ),
    },
    onError({ code }, locale, turn) {
      const texts = MESSAGES[localeOf(locale)];
      const left = transferStateSchema.safeParse(turn.state);
      if (!left.success) return undefined;
      if (code === "EFFECT_UNKNOWN") return texts.effectUnknown(left.data.slots);
      const last = left.data.results.at(-1);
      return turn.settled && last ? texts.stoppedTooLate(last) : undefined;
    },
  });
}

export default createTransferService({ bankUrl: exampleBank() });
