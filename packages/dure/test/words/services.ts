import { Practice } from "../../../../examples/appointments/practice.ts";
import { createVisitService } from "../../../../examples/appointments/service.ts";
import { CardOffice, createCardService } from "../../../../examples/cards/service.ts";
import { createTransferService } from "../../../../examples/transfer/service.ts";
import type { Service } from "../../src/engine/service/service.ts";
import { emptyForm, type FormState, type SlotValues } from "../../src/slots/form-state.ts";
import type { Case } from "./cases.ts";

/** The morning on which a desk begins. */
const now = (): Date => new Date("2026-11-18T10:00:00+09:00");

/** The services whose words are tried; a look at the bank finds no one, and says so. */
export const SERVICES: Readonly<
  Record<Case["in"], { readonly service: Service; readonly flow: string }>
> = {
  transfer: { service: createTransferService({ bankUrl: "http://127.0.0.1:9" }), flow: "TRANSFER" },
  card: { service: createCardService(new CardOffice()), flow: "CARD" },
  appointment: { service: createVisitService(new Practice({ now })), flow: "VISIT" },
};

type Known = Readonly<Partial<Record<Case["at"], readonly SlotValues[]>>>;

const CARD = { kind: "debit", birthday: "1990-05-03", phone: "01012345678" };
const VISIT = { deed: "book", doctor: "kim", day: "2026-11-20", time: "15:00" };

const KNOWN: Readonly<Record<Case["in"], Readonly<Record<Case["lang"], Known>>>> = {
  transfer: {
    ko: {
      target: [{ target: "홍길동" }],
      ready: [{ target: "홍길동", amount: 30_000 }],
      batch: [
        { target: "엄마", amount: 50_000 },
        { target: "아빠", amount: 30_000 },
      ],
    },
    en: {
      target: [{ target: "John" }],
      ready: [{ target: "John", amount: 30_000 }],
      batch: [
        { target: "Mom", amount: 50_000 },
        { target: "Dad", amount: 30_000 },
      ],
    },
  },
  card: {
    ko: {
      filling: [{ kind: "debit", applicant: "홍길동" }],
      ready: [{ ...CARD, applicant: "홍길동", address: "서울시 강남구 테헤란로 1" }],
    },
    en: {
      filling: [{ kind: "debit", applicant: "John Smith" }],
      ready: [{ ...CARD, applicant: "John Smith", address: "1 Main Street, Seoul" }],
    },
  },
  appointment: {
    ko: {
      filling: [{ deed: "book", doctor: "kim" }],
      ready: [VISIT],
      cancelling: [{ deed: "cancel", number: "A-7" }],
    },
    en: {
      filling: [{ deed: "book", doctor: "kim" }],
      ready: [VISIT],
      cancelling: [{ deed: "cancel", number: "A-7" }],
    },
  },
};

/** The entries that are known before the message of a case. */
export function knownAt({
  in: service,
  lang,
  at,
}: Pick<Case, "in" | "lang" | "at">): readonly SlotValues[] {
  return KNOWN[service][lang][at] ?? [];
}

/** The form in the state of a case; undefined where nothing is open. */
export function formAt(one: Pick<Case, "in" | "lang" | "at">): FormState | undefined {
  const [current, ...waiting] = knownAt(one);
  if (!current) return undefined;
  const stage = one.at === "target" || one.at === "filling" ? "FILLING" : "READY";
  const tasks = waiting.map((slots) => ({ slots, slot_errors: {}, derived: {}, doubts: {} }));
  const form = emptyForm();
  const meta = { ...form.meta, flow_id: "f" };
  return { ...form, stage, slots: current, tasks, total: 1 + tasks.length, meta };
}
