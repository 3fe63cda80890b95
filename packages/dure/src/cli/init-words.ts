import type { Locale } from "../kernel/locales.ts";
import type { Beginning, FirstProvider } from "./init-answers.ts";

/** What is said of a team that was made, in its language. */
export const MADE: Readonly<Record<Locale, MadeWords>> = {
  ko: {
    stands: (title, folder) => `${title} 팀을 ${folder}/에 만들었어요.`,
    key: (name, folder) => `${folder}/.env에 ${name}를 넣어 주세요.`,
    installing: "패키지를 설치하고 있어요…",
    notInstalled: "패키지를 설치하지 못했어요. 이유는 위에 npm이 적은 글에 있어요.",
    next: (line) => `다음: ${line}`,
    repository:
      '계획은 git 저장소에서 일하고, 팀의 폴더는 바꾸지 않아요. 저장소를 설정에 적어 주세요: repositories: { app: { path: "../my-project" } }',
  },
  en: {
    stands: (title, folder) => `${title} stands in ${folder}/`,
    key: (name, folder) => `Put ${name} into ${folder}/.env.`,
    installing: "Installing its packages …",
    notInstalled: "Its packages could not be installed; npm's own lines above say why.",
    next: (line) => `Next: ${line}`,
    repository:
      'A plan works on a git repository, and not on the team\'s own folder. Name yours in the configuration: repositories: { app: { path: "../my-project" } }',
  },
};

export interface MadeWords {
  readonly stands: (title: string, folder: string) => string;
  readonly key: (name: string, folder: string) => string;
  readonly installing: string;
  readonly notInstalled: string;
  readonly next: (line: string) => string;
  /** What its plan needs, where no repository is around the folder. */
  readonly repository: string;
}

/** What `dure init` asks, and says to an answer. */
export interface Wording {
  /** What each beginning brings. */
  readonly beginnings: Readonly<Record<Beginning, string>>;
  readonly begin: string;
  readonly provider: string;
  readonly providers: Readonly<Record<FirstProvider | "later", string>>;
  readonly none: (said: string) => string;
  readonly key: (name: string) => string;
  readonly trying: string;
  readonly works: string;
  readonly wrong: string;
  /** @param found What was found, in sentences of its own. */
  readonly fails: (found: readonly string[]) => string;
  readonly unreached: string;
  readonly without: string;
  readonly left: string;
}

/** Asked before a language is chosen, so in both. */
export const LANGUAGE_QUESTION = "언어를 골라 주세요. / Which language?";
export const LANGUAGES: Readonly<Record<Locale, string>> = { ko: "한국어", en: "English" };

export const WORDS: Readonly<Record<Locale, Wording>> = {
  ko: {
    begin: "무엇으로 시작할까요?",
    beginnings: {
      chat: "대화 하나",
      rooms: "대화, 그리고 방에서 함께 일하는 에이전트 둘",
      plans: "여기에 코딩 에이전트의 계획까지",
    },
    provider: "어느 회사의 모델을 쓸까요?",
    providers: { anthropic: "Claude", openai: "GPT", later: "나중에 정하기" },
    none: (said) => `"${said}"은(는) 고를 수 있는 것이 아니에요.`,
    key: (name) => `${name}를 붙여 넣어 주세요. 화면에는 보이지 않아요. 빈 줄이면 나중에 정해요.`,
    trying: "키를 확인하고 있어요…",
    works: "키가 맞아요.",
    wrong: "맞지 않는 키예요.",
    fails: (found) => ["이 키로는 답을 받지 못했어요.", ...found].join("\n  "),
    unreached:
      "모델에 닿지 않아서 키를 확인하지 못했어요. 키는 그대로 .env에 넣을게요. `dure doctor`로 다시 확인할 수 있어요.",
    without: "키 없이 만들게요. 나중에 .env에 넣어 주세요.",
    left: "아무것도 만들지 않았어요.",
  },
  en: {
    begin: "What to begin with?",
    beginnings: {
      chat: "one service",
      rooms: "also two agents that work together in a room",
      plans: "also a plan with a coding agent",
    },
    provider: "Whose model?",
    providers: { anthropic: "Claude", openai: "GPT", later: "choose it later" },
    none: (said) => `"${said}" is none of them.`,
    key: (name) => `Paste ${name}. It is not shown. An empty line: later.`,
    trying: "Trying the key…",
    works: "The key works.",
    wrong: "This key is wrong.",
    fails: (found) => ["No answer with this key.", ...found].join(" "),
    unreached:
      "The model cannot be reached, so the key was not tried. It goes into .env as it is; `dure doctor` tries it again.",
    without: "The team is made without a key. Put it into .env later.",
    left: "Nothing was written.",
  },
};
