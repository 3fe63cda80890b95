/**
 * What a message says of the transfers that stand already: which of them it is about (`아빠 거`, `the
 * second one`, `둘 다`), and who is to get one instead (`change Mom to Jane`).
 */
import { parsePerson } from "dure/slots";

/** Transfers that a message is about, and what it says of them. */
export interface Meant {
  /** Their recipients. */
  readonly names: readonly string[];
  /** The message without the words that say which. */
  readonly rest: string;
}

/**
 * Which of several transfers a message is about. Undefined where it names none of them, and where it
 * names two without a word for both, since each word of it may be about the one or the other. Pure.
 */
export function meantIn(line: string, names: readonly string[]): Meant | undefined {
  if (names.length < 2) return undefined;
  if (ALL.test(line)) return { names, rest: without(line, ALL) };
  const ways = names.map((name, place) => [namedAs(name), PLACES[place] ?? NO_PLACE]);
  const named = ways.flatMap((patterns, place) =>
    patterns.some((pattern) => pattern.test(line)) ? [place] : [],
  );
  const [place, ...others] = named;
  if (place === undefined || others.length > 0) return undefined;
  const rest = ways[place]!.reduce(without, line);
  return { names: [names[place]!], rest };
}

function without(line: string, pattern: RegExp): string {
  return line
    .replace(pattern, " ")
    .replaceAll(/\s+(?=[\s,.!])/gu, "") // a comma stands at what it follows: half a million, not …
    .trim();
}

const ALL =
  /(?:둘 ?다|둘을|각각|두 ?(?:개|건|분|사람) ?(?:다|모두)|\b(?:for |on )?(?:both|each|all)(?: of them)?\b)(?:에|를|을|은|는)?/iu;

const ONE = "(?: ?(?:사람|거|것|건|꺼|껀))?(?:은|는|만|을|를|도)?(?![가-힣])";
const PLACES: readonly RegExp[] = [
  new RegExp(
    `(?:첫 ?번째|첫째|앞에?|1번)${ONE}|\\bthe first(?: one)?(?:'s)?|\\bfirst one\\b|이거|이 건은?`,
    "iu",
  ),
  new RegExp(
    `(?:두 ?번째|둘째|뒤에?|2번|마지막)${ONE}|\\bthe (?:second|other|last)(?: one)?(?:'s)?`,
    "iu",
  ),
];
const NO_PLACE = /(?!)/u;

/** 아빠 거, 아빠한테는, Dad's, for Dad. */
function namedAs(name: string): RegExp {
  const plain = name.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
  return new RegExp(
    `(?<![\\p{L}\\d])(?:(?:for|to|give) )?${plain}(?:['’]s(?: one)?)?(?:님|씨)?` +
      "(?: ?(?:거|것|건|꺼|껀)|한테|에게|께|한텐|에겐|껜)?(?:에|은|는|이|가|만|을|를|도|에는)?(?![\\p{L}\\d])",
    "iu",
  );
}

/** A transfer that goes to another person. */
export interface Replaced {
  readonly from: string;
  readonly to: string;
  /** The message without the words that say so. */
  readonly rest: string;
}

/** Who is to get a transfer instead of whom: 아빠 말고 동생한테, not Dad, Kevin. Pure. */
export function replacedIn(line: string, names: readonly string[]): Replaced | undefined {
  for (const from of names) {
    for (const pattern of replacing(from)) {
      const found = pattern.exec(line);
      const to = parsePerson(found?.[1] ?? "");
      if (found && to.ok && !names.includes(to.value)) {
        return { from, to: to.value, rest: without(line, pattern) };
      }
    }
  }
  return undefined;
}

/** mom for Mom. */
function inEitherCase(name: string): string {
  const plain = name.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
  return plain.replace(/^\p{L}/u, (first) => `[${first.toUpperCase()}${first.toLowerCase()}]`);
}

const KOREAN = "([가-힣]{2,4}?)(?:님|씨)?(?:한테|에게|께)?(?:으로|로|야|이야|예요|이에요|이요|요)?";
const LATIN = "(\\p{L}[\\p{L}.-]*(?: \\p{Lu}\\p{L}+)?)";

function replacing(from: string): readonly RegExp[] {
  const plain = inEitherCase(from);
  const end = "(?=$|[\\s,.!])";
  const any = `(?:${KOREAN}|${LATIN})`;
  return [
    `(?<![\\p{L}])${plain}(?:님|씨)?(?:이|가|한테|에게)? ?(?:말고|말구|아니라|아니고|대신) ?${KOREAN}${end}`,
    `(?:[Cc]hange|[Ss]witch|[Ss]wap|[Rr]eplace) ${plain}(?:'s)?(?: one)? (?:to|with|for|by) ${LATIN}${end}`,
    `\\b[Nn]ot (?:to )?${plain},? (?:but )?(?:(?:send|pay|give|wire)(?: it)? )?(?:to )?${LATIN}${end}`,
    `\\b[Cc]hange ${plain} to ${KOREAN}${end}`,
    `\\b${plain}['’]s(?: one)? should go to ${any}(?: instead)?${end}`,
  ].map((source) => new RegExp(source, "u"));
}
