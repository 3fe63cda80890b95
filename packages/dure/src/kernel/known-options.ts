import { closest } from "./closest.ts";
import { isObject } from "./json.ts";

/** What is wrong with an option, and what was probably meant. */
export interface OptionProblem {
  readonly message: string;
  readonly hint: string;
}

/** The first option that does not exist. Its author is told, for nothing would read it. Pure. */
export function unknownOption(given: object, known: object): OptionProblem | undefined {
  const names = Object.keys(known);
  const unknown = Object.entries(given).find(
    ([name, value]) => value !== undefined && !names.includes(name),
  );
  if (unknown === undefined) return undefined;
  const [name] = unknown;
  return { message: `unknown option "${name}".`, hint: meantOf(name, names) };
}

/** An option with a value that it does not take. Pure. */
export function unknownValue(
  name: string,
  given: unknown,
  allowed: readonly string[],
): OptionProblem | undefined {
  if (given === undefined || allowed.includes(given as string)) return undefined;
  const text = typeof given === "string" ? given : undefined;
  return {
    message: `${name} cannot be ${text === undefined ? `a ${typeof given}` : `"${text}"`}.`,
    hint: meantOf(text ?? "", allowed),
  };
}

function meantOf(written: string, known: readonly string[]): string {
  const meant = closest(written, known);
  return meant === undefined ? `Known are: ${known.join(", ")}.` : `Did you mean ${meant}?`;
}

/** What an option takes. */
export interface OptionKind {
  /** In words, for the author: `a time such as "09:00"`. */
  readonly takes: string;
  readonly is: (value: unknown) => boolean;
  readonly isRequired?: boolean | undefined;
}

/** The first option that is unknown, missing or not of its kind. The hint lists those there are. Pure. */
export function wrongOption(
  given: unknown,
  known: Readonly<Record<string, OptionKind>>,
): OptionProblem | undefined {
  const problem = firstWrong(given, known);
  if (problem === undefined) return undefined;
  const list = `Known are: ${Object.keys(known).join(", ")}.`;
  return problem.hint.includes(list) ? problem : { ...problem, hint: `${problem.hint} ${list}` };
}

function firstWrong(
  given: unknown,
  known: Readonly<Record<string, OptionKind>>,
): OptionProblem | undefined {
  if (!isObject(given)) {
    return { message: `its options are ${shownOf(given)}.`, hint: "Give them as an object." };
  }
  const unknown = unknownOption(given, known);
  if (unknown) return unknown;
  for (const [name, { takes, is, isRequired = false }] of Object.entries(known)) {
    const value = given[name];
    const hint = `Give ${name} as ${takes}.`;
    if (value === undefined && isRequired) return { message: `${name} is missing.`, hint };
    if (value !== undefined && !is(value)) {
      return { message: `${name} cannot be ${shownOf(value)}.`, hint };
    }
  }
  return undefined;
}

/** Characters of a wrong value that its author is shown. */
const LONGEST_SHOWN = 60;

function shownOf(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = isObject(value) || Array.isArray(value) ? jsonOf(value) : undefined;
  const shown = text ?? (typeof value === "string" ? JSON.stringify(value) : String(value));
  return shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN)}…` : shown;
}

/** What refers to itself has no JSON. */
function jsonOf(value: object): string {
  try {
    return JSON.stringify(value);
  } catch {
    return "an object";
  }
}
