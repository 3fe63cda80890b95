import type { Translator } from "../kernel/sentence-forms.ts";

/** Says the parts of a problem's line in another language. */
export interface ProblemParts {
  readonly sentence: Translator;
  /** What may stand there. */
  readonly allowed: Translator;
}

/**
 * A line such as `dure.yaml:3:9 server.port: cannot be used; found "abc"; allowed: a whole number`
 * in Korean; undefined where a part has no Korean, so that no line mixes the languages. Pure.
 */
export function problemLine(line: string, parts: ProblemParts): string | undefined {
  const place = /^\s*\S+?:? (?:[^\s:]+: )?/.exec(line)?.[0];
  if (place === undefined) return undefined;
  // Without a key the first words of the message look like nothing that ends in a colon.
  for (const start of [place, /^\s*\S+ /.exec(line)?.[0] ?? place]) {
    const facts = line.slice(start.length).split(/; | — /);
    const said = factsIn(facts, parts);
    if (said !== undefined) return `${start}${said.reduce(followed)}`;
  }

  return undefined;
}

/** Two sentences, one behind the other. */
function followed(before: string, next: string): string {
  const end = /[.?!]$/.test(before) ? "" : ".";
  return `${before}${end} ${next}`;
}

/** Each fact, or facts that are one sentence together, the longest first. */
function factsIn(facts: readonly string[], parts: ProblemParts): readonly string[] | undefined {
  if (facts.length === 0) return [];
  for (const length of lengthsOf(facts)) {
    const said = factIn(facts.slice(0, length).join("; "), parts);
    const rest = said === undefined ? undefined : factsIn(facts.slice(length), parts);
    if (said !== undefined && rest !== undefined) return [said, ...rest];
  }

  return undefined;
}

/** A value ends where it first can; a sentence goes as far as it can. */
function lengthsOf(facts: readonly string[]): readonly number[] {
  const lengths = facts.map((_, index) => index + 1);
  return facts[0]!.startsWith("found ") ? lengths : lengths.toReversed();
}

function factIn(fact: string, { sentence, allowed }: ProblemParts): string | undefined {
  const [, found] = /^found (.+)$/s.exec(fact) ?? [];
  if (found !== undefined) return isValue(found) ? `적힌 값: ${valueIn(found)}` : undefined;

  const [, may] = /^allowed: (.+)$/s.exec(fact) ?? [];
  if (may === undefined) return sentence(fact);

  const said = allowedIn(may, allowed);
  return said === undefined ? undefined : `쓸 수 있는 값: ${said}`;
}

const VALUES: Readonly<Record<string, string>> = {
  "a value that is not shown": "보여 주지 않는 값",
  "a function": "함수",
  "an object": "객체",
};

function valueIn(found: string): string {
  return VALUES[found] ?? found;
}

function isValue(text: string): boolean {
  if (Object.hasOwn(VALUES, text) || text.endsWith("…")) return true;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** One of several ways, or a list of names and values as it is. */
function allowedIn(text: string, allowed: Translator): string | undefined {
  const whole = allowed(text);
  if (whole !== undefined) return whole;

  const ways = text.split(" or ").map((way) => allowed(way) ?? namesIn(way));
  return ways.every((way) => way !== undefined) ? ways.join(" / ") : undefined;
}

function namesIn(text: string): string | undefined {
  return /^[^\s,]+(?:, [^\s,]+)*$/.test(text) ? text : undefined;
}
