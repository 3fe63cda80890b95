import { slot, type SlotSpecs } from "dure/slots";

/** What is known of an application. */
export interface CardSlots {
  readonly kind?: "debit" | "credit";
  readonly applicant?: string;
  /** Digits alone. */
  readonly phone?: string;
  readonly address?: string;
  /** `YYYY-MM-DD` */
  readonly birthday?: string;
  /** Of a credit card, whole won each month. */
  readonly limit?: number;
  /** Whether it pays without being put in. */
  readonly contactless?: boolean;
}

/** What a card needs. A limit is asked for where there is one. */
export const SLOTS = {
  kind: slot.choice({
    description: { ko: "카드 종류", en: "the kind of card" },
    options: [
      {
        value: "debit",
        names: { ko: "체크카드", en: "debit card" },
        synonyms: ["체크", "직불카드", "debit"],
      },
      {
        value: "credit",
        names: { ko: "신용카드", en: "credit card" },
        synonyms: ["신용", "크레딧카드", "credit"],
      },
    ],
  }),
  applicant: slot.person({ description: { ko: "신청하는 분", en: "who applies" } }),
  birthday: slot.date({
    past: "only",
    needsYear: true,
    description: { ko: "생년월일", en: "the date of birth" },
  }),
  phone: slot.phone({ description: { ko: "휴대전화", en: "mobile number" } }),
  address: slot.address({ description: { ko: "받을 주소", en: "where it is sent" } }),
  limit: {
    ...slot.money({
      min: 100_000,
      max: 10_000_000,
      isAmount: false,
      per: "month",
      description: { ko: "신용카드의 월 한도", en: "monthly limit of a credit card" },
    }),
    required: false,
    needed: ({ kind }) => kind === "credit",
  },
  contactless: slot.boolean({
    required: false,
    yes: {
      ko: ["비접촉 결제 사용", "비접촉 추가"],
      en: ["with contactless", "contactless on", "add contactless"],
    },
    no: {
      ko: ["비접촉 결제 없음", "비접촉 빼고"],
      en: ["without contactless", "contactless off", "no contactless"],
    },
    description: { ko: "비접촉 결제를 쓸지", en: "whether contactless payment is wanted" },
  }),
} satisfies SlotSpecs;
