import type { Text } from "words:languages";
import { wordsIn } from "../catalogue.ts";
import type { Language } from "../src/words.ts";

/** The words of every language. */
export const TEXTS: Readonly<Record<Language, Text>> = {
  ko: wordsIn("ko") as Text,
  en: wordsIn("en") as Text,
};
