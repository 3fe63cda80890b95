import type { JsonObject, SlotInfo } from "dure/client";
import type { ReactNode } from "react";
import { labelOf, shownFact } from "./fact-words.ts";
import { useLanguage } from "./language.tsx";

/** What is known of something, a line each. */
export function Facts({
  value,
  slots = [],
}: {
  value: JsonObject;
  slots?: readonly SlotInfo[];
}): ReactNode {
  const speaking = useLanguage();
  const rows = Object.entries(value)
    .map(([name, member]) => ({
      name,
      words: shownFact(
        name,
        member,
        speaking,
        slots.find((slot) => slot.name === name),
      ),
    }))
    .filter(({ words }) => words !== "");

  if (rows.length === 0) return null;

  return (
    <dl className="facts pairs">
      {rows.map(({ name, words }) => (
        <div key={name}>
          <dt>{labelOf(name, speaking.text, slots)}</dt>
          <dd>{words}</dd>
        </div>
      ))}
    </dl>
  );
}
