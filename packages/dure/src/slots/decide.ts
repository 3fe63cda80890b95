import type { Answering } from "../engine/turn/question.ts";
import { classifyContinue, REFUSING_KINDS, type Reply } from "../parse/replies/reply.ts";

/** Everything that a decision about an open question looks at. */
export interface ReadyAttempt {
  /** What the words mean, as an answer. */
  readonly reply: Pick<Reply, "kind" | "because">;
  /** The question that the message can answer, by the engine's rules. */
  readonly answering: Answering;
  /** Whether the slots are still those that the question showed. */
  readonly isAsShown: boolean;
  /**
   * Whether others wait behind this entry, or were before it: then a late no may have been meant
   * for another one.
   */
  readonly isBatch: boolean;
  /** Whether slots came with the message, structured, from a page. */
  readonly hasSlots: boolean;
}

export type ReadyDecision =
  | { readonly do: "confirm"; readonly because: string }
  | { readonly do: "cancel"; readonly all: boolean; readonly because: string }
  /**
   * Ask the confirmation (again); `unseen`: a yes or a no did not count, and the person is told so.
   */
  | { readonly do: "ask"; readonly unseen: boolean; readonly because: string }
  /** Give the words to the slot agent, which may change slots and never confirms. */
  | { readonly do: "listen"; readonly because: string };

/**
 * What a message means while a confirmation is asked for. Pure, without a model; the first rule
 * that applies wins. A yes is a whole yes in words, to the question that was shown last, which
 * showed these slots. Source: docs/spec/conversation §3 and §8.
 */
export function decideReady(attempt: ReadyAttempt): ReadyDecision {
  const cancel = decideCancel(attempt);
  if (cancel.do !== "none") return cancel;
  if (attempt.hasSlots) return { do: "ask", unseen: false, because: "edited" };

  const { reply, answering, isAsShown } = attempt;
  if (reply.because === "yes-and-no") return { do: "ask", unseen: true, because: reply.because };
  if (reply.kind !== "yes") return { do: "listen", because: reply.because };
  if (!answering.question) return { do: "ask", unseen: true, because: answering.because };
  if (answering.question.asks !== "CONFIRM") {
    return { do: "ask", unseen: true, because: "nothing-shown" };
  }
  if (!isAsShown) return { do: "ask", unseen: true, because: "not-what-was-shown" };
  return { do: "confirm", because: reply.because };
}

/**
 * Whether a message gives the current entry up, or all of them. To stop is always safe, but one 취소
 * ends one entry: a button of an older question, or a word that was typed before this entry of a
 * batch was shown, is answered by asking.
 */
export function decideCancel({
  reply,
  answering,
  isBatch,
}: Pick<ReadyAttempt, "reply" | "answering" | "isBatch">):
  | Extract<ReadyDecision, { do: "cancel" | "ask" }>
  | { readonly do: "none"; readonly because: string } {
  const { kind, because } = reply;
  if (!REFUSING_KINDS.has(kind)) return { do: "none", because };
  if (kind === "cancel-all") return { do: "cancel", all: true, because };
  const standing = answering.question ? undefined : answering.because;
  const isUnseen = standing !== undefined && BEFORE_READ.has(standing);
  if (standing === "other-button" || (isBatch && isUnseen)) {
    return { do: "ask", unseen: true, because: standing };
  }
  return { do: "cancel", all: false, because };
}

/** Meant as an answer to something else, so that even a no does not count. */
const TOO_EARLY: ReadonlySet<string> = new Set([
  "other-button",
  "written-before-shown",
  "said-twice",
]);

/** Words that their writer sent before the question was read. */
const BEFORE_READ: ReadonlySet<string> = new Set(["written-before-shown", "said-twice"]);

export interface ContinueAttempt {
  readonly text: string;
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
