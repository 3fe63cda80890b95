import type { Locale } from "../kernel/locales.ts";
import type { DerivedAmount, KnownAmounts } from "../parse/money/derived.ts";
import { deriveAmounts, showDerived, speaksOfAll } from "../parse/money/derived.ts";
import { checkProposal, findsNothing, isQuoteOf, type ProposalCheck } from "../parse/check.ts";
import { LEXICON } from "../parse/lexicon/index.ts";
import { has } from "../parse/lexicon/patterns.ts";
import type { Payment } from "../parse/people/payments.ts";
import { isName } from "../parse/people/person.ts";
import { notUnderstood, understood, type Reader } from "../parse/reading.ts";
import { fold } from "../parse/text.ts";
import { DEED_SLOT } from "./deed-slot.ts";
import type { Contact, FormTexts, SlotContext, SlotSpec, SlotSpecs, SlotValue } from "./form.ts";
import type { DoubtOption, SlotValues } from "./form-state.ts";
import { standsIn } from "../parse/people/names-said.ts";
import type { SlotChange } from "./prompts.ts";

/** What a value is held against. */
export interface Against extends SlotContext {
  readonly specs: SlotSpecs;
  readonly locale: Locale;
  readonly texts: Pick<FormTexts, "value" | "derived">;
  readonly message: string;
  /** Of the entry that the value is for. */
  readonly slots: SlotValues;
  /** What the message says of the one before. */
  readonly before?: SlotValues | undefined;
  /** Of the entry that ended last, where the words speak of it. */
  readonly last?: SlotValues | undefined;
  /** Of an entry that the words add: 3만원도 추가 adds to no sum. */
  readonly isOneMore?: boolean | undefined;
  /** How many entries the message names: what a sum is split over. */
  readonly people?: number | undefined;
  /** What "all of it" means, where the words speak of it. */
  readonly whole?: number | undefined;
  readonly contacts: readonly Contact[];
  /** Whom the item names, as the model says it. */
  readonly name?: SlotValue | undefined;
  /** Who gets how much, as code reads the message. */
  readonly payments: readonly Payment[];
  /** Slots whose values in this message cannot count, with the error that is said of them. */
  readonly doubted: Readonly<Record<string, string>>;
}

/** How a model gives a value: with words of the message, or without. */
type Says = "quoted" | "unquoted";

/** What code reads in the words, beside the model's value. */
type Sees =
  /** Exactly the value. */
  | "same"
  /** The value, and the words are rough or can mean another one too. */
  | "rough"
  /** The value, computed from the words and what is known: half of it, as last time, 엄마. */
  | "computed"
  /** Exactly another value. */
  | "other"
  /** Words of this kind that cannot be taken: another currency, a day that has passed. */
  | "refused"
  /** Words that it cannot read. */
  | "nothing"
  /** No words at all. */
  | "unsaid";

/** What becomes of a value; `derived` is shown with the words that it follows from. */
export type Verdict = "accept" | "derived" | "ask" | "refuse" | "drop";

/**
 * Every pair of what the model says and what code sees. The model's reading is the reading: code
 * confirms it, marks it as derived, or asks. It never puts a value of its own in its place. Source:
 * docs/spec/conversation §8.
 */
export const REFEREE = {
  quoted: {
    same: "accept",
    rough: "ask",
    computed: "derived",
    other: "ask",
    refused: "refuse",
    nothing: "derived",
    unsaid: "ask",
  },
  unquoted: {
    same: "accept",
    rough: "ask",
    computed: "derived",
    other: "ask",
    refused: "refuse",
    nothing: "ask",
    unsaid: "drop",
  },
} as const satisfies Record<Says, Record<Sees, Verdict>>;

/** What became of one value. Undefined: the person has said nothing of the kind. */
export type Judged =
  | { readonly value: SlotValue; readonly note?: string | undefined; readonly remark?: string }
  | Doubt
  | undefined;

/**
 * In the place of a value that does not count: the error that is said of it, and what may be meant.
 */
export class Doubt {
  readonly error: string;
  readonly options: readonly DoubtOption[];

  constructor(error: string, options: readonly DoubtOption[] = []) {
    this.error = error;
    this.options = options;
  }
}

/** The error of a value of which it must be asked what is meant. */
export const UNSURE = "UNSURE";

/** Holds one value of a model against the person's words. Pure. */
export function judge(change: SlotChange, against: Against): Judged {
  const { slot, value } = change;
  const spec = against.specs[slot];
  if (!spec || value === "") return undefined;
  const read = spec.parse(value, against);
  const quote = isQuoteOf(change.quote, against.message) ? change.quote.trim() : "";
  const taken = read.ok ? read.value : undefined;
  const sight = see({ spec, slot, quote, value: taken, raw: value }, against);
  const doubted = against.doubted[slot];
  if (doubted !== undefined && sight.sees !== "computed") return new Doubt(doubted);
  const verdict = REFEREE[quote === "" ? "unquoted" : "quoted"][sight.sees];
  if (read.ok || (verdict !== "accept" && verdict !== "derived")) {
    return become(verdict, sight, { slot, quote, value: taken }, against);
  }
  return new Doubt(read.error);
}

/** What a verdict makes of a value. */
function become(
  verdict: Verdict,
  sight: Sight,
  { slot, quote, value }: { slot: string; quote: string; value: SlotValue | undefined },
  against: Against,
): Judged {
  const meant = sight.value ?? value;
  if (verdict === "drop") return undefined;
  if (verdict === "refuse") return new Doubt(sight.error ?? UNSURE);
  if (verdict === "ask" || meant === undefined) {
    return new Doubt(
      UNSURE,
      optionsOf([...sight.options, ...(value === undefined ? [] : [value])]),
    );
  }
  if (verdict === "derived") return derivedOf(sight, { slot, quote, value: meant }, against);
  return { value: meant, ...remarkOf(against.specs[slot]!, sight.words, against) };
}

function derivedOf(
  { note, words }: Sight,
  { slot, quote, value }: { slot: string; quote: string; value: SlotValue },
  { texts, specs, ...context }: Against,
): Judged {
  const shown = texts.value(slot, value);
  const said = words ?? quote;
  // Which deed is meant stands in the question itself.
  const isShown = slot === DEED_SLOT || fold(said) === fold(shown);
  const isPlain = isShown || fold(said) === fold(String(value));
  const derived = note ?? (isPlain ? undefined : texts.derived(said, shown));
  const remark = remarkOf(specs[slot]!, said, context);
  return derived === undefined ? { value, ...remark } : { value, note: derived, ...remark };
}

function remarkOf(spec: SlotSpec, words: string | undefined, context: SlotContext) {
  const remark = words === undefined ? undefined : spec.remark?.(words, context);
  return remark === undefined ? {} : { remark };
}

function optionsOf(values: readonly SlotValue[]): DoubtOption[] {
  return [...new Set(values)].map((value) => ({ value }));
}

// --- what code sees

interface Sight {
  readonly sees: Sees;
  /** What may be meant instead, likeliest first. */
  readonly options: readonly SlotValue[];
  /** The value's spelling that counts, where it is not the model's. */
  readonly value?: SlotValue | undefined;
  /** The words that say it. */
  readonly words?: string | undefined;
  /** How it follows from them. */
  readonly note?: string | undefined;
  readonly error?: string | undefined;
}

interface Proposed {
  readonly spec: SlotSpec;
  readonly slot: string;
  /** Words of the message; empty where the model gave none of it. */
  readonly quote: string;
  /** In the stored form; undefined where the slot does not take it. */
  readonly value: SlotValue | undefined;
  /** As the model gave it. */
  readonly raw: SlotValue;
}

function see(proposed: Proposed, against: Against): Sight {
  const sight = seeOne(proposed, against);
  const isSettled = sight.sees === "same" || sight.sees === "computed";
  const isOpen = isSettled && TAKES_ONE.has(proposed.spec.type ?? "text") && saysEither(proposed);
  return isOpen ? { sees: "rough", options: sight.options } : sight;
}

/** Kinds of which either one or the other is meant, and not both as they were said. */
const TAKES_ONE: ReadonlySet<string> = new Set(["date", "time", "money", "number", "choice"]);

/** Either the 23rd or the 24th: the model took one, and the person has not. */
function saysEither({ quote }: Proposed): boolean {
  return has(LEXICON.either, fold(quote));
}

function seeOne(proposed: Proposed, against: Against): Sight {
  const { spec } = proposed;
  const computed = seeLast(proposed, against) ?? seeSum(proposed, against);
  if (computed) return computed;
  const other = seePair(proposed, against);
  if (other) return other;
  if (spec.type === "person") return seeName(proposed, against);
  return spec.type === "text" && !spec.reader
    ? seeText(proposed, against)
    : seeByReader(proposed, against);
}

/** The value of the entry before, or of the one before in the message, where the words speak of it. */
function seeLast({ slot, value, quote }: Proposed, against: Against): Sight | undefined {
  const { last, before, message } = against;
  const isLast =
    last?.[slot] === value || (before?.[slot] === value && has(LEXICON.sameAs, fold(quote)));
  if (value === undefined || !isLast) return undefined;
  return { sees: "computed", options: [], words: quote === "" ? message : quote };
}

/** A sum that the words compute: half of it, 5,000 more. */
function seeSum({ spec, slot, value, quote }: Proposed, against: Against): Sight | undefined {
  if (!spec.isAmount && spec.type !== "money") return undefined;
  const { message, slots, before, last, whole, people, locale } = against;
  const known: KnownAmounts = {
    current: amountOf(slots[slot]) ?? amountOf(before?.[slot]),
    last: amountOf(before?.[slot]) ?? amountOf(last?.[slot]),
    whole,
    people,
  };
  const ofQuote = quote === "" ? [] : deriveAmounts(quote, known);
  const all: readonly DerivedAmount[] = [...ofQuote, ...deriveAmounts(message, known)];
  const [first] = all.filter(({ isWhole }) => isWhole);
  if (!first) return seeAll(quote, whole);
  const same = all.find((one) => one.isWhole && one.value === value);
  if (same) return { sees: "computed", options: [], note: showDerived(same, locale) };
  // A plain amount beside it: 70,000, half of it is Bob's.
  if (quote !== "" && ofQuote.length === 0) return undefined;
  return { sees: "other", options: [first.value] };
}

/** All of it, which the service does not know: how much it is, a model cannot know either. */
function seeAll(quote: string, whole: number | undefined): Sight | undefined {
  return whole === undefined && speaksOfAll(quote) ? { sees: "rough", options: [] } : undefined;
}

/** Another sum that stands beside this person: of two, the model has exchanged their sums. */
function seePair({ spec, value }: Proposed, { name, payments }: Against): Sight | undefined {
  if ((!spec.isAmount && spec.type !== "money") || name === undefined) return undefined;
  const own = payments.find(({ to }) => fold(to) === fold(String(name)))?.amount;
  if (!own?.ok || own.sure !== "exact" || own.value === value) return undefined;
  return { sees: "other", options: [own.value] };
}

function amountOf(value: SlotValue | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** A name must have been said, as a word of its own; or it is that of a contact. */
function seeName({ spec, value, quote }: Proposed, against: Against): Sight {
  const { message, contacts, texts } = against;
  const name = typeof value === "string" ? value : "";
  const known = contactsOf(name, contacts, message);
  const [contact, ...others] = known;
  if (contact && others.length === 0 && contact.name !== name) {
    const { name: meant } = contact;
    return { ...COMPUTED, value: meant, note: texts.derived(name, meant) };
  }
  if (others.length > 0) return { sees: "rough", options: known.map((one) => one.name) };
  if (name === "" || !isName(name)) return UNSAID;
  if (standsIn(name, message) || isFound(name, spec, against)) return SAME;
  const by = contacts.find((one) => one.name === name)?.says.find((it) => standsIn(it, message));
  if (by !== undefined) return { ...COMPUTED, note: texts.derived(by, name) };
  if (isQuoteOf(name, message)) return { sees: "rough", options: [] };
  return quote === "" ? UNSAID : { sees: "other", options: [] };
}

/** Whether code reads this name in the message, also where it is written against other words. */
function isFound(name: string, spec: SlotSpec, against: Against): boolean {
  const found = spec.reader?.(against).find(against.message) ?? [];
  return found.some((one) => one.ok && one.sure === "exact" && one.value === name);
}

/** The contacts that a said name may mean; none where it is itself the name of one. */
function contactsOf(name: string, contacts: readonly Contact[], message: string): Contact[] {
  if (name === "" || !standsIn(name, message)) return [];
  if (contacts.some((one) => one.name === name)) return [];
  return contacts.filter(({ says }) => says.some((one) => fold(one) === fold(name)));
}

/** Words that a form keeps as they are: they must have been said. */
function seeText({ value, quote }: Proposed, { message }: Against): Sight {
  if (typeof value === "string" && isQuoteOf(value, message)) return SAME;
  return quote === "" ? UNSAID : { sees: "nothing", options: [] };
}

function seeByReader(proposed: Proposed, against: Against): Sight {
  const { spec, value, raw, quote } = proposed;
  const reader = spec.reader?.(against) ?? readerOf(spec, against);
  const words = quote === "" ? undefined : quote;
  if (spec.type === "boolean") return seeTruth(proposed, against.message, reader);
  if (spec.options && words !== undefined) return seeChoice(value, words, reader);
  const check = checkProposal({ value: value ?? raw, words }, against.message, reader);
  switch (check.verdict) {
    case "agree":
      return seeAgreed(check, proposed, against);
    case "disagree":
      return seeDisagreed(check, proposed, against);
    case "unread":
      if (check.because !== "cannot-read-words") return UNSAID;
      // 30,00: numbers that are not wholly read are asked about.
      return { sees: spec.isAmount && /\d/.test(quote) ? "rough" : "nothing", options: [] };
  }
}

function seeDisagreed(
  check: Extract<ProposalCheck<SlotValue>, { verdict: "disagree" }>,
  proposed: Proposed,
  against: Against,
): Sight {
  const { read, words } = check;
  if (isPartOf(proposed.value, check, against.message)) return SAME;
  if (isInStandingYear(proposed, against.slots)) return { ...COMPUTED, words };
  if (read !== undefined) return seeOther(proposed, { read, words });
  return { sees: "refused", options: [], error: errorOf(proposed.spec, words, against) };
}

/** Of words that are kept as they were said, the model may take a part: what it leaves out is talk. */
function isPartOf(
  value: SlotValue | undefined,
  { read }: Extract<ProposalCheck<SlotValue>, { verdict: "disagree" }>,
  message: string,
): boolean {
  if (typeof value !== "string" || typeof read !== "string") return false;
  return fold(read).includes(fold(value)) && isQuoteOf(value, message);
}

function seeAgreed(
  { sure, value, others, words }: Extract<ProposalCheck<SlotValue>, { verdict: "agree" }>,
  proposed: Proposed,
  against: Against,
): Sight {
  const isSure = sure === "exact" || (sure === "partial" && isPlainlyMore(proposed, against));
  if (isSure) return sameOrDerived(proposed.spec, value, words);
  return { sees: "rough", options: [value, ...others], words };
}

/**
 * Another value than the words say; but where they count (5천원짜리 세 개, 11,000 for 6 hours), the model
 * has computed what code cannot.
 */
function seeOther(
  { spec, quote }: Proposed,
  { read, words }: { readonly read: SlotValue; readonly words: string },
): Sight {
  const counts =
    spec.isAmount === true && has(LEXICON.counts, fold(quote).replace(fold(words), " "));
  return counts ? { sees: "nothing", options: [] } : { sees: "other", options: [read], words };
}

/** A sum above which none is more: it shows how words would change one. */
const ANY_SUM = 1_000_000_000;

/** Words of more, where there is nothing that they add to: 20,000 more to John, 3만원도 추가. */
function isPlainlyMore({ slot }: Proposed, { message, slots, isOneMore }: Against): boolean {
  if (isOneMore) return true;
  if (slots[slot] !== undefined) return false;
  const changes = deriveAmounts(message, { current: ANY_SUM });
  return changes.length > 0 && changes.every(({ how }) => how === "more");
}

/** Words of a message that is a yes or a no to a slot without being quoted: 네, no thanks. */
const LONGEST_TRUTH = 2;

/** Of a yes or a no the quoted words alone decide: I want a debit card says nothing of another slot. */
function seeTruth({ value, quote }: Proposed, message: string, reader: Reader<SlotValue>): Sight {
  const isShort = message.trim().split(/\s+/u).length <= LONGEST_TRUTH;
  const words = quote === "" && isShort ? message : quote;
  const read = words === "" ? undefined : reader.parse(words);
  if (read?.ok !== true) return quote === "" ? UNSAID : { sees: "nothing", options: [] };
  if (read.sure !== "exact") return { sees: "rough", options: [read.value, ...read.others] };
  return read.value === value ? SAME : { sees: "other", options: [read.value] };
}

/** Of a choice the quoted words alone decide: 취소 of 예약 취소해줘, where 예약 means another one. */
function seeChoice(value: SlotValue | undefined, words: string, reader: Reader<SlotValue>): Sight {
  const read = reader.parse(words);
  if (!read.ok) return { sees: "nothing", options: [] };
  if (read.value === value && read.sure === "exact") return SAME;
  const all = [read.value, ...read.others];
  return { sees: all.includes(value ?? "") ? "rough" : "other", options: all };
}

/** A day that its words do not name by its number is shown: `금요일 = 12월 4일`. */
function sameOrDerived(spec: SlotSpec, value: SlotValue, words: string): Sight {
  const isDay = spec.type === "date" || spec.type === "date_range";
  if (!isDay || namesItsNumber(words, value) || has(LEXICON.plainDays, fold(words).trim())) {
    return { ...SAME, value, words };
  }
  return { ...COMPUTED, value, words };
}

/** 5월 4일, where 1990년 5월 3일 stands: a day of the same year. */
function isInStandingYear({ spec, slot, value, quote }: Proposed, slots: SlotValues): boolean {
  const [year = "", month = "", day = ""] = String(value).split("-");
  if (spec.type !== "date" || !String(slots[slot]).startsWith(`${year}-`)) return false;
  return [month, day].every((part) =>
    new RegExp(`(?<!\\d)0?${Number(part)}(?!\\d)`, "u").test(quote),
  );
}

/** Whether words name a day by its number: 20일, Nov 20, 20th. */
function namesItsNumber(words: string, value: SlotValue): boolean {
  const days = String(value).match(/\d\d(?=$|\/)/g) ?? [];
  return days.some((day) => new RegExp(`(?<!\\d)0?${Number(day)}(?!\\d)`, "u").test(words));
}

const SAME: Sight = { sees: "same", options: [] };
const COMPUTED: Sight = { sees: "computed", options: [] };
const UNSAID: Sight = { sees: "unsaid", options: [] };

function errorOf(spec: SlotSpec, words: string, context: SlotContext): string {
  const read = spec.parse(words, context);
  return read.ok ? (spec.validate?.(read.value, context) ?? UNSURE) : read.error;
}

/** For a slot without a reader: its own parser, for the words that the model quotes. */
function readerOf(spec: SlotSpec, context: SlotContext): Reader<SlotValue> {
  return {
    parse(words) {
      const read = spec.parse(words, context);
      return read.ok ? understood(read.value, words) : notUnderstood(read.error, words);
    },
    find: findsNothing,
  };
}
