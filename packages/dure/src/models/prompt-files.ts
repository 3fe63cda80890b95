import { readFileSync } from "node:fs";
import { DureError } from "../kernel/errors.ts";
import type { Json } from "../kernel/json.ts";

/** The languages in which the prompts of dure are written. */
export const PROMPT_LANGUAGES = ["ko", "en"] as const;
export type PromptLanguage = (typeof PROMPT_LANGUAGES)[number];

/** The prompts of dure itself: `packages/dure/prompts/<name>.<language>.md`. */
export const PROMPT_NAMES = ["slots", "answer", "memory", "router"] as const;
export type PromptName = (typeof PROMPT_NAMES)[number];

/** Beside `src` and beside `dist`: both stand in the package's folder. */
const FOLDER = new URL("../../prompts/", import.meta.url);

const read = new Map<string, string>();

/** A prompt of dure, as it is shipped. */
export function builtInPrompt(name: PromptName, language: PromptLanguage): string {
  const file = `${name}.${language}.md`;
  const known = read.get(file);

  if (known !== undefined) return known;
  const text = readFileSync(new URL(file, FOLDER), "utf8").trim();
  read.set(file, text);

  return text;
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

const SAID = { ko: "말", en: "Message" } as const satisfies Record<PromptLanguage, string>;
const ANSWER = { ko: "답", en: "Answer" } as const satisfies Record<PromptLanguage, string>;

/** Messages and their answers, for a prompt. Pure. */
export function examplesText(
  examples: readonly { readonly said: string; readonly answer: Json | object }[],
  language: PromptLanguage,
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
export function promptLanguage(locale: string): PromptLanguage {
  return locale.toLowerCase().startsWith("en") ? "en" : "ko";
}
