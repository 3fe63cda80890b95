import type { Answering } from "dure";
import { classifyContinue, classifyReply, REFUSING_KINDS, type Locale } from "dure/slots";
import { decideConfirm, type ConfirmAttempt } from "./confirm-id.ts";

/** Everything that a decision about an open question looks at. */
export interface ReadyAttempt extends ConfirmAttempt {
  /**
   * Whether others wait behind this transfer, or were before it: then a late no may have been meant
   * for another one.
   */
  readonly isBatch: boolean;
  /** Whether slots came with the message, structured, from a page. */
  readonly hasSlots: boolean;
}

export type ReadyDecision =
  | { readonly do: "confirm"; readonly because: string }
  | { readonly do: "cancel"; readonly because: string }
  /**
   * Ask the confirmation (again); `unseen`: a yes or a no did not count, and the person is told so.
   */
  | { readonly do: "ask"; readonly unseen: boolean; readonly because: string }
  /** Give the words to the slot agent, which may change slots and never confirms. */
  | { readonly do: "listen"; readonly because: string };

/**
 * What a message means while a confirmation is asked for. Pure, without a model; the first rule
 * that applies wins.
 */
export function decideReady(attempt: ReadyAttempt): ReadyDecision {
  const cancel = decideCancel(attempt);
  if (cancel.do !== "none") return cancel;

  const { confirm, because } = decideConfirm(attempt);
  if (confirm) return { do: "confirm", because };
  if (attempt.hasSlots) return { do: "ask", unseen: false, because: "edited" };
  return YES_WITHOUT_EFFECT.has(because)
    ? { do: "ask", unseen: true, because }
    : { do: "listen", because };
}

/** Meant as an answer to a question, but not to be taken for one. */
const YES_WITHOUT_EFFECT: ReadonlySet<string> = new Set([
  "not-what-was-shown",
  "nothing-shown",
  "other-service",
  "not-shown-last",
  "expired",
  "other-button",
  "written-before-shown",
  "yes-and-no",
]);

/** Meant as an answer to something else, so that even a no does not count. */
const TOO_EARLY: ReadonlySet<string> = new Set(["other-button", "written-before-shown"]);

/**
 * Whether a message gives the current transfer up. To stop is always safe, but one 취소 ends one
 * transfer: a button of an older question, or a word that was typed before this transfer of a batch
 * was shown, is answered by asking.
 */
export function decideCancel(
  attempt: Pick<ReadyAttempt, "text" | "locale" | "answering" | "isBatch">,
):
  | Extract<ReadyDecision, { do: "cancel" | "ask" }>
  | { readonly do: "none"; readonly because: string } {
  const { text, answering, isBatch } = attempt;
  const { kind, because } = classifyReply(text);
  if (!REFUSING_KINDS.has(kind)) return { do: "none", because };
  const standing = answering.question ? undefined : answering.because;
  if (standing === "other-button" || (isBatch && standing === "written-before-shown")) {
    return { do: "ask", unseen: true, because: standing };
  }
  return { do: "cancel", because };
}

export interface ContinueAttempt {
  readonly text: string;
  readonly locale: Locale;
  readonly answering: Answering;
}

/**
 * The answer to 계속 진행? after a failure. What was typed before the failure was shown answers
 * nothing. Pure.
 */
export function decideContinue({ text, answering }: ContinueAttempt): {
  readonly do: "continue" | "stop" | "ask";
  readonly because: string;
} {
  const { choice, because } = classifyContinue(text);
  if (choice === "none") return { do: "ask", because };
  if (!answering.question) {
    const isTooEarly = TOO_EARLY.has(answering.because);
    if (choice === "stop" && !isTooEarly) return { do: "stop", because };
    return { do: "ask", because: answering.because };
  }
  if (choice === "stop") return { do: "stop", because };
  if (answering.question.asks !== "ASK_CONTINUE") return { do: "ask", because: "nothing-shown" };
  return { do: choice, because };
}
