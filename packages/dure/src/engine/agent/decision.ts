import type { TurnFacts } from "../turn/turn-context.ts";
import { quoted } from "../../kernel/quoted.ts";

/**
 * What a turn is about, as a model reads it: the message, or, of a turn that a person's answer has
 * begun, what was answered. Never without words. Pure.
 */
export function messageOrDecision({
  message,
  escalation,
}: Pick<TurnFacts, "message" | "escalation">): string {
  if (message.trim() !== "" || escalation === undefined) return message;
  const { answer, context, note = "" } = escalation;
  const tool = typeof context["tool"] === "string" ? ` tool="${quoted(context["tool"])}"` : "";
  return `<decision${tool} answer="${quoted(answer)}">${quoted(note)}</decision>`;
}
