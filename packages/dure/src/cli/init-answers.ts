import type { Finding } from "./doctor/finding.ts";

/** Providers whose key a new team can begin with, each with the model that it begins with. */
export const FIRST_MODELS = {
  anthropic: { key: "ANTHROPIC_API_KEY", model: "anthropic:claude-haiku-4-5" },
  openai: { key: "OPENAI_API_KEY", model: "openai:gpt-4.1-mini" },
} as const;
export type Provider = keyof typeof FIRST_MODELS;

/** Each beginning has the one before it too. */
export const BEGINNINGS = ["chat", "rooms", "plans"] as const;
export type Beginning = (typeof BEGINNINGS)[number];

export const LOCALES = ["ko", "en"] as const;
export type Locale = (typeof LOCALES)[number];

/** What a new team is made of. */
export interface InitAnswers {
  readonly locale: Locale;
  readonly begin: Beginning;
  readonly provider?: Provider | undefined;
  /** Goes into `.env`; absent: it is set later. */
  readonly key?: string | undefined;
}

/** The person who makes the team. */
export interface Asked {
  /** Undefined: the person has left. */
  readonly ask: (question: string) => Promise<string | undefined>;
  /** The same, without showing what is typed. */
  readonly askSecret: (question: string) => Promise<string | undefined>;
  readonly tell: (text: string) => void;
  /** Asks the model a real question with this key. */
  readonly tryKey: (provider: Provider, key: string) => Promise<Finding>;
  /** The language of the machine. */
  readonly locale: Locale;
}

/** Keys that are tried before the team is made without one. */
const TRIES = 3;

/**
 * Asks what the options have not said. Undefined: the person has left, and nothing is to be
 * written.
 */
export async function askInit(
  asked: Asked,
  given: Partial<InitAnswers>,
): Promise<InitAnswers | undefined> {
  const locale =
    given.locale ?? (await choose(asked, `ko (한국어) / en (English)`, LOCALES, asked.locale));
  if (locale === undefined) return undefined;

  const words = WORDS[locale];
  const begin = given.begin ?? (await choose(asked, words.begin, BEGINNINGS, "rooms"));
  if (begin === undefined) return undefined;

  const named = given.provider ?? (await choose(asked, words.provider, PROVIDERS, "later"));
  if (named === undefined) return undefined;
  if (named === "later") return { locale, begin };

  const key = await askKey(asked, named, words);
  if (key === undefined) return undefined;

  return key === "" ? { locale, begin } : { locale, begin, provider: named, key };
}

const PROVIDERS = ["anthropic", "openai", "later"] as const;

/** One of a few, by its word or its number; an empty line is the first choice of the program. */
async function choose<Value extends string>(
  { ask, tell }: Asked,
  question: string,
  values: readonly Value[],
  usual: Value,
): Promise<Value | undefined> {
  const choices = values.map((value, index) => `${index + 1} ${value}`).join(", ");
  for (;;) {
    const said = await ask(`${question}\n${choices} [${usual}]`);
    if (said === undefined) return undefined;
    const chosen = chosenOf(said, values, usual);
    if (chosen !== undefined) return chosen;
    tell(choices);
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

/** A key that works; empty: the team is made without one. Undefined: the person has left. */
async function askKey(
  { askSecret, tell, tryKey }: Asked,
  provider: Provider,
  words: Wording,
): Promise<string | undefined> {
  for (let tried = 0; tried < TRIES; tried++) {
    const key = (await askSecret(words.key(FIRST_MODELS[provider].key)))?.trim();
    if (key === undefined || key === "") return key;
    tell(words.trying);
    const { status, detail, hint } = await tryKey(provider, key);
    if (status !== "fail") {
      tell(words.works);
      return key;
    }
    tell([words.fails, detail, hint].filter(Boolean).join(" "));
  }

  return "";
}

/** What is said of a team that was made, in its language. */
export const MADE: Readonly<Record<Locale, MadeWords>> = {
  ko: {
    stands: (title, folder) => `${title} 팀을 ${folder}/에 만들었어요.`,
    key: (name, folder) => `${folder}/.env에 ${name}를 넣어 주세요.`,
    installing: "패키지를 설치하고 있어요…",
    notInstalled: "패키지를 설치하지 못했어요. 이유는 위에 npm이 적은 글에 있어요.",
    next: (line) => `다음: ${line}`,
  },
  en: {
    stands: (title, folder) => `${title} stands in ${folder}/`,
    key: (name, folder) => `Put ${name} into ${folder}/.env.`,
    installing: "Installing its packages …",
    notInstalled: "Its packages could not be installed; npm's own lines above say why.",
    next: (line) => `Next: ${line}`,
  },
};

export interface MadeWords {
  readonly stands: (title: string, folder: string) => string;
  readonly key: (name: string, folder: string) => string;
  readonly installing: string;
  readonly notInstalled: string;
  readonly next: (line: string) => string;
}

interface Wording {
  readonly begin: string;
  readonly provider: string;
  readonly key: (name: string) => string;
  readonly trying: string;
  readonly works: string;
  readonly fails: string;
}

const WORDS: Readonly<Record<Locale, Wording>> = {
  ko: {
    begin:
      "무엇으로 시작할까요? chat은 대화 하나, rooms는 방에서 함께 일하는 에이전트 둘까지, plans는 코딩 에이전트의 계획까지예요.",
    provider: "어느 회사의 모델을 쓸까요? later면 나중에 정해요.",
    key: (name) => `${name}를 붙여 넣어 주세요. 화면에는 보이지 않아요. 빈 줄이면 나중에 정해요.`,
    trying: "키를 확인하고 있어요…",
    works: "키가 맞아요.",
    fails: "이 키로는 답을 받지 못했어요.",
  },
  en: {
    begin:
      "What to begin with? chat: one service. rooms: also two agents in a room. plans: also a plan with a coding agent.",
    provider: "Whose model? later: choose it later.",
    key: (name) => `Paste ${name}. It is not shown. An empty line: later.`,
    trying: "Trying the key…",
    works: "The key works.",
    fails: "No answer with this key.",
  },
};
