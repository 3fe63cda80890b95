import { specificFirst, translatorOf } from "../kernel/sentence-forms.ts";
import { LIBRARIES_KO } from "./libraries.ko.ts";
import { ALLOWED_KO, PROBLEMS_KO } from "./problems.ko.ts";

/** What is wrong at one place of a file, in words; names and values stand in them as written. */
export interface ProblemWords {
  readonly message: string;
  readonly found?: string | undefined;
  readonly allowed?: string | undefined;
  readonly hint?: string | undefined;
}

/**
 * The words of a problem in Korean. A sentence that is not known stays as it is. Pure. The English
 * sentence is the key: what a check says is written once, where it is checked.
 */
export function problemInKorean<Problem extends ProblemWords>(problem: Problem): Problem {
  const { message, found, allowed, hint } = problem;
  return {
    ...problem,
    message: hint !== undefined && OF_YAML.has(hint) ? yamlInKorean(message) : koreanOr(message),
    found: found === undefined ? undefined : (koreanOf(found) ?? found),
    allowed: allowed === undefined ? undefined : allowedInKorean(allowed),
    hint: hint === undefined ? undefined : koreanOr(hint),
  };
}

/** The Korean of one English sentence; undefined where it is not known. */
const koreanOf = translatorOf(specificFirst([...PROBLEMS_KO, ...ALLOWED_KO, ...LIBRARIES_KO]));

/** Hints of files that cannot be read: what comes with them are words of the YAML library. */
const OF_YAML: ReadonlySet<string> = new Set([
  "Check commas, quotes and braces.",
  "Check the indentation, and quote texts that hold : or #.",
]);

/** A refusal and what to do about it may stand in one sentence. */
function koreanOr(english: string): string {
  const whole = koreanOf(english);
  if (whole !== undefined) return whole;
  return english
    .split("; ")
    .map((part) => koreanOf(part) ?? part)
    .join(". ");
}

function yamlInKorean(message: string): string {
  return koreanOf(message) ?? "YAML로 읽을 수 없어요";
}

/** Where several kinds of values may stand, each kind is a part of its own. */
function allowedInKorean(allowed: string): string {
  const whole = koreanOf(allowed);
  if (whole !== undefined) return whole;
  return allowed.split(" or ").map(koreanOr).join(" 또는 ");
}
