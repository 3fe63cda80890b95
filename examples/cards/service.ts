import { conversationalAgent, defineService, tool, type Service } from "dure";
import { formTexts, slotAgents, slotFlow, type Shown } from "dure/slots";
import { z } from "zod";
import { SLOTS, type CardSlots } from "./slots.ts";

export const PROMPTS = {
  intent: `Does the person want to apply for a bank card? Answer with JSON:
{"scenario": "CARD"} or {"scenario": "GENERAL"}`,
  interaction: `You answer questions about bank cards, in the language of the context's locale, in a
sentence or two. You issue nothing and say of nothing that it was done.
Answer with JSON: {"action": "chat", "message": "…"}`,
} as const;

/** The office that issues cards: it keeps keys, so that the same key issues one. */
export class CardOffice {
  readonly #byKey = new Map<string, CardSlots>();

  get applications(): readonly CardSlots[] {
    return [...this.#byKey.values()];
  }

  has(key: string): boolean {
    return this.#byKey.has(key);
  }

  apply(key: string, application: CardSlots): number {
    if (!this.#byKey.has(key)) this.#byKey.set(key, application);
    return [...this.#byKey.keys()].indexOf(key) + 1;
  }
}

/** Takes applications for a card: several slots in one question, a limit only where there is one. */
export function createCardService(office: CardOffice): Service {
  return defineService({
    name: "cards",
    title: "카드 신청",
    description: "체크카드와 신용카드를 신청해요.",
    examples: ["체크카드 신청할게요"],
    translations: {
      en: {
        title: "Cards",
        description: "Applies for a debit or a credit card.",
        examples: ["I want a debit card"],
      },
    },
    agents: {
      intent: conversationalAgent({
        name: "intent",
        prompt: PROMPTS.intent,
        schema: z.object({ scenario: z.enum(["CARD", "GENERAL"]) }),
      }),
      ...slotAgents(SLOTS, PROMPTS),
    },
    ...slotFlow<CardSlots>({
      flow: "CARD",
      slots: SLOTS,
      deed: {
        call: "apply",
        tool: applyTool(office),
        input: (slots) => slots,
        details: ({ result }) => ({
          number: (result as { number?: number } | null)?.number ?? null,
        }),
      },
      texts: TEXTS,
      words: {
        yes: [
          "신청해줘",
          "신청 들어가자",
          "신청 ㄱ",
          "만들어",
          "만들어 줘",
          "만들어 주세요",
          "발급해 줘",
          "발급해 주세요",
          "신청해 주세요",
          "신청해주세요",
          "신청할게요",
          "please apply",
          "apply",
          "all correct",
        ],
      },
    }),
  });
}

function applyTool(office: CardOffice) {
  return tool({
    description: "Applies for a card.",
    inputSchema: z.looseObject({ kind: z.string(), applicant: z.string() }),
    effect: "once",
    settle: "1s",
    execute: async (application, { key }) => ({
      number: office.apply(key, application as CardSlots),
    }),
    probe: async ({ key }) => (office.has(key) ? "happened" : "not_happened"),
  });
}

function listed(shown: Shown<CardSlots>): string {
  return Object.values(shown).filter(Boolean).join(", ");
}

/** Every text that a person can read in this example. */
export const TEXTS = {
  ko: formTexts<CardSlots>("ko", {
    slots: SLOTS,
    slotNames: {
      ...{ kind: "카드 종류", applicant: "신청하는 분", birthday: "생년월일", phone: "휴대전화" },
      ...{ address: "받을 주소", limit: "월 한도", contactless: "비접촉 결제" },
    },
    questions: {
      kind: "체크카드와 신용카드 중 무엇을 신청할까요?",
      applicant: "신청하는 분의 성함을 알려 주세요.",
      birthday: "생년월일을 알려 주세요.",
      phone: "휴대전화 번호를 알려 주세요.",
      address: "카드를 받을 주소를 알려 주세요.",
      limit: "월 한도를 얼마로 할까요?",
      contactless: "비접촉 결제를 쓰시나요?",
    },
    describe: (_slots, shown) => listed(shown),
    confirmQuestion: (_slots, shown) => `${listed(shown)}: 신청할까요?`,
    receipt: (_slots, { number }) =>
      `신청했어요.${typeof number === "number" ? ` 접수 번호: ${number}` : ""}`,
  }),
  en: formTexts<CardSlots>("en", {
    slots: SLOTS,
    slotNames: {
      ...{ kind: "kind of card", applicant: "name", birthday: "date of birth", phone: "phone" },
      ...{ address: "address", limit: "monthly limit", contactless: "contactless" },
    },
    questions: {
      kind: "A debit card or a credit card?",
      applicant: "Whose name shall be on it?",
      birthday: "What is the date of birth?",
      phone: "What is the mobile number?",
      address: "Where shall it be sent?",
      limit: "What monthly limit?",
      contactless: "Shall it pay contactless?",
    },
    describe: (_slots, shown) => listed(shown),
    confirmQuestion: (_slots, shown) => `Shall I apply for this: ${listed(shown)}?`,
    receipt: (_slots, { number }) =>
      `Applied.${typeof number === "number" ? ` Application ${number}.` : ""}`,
  }),
} as const;

export default createCardService(new CardOffice());
