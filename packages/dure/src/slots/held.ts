import { Doubt, type SlotOperation } from "./delta.ts";
import type { SlotContext, SlotSpec, SlotSpecs } from "./form.ts";
import type { FormState } from "./form-state.ts";
import { checkProposal, findsNothing, isQuoteOf, type ProposalCheck } from "../parse/check.ts";
import { notUnderstood, understood, type Reader } from "../parse/reading.ts";
import type { MessageKind, SlotReading } from "./prompts.ts";

/** A value of which it must be asked whether it is meant. */
export interface SlotDoubt {
  readonly slot: string;
  /** What it may be, likeliest first; empty where code reads none. */
  readonly options: readonly (string | number)[];
}

/** What a model read in a message, held against what code reads there. */
export interface HeldReading {
  readonly kind: MessageKind;
  readonly operations: readonly SlotOperation[];
  readonly tasks: readonly Readonly<Record<string, unknown>>[];
  /** Of the current entry. */
  readonly doubts: readonly SlotDoubt[];
  /** Keys of words about what was said and is not kept. */
  readonly remarks: readonly string[];
}

export interface HeldAgainst extends SlotContext {
  readonly specs: SlotSpecs;
  readonly message: string;
  readonly state: Pick<FormState, "slots" | "tasks">;
  /** Slots whose values in this message cannot count, with the error that is said of them. */
  readonly doubted: Readonly<Record<string, string>>;
  /** Whether the words change the current entry; else names are further entries. */
  readonly replaces: boolean;
}

/**
 * The model proposes, code checks, disagreement asks: a value counts where the person's words say
 * it, by the slot's own reader. Where both differ the slot is left open and asked for. Pure. Source:
 * docs/spec/conversation §8.
 */
export function holdReading(reading: SlotReading, against: HeldAgainst): HeldReading {
  const isAbout = reading.kind !== "unsupported";
  const all = isAbout ? reading.items.map(({ changes }) => holdAll(changes, against)) : [];
  const said = all.filter(({ raw }) => Object.keys(raw).length > 0);
  const items = said.length === 1 && mayBecomeCurrent(against) ? said : said.filter(isNamed);
  const isAmiss = items.length < said.length;
  const passedOver = against.replaces ? [] : namesBeside(items, isAmiss, against);
  const entries = [...items.map(({ raw }) => raw), ...passedOver];
  const isOne = entries.length === 1;
  const sets = isOne ? Object.entries(entries[0]!) : [];

  return {
    kind: reading.kind,
    operations: [
      ...(isAbout ? reading.clear : []).map((slot) => ({ op: "clear", slot }) as const),
      ...sets.map(([slot, value]) => ({ op: "set", slot, value }) as const),
      ...(isCancel(reading.kind) ? [{ op: "cancel_flow" } as const] : []),
    ],
    tasks: isOne ? [] : entries,
    doubts: items[0]?.doubts ?? [],
    remarks: [...new Set(items.flatMap(({ remarks }) => remarks))],
  };
}

/**
 * Whether a single entry fills the current one. Who was named before is not put in doubt by a name
 * that follows.
 */
function mayBecomeCurrent({ specs, state, replaces }: HeldAgainst): boolean {
  const identity = identityOf(specs);
  return replaces || identity === undefined || state.slots[identity] === undefined;
}

function identityOf(specs: SlotSpecs): string | undefined {
  return Object.keys(specs).find((slot) => specs[slot]!.identifies);
}

/** Whether it is plain whom an entry is about. */
function isNamed({ isNameUnsure }: HeldEntry): boolean {
  return !isNameUnsure;
}

function isCancel(kind: MessageKind): boolean {
  return kind === "cancel" || kind === "cancel_all";
}

// --- one entry

interface HeldEntry {
  readonly raw: Readonly<Record<string, unknown>>;
  readonly doubts: readonly SlotDoubt[];
  readonly remarks: readonly string[];
  readonly isNameUnsure: boolean;
}

type Change = SlotReading["items"][number]["changes"][number];

function holdAll(changes: readonly Change[], against: HeldAgainst): HeldEntry {
  const raw: Record<string, unknown> = {};
  const doubts: SlotDoubt[] = [];
  const remarks: string[] = [];
  for (const change of changes) {
    const held = hold(change, against);
    if (held === undefined) continue;
    raw[change.slot] = held.value;
    if (held.options) doubts.push({ slot: change.slot, options: held.options });
    if (held.remark !== undefined) remarks.push(held.remark);
  }
  const identity = identityOf(against.specs);
  const isNameUnsure = identity !== undefined && raw[identity] instanceof Doubt;
  return { raw, doubts, remarks, isNameUnsure };
}

interface Held {
  readonly value: unknown;
  /** Present: it is asked which of these is meant. */
  readonly options?: SlotDoubt["options"] | undefined;
  readonly remark?: string | undefined;
}

/** What becomes of one value; undefined: the person has said nothing of the kind. */
function hold(change: Change, against: HeldAgainst): Held | undefined {
  const { slot, value, quote } = change;
  const spec = against.specs[slot];
  if (!spec) return undefined;
  const doubted = against.doubted[slot];
  if (doubted !== undefined) return { value: new Doubt(doubted) };
  if (spec.type === "text" && !spec.reader) return holdText(change, against);

  const words = quote === "" ? undefined : quote;
  const reader = (spec.reader?.(against) ?? readerOf(spec, against)) as Reader<string | number>;
  const check = checkProposal({ value, words }, against.message, reader);
  switch (check.verdict) {
    case "agree":
      if (check.sure !== "exact") return unsure(check.value, ...check.others);
      return { value: check.value, remark: spec.remark?.(check.words, against) };
    case "disagree":
      return check.read === undefined
        ? { value: new Doubt(errorOf(spec, check.words, against)) }
        : unsure(check.read, check.proposed);
    case "unread":
      return holdUnread(check, change);
  }
  return check satisfies never;
}

/** Words that a form keeps as they are: they must have been said. */
function holdText({ value, quote }: Change, { message }: HeldAgainst): Held | undefined {
  if (typeof value === "string" && isQuoteOf(value, message)) return { value };
  // A name of the form's own for what was said: `large` for 큰 회의실.
  return quote !== "" && isQuoteOf(quote, message) ? { value: quote } : undefined;
}

function holdUnread(
  { because, proposed }: Extract<ProposalCheck<string | number>, { verdict: "unread" }>,
  { value }: Change,
): Held | undefined {
  if (because !== "cannot-read-words") return undefined;
  // What neither of both can read has an error of its own.
  return proposed === undefined ? { value } : unsure(proposed);
}

function unsure(...options: readonly (string | number | undefined)[]): Held {
  const known = options.filter((option) => option !== undefined);
  return { value: new Doubt(UNSURE), options: [...new Set(known)] };
}

/** The error of a value of which it must be asked what is meant. */
const UNSURE = "UNSURE";

function errorOf(spec: SlotSpec, words: string, context: SlotContext): string {
  const read = spec.parse(words, context);
  return read.ok ? (spec.validate?.(read.value, context) ?? UNSURE) : read.error;
}

/** For a slot without a reader: its own parser, for the words that the model quotes. */
function readerOf(spec: SlotSpec, context: SlotContext): Reader<string | number> {
  return {
    parse(words) {
      const read = spec.parse(words, context);
      return read.ok ? understood(read.value, words) : notUnderstood(read.error, words);
    },
    find: findsNothing,
  };
}

// --- names

/**
 * Names that code finds in the message and the model has passed over: 엄마, 아빠, 동생한테 각각 3만원,
 * of which it kept one. Only beside a name that it has read, or in the place of one that is amiss.
 */
function namesBeside(
  items: readonly HeldEntry[],
  isAmiss: boolean,
  { specs, message, state, ...context }: HeldAgainst,
): readonly Readonly<Record<string, unknown>>[] {
  const identity = identityOf(specs);
  const reader = identity === undefined ? undefined : specs[identity]!.reader?.(context);
  if (identity === undefined || !reader || items.some((one) => one.isNameUnsure)) return [];
  const read = items.map(({ raw }) => raw[identity]).filter((name) => name !== undefined);
  if (read.length === 0 && !isAmiss) return [];

  const waiting = state.tasks.map(({ slots }) => slots[identity]);
  const known = new Set<unknown>([...read, state.slots[identity], ...waiting]);
  const found = reader.find(message).flatMap((one) => (one.ok ? [one.value] : []));
  return [...new Set(found)]
    .filter((name) => !known.has(name))
    .map((name) => ({ [identity]: name }));
}
