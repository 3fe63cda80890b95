import { specificFirst, translatorOf, type SentenceForm } from "../kernel/sentence-forms.ts";
import { AGENT_SENTENCES_KO } from "./agents.ko.ts";
import { BECAUSES_KO } from "./because-text.ko.ts";
import { ERROR_WORDS_KO } from "./error-words.ko.ts";
import { PLAN_SENTENCES_KO } from "./plans.ko.ts";
import { REASONS_KO } from "./reasons.ko.ts";
import { SENTENCES_KO } from "./server-sentences.ko.ts";
import { TEAM_SENTENCES_KO } from "./team.ko.ts";

/** What the server says in English, in Korean; undefined where there are no words for it. */
export interface ServerKorean {
  readonly sentence: (english: string) => string | undefined;
  /** A sentence behind a name: `shop › Cart: …`. */
  readonly title: (english: string) => string | undefined;
  readonly refusal: (refusal: ServerRefusal) => string | undefined;
  /** Why a port or a run stands as it does, with its facts, and what to do. */
  readonly reason: (because: ServerRefusal) => string | undefined;
  /** Whether the words for it lack what the server says: others made its sentence. */
  readonly leavesOut: (refusal: ServerRefusal) => boolean;
}

interface ServerRefusal {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Refusals whose sentence is made of what a check, a program or another server says. */
export const OTHERS_SAY: ReadonlySet<string> = new Set([
  ...["AGENT_INVALID", "BODY_INVALID", "CARD_INVALID", "HOST_NOT_ALLOWED", "ORIGIN_NOT_ALLOWED"],
  ...["PROMPT_INVALID", "REQUEST_INVALID", "SERVICE_INVALID", "TURN_DIVERGED_UNDONE"],
  ...["DATABASE_UNAVAILABLE", "GIT_FAILED", "MCP_NOT_LOGGED_IN", "MCP_TOOL_FAILED"],
  ...["OPENAPI_FAILED", "OPENAPI_INVALID"],
  ...["REMOTE_REFUSED", "REMOTE_UNTRUSTED", "RUN_ORDER_REFUSED", "SANDBOX_UNPROVEN"],
  ...["WORKER_FAILED", "WORKER_REFUSED", "WORKER_SCRIPT"],
]);

/** The first form that fits wins. */
export const FORMS_KO: readonly SentenceForm[] = specificFirst([
  ...SENTENCES_KO,
  ...AGENT_SENTENCES_KO,
  ...TEAM_SENTENCES_KO,
  ...PLAN_SENTENCES_KO,
  ...REASONS_KO,
]);

/** What stands inside another sentence, and may have a reason inside itself. */
const INSIDE_KO = [...REASONS_KO, ...SENTENCES_KO];
const sentence = translatorOf(FORMS_KO, translatorOf(INSIDE_KO, translatorOf(INSIDE_KO)));

/**
 * Sentences of the server in Korean, with the facts that stand in them; undefined for one that has
 * no Korean. Pure, and safe in a browser.
 */
export const SERVER_KOREAN: ServerKorean = {
  sentence,
  title: titleOf,
  refusal: refusalOf,
  reason: reasonOf,
  leavesOut: ({ code, message }) => OTHERS_SAY.has(code) && sentence(message) === undefined,
};

/** Pure. */
function titleOf(english: string): string | undefined {
  const mark = english.indexOf(": ");
  const rest = mark < 0 ? undefined : sentence(english.slice(mark + 2));

  return rest === undefined ? sentence(english) : `${english.slice(0, mark)}: ${rest}`;
}

/** The words with the facts, else those of the code. Pure. */
function refusalOf({ code, message, hint = "" }: ServerRefusal): string | undefined {
  const known = Object.hasOwn(ERROR_WORDS_KO, code) ? ERROR_WORDS_KO[code] : undefined;
  const said = sentence(message);
  if (said === undefined) return known;
  return `${said} ${sentence(hint) ?? ""}`.trim();
}

/** The sentence with the facts, and what helps; else the words of the code. Pure. */
function reasonOf(because: ServerRefusal): string | undefined {
  const { code, message } = because;
  const known = Object.hasOwn(BECAUSES_KO, code) ? BECAUSES_KO[code] : undefined;
  if (known === undefined) return refusalOf(because);
  return [sentence(message) ?? known.says, known.hint].filter(Boolean).join(" ");
}
