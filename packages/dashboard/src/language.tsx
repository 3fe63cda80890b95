import { createContext, use, useEffect, useMemo, useState, type ReactNode } from "react";
import { TEXTS, type Text } from "./texts.ts";
import type { Language } from "./words.ts";

interface Speaking {
  readonly language: Language;
  readonly text: Text;
  readonly choose: (language: Language) => void;
}

const STORED = "dure-language";
const SpeakingContext = createContext<Speaking | undefined>(undefined);

export function LanguageProvider({ children }: { children: ReactNode }): ReactNode {
  const [language, setLanguage] = useState<Language>(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);

  const speaking = useMemo(
    () => ({
      language,
      text: TEXTS[language],
      choose(next: Language) {
        localStorage.setItem(STORED, next);
        setLanguage(next);
      },
    }),
    [language],
  );

  return <SpeakingContext value={speaking}>{children}</SpeakingContext>;
}

export function useLanguage(): Speaking {
  const speaking = use(SpeakingContext);
  if (speaking === undefined) throw new Error("useLanguage needs a LanguageProvider around it.");
  return speaking;
}

export function useText(): Text {
  return useLanguage().text;
}

/** What was chosen here before, else the browser's first language that we speak, else English. */
function firstLanguage(): Language {
  const stored = localStorage.getItem(STORED);
  if (stored === "ko" || stored === "en") return stored;

  const spoken = navigator.languages
    .map((tag) => tag.split("-")[0])
    .find((tag) => tag === "ko" || tag === "en");

  return spoken ?? "en";
}
