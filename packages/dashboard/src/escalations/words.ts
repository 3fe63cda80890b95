import type { Escalation, SuggestedAction } from "dure/client";
import type { Text } from "../language.tsx";

/** How it ended, in words: the label of the action, or why there was none. Pure. */
export function decisionOf(
  { status, resolution, suggestedActions }: Escalation,
  text: Text,
): string {
  const value = resolution?.value ?? "";
  if (status === "dismissed") return text.escalations.dismissed[value] ?? value;

  const chosen = suggestedActions.find((action) => action.value === value);
  if (chosen !== undefined) return actionLabel(chosen, text);

  return value === "settled" ? text.escalations.settled : value;
}

/** An answer in the page's words; one of a service as the service wrote it. Pure. */
export function actionLabel(
  { code, label }: Pick<SuggestedAction, "code" | "label">,
  text: Text,
): string {
  const { actions } = text.escalations;
  return code !== undefined && Object.hasOwn(actions, code) ? actions[code]! : label;
}
