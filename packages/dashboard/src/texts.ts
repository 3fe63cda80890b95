import { en } from "./texts.en.ts";
import { ko, type Text } from "./texts.ko.ts";
import type { Language } from "./words.ts";

export type { Text };

/** A language and its words. */
export interface SpokenTexts {
  readonly language: Language;
  readonly text: Text;
}

/** Both languages, for tests. A page imports types alone from here: it reads one language. */
export const TEXTS: Readonly<Record<Language, Text>> = { ko, en };
