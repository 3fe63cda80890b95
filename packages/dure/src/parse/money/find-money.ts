import { COUNTING_WORDS, LONG_SCALE_WORDS, SCALE_WORDS } from "./english-number.ts";
import { gluedStarts, isGluedAmount, NUMERALS, type GluedStarts } from "./glued-money.ts";
import { takesBack } from "../lexicon/index.ts";
import { CURRENCIES, parseMoney, type MoneyReading } from "./money.ts";
import { changedBy, findChanges, type AmountSpan } from "./money-changes.ts";
import { placedLine, writtenBetween, type PlacedLine } from "../placed-line.ts";
import { LONGEST_SENTENCE, type Found, type Reader } from "../reading.ts";

/**
 * Every amount in a sentence, in order; also those that cannot be taken (`30 dollars`). What is
 * said not to be meant (`5만원 말고`, `instead of 50k`) is left out; what the words around it change
 * (`5천원 더`) is `partial`. Pure.
 */
export function findMoney(sentence: string): readonly Found<MoneyReading>[] {
  const { line, amounts } = readMoneyLine(sentence);
  if (amounts.length === 0) return [];

  const changed = changedBy(findChanges(line.text, amounts));
  return amounts.flatMap(({ reading, at, end, isRejected }, place) => {
    if (isRejected) return [];
    const found = { ...reading, at: line.places[at]!, words: writtenBetween(line, at, end) };
    const isPartial = found.ok && changed.has(place);
    return isPartial ? { ...found, sure: "partial" as const, others: [] } : found;
  });
}

/** A sentence, folded, with its amounts; also those that are said not to be meant. */
export interface MoneyLine {
  readonly line: PlacedLine;
  readonly amounts: readonly AmountSpan[];
}

/** Reads a sentence for `findMoney` and `deriveAmounts`. Pure. */
export function readMoneyLine(sentence: string): MoneyLine {
  if (sentence.length > LONGEST_DECOMPOSED) return NO_LINE;
  const line = placedLine(sentence);
  return line.written.length > LONGEST_SENTENCE ? NO_LINE : { line, amounts: amountsIn(line.text) };
}

const NO_LINE: MoneyLine = { line: placedLine(""), amounts: [] };

/** A syllable is up to three letters in decomposed Unicode. */
const LONGEST_DECOMPOSED = LONGEST_SENTENCE * 3;

/** For a slot that is an amount of won. */
export const moneyReader: Reader<number> = { parse: parseMoney, find: findMoney };

/** For a slot that is the most that may be spent: `3만원 이하` and `under 30k` are exact there. */
export const moneyLimitReader: Reader<number> = {
  parse: (words) => asLimit(parseMoney(words)),
  find: (sentence) => findMoney(sentence).map((one) => ({ ...asLimit(one), at: one.at })),
};

function asLimit(reading: MoneyReading): MoneyReading {
  if (!reading.ok || reading.bound !== "most" || reading.sure !== "approximate") return reading;
  return { ...reading, sure: "exact" };
}

// --- where an amount begins, and what it is made of; all in a folded line

/** More amounts than this are no sentence. */
const MOST = 50;

const CODES = Object.keys(CURRENCIES).join("|").toLowerCase();
/** A currency before its number. `won` and `원` are mostly behind theirs. */
const SIGN =
  `(?:(?:us|a|c)?[$€£¥฿₫₿]|[₩\\\\]|(?<![\\d${NUMERALS}] ?)(?:${CODES}|krw)(?= ?\\d)|` +
  "(?<![\\p{L}\\p{N}] ?)(?:won|원)(?= ?\\d))";
const ENGLISH_START =
  `an?|${COUNTING_WORDS}|${LONG_SCALE_WORDS}|hundred(?= (?:and|${COUNTING_WORDS}|${LONG_SCALE_WORDS}) )|` +
  `half(?= (?:an? )?(?:${LONG_SCALE_WORDS}))|quarter(?= (?:of )?(?:an? )?(?:million|billion))`;

/**
 * Where an amount can begin: never inside of an account number, and against a word only where
 * `gluedStarts` says so.
 */
const START = new RegExp(
  `(?<![\\p{L}\\p{N}.,$€£¥฿₫₿-]|분의 ?)(?:[-−]?(?:${SIGN}|[\\d${NUMERALS}])|마이너스|마[넌논]|` +
    `(?<!(?:thanks|in)(?: an?)? )(?:${ENGLISH_START})(?![a-z]))|` +
    `(?<=[가-힣])(?<![${NUMERALS}])[\\d${NUMERALS}]`,
  "gu",
);

type MoneyTokenKind =
  | "sign"
  | "digits"
  | "korean"
  | "won"
  | "foreign"
  | "scale"
  | "english"
  | "between";

const NAMES = Object.values(CURRENCIES)
  .flatMap((names) => names.split("|"))
  .toSorted((a, b) => b.length - a.length)
  .join("|");
/** 5만 동생한테 and 5만 불러 name no currency. */
const NAME_ENDS =
  "(?![a-z가-힣])|(?=(?:로|으로|을|를|은|는|이|가|만|씩|정도|쯤|짜리|어치|보내|이체|송금))";

/** What an amount is made of; the first that fits. */
const PIECES: readonly (readonly [MoneyTokenKind, RegExp])[] = [
  ["sign", new RegExp(`(?:[-−] ?)?${SIGN} ?-?(?=[\\d${NUMERALS}])|[-−]|마이너스 ?`, "uy")],
  ["digits", /\d{1,3}(?:, ?\d{3})+(?!\d)|\d{1,15}(?:\.\d{1,6})?/uy],
  [
    "won",
    /(?:마[넌논]|원|윈|웡|(?<=[만천])(?:언|우너|워)|won(?![a-z])|krw(?![a-z])|₩)(?!룸|장|피스|두|숭|격|탁)/uy,
  ],
  ["foreign", new RegExp(`(?:${NAMES})(?:${NAME_ENDS})`, "uy")],
  ["scale", new RegExp(`(?:${SCALE_WORDS})(?![a-z])`, "uy")],
  // 5만이요 and 5만만 have a particle.
  [
    "korean",
    new RegExp(`(?:(?!이(?:요|야|에요|라|고|다|지|면)|(?<=만)만)[${NUMERALS}]){1,20}`, "uy"),
  ],
  [
    "english",
    new RegExp(
      `(?:${COUNTING_WORDS}|hundred|an?|and|half|quarter of|quarter|point)(?![a-z])`,
      "uy",
    ),
  ],
  ["between", new RegExp(`[~∼–-](?= ?[\\d${NUMERALS}])`, "uy")],
];

/** An amount of more pieces is none. */
const MAX_PIECES = 24;

interface NumeralEnding {
  readonly end: number;
  readonly kind: MoneyTokenKind;
}

/** Every amount of a folded line, also those that are not meant. */
function amountsIn(line: string): readonly AmountSpan[] {
  const found: { -readonly [K in keyof AmountSpan]: AmountSpan[K] }[] = [];
  let end = 0;
  START.lastIndex = 0;
  for (let start = START.exec(line); start && found.length < MOST; start = START.exec(line)) {
    const one = readFrom(line, start.index, end);
    if (!one) continue;
    const before = found.at(-1);
    if (before && takesBack(line.slice(before.end, one.at))) before.isRejected = true;
    found.push({ ...one, isRejected: isRejected(line, one) });
    end = one.end;
    START.lastIndex = end;
  }
  return found;
}

type ReadSpan = Omit<AmountSpan, "isRejected">;

/** The amount that begins here; against a word, all that may be meant. `after`: the last one's end. */
function readFrom(line: string, start: number, after: number): ReadSpan | undefined {
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
  first: MoneyReading,
  all: readonly ReadSpan[],
  { isEnded }: GluedStarts,
): MoneyReading {
  if (!first.ok || first.sure !== "exact") return first;
  const values = all.flatMap(({ reading }) => (reading.ok ? [reading.value] : []));
  const others = values.slice(1).filter((value) => !isEnded || value !== first.value);
  return others.length === 0 ? first : { ...first, sure: "ambiguous", others };
}

type MayBe = (core: string, kind: MoneyTokenKind, rest: string) => boolean;

/** The longest amount that begins here. */
function readAt(line: string, start: number, mayBe: MayBe = () => true): ReadSpan | undefined {
  for (const ending of endingsFrom(line, start).toReversed()) {
    const core = line.slice(start, ending.end);
    const rest = line.slice(ending.end, ending.end + 14);
    if (!mayEnd(core, rest, ending.kind) || !mayBe(core, ending.kind, rest)) continue;

    const before = BEFORE.exec(line.slice(Math.max(0, start - 24), start))?.[0] ?? "";
    const after = AFTER.exec(line.slice(ending.end, ending.end + 20))?.[0] ?? "";
    const reading = parseMoney(`${before}${core}${after}`);
    if (!reading.ok && reading.because === "not-an-amount") continue;
    return { reading, at: start - before.trimStart().length, end: ending.end + after.length };
  }
  return undefined;
}

/** The places behind each piece, as far as pieces follow one another. */
function endingsFrom(line: string, start: number): NumeralEnding[] {
  const endings: NumeralEnding[] = [];
  let at = start;
  while (endings.length < MAX_PIECES) {
    const piece = pieceAt(line, at);
    if (!piece || isSecondUnit(line.slice(start, piece.end))) break;
    endings.push(piece);
    // A unit ends an amount: 만 of 만원만 is a particle.
    if (piece.kind === "won" && !/[~∼–-]/u.test(line[piece.end] ?? "")) break;
    at = line[piece.end] === " " || isHyphen(line, piece) ? piece.end + 1 : piece.end;
  }
  return endings;
}

/** 5만 3만, $ $: no amount has a unit twice, but of a range. */
function isSecondUnit(core: string): boolean {
  return /([만억조$€£¥])[^~∼–-]*\1/u.test(core);
}

function pieceAt(line: string, at: number): NumeralEnding | undefined {
  for (const [kind, pattern] of PIECES) {
    pattern.lastIndex = at;
    if (pattern.test(line) && pattern.lastIndex > at) return { kind, end: pattern.lastIndex };
  }
  return undefined;
}

/** thirty-five */
function isHyphen(line: string, { kind, end }: NumeralEnding): boolean {
  return kind === "english" && /^-[a-z]/u.test(line.slice(end, end + 2));
}

// --- where an amount ends

/** Words that are made of numerals and mean no number: 이만 가요, 천만에요. */
const NO_NUMBERS: ReadonlySet<string> = new Set(["이만", "천만", "만일", "일일", "이천", "사천"]);
const COUNTED = new RegExp(
  "^ ?(?:명|사람|개|번|시|분|초|년|월|일(?!단)|주(?!세|라|시|고)|호|층|장|살|위|대(?!신)|권|%|퍼센트|프로|배(?![가-힣])|배로|분의|큼|큰|" +
    "(?:people|times(?! ?(?:\\d|two|three|four|five|six|seven|eight|nine|ten))|users|views|steps|words|followers|points|km|kg)(?![a-z]))|" +
    "^(?:[a-z]|[-./:]\\d|,\\d{3})",
  "u",
);
const BEHIND_A_NUMERAL =
  /^(?:$|[\s,.!~?]|씩|정도|쯤|보내|이체|송금|(?:으로|을|만|이요|요|이야)(?:$|[\s.!]))/u;
/** 5만 일단: the numeral begins a word. */
const GOES_ON = /^(?!요|이요|은|는|을|로|으로|씩|정도|쯤|만|까지|도)[가-힣]/u;
const LONG_SCALE = new RegExp(`(?:${LONG_SCALE_WORDS})(?![a-z])`, "u");
/** Behind an amount in words that names no currency: a million people are no amount. */
const BEHIND_WORDS = new RegExp(
  "^(?:$|[,.!?~)]| ?[가-힣]| (?:to|for|each|from|more|less|off|extra|please|plz|pls|on|by|at|in|or|" +
    "and|is|per|tomorrow|today|tonight|now|instead|into|split|divided|between|plus|minus|times|" +
    "only|too|then|total|apiece|max)(?![a-z]))",
  "u",
);

/** Whether an amount can end here, and the next word is not part of it. */
function mayEnd(core: string, rest: string, kind: MoneyTokenKind): boolean {
  switch (kind) {
    case "won":
      return !NAMED_WON.test(core);
    case "foreign":
      return true;
    case "scale":
    case "english":
      return mayEndInWords(core, rest);
    case "korean":
      return mayEndInNumerals(core, rest);
    case "digits":
      if (COUNTED.test(rest) || /^[\d십백천만억조]/u.test(rest)) return false;
      return PRICED.test(core) || BARE_NUMBER.test(core);
    case "sign":
    case "between":
      return false;
  }
  return kind satisfies never;
}

/** 이원희, 조원, 사원: no sentence has so few won in letters. */
const NAMED_WON = /^[일이삼사오육칠팔구조]+ ?원$/u;

/** A number that stands alone is an amount from four digits on; one of ten is an account. */
const BARE_NUMBER = /^[-−]?(?:\d{4,9}|\d{1,3}(?:, ?\d{3})+)$/u;
const PRICED = /[만천억조~-]|^[^\d]/u;

const DIGITS_WITH_SCALE = new RegExp(`\\d ?(?:${SCALE_WORDS})$`, "u");

/** `50k`, and `fifty thousand` before a word that goes on otherwise. */
function mayEndInWords(core: string, rest: string): boolean {
  if (DIGITS_WITH_SCALE.test(core)) return !COUNTED.test(rest);
  return LONG_SCALE.test(core) && BEHIND_WORDS.test(rest);
}

/** `5만`; and `오만` or `백오십`, if it is a word of its own. */
function mayEndInNumerals(core: string, rest: string): boolean {
  if (COUNTED.test(rest)) return false;
  if (/\d/u.test(core)) return !(/ [일이삼사오육칠팔구]$/u.test(core) && GOES_ON.test(rest));
  if (core.length < 2 || NO_NUMBERS.has(core)) return false;
  return (
    /[천만억]|^[이삼사오육칠팔구]?백(?:[이삼사오육칠팔구]?십)?$|^[이삼사오육칠팔구]십$/u.test(
      core,
    ) && BEHIND_A_NUMERAL.test(rest)
  );
}

const BEFORE = new RegExp(
  "(?:각각|각자|(?<!\\p{L})각|인당|1인당|한 ?명당|총|합쳐서|약|대략|대충|거의|" +
    "(?<!\\p{L})한|딱|최대|최소|많아야|적어도|about|around|roughly|exactly|almost|nearly|close to|" +
    "upwards of|(?:just|slightly|well|a (?:bit|little)) (?:over|under)|" +
    // bump it up to 55k says where it ends
    "(?<!\\p{L})(?:(?<!\\b(?:bump|rais|increas|bring|mov|go|push)(?:e|es|ed|ing)?(?: \\p{L}+){0,3} )up to|at most|(?:no|not) more than|under|below|at least|max(?:imum)?)|" +
    // 5,000 won more than 30,000 compares two
    "(?<!(?:\\d|%|percent|won|krw|[원km]) )(?<!\\p{L})(?:more|less) than|" +
    "a total of|~) ?$",
  "u",
);
const AFTER = new RegExp(
  "^ ?(?:씩|정도|쯤|가량|내외|안팎|언저리|이상|이하|미만|초과|까지|이내|한도|" +
    "(?:[은는] ?)?(?:(?:조금|좀|약간|안|못) ?)?(?:넘게|되게)|대(?![가-힣])|초반|중반|후반|여 ?원|(?:몇|얼마) ?[십백천]? ?원|" +
    "each|apiece|per person|in total|or so|-?ish|at most|max|tops|or less|or more)(?![a-z])",
  "u",
);
const REJECTED = /^(?:이|가|은|는)? ?(?:말고|아니고|아니라|대신)/u;
const REJECTING = /(?:instead of|rather than|\bnot) ?$/u;

function isRejected(line: string, { at, end }: ReadSpan): boolean {
  return (
    REJECTED.test(line.slice(end, end + 12)) || REJECTING.test(line.slice(Math.max(0, at - 14), at))
  );
}
