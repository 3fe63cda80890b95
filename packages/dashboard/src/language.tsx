import {
  createContext,
  startTransition,
  use,
  useEffect,
  useMemo,
  useState,
  type ReactNode,
} from "react";
import { untilRead } from "./lazy-part.ts";
import type { SpokenTexts, Text } from "./texts.ts";
import type { Language } from "./words.ts";

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

/** A page reads one language, and the other when it is chosen. */
async function spokenIn(language: Language): Promise<SpokenTexts> {
  const text = await untilRead<Text>(
    `texts.${language}`,
    language === "ko"
      ? async () => (await import("./texts.ko.ts")).ko
      : async () => (await import("./texts.en.ts")).en,
  );
  return { language, text };
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
