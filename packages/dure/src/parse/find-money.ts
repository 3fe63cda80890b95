import { gluedStarts, isGluedAmount, NUMERALS, type GluedStarts } from "./glued-money.ts";
import { CURRENCIES, parseMoney, type MoneyReading } from "./money.ts";
import { LONGEST_SENTENCE, type Found, type Reader } from "./reading.ts";

/**
 * Every amount in a sentence, in order; also those that cannot be taken (`30 dollars`). What is
 * said not to be meant (`5만원 말고`, `instead of 50k`) is left out. Pure.
 */
export function findMoney(sentence: string): readonly Found<MoneyReading>[] {
  const line = sentence.normalize("NFC");
  if (line.length > LONGEST_SENTENCE) return [];

  const found: Found<MoneyReading>[] = [];
  let end = 0;
  START.lastIndex = 0;
  for (let start = START.exec(line); start && found.length < MOST; start = START.exec(line)) {
    const one = readFrom(line, start.index, end);
    if (!one) continue;
    if (!isRejected(line, one)) found.push(one.reading);
    end = one.end;
    START.lastIndex = end;
  }
  return found;
}

/** For a slot that is an amount of won. */
export const moneyReader: Reader<number> = { parse: parseMoney, find: findMoney };

/** For a slot that is the most that may be spent: `3만원 이하` and `under 30k` are exact there. */
export const moneyLimitReader: Reader<number> = {
  parse: (words) => asLimit(parseMoney(words)),
  find: (sentence) => findMoney(sentence).map((one) => ({ ...asLimit(one), at: one.at })),
};

function asLimit(reading: MoneyReading): MoneyReading {
  if (!reading.ok || reading.bound !== "most" || reading.sure === "ambiguous") return reading;
  return { ...reading, sure: "exact" };
}

/** More amounts than this are no sentence. */
const MOST = 50;

const ENGLISH_NUMBER =
  "(?:an?|one|two|three|four|five|six|seven|eight|nine|" +
  "ten|fifteen|twenty|thirty|forty|fifty|sixty|seventy|" +
  "eighty|ninety|hundred|thousand|million)";

/**
 * Where an amount can begin: never inside of an account number, and against a word only where
 * `gluedStarts` says so.
 */
const START = new RegExp(
  `(?<![\\p{L}\\p{N}.,-])(?:[-−]?[\\d０-９₩￦\\\\$€£¥${NUMERALS}]|` +
    `마이너스|마[넌논]|${ENGLISH_NUMBER}(?![a-z]))|` +
    `(?<=[가-힣])(?<![${NUMERALS}])[\\d０-９${NUMERALS}]`,
  "giu",
);

type Kind = "sign" | "digits" | "korean" | "won" | "foreign" | "scale" | "english" | "between";

const NAMES = Object.values(CURRENCIES)
  .flatMap((names) => names.split("|"))
  .filter((name) => /^[a-z가-힣]/.test(name))
  .toSorted((a, b) => b.length - a.length)
  .join("|");

/** What an amount is made of; the first that fits. */
const PIECES: readonly (readonly [Kind, RegExp])[] = [
  ["sign", /(?:[-−] ?)?[₩￦\\$€£¥] ?-?|[-−]|마이너스 ?/y],
  [
    "digits",
    /[\d０-９]{1,3}(?:[,，][\d０-９]{3})+(?![\d０-９])|[\d０-９]{1,15}(?:\.[\d０-９]{1,6})?/y,
  ],
  [
    "won",
    /(?:마[넌논]|원|윈|웡|(?<=[만천])(?:언|우너|워)|won(?![a-z])|krw(?![a-z]))(?!룸|장|피스|두|숭|격|탁)/iy,
  ],
  ["foreign", new RegExp(`(?:${NAMES})(?![a-z])`, "iy")],
  ["scale", /(?:k|thousand|grand|million|m)(?![a-z])/iy],
  ["korean", new RegExp(`[${NUMERALS}]{1,20}`, "y")],
  ["english", new RegExp(`(?:${ENGLISH_NUMBER}|and)(?![a-z])`, "iy")],
  ["between", /[~∼–-](?=\s?\d)/y],
];

/** An amount of more pieces is none. */
const MAX_PIECES = 12;

interface Ending {
  readonly end: number;
  readonly kind: Kind;
}

interface ReadMoney {
  readonly reading: Found<MoneyReading>;
  readonly end: number;
}

/** The amount that begins here; against a word, all that may be meant. `after`: the last one's end. */
function readFrom(line: string, start: number, after: number): ReadMoney | undefined {
  if (!/[가-힣]/u.test(line[start - 1] ?? "")) return readAt(line, start);
  if (start === after) return undefined;

  const glued = gluedStarts(line, start, after);
  const all = glued.starts.flatMap((at) => {
    const isGlued: MayBe = (core, kind, rest) => isGluedAmount(core, kind, rest, glued);
    return readAt(line, at, isGlued) ?? [];
  });
  const [first] = all;
  return first && { ...first, reading: oneOf(first.reading, all, glued) };
}

/**
 * One reading of several that may be meant; where the word before is open, also if they are alike:
 * 장준일만원 is 장준 or 장준일.
 */
function oneOf(
  first: Found<MoneyReading>,
  all: readonly ReadMoney[],
  { isEnded }: GluedStarts,
): Found<MoneyReading> {
  if (!first.ok || first.sure !== "exact") return first;
  const values = all.flatMap(({ reading }) => (reading.ok ? [reading.value] : []));
  const others = values.slice(1).filter((value) => !isEnded || value !== first.value);
  return others.length === 0 ? first : { ...first, sure: "ambiguous", others };
}

type MayBe = (core: string, kind: Kind, rest: string) => boolean;

/** The longest amount that begins here. */
function readAt(line: string, start: number, mayBe: MayBe = () => true): ReadMoney | undefined {
  for (const ending of endingsFrom(line, start).toReversed()) {
    const core = line.slice(start, ending.end);
    if (!mayEnd(line, core, ending)) continue;
    if (!mayBe(core, ending.kind, line.slice(ending.end, ending.end + 8))) continue;

    const before = BEFORE.exec(line.slice(Math.max(0, start - 14), start))?.[0] ?? "";
    const after = AFTER.exec(line.slice(ending.end, ending.end + 20))?.[0] ?? "";
    const reading = parseMoney(`${before}${core}${after}`);
    if (!reading.ok && reading.because === "not-an-amount") continue;
    const at = start - before.trimStart().length;
    return { reading: { ...reading, at }, end: ending.end + after.length };
  }
  return undefined;
}

/** The places behind each piece, as far as pieces follow one another. */
function endingsFrom(line: string, start: number): Ending[] {
  const endings: Ending[] = [];
  let at = start;
  while (endings.length < MAX_PIECES) {
    const piece = PIECES.map(([kind, pattern]) => ({ kind, end: endOf(pattern, line, at) })).find(
      ({ end }) => end > at,
    );
    if (!piece) break;
    endings.push(piece);
    // A unit ends an amount: 만 of 만원만 is a particle.
    if (piece.kind === "won" && !/[~∼–-]/.test(line[piece.end] ?? "")) break;
    at = line[piece.end] === " " ? piece.end + 1 : piece.end;
  }
  return endings;
}

function endOf(pattern: RegExp, line: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.exec(line) ? pattern.lastIndex : at;
}

/** Words that are made of numerals and mean no number: 이만 가요, 천만에요. */
const NO_NUMBERS: ReadonlySet<string> = new Set(["이만", "천만", "만일", "일일", "이천", "사천"]);
const COUNTED =
  /^ ?(?:명|사람|개|번|시|분|초|년|월|일|주|호|층|장|살|위|대|권|%|큼|큰)|^(?:[a-z]|[-./:]\d|,\d{3})/iu;
const BEHIND_A_NUMERAL =
  /^(?:$|[\s,.!~?]|씩|정도|쯤|보내|이체|송금|(?:으로|을|만|이요|요|이야)(?:$|[\s.!]))/u;

/** Whether an amount can end here, and the next word is not part of it. */
function mayEnd(line: string, core: string, { end, kind }: Ending): boolean {
  const rest = line.slice(end, end + 8);
  switch (kind) {
    case "won":
      return !NAMED_WON.test(core);
    case "foreign":
      return true;
    case "scale":
      return /^\D*\d/u.test(core);
    case "korean":
      return mayEndInNumerals(core, rest);
    case "digits":
      if (COUNTED.test(rest) || /^\d/.test(rest)) return false;
      return PRICED.test(core) || BARE_NUMBER.test(core);
    case "sign":
    case "english":
    case "between":
      return false;
  }
  return kind satisfies never;
}

/** 이원희, 조원, 사원: no sentence has so few won in letters. */
const NAMED_WON = /^[일이삼사오육칠팔구조]+ ?원$/u;

/** A number that stands alone is an amount from four digits on; one of ten is an account. */
const BARE_NUMBER = /^[-−]?(?:\d{4,9}|\d{1,3}(?:,\d{3})+)$/;
const PRICED = /[₩￦\\$€£¥만천억~-]/;

/** `5만`; and `오만`, if it is a word of its own. */
function mayEndInNumerals(core: string, rest: string): boolean {
  if (/[\d０-９]/.test(core)) return !COUNTED.test(rest);
  if (core.length < 2 || NO_NUMBERS.has(core)) return false;
  return /[천만억]/.test(core) && BEHIND_A_NUMERAL.test(rest);
}

const BEFORE = new RegExp(
  "(?:각각|각자|(?<!\\p{L})각|인당|1인당|한 ?명당|총|합쳐서|약|대략|대충|" +
    "(?<!\\p{L})한|딱|최대|최소|많아야|적어도|about|around|roughly|exactly|" +
    "(?<!\\p{L})(?:up to|at most|(?:(?:no|not) )?more than|under|below|less than|at least|max(?:imum)?)|" +
    "a total of|~) ?$",
  "iu",
);
const AFTER = new RegExp(
  "^ ?(?:씩|정도|쯤|가량|내외|안팎|이상|이하|미만|초과|까지|이내|한도|" +
    "each|apiece|per person|in total|or so|-?ish|at most|max|tops|or less|or more)(?![a-z])",
  "iu",
);
const REJECTED = /^(?:이|가|은|는)? ?(?:말고|아니고|아니라|대신)/u;
const REJECTING = /(?:instead of|rather than|\bnot) ?$/iu;

function isRejected(
  line: string,
  { reading, end }: { readonly reading: Found<MoneyReading>; readonly end: number },
): boolean {
  return (
    REJECTED.test(line.slice(end, end + 12)) ||
    REJECTING.test(line.slice(Math.max(0, reading.at - 14), reading.at))
  );
}
