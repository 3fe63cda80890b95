import {
  specificFirst,
  translatorOf,
  type SentenceForm,
  type Translator,
} from "../kernel/sentence-forms.ts";
import { COMMAND_SENTENCES_KO } from "./command-line.ko.ts";
import { DOCTOR_SENTENCES_KO } from "./doctor.ko.ts";
import { ERROR_WORDS_KO } from "./error-words.ko.ts";
import { LIBRARIES_KO } from "./libraries.ko.ts";
import { PLAN_VIEW_KO } from "./plan-view.ko.ts";
import { problemLine } from "./problem-line.ts";
import { ALLOWED_KO, PROBLEMS_KO } from "./problems.ko.ts";
import { REASONS_KO } from "./reasons.ko.ts";
import { FORMS_KO, SERVER_KOREAN } from "./server-korean.ts";
import { START_SENTENCES_KO } from "./start.ko.ts";

/** Beside what pages show: a start, doctor, checks and commands. No page fetches it. */
export const TERMINAL_FORMS_KO: readonly SentenceForm[] = [
  ...COMMAND_SENTENCES_KO,
  ...START_SENTENCES_KO,
  ...DOCTOR_SENTENCES_KO,
  ...PROBLEMS_KO,
  ...PLAN_VIEW_KO,
];

/** What a terminal in Korean shows of what dure says in English. */
export interface TerminalKorean {
  /** Undefined where there is no Korean for all of it: no line mixes the languages. */
  readonly text: (english: string) => string | undefined;
  readonly refusal: (refusal: TerminalRefusal) => SaidRefusal | undefined;
}

interface TerminalRefusal {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export interface SaidRefusal {
  readonly message: string;
  /** What another program said, or what has no form yet, in a line of its own. */
  readonly original?: string | undefined;
  readonly hint?: string | undefined;
}

/** Longest line that is said otherwise, characters: one with holes is slow to find in a long one. */
const MAX_LINE = 1_000;

/** Around what stands inside a sentence and has no Korean. */
const QUOTED = ["\u0001", "\u0002"] as const;

const FORMS = specificFirst([...TERMINAL_FORMS_KO, ...LIBRARIES_KO, ...FORMS_KO]);
/** A sentence behind a code, which holds no other. */
const nested = translatorOf(FORMS, translatorOf(LIBRARIES_KO));

const inside = translatorOf(
  specificFirst([...REASONS_KO, ...DOCTOR_SENTENCES_KO, ...START_SENTENCES_KO, ...PLAN_VIEW_KO]),
);
const inner: Translator = (text) =>
  behindCode(text) ?? inside(text) ?? namesIn(text) ?? (isForeign(text) ? quoted(text) : undefined);
const forms = translatorOf(FORMS, inner);

const PARTS = {
  sentence: (text: string) => sentences(text),
  allowed: translatorOf(specificFirst(ALLOWED_KO)),
};

/** Pure. */
export const TERMINAL_KOREAN: TerminalKorean = { text: textOf, refusal: refusalOf };

/** A sentence, several, or a sentence with lines below it, each of which may stay English. Pure. */
function textOf(english: string): string | undefined {
  const [first = "", ...below] = english.split("\n");
  const whole = lineOf(first);
  if (below.length === 0 || whole === undefined) return whole;

  return [whole, ...below.map((line) => lineOf(line) ?? line)].join("\n");
}

function lineOf(line: string): string | undefined {
  if (line.length > MAX_LINE) return undefined;
  return sentences(line) ?? problemLine(line, PARTS);
}

/** Sentences that follow each other and are said one by one. */
const MOST_SENTENCES = 5;

/** One sentence as a whole, else each of a few that follow each other. Pure. */
function sentences(text: string, most = MOST_SENTENCES): string | undefined {
  const whole = quoting(forms(text));
  if (whole !== undefined || most <= 1) return whole;

  const end = /[.?!] (?=[A-Z"])/g;
  for (const { index } of text.matchAll(end)) {
    const first = quoting(forms(text.slice(0, index + 1)));
    const rest = first === undefined ? undefined : sentences(text.slice(index + 2), most - 1);
    if (first !== undefined && rest !== undefined) return `${first} ${rest}`;
  }

  return undefined;
}

/** What another program said goes to a line of its own; undefined where it is amid the words. */
function quoting(said: string | undefined): string | undefined {
  const [before, quoted, after, ...more] = said?.split(/[\u0001\u0002]/) ?? [];
  if (before === undefined || quoted === undefined) return said;
  const isLast = more.length === 0 && /^[.)]?$/.test(after ?? "");

  return isLast ? `${before.replace(/[\s:(]+$/, "")}\n  ${quoted}` : undefined;
}

/** `MODEL_UNREACHABLE openai:… failed: …`. Pure. */
function behindCode(text: string): string | undefined {
  const [, code, sentence = ""] = /^([A-Z]+_[A-Z_]+ )(.+)$/s.exec(text) ?? [];
  const said = code === undefined ? undefined : nested(sentence);
  return said === undefined ? undefined : `${code}${said}`;
}

/** `a.yaml and b.yaml` as a list. Pure. */
function namesIn(text: string): string | undefined {
  const name = String.raw`\S+(?: \([^)]*\))?`;
  const isList = new RegExp(`^${name}(?:, ${name})* and ${name}$`).test(text);
  return isList ? text.replaceAll(" and ", ", ") : undefined;
}

function quoted(text: string): string {
  const [before, after] = QUOTED;
  return `${before}${text}${after}`;
}

/** Words of another language that follow each other: no name, no path, no list of them. Pure. */
function isForeign(text: string): boolean {
  return /[A-Za-z]+,? [a-z]+ [A-Za-z]+/.test(text) && !/\p{Script=Hangul}/u.test(text);
}

/** Pure. */
function refusalOf(refusal: TerminalRefusal): SaidRefusal | undefined {
  const { code, message, hint } = refusal;
  const said = textOf(message);
  if (said !== undefined) return { message: said, hint: hintOf(hint) };

  const known = Object.hasOwn(ERROR_WORDS_KO, code) ? ERROR_WORDS_KO[code] : undefined;
  if (known === undefined) return undefined;
  const original = SERVER_KOREAN.leavesOut(refusal) ? message : undefined;
  return { message: known, original, hint: hintOf(hint) };
}

/** One without Korean is left out: the words before it say what to do. Pure. */
function hintOf(hint: string | undefined): string | undefined {
  return hint === undefined ? undefined : textOf(hint);
}
