import type { EventOf, EventType, PlatformEvent } from "dure/client";
import type { Language } from "../words.ts";
import { en } from "./sentences.en.ts";
import { ko } from "./sentences.ko.ts";
import type { EventNames } from "./names.ts";

/** A sentence for each type of event; a missing one is a compile error. */
export type Sentences = {
  readonly [Type in EventType]: (event: EventOf<Type>, names: EventNames) => string;
};

export const SENTENCES: Readonly<Record<Language, Sentences>> = { ko, en };

/** What happened, as a person says it; undefined for an event of a newer server. Pure. */
export function sentenceOf(
  event: PlatformEvent,
  language: Language,
  names: EventNames,
): string | undefined {
  const table = SENTENCES[language] as Readonly<
    Record<string, (event: PlatformEvent, names: EventNames) => string>
  >;
  if (!Object.hasOwn(table, event.type)) return undefined;
  try {
    const sentence = table[event.type]?.(event, names) ?? "";
    // A Korean sentence may begin with a name: `general 방`.
    return language === "ko" ? sentence : sentence.charAt(0).toUpperCase() + sentence.slice(1);
  } catch {
    return undefined; // its data is of another release
  }
}
