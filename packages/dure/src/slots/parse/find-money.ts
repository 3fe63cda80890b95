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
  START.lastIndex = 0;
  for (let start = START.exec(line); start && found.length < MOST; start = START.exec(line)) {
    const one = readAt(line, start.index);
    if (!one) continue;
    if (!isRejected(line, one)) found.push(one.reading);
    START.lastIndex = one.end;
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

const KOREAN = "일이삼사오육칠팔구십백천만억조";
const ENGLISH_NUMBER =
  "(?:an?|one|two|three|four|five|six|seven|eight|nine|" +
  "ten|fifteen|twenty|thirty|forty|fifty|sixty|seventy|" +
  "eighty|ninety|hundred|thousand|million)";

/** Where an amount can begin: never inside of a word or of an account number. */
const START = new RegExp(
  `(?<![\\p{L}\\p{N}.,-])(?:[-−]?[\\d０-９₩￦\\\\$€£¥${KOREAN}]|` +
    `마이너스|마[넌논]|${ENGLISH_NUMBER}(?![a-z]))`,
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
  ["won", /(?:마[넌논]|원|윈|웡|won(?![a-z])|krw(?![a-z]))(?!룸|장|피스|두|숭|격|탁)/iy],
  ["foreign", new RegExp(`(?:${NAMES})(?![a-z])`, "iy")],
  ["scale", /(?:k|thousand|grand|million|m)(?![a-z])/iy],
  ["korean", new RegExp(`[${KOREAN}]{1,20}`, "y")],
  ["english", new RegExp(`(?:${ENGLISH_NUMBER}|and)(?![a-z])`, "iy")],
  ["between", /[~∼–-](?=\s?\d)/y],
];

/** An amount of more pieces is none. */
const MAX_PIECES = 12;

interface Ending {
  readonly end: number;
  readonly kind: Kind;
}

/** The longest amount that begins here. */
function readAt(
  line: string,
  start: number,
): { readonly reading: Found<MoneyReading>; readonly end: number } | undefined {
  for (const ending of endingsFrom(line, start).toReversed()) {
    const core = line.slice(start, ending.end);
    if (!mayEnd(line, core, ending)) continue;

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
