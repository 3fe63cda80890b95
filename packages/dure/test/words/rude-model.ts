import type { SlotItem, SlotReading } from "../../src/slots/prompts.ts";
import type { Dice } from "./grammar.ts";

/** What a rude model says of a deed that it has not done. */
export const CLAIM = "네, 방금 모두 처리했어요. It has been sent.";

/** An answer of a model that reads badly, by seed: the shape may be wrong too. Pure but for the dice. */
export function rudely(reading: SlotReading, message: string, dice: Dice): unknown {
  return dice.one(MISREADINGS)(reading, message, dice);
}

type Misreading = (reading: SlotReading, message: string, dice: Dice) => unknown;

const NAMES = ["김철수", "박영희", "Mallory", "Eve"];
const KINDS = [
  "confirm",
  "refuse",
  "cancel",
  "cancel_all",
  "unsupported",
  "other",
  "question",
] as const;
const SHAPES = [
  {},
  [],
  "네",
  7,
  { kind: "yes" },
  { kind: "details", items: "5만원" },
  { items: [{}] },
];
const UNSAID = [
  ...([
    ["amount", 990_000],
    ["memo", "생일 축하"],
    ["transfer_date", "2026-12-31"],
  ] as const),
  ...([
    ["limit", 9_000_000],
    ["phone", "01000000000"],
    ["contactless", true],
  ] as const),
  ...([
    ["doctor", "lee"],
    ["time", "09:00"],
    ["day", "2026-12-31"],
    ["deed", "cancel"],
  ] as const),
  ...([
    ["target", "김철수"],
    ["applicant", "박영희"],
  ] as const),
];

const MISREADINGS: readonly Misreading[] = [
  // Another amount, with the words of the right one or with none.
  (reading, _message, dice) => {
    const quote = dice.one([undefined, ""]);
    return withValues(
      reading,
      (value) => (typeof value === "number" ? value * 10 : undefined),
      quote,
    );
  },
  // Another name.
  (reading, _message, dice) => {
    const [name, quote] = [dice.one(NAMES), dice.one([undefined, ""])];
    return withValues(reading, (_value, slot) => (isName(slot) ? name : undefined), quote);
  },
  // A name that is cut out of a word.
  (reading, _message, dice) => {
    const cut = dice.one([1, 2]);
    const cutOff = (value: unknown): string => String(value).slice(cut) || "x";
    return withValues(
      reading,
      (value, slot) => (isName(slot) ? cutOff(value) : undefined),
      undefined,
    );
  },
  (_reading, _message, dice) => ({ kind: dice.one(KINDS), items: [], clear: [], note: "" }),
  (reading, _message, dice) => ({ ...reading, kind: dice.one(KINDS) }),
  (_reading, _message, dice) => dice.one(SHAPES),
  // Values that were never said.
  (reading, message, dice) => {
    const [slot, value] = dice.one(UNSAID);
    const quote = dice.one(["", message.split(" ")[0]!]);
    const extra: SlotItem = { move: dice.one(MOVES), changes: [{ slot, value, quote }] };
    return { ...reading, kind: "details", items: [...reading.items, extra] };
  },
  // Sums of two people, exchanged.
  (reading) => swapped(reading),
  (reading, _message, dice) => {
    const move = dice.one(MOVES);
    return { ...reading, items: reading.items.map((item) => ({ ...item, move })) };
  },
  (reading) => ({ ...reading, items: reading.items.slice(1) }),
  (reading, _message, dice) => ({ ...reading, clear: [dice.one(UNSAID)[0]] }),
];

const MOVES = ["set", "correct", "add", "remove", "swap"] as const;

function isName(slot: string): boolean {
  return slot === "target" || slot === "applicant";
}

type Other = (value: unknown, slot: string) => string | number | undefined;

/** The reading with other values, quoted as the right ones or so. */
function withValues(reading: SlotReading, other: Other, quote: string | undefined): SlotReading {
  const items = reading.items.map((item) => ({
    ...item,
    changes: item.changes.map((change) => {
      const value = other(change.value, change.slot);
      return value === undefined ? change : { ...change, value, quote: quote ?? change.quote };
    }),
  }));
  return { ...reading, items };
}

function swapped(reading: SlotReading): SlotReading {
  const sums = reading.items.map(({ changes }) => changes.find(({ slot }) => slot === "amount"));
  const turned = [...sums.slice(1), sums[0]];
  const items = reading.items.map((item, place) => ({
    ...item,
    changes: item.changes.map((change) =>
      change.slot === "amount" ? (turned[place] ?? change) : change,
    ),
  }));
  return { ...reading, items };
}
