import { closest } from "../models/spelling.ts";

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
