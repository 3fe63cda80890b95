import type { Escalation } from "../client/index.ts";
import type { Done } from "../kernel/turn-events.ts";
import { titleIn, type AcpWords } from "./words.ts";

/** An answer that the editor offers its person. */
export interface Choice {
  readonly optionId: string;
  readonly name: string;
  readonly kind: "allow_once" | "reject_once";
}

/** What a choice becomes: words to the service, or a decision. */
export type EditorReply =
  | { readonly is: "words"; readonly message: string; readonly confirmId: string | undefined }
  | { readonly is: "decision"; readonly escalation: string; readonly value: string };

/** What the editor's person is asked. */
export interface EditorQuestion {
  readonly id: string;
  readonly title: string;
  readonly choices: readonly Choice[];
  readonly replies: ReadonlyMap<string, EditorReply>;
}

/** What a turn has asked with buttons; undefined where it asks for words alone. Pure. */
export function confirmationOf({ nextAction, uiHint, message }: Done): EditorQuestion | undefined {
  const id = uiHint?.confirmId;
  const buttons = uiHint?.buttons ?? [];
  if (nextAction === "DONE" || id === undefined || buttons.length === 0) return undefined;

  const replies = buttons.map((label, index): [string, EditorReply] => [
    `${index}`,
    { is: "words", message: label, confirmId: id },
  ]);

  return {
    id,
    title: message,
    choices: buttons.map((name, index) => choiceOf(index, name)),
    replies: new Map(replies),
  };
}

/** A decision that a turn waits for. Pure. */
export function decisionOf(escalation: Escalation, words: AcpWords): EditorQuestion {
  const { id, title, suggestedActions } = escalation;
  const replies = suggestedActions.map(({ value }, index): [string, EditorReply] => {
    return [`${index}`, { is: "decision", escalation: id, value }];
  });

  return {
    id,
    title: titleIn(words, title),
    choices: suggestedActions.map(({ label }, index) => choiceOf(index, label)),
    replies: new Map(replies),
  };
}

/** The first one is the yes. */
function choiceOf(index: number, name: string): Choice {
  return { optionId: `${index}`, name, kind: index === 0 ? "allow_once" : "reject_once" };
}
