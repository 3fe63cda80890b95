import type { Locale } from "../kernel/locales.ts";
import type { Finding } from "./doctor/finding.ts";
import { keyFactsOf, type KeyedProvider } from "../models/providers.ts";
import { LANGUAGE_QUESTION, LANGUAGES, WORDS, type Wording } from "./init-words.ts";
import { wordsOf, type CliWords } from "./words/words.ts";

/** Providers whose key a new team can begin with, each with the model that it begins with. */
export const FIRST_MODELS = {
  anthropic: { key: keyFactsOf("anthropic").key, model: "anthropic:claude-haiku-4-5" },
  openai: { key: keyFactsOf("openai").key, model: "openai:gpt-4.1-mini" },
} as const satisfies Record<KeyedProvider, { key: string; model: string }>;
export type FirstProvider = keyof typeof FIRST_MODELS;

/** Each beginning has the one before it too. */
export const BEGINNINGS = ["chat", "rooms", "plans"] as const;
export type Beginning = (typeof BEGINNINGS)[number];

/** What a new team is made of. */
export interface InitAnswers {
  readonly locale: Locale;
  readonly begin: Beginning;
  readonly provider?: FirstProvider | undefined;
  /** Goes into `.env`; absent: it is set later. */
  readonly key?: string | undefined;
}

/** The person who makes the team. */
export interface InitPrompter {
  /** Undefined: the person has left. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** The same, without showing what is typed. */
  readonly askSecret: (question: string) => Promise<string | undefined>;
  readonly tell: (text: string) => void;
  /** Aborts when the person has left. */
  readonly left: AbortSignal;
  /** Asks the model a real question with this key, until the person leaves. */
  readonly tryKey: (provider: FirstProvider, key: string) => Promise<Finding>;
  /** The language of the machine. */
  readonly locale: Locale;
}

/** Keys that are tried before the team is made without one. */
const TRIES = 3;

/**
 * Asks what the options have not said. Undefined: the person has left, was told that nothing is
 * written, and nothing is to be written.
 */
export async function askInit(
  asked: InitPrompter,
  given: Partial<InitAnswers>,
): Promise<InitAnswers | undefined> {
  const locale =
    given.locale ??
    (await choose(asked, {
      question: LANGUAGE_QUESTION,
      choices: LANGUAGES,
      usual: asked.locale,
      words: WORDS[asked.locale],
    }));
  const answers = locale && (await askRest(asked, { ...given, locale }));
  if (answers === undefined) asked.tell(WORDS[locale ?? asked.locale].left);

  return answers;
}

async function askRest(
  asked: InitPrompter,
  given: Partial<InitAnswers> & Pick<InitAnswers, "locale">,
): Promise<InitAnswers | undefined> {
  const { locale } = given;
  const words = WORDS[locale];
  const begin =
    given.begin ??
    (await choose(asked, {
      question: words.begin,
      choices: words.beginnings,
      usual: "rooms",
      words,
    }));
  if (begin === undefined) return undefined;

  const named =
    given.provider ??
    (await choose(asked, {
      question: words.provider,
      choices: words.providers,
      usual: "later",
      words,
    }));
  if (named === undefined) return undefined;
  if (named === "later") return { locale, begin };

  const key = await askKey(asked, named, locale);
  if (key === undefined) return undefined;

  return key === "" ? { locale, begin } : { locale, begin, provider: named, key };
}

interface Choosing<Value extends string> {
  readonly question: string;
  /** With what each means, in the order of their numbers. */
  readonly choices: Readonly<Record<Value, string>>;
  readonly usual: Value;
  readonly words: Wording;
}

/** One of a few, by its word or its number; an empty line is the first choice of the program. */
async function choose<Value extends string>(
  { ask, tell }: InitPrompter,
  { question, choices, usual, words }: Choosing<Value>,
): Promise<Value | undefined> {
  const values = Object.keys(choices) as Value[];
  const width = Math.max(...values.map(({ length }) => length));
  const lines = values.map(
    (value, index) => `  ${index + 1} ${value.padEnd(width)}  ${choices[value]}`,
  );
  for (;;) {
    const said = await ask([question, ...lines, `[${usual}]`].join("\n"));
    if (said === undefined) return undefined;
    const chosen = chosenOf(said, values, usual);
    if (chosen !== undefined) return chosen;
    tell(words.none(said.trim()));
  }
}

/** What a line chooses; undefined: nothing of the kind. Pure. */
export function chosenOf<Value extends string>(
  said: string,
  values: readonly Value[],
  usual: Value,
): Value | undefined {
  const word = said.trim().toLowerCase();
  if (word === "") return usual;

  return values.find((value, index) => value === word || String(index + 1) === word);
}

/**
 * A key that works, or that could not be tried; empty: the team is made without one. Undefined: the
 * person has left.
 */
async function askKey(
  { askSecret, tell, tryKey, left }: InitPrompter,
  provider: FirstProvider,
  locale: Locale,
): Promise<string | undefined> {
  const words = WORDS[locale];
  const { said } = await wordsOf(locale);
  for (let tried = 0; tried < TRIES; tried++) {
    const key = (await askSecret(words.key(FIRST_MODELS[provider].key)))?.trim();
    if (key === undefined || key === "") return key;
    tell(words.trying);
    const finding = await tryKey(provider, key);
    if (left.aborted) return undefined;
    const verdict = verdictOf(finding);
    tell(verdict === "fails" ? words.fails(foundIn(finding, said)) : words[verdict]);
    if (verdict === "works" || verdict === "unreached") return key;
  }
  tell(words.without);

  return "";
}

/** Pure. */
function verdictOf({ status, detail }: Finding): "works" | "wrong" | "unreached" | "fails" {
  if (status !== "fail") return "works";
  if (detail.includes("MODEL_UNAUTHORIZED")) return "wrong";
  return /MODEL_UNREACHABLE|no answer within/.test(detail) ? "unreached" : "fails";
}

function foundIn({ detail, hint }: Finding, said: CliWords["said"]): readonly string[] {
  return [detail, hint].filter((text) => text !== undefined).map(said);
}
