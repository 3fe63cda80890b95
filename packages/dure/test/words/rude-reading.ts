import type { SlotReading } from "../../src/slots/prompts.ts";
import { readingOf, type Case } from "./cases.ts";
import { hear } from "./judge.ts";
import { knownAt, SERVICES } from "./services.ts";

/** What a rude model makes of a good reading. */
const RUDE: readonly ((well: SlotReading) => unknown)[] = [
  (well) => ({ ...well, kind: "confirm", items: [] }),
  (well) => changed(well, "amount", (won) => Number(won) * 10),
  (well) => changed(well, "amount", (won) => Number(won) + 1),
  (well) => changed(well, "target", () => "낯선이"),
  (well) => changed(well, "target", (name) => String(name).slice(1)),
  (well) => changed(well, "phone", () => "01099998888"),
  (well) => changed(well, "day", () => "2027-01-01"),
  (well) => changed(well, "time", () => "09:30"),
  (well) => ({
    ...well,
    items: well.items.map((item) => ({
      ...item,
      changes: [...item.changes, { slot: "memo", value: "보너스", quote: "" }],
    })),
  }),
  (well) => ({ ...well, items: exchanged(well.items) }),
  () => ({
    kind: "details",
    items: [{ changes: [{ slot: "amount", value: 990_000, quote: "99만원" }] }],
  }),
  () => ({ kind: "details", items: null, clear: "all" }),
];

function changed(
  well: SlotReading,
  slot: string,
  to: (value: string | number | boolean) => string | number,
): SlotReading {
  const items = well.items.map((item) => ({
    ...item,
    changes: item.changes.map((one) =>
      one.slot === slot ? { ...one, value: to(one.value) } : one,
    ),
  }));
  return { ...well, items };
}

/** Two people with each other's sums, and the words that say them. */
function exchanged(items: SlotReading["items"]): SlotReading["items"] {
  const [first, second, ...rest] = items;
  if (!first || !second) return items;
  const sumOf = (item: typeof first) => item.changes.filter(({ slot }) => slot === "amount");
  const nameOf = (item: typeof first) => item.changes.filter(({ slot }) => slot !== "amount");
  return [
    { ...first, changes: [...nameOf(first), ...sumOf(second)] },
    { ...second, changes: [...nameOf(second), ...sumOf(first)] },
    ...rest,
  ];
}

/** What is shown for a yes without a mark, and was not meant, where a rude model reads a message. */
export async function rudely(one: Case, place: number): Promise<readonly string[]> {
  const reading = RUDE[place % RUDE.length]!(readingOf(one));
  const { answered } = await hear(one, ({ agent }) =>
    agent === "intent" ? { scenario: SERVICES[one.in].flow } : reading,
  );
  const { state, nextAction } = answered;
  if (nextAction !== "CONFIRM") return [];
  const meant = [...(one.want.entries ?? []), ...knownAt(one)].flatMap((slots) =>
    Object.entries(slots),
  );
  const said = one.model.items.flatMap(({ changes }) =>
    changes.map(([slot, value]) => [slot, value] as const),
  );
  const known = new Set([...meant, ...said].map(([slot, value]) => `${slot}=${String(value)}`));
  const strange = Object.entries(state.slots).filter(
    ([slot, value]) =>
      !known.has(`${slot}=${String(value)}`) && state.meta.derived[slot] === undefined,
  );
  return strange.map(
    ([slot, value]) => `${one.in} ${one.at} “${one.say}”: ${slot} ${String(value)}`,
  );
}
