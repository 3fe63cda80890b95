import { z } from "zod";
import { moneyReader } from "../parse/money/find-money.ts";
import { parseMoney } from "../parse/money/money.ts";
import { personReader } from "../parse/people/payments.ts";
import { parsePerson } from "../parse/people/person.ts";
import { dayOnlyReader, parseWhen } from "../parse/days/when.ts";
import { formatAmount } from "../parse/money/amount.ts";
import type { Contact, SlotSpecs } from "./form.ts";
import { emptyForm, type FormState } from "./form-state.ts";
import { hold, mannerOf, type HearingFacts } from "./hearing.ts";
import { applyMoves, type Manner, type Moved } from "./moves.ts";
import type { SlotItem, SlotReading } from "./prompts.ts";
import { withStageOfSlots } from "./entries.ts";

/** Of the day on which all tests of the slots play, a Wednesday. */
const TODAY = "2026-11-18";

/** A transfer in little, for tests of what its readings become. */
const SPECS = {
  target: {
    required: true,
    type: "person",
    identifies: true,
    reader: () => personReader,
    parse: (raw: unknown) => {
      const read = parsePerson(String(raw));
      return read.ok ? { ok: true, value: read.value } : { ok: false, error: "TARGET" };
    },
    schema: z.string(),
    schemaError: "TARGET",
  },
  amount: {
    required: true,
    type: "money",
    isAmount: true,
    reader: () => moneyReader,
    parse: (raw: unknown) => {
      const read = parseMoney(String(raw));
      const isExact = read.ok && read.sure === "exact";
      if (isExact || typeof raw === "number") {
        return { ok: true, value: typeof raw === "number" ? raw : read.ok ? read.value : 0 };
      }
      return { ok: false, error: "AMOUNT" };
    },
    schema: z.int().min(1),
    schemaError: "AMOUNT",
  },
  memo: {
    required: false,
    type: "text",
    parse: (raw: unknown) => ({ ok: true, value: String(raw) }),
    schema: z.string(),
    schemaError: "MEMO",
  },
  day: {
    required: false,
    type: "date",
    reader: dayOnlyReader,
    parse: (raw: unknown, context) => {
      const read = parseWhen(String(raw), context);
      return read.ok && read.sure === "exact"
        ? { ok: true, value: read.value.date }
        : { ok: false, error: "DAY" };
    },
    schema: z.string(),
    schemaError: "DAY",
  },
} satisfies SlotSpecs;

export const CONTEXT = { specs: SPECS as SlotSpecs, today: TODAY };

/** A form with these values as its current entry, and entries that wait behind it. */
export function formOf(slots: FormState["slots"], ...waiting: FormState["slots"][]): FormState {
  const tasks = waiting.map((one) => ({ slots: one, slot_errors: {}, derived: {}, doubts: {} }));
  const state = { ...emptyForm(), slots, tasks, total: 1 + tasks.length };
  return withStageOfSlots(state, CONTEXT);
}

/** A model's reading of items, each with its move and its values as `[slot, value, quote]`. */
export function readingOf(
  ...items: readonly (Partial<SlotItem> & {
    readonly sets?: readonly (readonly [slot: string, value: string | number, quote?: string])[];
  })[]
): SlotReading {
  return {
    kind: "details",
    items: items.map(({ sets = [], ...item }) => ({
      changes: sets.map(([slot, value, quote = ""]) => ({ slot, value, quote })),
      ...item,
    })),
    clear: [],
    note: "",
  };
}

/** What a message makes of a form, as a model has read it. */
export function heardIn(
  state: FormState,
  message: string,
  reading: SlotReading,
  more: {
    readonly contacts?: readonly Contact[];
    readonly last?: FormState["slots"];
    readonly manner?: Manner;
  } = {},
): Moved & { readonly passedOver: readonly string[]; readonly isNoOrder: boolean } {
  const facts: HearingFacts = {
    ...CONTEXT,
    texts: {
      value: (slot, value) =>
        slot === "amount" ? formatAmount(Number(value), "ko") : String(value),
      derived: (words, shown) => `${words} = ${shown}`,
    },
    locale: "ko",
    message,
    state,
    contacts: more.contacts ?? [],
    last: more.last,
    doubted: {},
  };
  const heard = hold(reading, facts);
  const { passedOver, isNoOrder } = heard;
  const moved = applyMoves(state, heard.moves, {
    ...CONTEXT,
    manner: more.manner ?? mannerOf(message),
  });
  return { ...moved, passedOver, isNoOrder };
}
