import type { Answering, UnansweredBecause } from "dure";
import { classifyReply, type Locale, type ReplyBecause } from "dure/slots";

export interface ConfirmAttempt {
  readonly text: string;
  readonly locale: Locale;
  /** The question that the message can answer, by the engine's rules. */
  readonly answering: Answering;
  /** Whether the slots are still those that the question showed. */
  readonly isAsShown: boolean;
  /** Whether a button was pressed. */
  readonly isButton: boolean;
}

export type ConfirmAttemptDecision =
  | { readonly confirm: true; readonly because: "button" | "listed-words" }
  | {
      readonly confirm: false;
      readonly because: "not-what-was-shown" | UnansweredBecause | ReplyBecause;
    };

/**
 * Whether a message confirms the transfer as the person has seen it: a whole yes, as the answer to
 * the question that was shown last, which showed these slots. Pure. Source:
 * docs/spec/conversation §8.
 */
export function decideConfirm(attempt: ConfirmAttempt): ConfirmAttemptDecision {
  const { text, answering, isAsShown, isButton } = attempt;
  const { kind, because } = classifyReply(text);
  if (kind !== "yes") return { confirm: false, because };
  if (answering.question?.asks !== "CONFIRM") {
    return { confirm: false, because: answering.question ? "nothing-shown" : answering.because };
  }
  if (!isAsShown) return { confirm: false, because: "not-what-was-shown" };
  return { confirm: true, because: isButton ? "button" : "listed-words" };
}
