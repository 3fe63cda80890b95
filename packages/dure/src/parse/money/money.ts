import { readByTheLetter, readClipped, type AmountResult } from "./amount.ts";
import { LONG_SCALE_WORDS, readEnglishAmount, SCALE_WORDS } from "./english-number.ts";
import {
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type NotUnderstood,
  type Understood,
} from "../reading.ts";
import { fold } from "../text.ts";

/** Why words are no amount of won. */
export type MoneyBecause =
  | "empty"
  | "not-an-amount"
  | "negative"
  | "zero"
  | "fraction"
  | "too-large"
  /** Dollars, euros and others: said to the person, never turned into won. */
  | "foreign-currency";

/** Whole won. */
export type MoneyReading =
  | (Understood<number> & {
      /** `5만원씩`, `각각 5만원`, `10k each`: for each person; `총 5만원`: for all of them together. */
      readonly per: "each" | "total" | undefined;
      /** `5만원까지`, `최대 5만원`: no more than it; `5만원 이상`: no less. */
      readonly bound: "most" | "least" | undefined;
    })
  | (NotUnderstood<MoneyBecause> & {
      /** ISO 4217, of a foreign amount. */
      readonly currency?: string | undefined;
    });

/**
 * An amount as people write it, with what they put around it: `5만원`, `오만원씩`, `3만5천`, `1.5만`,
 * `₩50000`, `50k won`, `5만원 정도`, `5~6만원`, `오만언이요`. The whole text must be the amount. Pure.
 */
export function parseMoney(text: string): MoneyReading {
  const words = text.trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-an-amount", words);

  const { core, ...manner } = withoutManner(withoutTypos(fold(words)));
  const { per, bound, approximate } = manner;
  const currency = foreignCurrencyOf(core);
  if (currency !== undefined) return { ...notUnderstood("foreign-currency", words), currency };

  const read = readWon(core);
  if (!read.ok && read.because !== "not-an-amount") return notUnderstood(read.because, words);
  const values = [
    ...(read.ok ? readAbbreviated(core, read.won) : readTwo(core)),
    ...readParticle(core),
  ];
  const [value, ...others] = [...new Set(values)].filter(Number.isSafeInteger);
  if (value === undefined) return notUnderstood("not-an-amount", words);
  const sure = approximate ? "approximate" : "exact";
  return {
    ...understood(value, words, others.length > 0 ? "ambiguous" : sure, others),
    per,
    bound,
  };
}

// --- what stands around an amount

interface AmountManner {
  readonly core: string;
  readonly per: "each" | "total" | undefined;
  readonly bound: "most" | "least" | undefined;
  readonly approximate: boolean;
}

/**
 * `up-to`: the sum itself is said, as the most. `below` and `above`: a sum near it, on that side.
 */
type Affix = readonly [
  pattern: RegExp,
  means?: "each" | "total" | "approximate" | "up-to" | "below" | "above",
];

const PREFIXES: readonly Affix[] = [
  [/^(?:각각|각자|각|인당|1인당|일인당|한 ?(?:사람|명)당|each)(?: |(?=[\d일-힣₩]))/u, "each"],
  [/^(?:총|합쳐서|합해서|모두|전부|다 해서|total|in total|a total of) ?/u, "total"],
  [
    new RegExp(
      "^(?:약|대략|대충|거의|about|around|roughly|approximately|approx\\.?|almost|nearly|close to|" +
        "upwards of|(?:just|slightly|well|a (?:bit|little)) (?:over|under)|~) ?",
      "u",
    ),
    "approximate",
  ],
  [/^한 (?=[\d일이삼사오육칠팔구십백천만])/u, "approximate"],
  [/^(?:최대|많아야|up to|at (?:the )?most|max\.?|maximum|(?:no|not) more than) ?/u, "up-to"],
  [/^(?:under|below|less than) /u, "below"],
  [/^(?:최소|적어도|at least|more than|min\.?|minimum) ?/u, "above"],
  [/^(?:딱|정확히|just|exactly|only|그냥|그럼|그러면|일단|음+|흠+|네|예|응|아니) ?[,.…]* ?(?=\S)/u],
];

const SUFFIXES: readonly Affix[] = [
  [/(?:[\s.!~…,ㅎㅋㅠㅜ]|\p{Extended_Pictographic}|\p{Emoji_Modifier}|\u{FE0F})+$/u],
  [/ ?씩$/u, "each"],
  [/ (?:each|apiece|per person|a person|a head|to each)$/u, "each"],
  [/ (?:in total|total|altogether|all together)$/u, "total"],
  [/ ?(?:까지|이내|한도|안에서|한도로|선에서)(?:만|로|에서|는)?$/u, "up-to"],
  [/ (?:at most|at the most|max\.?|maximum|tops)$/u, "up-to"],
  [
    /(?<=[원십백천만억]) ?(?:(?:조금|좀|약간|안|못) ?(?:넘게|되게)|대|대로|초반|중반|후반)$/u,
    "approximate",
  ],
  [/ ?(?:이하|미만|안쪽|밑)(?:으로|로)?$| (?:or less|or under)$/u, "below"],
  [/(?:은|는)? ?(?:이상|초과|넘게)(?:으로)?$| or more$/u, "above"],
  [/ ?(?:정도|쯤|가량|내외|안팎|남짓|즈음|언저리|or so|ish|-ish)$/u, "approximate"],
  // 5만여원, 5만 몇천원
  [/(?<=[십백천만억]) ?(?:여|(?:몇|얼마) ?[십백천]?) ?원?$/u, "approximate"],
  [/(?<=원|won|krw|달러|씩|정도|쯤) ?(?:만|이나)$/u],
  [
    /(?<=[원만천백십억조\d씩도쯤량]) ?(?:으로|로|이요|요|입니다|이에요|예요|이야|야|을|를|은|는|(?<![십백천만억] ?)이|도)$/u,
  ],
  [/ (?:please|plz|pls|only)$/u],
];

/** Affixes are taken off one by one; no amount has more than these. */
const MAX_AFFIXES = 8;

function withoutManner(folded: string): AmountManner {
  let core = folded.trim();
  let per: AmountManner["per"];
  let bound: AmountManner["bound"];
  let approximate = false;
  for (let taken = 0; taken < MAX_AFFIXES; taken++) {
    const affix = [...PREFIXES, ...SUFFIXES].find(([pattern]) => pattern.test(core));
    if (!affix) break;

    const [pattern, means] = affix;
    const rest = core.replace(pattern, "").trim();
    if (rest === "") break;
    core = rest;
    if (means === "each" || means === "total") per ??= means;
    if (means === "up-to" || means === "below") bound ??= "most";
    if (means === "above") bound ??= "least";
    approximate ||= means === "approximate" || means === "below" || means === "above";
  }
  return { core, per, bound, approximate };
}

// --- the amount itself

function readWon(core: string): AmountResult {
  const read = readByTheLetter(core);
  return !read.ok && read.because === "not-an-amount" ? (readEnglishAmount(core) ?? read) : read;
}

/** How 만원 and 원 are heard, and how thumbs miss them. */
function withoutTypos(folded: string): string {
  return folded
    .replace(/(?<=[\d일이삼사오육칠팔구십백천])마[넌논]/u, "만원")
    .replace(/(?<=[만천])(?:[윈웡언워]|우너)(?=$|[\s.!]|이|으|을|씩|정도|쯤|만|요)/u, "원");
}

/**
 * What an amount may mean in speech, likeliest first: `3만5` is 35,000 (by the letter 30,005), `1억2천`
 * is 120,000,000, `백오십` is 1,500,000, and the answer `5` is likelier 5만원 than five won.
 */
function readAbbreviated(core: string, won: number): readonly number[] {
  const number = core.replaceAll(" ", "");
  if (/^\d{1,3}$/u.test(number)) return [won * 10_000, won];
  if (won < 1_000 && FEW_IN_WORDS.test(core)) return [won * 1_000, won];
  const last = /\d, (\d{3})(?!\d)[^\d]*$/u.exec(core)?.[1];
  if (last !== undefined) return Number(last) > 0 ? [won, Number(last)] : [won];
  return readClipped(number, won);
}

/** 삼만이 is 32,000, or 30,000 with a particle. */
function readParticle(core: string): readonly number[] {
  const read = /[십백천만억] ?이$/u.test(core) ? readWon(core.slice(0, -1)) : undefined;
  return read?.ok === true ? [read.won] : [];
}

/** Without a scale and a currency. */
const FEW_IN_WORDS = new RegExp(`^(?!.*(?:${LONG_SCALE_WORDS}|won|krw))[a-z][a-z -]*$`, "u");

/** Two amounts, of which one is meant: `5~6만원`, `5만원에서 7만원`, `5 or 6만원`, `이삼만원`. */
function readTwo(core: string): readonly number[] {
  const pair = /^(일이|이삼|삼사|사오|오륙|오육|육칠|칠팔|팔구)(?=[십백천만억])/u.exec(core)?.[0];
  if (pair !== undefined) return readEach(pair[0] + core.slice(2), core.slice(1));

  const match =
    /^(.+?) ?(?:~|-|–|에서|이나|나|아니면|또는|혹은| or | to ) ?(.+?)(?: ?사이)?$/u.exec(core);
  if (!match) return [];
  const [, low = "", high = ""] = match;
  const unit = UNIT_BEHIND.exec(high)?.[0] ?? "";
  return readEach(WITHOUT_UNIT.test(low) ? `${low}${unit}` : low, high);
}

const UNIT_BEHIND = new RegExp(
  `(?:[십백천만억조]+|(?: ?hundred)?(?: (?:${LONG_SCALE_WORDS})|(?:${SCALE_WORDS})))? ?(?:원|won)?$`,
  "u",
);
const WITHOUT_UNIT = new RegExp(`^(?:[\\d.]+|(?!.*(?:${LONG_SCALE_WORDS}|won))[a-z-]+)$`, "u");

function readEach(low: string, high: string): readonly number[] {
  const [lower, upper] = [readWon(low), readWon(high)];
  return lower.ok && upper.ok ? [lower.won, upper.won] : [];
}

export const CURRENCIES: Readonly<Record<string, string>> = {
  USD: "달러|불|us ?dollars?|dollars?|usd|bucks?|\\$",
  EUR: "유로화?|euros?|eur|€",
  JPY: "엔화?|yen|jpy|¥",
  CNY: "위안화?|yuan|rmb|cny|元",
  GBP: "파운드|pounds?|gbp|quid|£",
  THB: "바트|baht|thb|฿",
  VND: "동|dong|vnd|₫",
  CHF: "프랑|francs?|chf",
  BTC: "비트코인|bitcoins?|btc|₿",
};
const CURRENCY_NAMES = Object.values(CURRENCIES).join("|");
const SIGNS = "[$€£¥฿₫₿]";
const NUMBERLIKE = "[\\d일이삼사오육칠팔구십백천만억조.,a-z -]+";

const FOREIGN: readonly RegExp[] = [
  new RegExp(`^(?:us|a|c)?(${SIGNS}) ?${NUMBERLIKE}$`, "u"),
  new RegExp(`^(usd|eur|jpy|cny|gbp) ?${NUMBERLIKE}$`, "u"),
  new RegExp(`^${NUMBERLIKE} ?(?<![a-z])(${CURRENCY_NAMES})$`, "u"),
];
const CODES = Object.entries(CURRENCIES).map(
  ([code, names]) => [code, new RegExp(`^(?:${names})$`, "u")] as const,
);

function foreignCurrencyOf(core: string): string | undefined {
  const name = FOREIGN.map((pattern) => pattern.exec(core)?.[1]).find((one) => one !== undefined);
  if (name === undefined) return undefined;
  return CODES.find(([, names]) => names.test(name))?.[0];
}
