import { useLanguage } from "../language.tsx";
import { en } from "./draft-text.en.ts";
import { ko, type DraftText } from "./draft-text.ko.ts";

const WORDS = { ko, en };

/** The words of drafts; apart from the others, for they are fetched with their page. */
export function useDraftWords(): DraftText {
  return WORDS[useLanguage().language];
}
