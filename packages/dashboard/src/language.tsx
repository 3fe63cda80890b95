import {
  createContext,
  startTransition,
  use,
  useEffect,
  useMemo,
  useState,
  type ReactNode,
} from "react";
import { LANGUAGE_WORDS, type Text } from "words:languages";
import { untilRead } from "./lazy-part.ts";
import { LANGUAGES, type Language } from "./words.ts";

export type { Text };

/** A language and the words of every page in it. */
export interface SpokenTexts {
  readonly language: Language;
  readonly text: Text;
}

interface LanguageValue extends SpokenTexts {
  readonly choose: (language: Language) => void;
}

const STORED = "dure-language";
const SpeakingContext = createContext<LanguageValue | undefined>(undefined);

/** Nothing is shown before the words of the first language are read. */
export const firstSpoken = spokenIn(firstLanguage());

export function LanguageProvider({ children }: { children: ReactNode }): ReactNode {
  const [asked, setAsked] = useState(firstSpoken);
  const { language, text } = use(asked);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  const speaking = useMemo(
    () => ({
      language,
      text,
      choose(next: Language) {
        localStorage.setItem(STORED, next);
        startTransition(() => setAsked(spokenIn(next)));
      },
    }),
    [language, text],
  );

  return <SpeakingContext value={speaking}>{children}</SpeakingContext>;
}

export function useLanguage(): LanguageValue {
  const speaking = use(SpeakingContext);
  if (speaking === undefined) throw new Error("useLanguage needs a LanguageProvider around it.");
  return speaking;
}

export function useText(): Text {
  return useLanguage().text;
}

/** The words of a part of the page, which are fetched with it. */
export function useWords<Spoken>(words: Readonly<Record<Language, Spoken>>): Spoken {
  return words[useLanguage().language];
}

/** A page reads one language, and the other when it is chosen. */
async function spokenIn(language: Language): Promise<SpokenTexts> {
  const { text } = await untilRead(`texts.${language}`, LANGUAGE_WORDS[language]);
  return { language, text };
}

/** What was chosen here before, else the browser's first language that we speak, else English. */
function firstLanguage(): Language {
  const spoken = navigator.languages.map((tag) => tag.split("-")[0]);
  const known = [localStorage.getItem(STORED), ...spoken].map((tag) =>
    LANGUAGES.find((language) => language === tag),
  );

  return known.find((language) => language !== undefined) ?? "en";
}
