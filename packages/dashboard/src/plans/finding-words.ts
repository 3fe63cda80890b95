import { FINDING_WORDS_EN, FINDING_WORDS_KO } from "dure/client";
import { useLanguage } from "../language.tsx";

/** What findings are called on this page, by their rule. */
export function useFindingWords(): Readonly<Record<string, string>> {
  return useLanguage().language === "ko" ? FINDING_WORDS_KO : FINDING_WORDS_EN;
}
