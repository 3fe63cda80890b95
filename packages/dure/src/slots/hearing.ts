import type { Locale } from "../kernel/locales.ts";
import { isQuoteOf } from "../parse/check.ts";
import { fold } from "../parse/text.ts";
import { moveWordsOf } from "../parse/replies/moves.ts";
import { isPlainName } from "../parse/people/names.ts";
import { findPayments, namedRecipients } from "../parse/people/payments.ts";
import { currentOf, entryOf, identityOf, NO_ENTRY, type NewValue } from "./entries.ts";
import type { Contact, FormTexts, SlotContext, SlotSpecs, SlotValue } from "./form.ts";
import type { FormState, SlotValues } from "./form-state.ts";
import type { HeldMove, Manner } from "./moves.ts";
import type { MessageKind, SlotItem, SlotReading } from "./prompts.ts";
import { Doubt, judge, UNSURE, type Against } from "./referee.ts";

/** What a model read in a message, held against what code sees there. */
export interface HeldReading {
  readonly kind: MessageKind;
  readonly moves: readonly HeldMove[];
  /** People who were plainly named, and whom the reading has passed over. */
  readonly passedOver: readonly string[];
  /** Keys of words about what was said and is not kept. */
  readonly remarks: readonly string[];
  /** Words of the message that the reading names as not understood; "" for none. */
  readonly unread: string;
  /**
   * The words are no order (보내지 마, 받았어), or say nothing of an exchange, and the reading makes one
   * of them.
   */
  readonly isNoOrder: boolean;
}

/** What a reading is held against. */
export interface HearingFacts extends SlotContext {
  readonly specs: SlotSpecs;
  readonly texts: Pick<FormTexts, "value" | "derived">;
  readonly locale: Locale;
  readonly message: string;
  readonly state: FormState;
  /** Values of the entry that ended last, where the words speak of it. */
  readonly last?: SlotValues | undefined;
  /** What "all of it" means, where the words speak of it. */
  readonly whole?: number | undefined;
  readonly contacts: readonly Contact[];
  readonly doubted: Readonly<Record<string, string>>;
  /** The words say not to do a deed of the form. */
  readonly isRefused?: boolean | undefined;
}

/** How the words speak of another person: in the place of the one before, or besides. Pure. */
export function mannerOf(message: string): Manner {
  const { changes, adds } = moveWordsOf(message);
  if (changes === adds) return undefined;
  return changes ? "changes" : "adds";
}

/**
 * A reading with each of its values judged. It loses no person who was named, and names none who was
 * not. Pure. Source: docs/spec/conversation §8.
 */
export function hold(reading: SlotReading, facts: HearingFacts): HeldReading {
  const { kind } = reading;
  const isAbout = kind !== "unsupported";
  const items = isAbout ? reading.items : [];
  const held = items.map((item, place) =>
    holdItem(item, items.slice(0, place), items.length, facts),
  );
  const moves = held.map(({ move }) => move).filter((move) => isSomething(move));
  const clear = isAbout ? reading.clear : [];
  const all = clear.length === 0 ? moves : withClear(moves, clear);
  return {
    kind,
    moves: all,
    passedOver: items.length === 0 || takesBack(facts.message) ? [] : passedOverIn(reading, facts),
    remarks: [...new Set(held.flatMap(({ remarks }) => remarks))],
    unread: moves.length > 0 && isQuoteOf(reading.note, facts.message) ? reading.note.trim() : "",
    isNoOrder: (makesAnOrder(moves) && isNoOrder(facts)) || exchangesUnsaid(moves, facts.message),
  };
}

function isSomething({ move, entry, values, clear }: HeldMove): boolean {
  const isWhole = move === "remove" || move === "swap" || entry !== "";
  return isWhole || Object.keys(values).length > 0 || clear.length > 0;
}

function withClear(moves: readonly HeldMove[], clear: readonly string[]): readonly HeldMove[] {
  return [{ move: "remove", entry: "", values: {}, clear }, ...moves];
}

function makesAnOrder(moves: readonly HeldMove[]): boolean {
  return moves.length > 0 && moves.every(({ move }) => move === "set" || move === "add");
}

/** Whether the words say not to do it, or tell what happened. */
function isNoOrder({ message, isRefused }: HearingFacts): boolean {
  const { negated, reported, changes, adds } = moveWordsOf(message);
  return (negated || reported || isRefused === true) && !changes && !adds;
}

/** Whether values would change places, and the words change nothing: 그리고 이모에게 만원도 보내줘. */
function exchangesUnsaid(moves: readonly HeldMove[], message: string): boolean {
  if (!moves.some(({ move }) => move === "swap")) return false;
  const { swaps, changes } = moveWordsOf(message);
  return !swaps && !changes;
}

// --- one item

function holdItem(
  { move = "set", entry = "", changes }: SlotItem,
  before: readonly SlotItem[],
  people: number,
  facts: HearingFacts,
): { readonly move: HeldMove; readonly remarks: readonly string[] } {
  if (move === "remove") {
    const known = changes
      .map(({ slot }) => slot)
      .filter((slot) => Object.hasOwn(facts.specs, slot));
    return {
      move: {
        move,
        entry: leftOut(entry, changes, facts),
        values: {},
        clear: clearedBy(known, entry, facts),
      },
      remarks: [],
    };
  }
  const against = againstOf({ entry, changes }, before, people, facts);
  const values: Record<string, NewValue> = {};
  const remarks: string[] = [];
  for (const change of changes) {
    const judged = judge(change, against);
    if (judged === undefined) continue;
    const other = values[change.slot];
    values[change.slot] = other === undefined ? judged : eitherOf(other, judged);
    if (!(judged instanceof Doubt) && judged.remark !== undefined) remarks.push(judged.remark);
  }
  return { move: { move, entry: entry.trim(), values, clear: [] }, remarks };
}

/** Two values for one slot: 2시나 4시. Which one is meant is asked. */
function eitherOf(one: NewValue, other: NewValue): NewValue {
  if (one instanceof Doubt || other instanceof Doubt || "raw" in one || "raw" in other) return one;
  if (one.value === other.value) return one;
  return new Doubt(UNSURE, [{ value: one.value }, { value: other.value }]);
}

/** Whose entry a removal is about: named by itself, or as the value of the slot that names. */
function leftOut(
  entry: string,
  changes: SlotItem["changes"],
  { specs, state }: HearingFacts,
): string {
  if (entry !== "") return entry.trim();
  const identity = identityOf(specs);
  const named = changes.find(({ slot, value }) => slot === identity && value !== "")?.value;
  if (named === undefined || identity === undefined) return "";
  const known = [state.slots[identity], ...state.tasks.map((task) => task.slots[identity])];
  return known.some((one) => isSame(one, named)) && state.tasks.length > 0 ? String(named) : "";
}

/** Slots that are emptied: none where a whole entry goes. */
function clearedBy(
  slots: readonly string[],
  entry: string,
  { specs, state }: HearingFacts,
): readonly string[] {
  const identity = identityOf(specs);
  const isWhole = entry === "" && state.tasks.length > 0 && slots.includes(identity ?? "");
  return isWhole ? [] : slots;
}

function againstOf(
  { entry, changes }: { readonly entry: string; readonly changes: SlotItem["changes"] },
  before: readonly SlotItem[],
  people: number,
  facts: HearingFacts,
): Against {
  const { state, specs, message } = facts;
  const slots = slotsOf(entry, changes, state, specs);
  const isOneMore = slots === NO_ENTRY.slots && mannerOf(message) === "adds";
  const identity = identityOf(specs);
  const name = changes.find(({ slot }) => slot === identity)?.value;
  const payments = people > 1 ? findPayments(message).payments : [];
  const several = people > 1 ? people : undefined;
  return {
    ...facts,
    slots,
    before: saidIn(before.at(-1)),
    isOneMore,
    name,
    payments,
    people: several,
  };
}

/** What an item says: twice that is counted from the one before. */
function saidIn(item: SlotItem | undefined): SlotValues {
  return Object.fromEntries((item?.changes ?? []).map(({ slot, value }) => [slot, value]));
}

/** Values of the entry that an item is about: what "half of it" is counted from. */
function slotsOf(
  entry: string,
  changes: SlotItem["changes"],
  state: FormState,
  specs: SlotSpecs,
): SlotValues {
  const identity = identityOf(specs);
  const named = entry === "" ? changes.find(({ slot }) => slot === identity)?.value : entry;
  if (named === undefined || identity === undefined) return currentOf(state).slots;
  const task = state.tasks.find((one) => isSame(one.slots[identity], named));
  if (task) return entryOf(task).slots;
  return state.slots[identity] === undefined || isSame(state.slots[identity], named)
    ? state.slots
    : NO_ENTRY.slots;
}

function isSame(a: SlotValue | undefined, b: SlotValue): boolean {
  return a !== undefined && bare(String(a)) === bare(String(b));
}

function bare(text: string): string {
  return fold(text).replaceAll(" ", "");
}

// --- people

/** Words that take one back who was named: 아니 엄마한테, leave Dad out. */
function takesBack(message: string): boolean {
  const { changes, removes } = moveWordsOf(message);
  return changes || removes || /(?:^|[^\p{L}])(?:아니|no|scratch|not)(?![\p{L}])/iu.test(message);
}

/** People whom the words mark, and those who stand in a list with one: 엄마, 아빠, 동생한테. */
function listedIn(message: string): readonly string[] {
  const marked = namedRecipients(message);
  if (marked.length === 0) return [];
  const listed = findPayments(message).payments.map(({ to }) => to);
  return listed.filter((name) => marked.includes(name) || isPlainName(name));
}

/** People whom the words plainly name, and whom neither the reading nor the form has. */
function passedOverIn({ items }: SlotReading, facts: HearingFacts): readonly string[] {
  const { specs, message, state, contacts } = facts;
  const identity = identityOf(specs);
  const type = identity === undefined ? undefined : specs[identity]!.type;
  if (identity === undefined || (type !== "person" && type !== "text")) return [];
  if (!specs[identity]!.reader) return [];
  const read = items.flatMap(({ entry = "", changes }) => [
    entry,
    ...changes.flatMap(({ value, quote }) => [String(value), quote]),
  ]);
  const known = [state.slots[identity], ...state.tasks.map(({ slots }) => slots[identity])];
  const meant = [...read, ...known.filter((one) => one !== undefined).map(String)].map(bare);
  const isMeant = (name: string): boolean =>
    meant.some((one) => one !== "" && (one.includes(bare(name)) || bare(name).includes(one)));
  const byContact = (name: string): boolean =>
    contacts.some((one) => one.says.some((it) => bare(it) === bare(name)) && isMeant(one.name));
  const names = listedIn(message).filter((name) => !isMeant(name) && !byContact(name));
  return [...new Set(names)];
}
