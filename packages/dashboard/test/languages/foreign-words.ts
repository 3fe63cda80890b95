import type { Page, Response } from "playwright-core";
import { TEXTS } from "../texts.ts";
import type { Language } from "../../src/words.ts";

/** The product. */
const NAMES = new Set(["dure", "두레", "dure · 두레"]);
/** Names that a Korean sentence of ours writes in Latin letters. */
const NAMES_IN_KOREAN = new Set([
  ...["AI", "Enter", "Shift", "Discord", "Git", "LFS", "SOUL", "MEMORY", "MCP", "md", "yaml"],
  ...["json", "dure", "git", "turn", "workers", "orchestrator", "bubblewrap", "ms", "US"],
]);

/**
 * Words of a page that are in the wrong language. `given`: what the server sent, which is names,
 * ids, codes and what people wrote; a sentence in English is none of these, and no excuse on a page
 * in Korean. `written`: what people wrote in the other language. Pure.
 */
export function foreignWords(
  shown: readonly string[],
  language: Language,
  given: ReadonlySet<string>,
  written: ReadonlySet<string> = new Set(),
): readonly string[] {
  const ours = sentencesOf(language);
  const theirs = sentencesOf(language === "ko" ? "en" : "ko");
  const patterns = [...given]
    .filter((value) => value.length > 1)
    .filter((value) => language === "en" || written.has(value) || !isEnglishSentence(value))
    .toSorted((a, b) => b.length - a.length)
    .map(patternOf);
  return shown.filter((words) => {
    if (NAMES.has(words) || written.has(words)) return false;
    if (theirs.has(words) && !ours.has(words)) return true;
    const own = patterns.reduce((left, pattern) => left.replaceAll(pattern, " "), words);
    if (language === "en") return /\p{Script=Hangul}/u.test(own);
    return (own.match(/[A-Za-z]{2,}/g) ?? []).some((word) => !NAMES_IN_KOREAN.has(word));
  });
}

/** Words of ours that follow each other: no name, no command, no list of paths. Pure. */
function isEnglishSentence(value: string): boolean {
  const isOneLine = !value.includes("\n");
  return isOneLine && /^["`\w][^<>{}=/]*\s[a-z]+\s[a-z]+\s[a-z]+/i.test(value);
}

/** Where the value stands as a whole: `al` is not taken out of `Retry all`. */
function patternOf(value: string): RegExp {
  const literal = value.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  return new RegExp(`(?<![A-Za-z0-9])${literal}(?![A-Za-z0-9])`, "g");
}

/** Every sentence of a language that needs no facts. */
function sentencesOf(language: Language): ReadonlySet<string> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === "string") found.add(value);
    else if (typeof value === "object" && value !== null) Object.values(value).forEach(look);
  };
  look(TEXTS[language]);
  return found;
}

/** Collects every text that the server sends to a page from now on. */
export function collectGiven(page: Page): {
  readonly given: Set<string>;
  readonly settle: () => Promise<void>;
} {
  const given = new Set<string>();
  const reading = new Set<Promise<void>>();
  page.on("response", (response) => {
    if (!isJson(response)) return;
    const read = response
      .json()
      .then((body) => addTexts(body, given))
      .catch(() => {}) // the page has left
      .finally(() => reading.delete(read));
    reading.add(read);
  });
  return {
    given,
    settle: async () => {
      await Promise.all(reading);
    },
  };
}

function isJson(response: Response): boolean {
  return (response.headers()["content-type"] ?? "").includes("json");
}

/** Texts of a JSON value, and each line of those that have several. */
export function addTexts(value: unknown, given: Set<string>): void {
  if (typeof value === "string") {
    for (const text of [value, ...value.split("\n")]) given.add(text.trim());
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      given.add(name);
      addTexts(member, given);
    }
  }
}

/** What a page says: texts, labels, titles and placeholders. Code and markdown are not its words. */
export async function shownOn(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const found = [document.title];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
      const apart = "script, style, code, pre, kbd, .markdown, .portrait";
      const isApart = node.parentElement?.closest(apart) ?? null;
      if (isApart === null) found.push(node.textContent ?? "");
    }
    for (const element of document.body.querySelectorAll("*")) {
      if (element.closest("[aria-hidden=true]") !== null) continue;
      for (const name of ["aria-label", "title", "placeholder", "alt"]) {
        found.push(element.getAttribute(name) ?? "");
      }
    }
    return [...new Set(found.map((text) => text.trim()))].filter((text) => text !== "");
  });
}
