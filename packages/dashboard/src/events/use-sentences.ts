import type { PlatformEvent } from "dure/client";
import { createContext, use, useMemo } from "react";
import { EVENTS_WORDS } from "words:later/events";
import { useLanguage, useWords } from "../language.tsx";
import type { EventNames } from "./names.ts";
import { sentenceOf } from "./sentences.ts";

/** Given once by the page, for every row needs it. */
export const EventNamesContext = createContext<EventNames | undefined>(undefined);

/** What happened, in words; of an event that the page does not know, what it holds. */
export function useSentences(): (event: PlatformEvent) => string {
  const { language } = useLanguage();
  const words = useWords(EVENTS_WORDS);
  const names = use(EventNamesContext);
  if (names === undefined) throw new Error("useSentences needs an EventNamesContext around it.");

  return useMemo(
    () => (event) =>
      sentenceOf(event, language, names) ??
      `${words.unknown({ type: event.type })}  ${membersOf(event)}`,
    [words, language, names],
  );
}

function membersOf({ data }: PlatformEvent): string {
  return Object.entries(data ?? {})
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join(" ");
}
