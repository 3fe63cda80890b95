import type { Escalation } from "dure/client";
import type { Text } from "../text.ts";

/** How it ended, in words: the label of the action, or why there was none. Pure. */
export function decisionOf({ status, resolution, suggestedActions }: Escalation, text: Text): string {
  const value = resolution?.value ?? "";
  if (status === "dismissed") return text.escalations.dismissed[value] ?? value;
  return suggestedActions.find((action) => action.value === value)?.label ?? (value === "settled" ? text.escalations.settled : value);
}
