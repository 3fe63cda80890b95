import { createHash } from "node:crypto";
import { classifyReply, type Locale, type ReplyBecause } from "dure/slots";
import type { TransferState } from "./state.ts";

/**
 * What a confirmation is bound to: the flow instance, the place in the batch and the slots as
 * shown. 22 characters of base64url, 128 bits of SHA-256 over JSON with sorted keys. Any change of
 * what is shown changes it.
 */
export function confirmIdOf({
  meta,
  index,
  slots,
}: Pick<TransferState, "meta" | "index" | "slots">): string {
  const sorted = Object.entries(slots)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([meta.flow_id, index, sorted]))
    .digest("base64url")
    .slice(0, 22);
}

export interface ConfirmAttempt {
  readonly text: string;
  readonly locale: Locale;
  /** What a button sent back. */
  readonly confirmId?: string | undefined;
  /** Of the last `DONE` that asked for a confirmation; absent if none was stored. */
  readonly shownId?: string | undefined;
  /** Of the slots as they are now. */
  readonly currentId: string;
  /** Whether the message was accepted after that `DONE` was stored. */
  readonly acceptedAfterShown: boolean;
}

export type ConfirmAttemptDecision =
  | { readonly confirm: true; readonly because: "button" | "listed-words" }
  | {
      readonly confirm: false;
      readonly because:
        | "not-what-was-shown"
        | "nothing-shown"
        | "written-before-shown"
        | ReplyBecause;
    };

/**
 * Whether a message confirms the transfer as the person has seen it. A button sends its label and
 * the id that it was shown with; words alone count only if they were accepted after the question
 * was stored, so a 네 typed while an amount is being changed does not. Pure. Source:
 * docs/spec/conversation §8.
 */
export function decideConfirm(attempt: ConfirmAttempt): ConfirmAttemptDecision {
  const { text, confirmId, shownId, currentId, acceptedAfterShown } = attempt;
  const { kind, because } = classifyReply(text);
  if (kind !== "yes") return { confirm: false, because };
  if (confirmId !== undefined) {
    return confirmId === currentId
      ? { confirm: true, because: "button" }
      : { confirm: false, because: "not-what-was-shown" };
  }

  if (shownId === undefined) return { confirm: false, because: "nothing-shown" };
  if (shownId !== currentId) return { confirm: false, because: "not-what-was-shown" };
  if (!acceptedAfterShown) return { confirm: false, because: "written-before-shown" };
  return { confirm: true, because: "listed-words" };
}
