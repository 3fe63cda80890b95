import { LOCALES, type Locale } from "../kernel/locales.ts";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { codeOf, DureError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";

/** The prompts of dure itself: `packages/dure/prompts/<name>.<language>.md`. */
export const PROMPT_NAMES = ["slots", "memory", "memory-first", "router"] as const;
export type PromptName = (typeof PROMPT_NAMES)[number];

/** Beside `src` and beside `dist`: both stand in the package's folder. */
const FOLDER = new URL("../../prompts/", import.meta.url);

const read = new Map<string, string>();

/** A prompt of dure, as it is shipped. */
export function builtInPrompt(name: PromptName, language: Locale): string {
  const file = `${name}.${language}.md`;
  const known = read.get(file);

  if (known !== undefined) return known;

  const text = readFileSync(new URL(file, FOLDER), "utf8").trim();
  read.set(file, text);

  return text;
}

/** Texts of a team in the place of ours, by file name without its end: `slots.ko`. */
export type PromptOverrides = Readonly<Record<string, string>>;

/** A prompt whose text of the team stands for another one too, where the team has no own text of it. */
const STANDS_FOR: Readonly<Partial<Record<PromptName, PromptName>>> = { "memory-first": "memory" };

/** The team's text of a prompt, else ours. */
export function promptText(
  overrides: PromptOverrides | undefined,
  name: PromptName,
  language: Locale,
): string {
  const names = [name, STANDS_FOR[name] ?? name];
  const own = names.map((one) => overrides?.[`${one}.${language}`]).find((text) => text);
  return own ?? builtInPrompt(name, language);
}

/** Largest prompt that is read, characters: far above what a person writes. */
const MAX_PROMPT = 100_000;

/**
 * The prompts that a folder has in the place of ours: `<name>.<language>.md`. A folder that is not
 * there has none, and files without a language are not looked at. Throws `PROMPT_INVALID` for one
 * that is no prompt of dure, is empty or too long.
 */
export function readPromptOverrides(folder: string): PromptOverrides {
  const files = filesIn(folder).filter((file) => /\.(?:ko|en)\.md$/.test(file));

  return Object.fromEntries(
    files.map((file) => {
      const key = file.slice(0, -".md".length);
      const text = readFileSync(path.join(folder, file), "utf8").trim();
      const isKnown = KEYS.includes(key);
      if (isKnown && text !== "" && text.length <= MAX_PROMPT) return [key, text];

      const because = isKnown ? "is empty or too long" : "is no prompt of dure";

      throw new DureError("PROMPT_INVALID", `${path.join(folder, file)} ${because}.`, {
        class: "input",
        hint: `Prompts are ${KEYS.map((one) => `${one}.md`).join(", ")}.`,
      });
    }),
  );
}

const KEYS: readonly string[] = PROMPT_NAMES.flatMap((name) =>
  LOCALES.map((language) => `${name}.${language}`),
);

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return [];
    throw error;
  }
}

/**
 * A prompt with its places filled: `{{name}}`. A value that stands in a prompt cannot open a place
 * of its own. Throws `PROMPT_INVALID` for a place that has no value. Pure.
 */
export function fillPrompt(template: string, values: Readonly<Record<string, string>>): string {
  const filled = template.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (_, name: string) => {
    const value = values[name];

    if (value !== undefined) return value;

    throw new DureError("PROMPT_INVALID", `A prompt has the place {{${name}}}, which is unknown.`, {
      class: "input",
      hint: `Its places are ${Object.keys(values).join(", ")}.`,
    });
  });

  return filled.replaceAll(/\n{3,}/g, "\n\n").trim();
}

const SAID = { ko: "말", en: "Message" } as const satisfies Record<Locale, string>;
const ANSWER = { ko: "답", en: "Answer" } as const satisfies Record<Locale, string>;

/** Messages and their answers, for a prompt. Pure. */
export function examplesText(
  examples: readonly { readonly said: string; readonly answer: Json | object }[],
  language: Locale,
): string {
  return examples
    .map(
      ({ said, answer }) =>
        `${SAID[language]}: ${said}\n${ANSWER[language]}: ${JSON.stringify(answer)}`,
    )
    .join("\n");
}

/** The moment as a model is told it: `2026-03-05 (Thu) 14:20`. Pure. */
export function promptMoment(at: number, zone: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: zone,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);

  const of = (type: Intl.DateTimeFormatPartTypes): string =>
    parts.find((part) => part.type === type)?.value ?? "";
  const day = `${of("year")}-${of("month")}-${of("day")}`;

  return `${day} (${of("weekday")}) ${of("hour")}:${of("minute")}`;
}

/** The language of a locale, for prompts and texts: English if it says so, else Korean. Pure. */
export function promptLanguage(locale: string): Locale {
  return locale.toLowerCase().startsWith("en") ? "en" : "ko";
}

/** The language that a text is written in; undefined where no letter says so. Pure. */
export function languageOf(text: string): Locale | undefined {
  if (/\p{Script=Hangul}/u.test(text)) return "ko";
  return /\p{Script=Latin}{2}/u.test(text) ? "en" : undefined;
}
