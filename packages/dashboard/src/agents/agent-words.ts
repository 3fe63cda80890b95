import { useLanguage } from "../language.tsx";
import { en } from "./page-text.en.ts";
import { ko, type AgentPageText } from "./page-text.ko.ts";

const WORDS = { ko, en };

/** The words of the page of one agent; apart from the others, for they are fetched with it. */
export function useAgentWords(): AgentPageText {
  return WORDS[useLanguage().language];
}
