import type { Locale } from "../../kernel/locales.ts";
import type { AdminWords } from "./admin.en.ts";
import type { CheckWords } from "./check.en.ts";
import type { EvalWords } from "./eval.en.ts";
import type { GeneralWords } from "./general.en.ts";
import type { PlansWords } from "./plans.en.ts";
import type { StartWords } from "./start.en.ts";
import type { WorkWords } from "./work.en.ts";
import { WORDS_EN } from "./words.en.ts";

/** What the command line says to a person, in one language. */
export interface CliWords {
  readonly language: Locale;
  readonly general: GeneralWords;
  readonly start: StartWords;
  readonly check: CheckWords;
  readonly eval: EvalWords;
  readonly plans: PlansWords;
  readonly work: WorkWords;
  readonly admin: AdminWords;
  readonly help: HelpWords;
  /** What other parts of dure say in English; as it is where this language has no words for it. */
  readonly said: (english: string) => string;
  readonly refusal: (refusal: RefusedCommand) => RefusalWords;
  /** Why a run, or a port of it, stands as it does. */
  readonly reason: (because: RefusedCommand) => string;
  /** What commander says to a wrong command line. */
  readonly usage: (english: string) => string;
}

interface HelpWords {
  /** A description, or a title, by what it says in English. */
  readonly sentence: (english: string) => string;
  readonly choices: (values: string) => string;
  readonly fallback: (value: string) => string;
  readonly examples: (count: number) => string;
}

interface RefusedCommand {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

export interface RefusalWords {
  readonly message: string;
  /** What another program said, in its own words. */
  readonly original?: string | undefined;
  /** What stands before the hint, in the hint's language. */
  readonly label: string;
  readonly hint?: string | undefined;
}

/** Korean is read only where a person reads it. */
const WORDS: Readonly<Record<Locale, () => Promise<CliWords>>> = {
  ko: async () => (await import("./words.ko.ts")).WORDS_KO,
  en: () => Promise.resolve(WORDS_EN),
};

export function wordsOf(language: Locale): Promise<CliWords> {
  return WORDS[language]();
}
