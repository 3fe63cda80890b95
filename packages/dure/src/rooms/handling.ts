import type { Locale } from "../kernel/locales.ts";
import type { FileRef } from "../kernel/files.ts";
import type { Done } from "../kernel/turn-events.ts";
import { FAILURES } from "../models/failures.ts";
import { checkText, cutText, LONGEST_TEXT, textOf } from "./text.ts";
import { roomTexts } from "./texts.ts";
import type { HandlingOutcome, Rank } from "../kernel/rooms.ts";

/** What the turn of a handling is asked, once and for all its lives. */
export interface HandlingInput {
  readonly message: string;
  readonly background: string;
  /** Of the agent's session. Absent: none, or a process of the release before composed it. */
  readonly files?: readonly string[] | undefined;
}

/** Work that a message makes for an agent, as its row has it. */
export interface HandlingRow {
  readonly id: string;
  readonly agent: string;
  readonly place: string;
  readonly message: string | null;
  readonly session: string;
  readonly rank: Rank | null;
  readonly request: string | null;
  readonly input: HandlingInput | null;
  readonly turn: string | null;
  readonly tries: number;
}

/** What a turn has said in its place, and how its handling ends. */
export interface TurnOutcome {
  readonly outcome: HandlingOutcome;
  /** Empty unless the outcome is `answered`. */
  readonly text: string;
  /** Files that go with the words. */
  readonly files?: readonly FileRef[] | undefined;
  /** Why the agent will not answer before an operator has mended something. */
  readonly brokenBy?: string | undefined;
  /** The model was away: the turn can go on from its journal. */
  readonly canResume?: boolean | undefined;
  /** Calls that wait for a yes, by their escalations; another turn may have asked for some. */
  readonly asked?: readonly string[] | undefined;
}

/**
 * What an agent answers when the result of its background work concerns no reader. Source:
 * docs/spec/jobs §3.6.
 */
export const ANNOUNCE_SKIP = "ANNOUNCE_SKIP";

/** A turn that waits for a person has said nothing yet. */
const OUTCOME_OF_ERROR: Readonly<Record<string, HandlingOutcome>> = {
  TURN_STOPPED: "stopped",
  APPROVAL_PENDING: "asked",
  EFFECT_UNKNOWN: "asked",
};

/** What another call changes nothing about: a key that is refused, a model that is not there. */
const FOR_OPERATORS: ReadonlySet<string> = new Set([
  FAILURES.auth.code,
  FAILURES.unknown_model.code,
]);

/** Characters that the note about a cut may take. */
const CUT_NOTE = 200;

/** What the end of a turn says in a room. Pure. */
export function saidBy(
  { error, message, approvals = [], files = [] }: Done,
  locale: Locale,
): TurnOutcome {
  if (error) {
    const brokenBy = FOR_OPERATORS.has(error.code) ? error.message : undefined;
    const outcome = OUTCOME_OF_ERROR[error.code] ?? "failed";
    const asked = approvals.map(({ id }) => id);
    return { outcome, text: "", brokenBy, canResume: error.retry, asked };
  }

  const words = textOf({ text: message ?? "", attachments: files });
  const checked = checkText(postable(words, locale));
  if (!checked.ok) return { outcome: "empty", text: "" };
  if (checked.text.trim() === ANNOUNCE_SKIP) return { outcome: "silent", text: "" };
  return { outcome: "answered", text: checked.text, files };
}

/**
 * The text of a turn, made to fit a room: cut at the longest length, without half characters. The
 * agent cannot mend it any more. Pure.
 */
function postable(text: string, locale: Locale): string {
  const whole = text.replaceAll("\0", "").toWellFormed();
  if (whole.length <= LONGEST_TEXT) return whole;
  const kept = cutText(whole, LONGEST_TEXT - CUT_NOTE);
  return `${kept.slice(0, -1)}\n${roomTexts(locale).cut(whole.length - kept.length + 1)}`;
}
