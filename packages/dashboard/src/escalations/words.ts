import type { Escalation } from "dure/client";
import type { Language, Text } from "../text.ts";

/** How it ended, in words: the label of the action, or why there was none. Pure. */
export function decisionOf(
  { status, resolution, suggestedActions }: Escalation,
  { text, language }: { text: Text; language: Language },
): string {
  const value = resolution?.value ?? "";
  if (status === "dismissed") return text.escalations.dismissed[value] ?? value;
  const chosen = suggestedActions.find((action) => action.value === value);
  return chosen
    ? labelIn(language, chosen.label)
    : value === "settled"
      ? text.escalations.settled
      : value;
}

/**
 * A label as the server gives it, whose readers it does not know: of one that says the same in
 * Korean and English ("다시 시도 / Retry") what this reader reads. Any other as it is. Pure.
 */
export function labelIn(language: Language, label: string): string {
  const [korean, english, ...more] = label.split(" / ");
  if (korean === undefined || english === undefined || more.length > 0) return label;
  if (!HANGUL.test(korean) || HANGUL.test(english)) return label;
  return language === "ko" ? korean : english;
}

const HANGUL = /\p{Script=Hangul}/u;
