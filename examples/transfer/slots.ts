import {
  dayOnlyReader,
  findPayments,
  isIsoDate,
  MESSAGE_ERRORS,
  moneyReader,
  moveWordsOf,
  namesATime,
  parseMoney,
  parseWhen,
  personReader,
  type IsoDate,
  type MoneyBecause,
  type PaymentDoubt,
  type SlotContext,
  type SlotRead,
  type SlotSpecs,
  type WhenBecause,
} from "dure/slots";
import { z } from "zod";

/** What is wrong with a slot; its words for persons are in `messages.ts`. */
export const SLOT_ERROR_KEYS = [
  "TARGET_UNREADABLE",
  "TARGET_TOO_LONG",
  "TARGET_ONE_OR_TWO",
  "AMOUNT_UNREADABLE",
  "AMOUNT_NOT_POSITIVE",
  "AMOUNT_FRACTION",
  "AMOUNT_TOO_LARGE",
  "AMOUNT_EACH_OR_TOTAL",
  "AMOUNT_SEVERAL",
  "MEMO_UNREADABLE",
  "MEMO_TOO_LONG",
  "ALIAS_UNREADABLE",
  "ALIAS_TOO_LONG",
  "DATE_UNREADABLE",
  "DATE_NO_SUCH_DAY",
  "DATE_PAST",
  "DATE_WITHOUT_TIME",
  ...MESSAGE_ERRORS,
] as const;
export type SlotErrorKey = (typeof SLOT_ERROR_KEYS)[number];

/** What the bank would refuse, with what it knows: the won that are possible, or the name. */
export type LookErrorKey =
  | `AMOUNT_OVER_BALANCE:${number}`
  | `AMOUNT_OVER_LIMIT:${number}`
  | `TARGET_NOT_FOUND:${string}`;

/** Slots of a transfer as they are stored; see `SLOTS`. */
export interface TransferSlots {
  /** Who gets the money: a name or an account, as the person said it. */
  readonly target?: string;
  /** Whole won, ≥ 1. */
  readonly amount?: number;
  readonly memo?: string;
  /** A name of the person's own for this transfer. */
  readonly alias?: string;
  /** `YYYY-MM-DD`; absent means at once. */
  readonly transfer_date?: string;
}
export type SlotName = keyof TransferSlots;

/** Longest name or account; the bank of the example takes 100. */
const MAX_TARGET = 60;
/** Longest memo and alias; the bank of the example takes 100. */
const MAX_NOTE = 60;

export const SLOTS = {
  target: {
    required: true,
    type: "person",
    identifies: true,
    description: {
      ko: "받는 분. 이름, 별명, 계좌번호",
      en: "recipient: a name, a nickname or an account number",
    },
    reader: () => personReader,
    parse: (raw: unknown) => readText(raw, "TARGET_UNREADABLE"),
    schema: z.string().max(MAX_TARGET),
    schemaError: "TARGET_TOO_LONG",
    validate: (target: string) => (/[\p{L}\p{N}]/u.test(target) ? undefined : "TARGET_UNREADABLE"),
  },
  amount: {
    required: true,
    type: "integer",
    isAmount: true,
    description: { ko: "금액, 원. 5만원, 3만 5천원", en: "amount in won: 50,000 won, 50k" },
    reader: () => moneyReader,
    parse: readAmount,
    schema: z.int().min(1),
    schemaError: "AMOUNT_NOT_POSITIVE",
  },
  memo: {
    required: false,
    type: "text",
    description: { ko: "받는 분 통장에 남길 말", en: "a note for the recipient" },
    parse: (raw: unknown) => readText(raw, "MEMO_UNREADABLE"),
    schema: z.string().max(MAX_NOTE),
    schemaError: "MEMO_TOO_LONG",
  },
  alias: {
    required: false,
    type: "text",
    description: {
      ko: "이 이체에 붙이는 별칭",
      en: "a name of the person's own for this transfer",
    },
    parse: (raw: unknown) => readText(raw, "ALIAS_UNREADABLE"),
    schema: z.string().max(MAX_NOTE),
    schemaError: "ALIAS_TOO_LONG",
  },
  transfer_date: {
    required: false,
    type: "date",
    description: { ko: "보낼 날짜, YYYY-MM-DD", en: "the day to send it, YYYY-MM-DD" },
    reader: dayOnlyReader,
    remark: (words: string, context: SlotContext) =>
      namesATime(words, context) ? "DATE_WITHOUT_TIME" : undefined,
    parse: readDate,
    schema: z.string().refine(isIsoDate),
    schemaError: "DATE_NO_SUCH_DAY",
    validate: (date: string, { today }: SlotContext) => (date < today ? "DATE_PAST" : undefined),
  },
} as const satisfies SlotSpecs;

function readText(raw: unknown, error: SlotErrorKey): SlotRead<string> {
  if (typeof raw !== "string") return { ok: false, error };
  const value = raw
    .normalize("NFC")
    .replace(/[\p{C}\p{Z}\s]+/gu, " ")
    .trim();
  return value === "" ? { ok: false, error } : { ok: true, value };
}

const AMOUNT_ERRORS = {
  empty: "AMOUNT_UNREADABLE",
  "not-an-amount": "AMOUNT_UNREADABLE",
  negative: "AMOUNT_NOT_POSITIVE",
  zero: "AMOUNT_NOT_POSITIVE",
  fraction: "AMOUNT_FRACTION",
  "too-large": "AMOUNT_TOO_LARGE",
  "foreign-currency": "AMOUNT_UNREADABLE",
} as const satisfies Record<MoneyBecause, SlotErrorKey>;

function readAmount(raw: unknown): SlotRead<number> {
  if (typeof raw === "number") {
    if (!Number.isFinite(raw)) return { ok: false, error: "AMOUNT_UNREADABLE" };
    if (raw <= 0) return { ok: false, error: "AMOUNT_NOT_POSITIVE" };
    if (!Number.isInteger(raw)) return { ok: false, error: "AMOUNT_FRACTION" };
    return Number.isSafeInteger(raw)
      ? { ok: true, value: raw }
      : { ok: false, error: "AMOUNT_TOO_LARGE" };
  }
  if (typeof raw !== "string") return { ok: false, error: "AMOUNT_UNREADABLE" };
  const read = parseMoney(raw);
  if (!read.ok) return { ok: false, error: AMOUNT_ERRORS[read.because] };
  // What is rough, or can mean two amounts, is asked for again.
  return read.sure === "exact"
    ? { ok: true, value: read.value }
    : { ok: false, error: "AMOUNT_UNREADABLE" };
}

const DATE_ERRORS = {
  empty: "DATE_UNREADABLE",
  "not-a-date": "DATE_UNREADABLE",
  "no-such-day": "DATE_NO_SUCH_DAY",
  past: "DATE_PAST",
  vague: "DATE_UNREADABLE",
  recurring: "DATE_UNREADABLE",
  "no-such-time": "DATE_UNREADABLE",
} as const satisfies Record<WhenBecause, SlotErrorKey>;

function readDate(raw: unknown, context: SlotContext): SlotRead<IsoDate> {
  if (typeof raw !== "string") return { ok: false, error: "DATE_UNREADABLE" };
  const read = parseWhen(raw, context);
  if (!read.ok) return { ok: false, error: DATE_ERRORS[read.because] };
  const isOneDay = read.others.every(({ date }) => date === read.value.date);
  return isOneDay && read.sure !== "approximate"
    ? { ok: true, value: read.value.date }
    : { ok: false, error: "DATE_UNREADABLE" };
}

const DOUBTS = {
  "each-or-total": { amount: "AMOUNT_EACH_OR_TOTAL" },
  "several-amounts": { amount: "AMOUNT_SEVERAL" },
  // The model says whether it is one.
  "one-name-or-two": {},
  // Whose it is is asked anyway.
  "amount-without-person": {},
} as const satisfies Record<PaymentDoubt, Partial<Record<SlotName, SlotErrorKey>>>;

/** What a sentence leaves open, whatever a model makes of it. */
export function doubtsIn(message: string, entries = 2): Readonly<Record<string, string>> {
  const { doubts: all } = findPayments(message);
  const doubts = all.filter((doubt) => !isSettled(doubt, message, entries));
  return Object.assign({}, ...doubts.map((doubt) => DOUBTS[doubt])) as Record<string, string>;
}

/** 3만원, 아니 4만원; 50,000 to both: the words say themselves what is meant. */
function isSettled(doubt: PaymentDoubt, message: string, entries: number): boolean {
  if (doubt === "each-or-total") return entries < 2 || /\bboth\b|둘 ?다/iu.test(message);
  if (doubt !== "several-amounts") return false;
  if (entries > 1) return true;
  return moveWordsOf(message).changes || TAKEN_BACK.test(message);
}

const TAKEN_BACK =
  /(?:^|[^\p{L}])(?:아니|아니다|아 잠깐|맞다|메모|no|oops|i mean|make that|sorry|memo|note|yes)(?![\p{L}])|말고|\n/iu;

/** Names of the slots, as they stand in the state, in deltas and in `slots` of a request. */
export const SLOT_NAMES = Object.keys(SLOTS) as readonly SlotName[];
