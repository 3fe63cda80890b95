import { deriveAmounts } from "../money/derived.ts";
import { findMoney } from "../money/find-money.ts";
import { withoutOpenWord } from "../money/glued-money.ts";
import { NAME_PARTICLES } from "../lexicon/names.en.ts";
import { TITLES, PURPOSE_ENDS } from "../lexicon/names.ko.ts";
import { MARKS } from "./marked-words.ts";
import { parseMoney, type MoneyReading } from "../money/money.ts";
import { KIN } from "./names.ts";
import { understood, type Found } from "../reading.ts";
import { findWhen } from "../days/when.ts";

/** A sentence in one line, with marks in place of what other readers read in it. */
export interface MarkedLine {
  readonly text: string;
  /** What a mark and a number stand for. */
  readonly moneys: readonly MoneyReading[];
  readonly accounts: readonly string[];
}

/** Marks amounts, days, accounts, and the signs between words. Pure. */
export function markedLine(sentence: string): MarkedLine {
  const line = withSpaces(lineOf(sentence));
  const moneys = moneysIn(line);
  const accounts = [...line.matchAll(ACCOUNT)].map(({ index: at, 0: words }) => ({ at, words }));
  const days = findWhen(line, { today: "2000-01-01" });
  const spans = [
    ...moneys.map((money, index) => spanOf(money, `${MARKS.money}${index}`)),
    ...days.map((day) => spanOf(day, MARKS.day)),
    ...accounts.map((account, index) => spanOf(account, `${MARKS.account}${index}`)),
  ];
  const text = withSigns(replaced(line, spans));
  return { text, moneys, accounts: accounts.map(({ words }) => words) };
}

/** The amounts of a line; what it computes of amounts that it names is one: 5천원짜리 세 개. */
function moneysIn(line: string): readonly Found<MoneyReading>[] {
  const moneys = findMoney(line).map((money) => withoutNextWord(line, money));
  const sums = deriveAmounts(line, {}).flatMap(({ isWhole, words, value, how }) => {
    const at = line.indexOf(words);
    if (!isWhole || at < 0) return [];
    const per = how === "split" ? ("each" as const) : undefined;
    // 10만원을 엄마하고 아빠한테 나눠서: the people between are not a part of the sum.
    const base = SOMEONE.test(words) ? moneys.find((money) => money.at === at)?.words : undefined;
    const read = understood(value, base ?? words);
    return [{ ...read, sure: "partial" as const, per, bound: undefined, at }];
  });
  const isPart = ({ at }: Found<MoneyReading>): boolean =>
    sums.some((sum) => at >= sum.at && at < sum.at + sum.words.length);
  return [...moneys.filter((money) => !isPart(money)), ...sums].toSorted((a, b) => a.at - b.at);
}

const SOMEONE = /(?:한테|에게|께|하고|랑)(?!\p{L})|\b(?:to|between|among)\b/u;

interface MarkedSpan {
  readonly at: number;
  readonly words: string;
  readonly mark: string;
  /** 철수오만원 does not say whether it is 철수 or 철수오. */
  readonly isOpen: boolean;
}

function spanOf(
  { at, words, sure }: { readonly at: number; readonly words: string; readonly sure?: string },
  mark: string,
): MarkedSpan {
  return { at, words, mark, isOpen: mark.startsWith(MARKS.money) && sure === "ambiguous" };
}

function replaced(line: string, spans: readonly MarkedSpan[]): string {
  let text = "";
  let end = 0;
  for (const { at, words, mark, isOpen } of spans.toSorted((a, b) => a.at - b.at)) {
    if (at < end) continue;
    const before = isOpen ? withoutOpenWord(line.slice(end), at - end) : line.slice(end, at);
    text += `${before} ${mark} `;
    end = at + words.length;
    end += PARTICLE.exec(line.slice(end, end + 6))?.[0].length ?? 0;
  }
  return text + line.slice(end);
}

const ACCOUNT = new RegExp(
  "(?:[가-힣]{2,6}(?:은행|뱅크)? ?)?" +
    "(?<![\\d-])(?:\\d{2,6}-\\d{2,6}-\\d{2,8}(?:-\\d{1,6})?|\\d{10,14})(?![\\d,-]| ?(?:원|won))",
  "gu",
);
/** Behind an amount, a day or an account: 5만원을, 25일에, 계좌로. */
const PARTICLE = new RegExp(
  "^(?:(?:이래|이야|이고|인데|이네|이지|이면|이에요|예요|이라고|이라서|입니다)요?(?=[\\s,.!?]|$)|" +
    `(?:으로|로|을|를|에게|에|은|는|만|이요|요|날|씩)(?=[\\s,\\d]|$|(?:${KIN}))|[을를](?=[가-힣]))`,
  "u",
);

/** 12만 이모한테, 12만 오 교수님: the next word has begun with what may be a numeral, or 동. */
function withoutNextWord(line: string, money: Found<MoneyReading>): Found<MoneyReading> {
  const { at, words } = money;
  const rest = line.slice(at + words.length, at + words.length + 12);
  const shorter = /^(.+) [가-힣]$/u.exec(words)?.[1];
  if (shorter === undefined || !BEGUN.test(rest) || PARTICLE.test(rest)) return money;
  const read = parseMoney(shorter);
  return read.ok ? { ...read, at } : money;
}

const BEGUN = new RegExp(`^(?:[가-힣]| (?:${TITLES.join("|")}))`, "u");

// --- signs

/** An arrow points from an amount to its person; before an amount it is like a colon. */
const ARROWS = new RegExp(`(${MARKS.money}\\d{1,2})? {0,2}(?:[=-]?>|→|⇒)`, "gu");
/** 잊지 말고 says how, and not whom not. */
const DO_NOT_FORGET = /(?:잊지|까먹지|늦지|빼먹지|틀리지|걱정하지|실수하지) ?(?:말고|않게)/gu;
const INSTEAD_OF = /\b(?:instead of|rather than|other than)\b/giu;

/** Signs between words become words. */
function withSigns(text: string): string {
  return text
    .replaceAll(ARROWS, (_, money?: string) =>
      money ? `${money} ${MARKS.arrow} ` : ` ${MARKS.pair} `,
    )
    .replaceAll(/[:=：＝]/gu, ` ${MARKS.pair} `)
    .replaceAll(DO_NOT_FORGET, "")
    .replaceAll(INSTEAD_OF, "not")
    .replaceAll(";", ` ${MARKS.joiner} ; `)
    .replaceAll(/[,，、/·&+]|그리고|(?<=\s)및(?=\s)/gu, ` ${MARKS.joiner} `);
}

// --- one line

/** Without the signs that say nothing, and with spaces and commas instead of lines. */
function lineOf(sentence: string): string {
  return sentence
    .normalize("NFC")
    .replaceAll(/\p{Co}/gu, " ")
    .trim()
    .replaceAll(/\s*[\r\n]+\s*/gu, ", ")
    .replaceAll(BULLET, "")
    .replaceAll(DASH, ": ")
    .replaceAll(/➡️?/gu, "→")
    .replaceAll(EMOJI, " ")
    .replaceAll(/(?<!\S)@(?=\p{L})/gu, "")
    .replaceAll(QUOTED_NAME, "$1")
    .replaceAll(APPOSITION, " ")
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, " ")
    .replaceAll(HONORIFIC, "")
    .replaceAll(ABBREVIATION, MARKS.dot)
    .replaceAll(INITIAL, MARKS.dot)
    .replaceAll(INSIDE_NAMES, (words) => words.replaceAll(" ", MARKS.space))
    .trim();
}

const BULLET = /(?<=^|, )(?:\d{1,2}[.)]|[-*•]) /gu;
/** 엄마-3만원 and 엄마 - 3만원; 엄마 -3만원 is less than nothing. */
const DASH = /(?:(?<=\p{L})[-–—]| [-–—](?= )) ?(?=\d[\d,.]{0,12} ?(?:[만천백억원k]|won))/giu;
const EMOJI =
  /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|\u{FE0F}|\u{200D})+/gu;
/** "울 짝꿍"한테, to "Big Mike" */
const QUOTED_NAME = new RegExp(
  "(?:(?<=\\bto )|" +
    "(?=[\"“‘'][^\"”’']{1,20}[\"”’'] ?(?:한테|에게|께|님|씨|[은는]|이?랑|하고|\\d)))" +
    "[\"“‘']([^\"”’']{1,20})[\"”’']",
  "gu",
);
/** 홍길동(국민은행) */
const APPOSITION = /(?<=\p{L} ?)\((?![^)]{0,30}(?:한테|에게))[^()\d]{1,30}\)/gu;
/** 김철수 씨 */
const HONORIFIC =
  /(?<=[가-힣]{2}) (?=[씨님](?:에게|한테|께|이랑|랑|하고|와|과|은|는|이|가|도|[\s,:=]|$))/gu;
const ABBREVIATION = /(?<=\b(?:mr|mrs|ms|dr|prof|jr|sr))\.(?= ?\p{L})/giu;
/** J. Kim */
const INITIAL = /(?<=(?<![\p{L}\p{N}])\p{Lu})\.(?= ?\p{L})/gu;
/** Bank of America */
const INSIDE_NAMES = new RegExp(
  `(?<=\\p{Lu}[\\p{L}'’-]{1,20})(?: (?:${NAME_PARTICLES.join("|")})){1,2} (?=\\p{Lu}\\p{L})`,
  "gu",
);

// --- glued words

const TO = "(?:한테|에게|께)";
/** A relative, and no other word that begins so: 형 of 형한테, but not of 형광등. */
const RELATIVE = `(?:${KIN})(?=$|[\\s\\d,.!]|${TO}|이랑|랑|하고|도(?![가-힣])|님)`;
/** 홍길동한테; 이한테 alone is an ending. */
const SOME_ONE = `[가-힣]{2,}${TO}`;
const VERB = "보내 ?(?:줘|주라|주세요)|(?:이체|송금|입금) ?해 ?(?:줘|주세요)|부쳐 ?줘";

/** Words that fast typing leaves without a space, where only one reading is possible. */
const GLUED: readonly (readonly [pattern: RegExp, spaced: string])[] = [
  // 엄마한태, 엄마하테; 박한태 is a name
  [/(?<=[가-힣]{2})(?:한태|한텨|항테|하테)(?=$|[\s\d,.!~]|[도는](?![가-힣]))/gu, "한테"],
  // 엄마한테보내줘
  [new RegExp(`(${TO})(?=보내|부쳐|쏴|이체|송금|입금)`, "gu"), "$1 "],
  // 5만원보내줘엄마한테
  [new RegExp(`(${VERB})(?=${RELATIVE}|${SOME_ONE})`, "gu"), "$1 "],
  // 내일엄마한테, 아니엄마한테
  [
    new RegExp(`(?<![가-힣])(오늘|내일|모레|아니|그럼|그냥)(?=${RELATIVE}|${SOME_ONE})`, "gu"),
    "$1 ",
  ],
  // 엄마아빠; 엄마동생 is one person
  [
    new RegExp(
      `(?<![가-힣])(엄마(?=아빠)|아빠(?=엄마)|어머니(?=아버지)|아버지(?=어머니))(?=${RELATIVE})`,
      "gu",
    ),
    "$1 ",
  ],
  // 엄마용돈
  [
    new RegExp(
      `(?<![가-힣])(${KIN})(?=(?:점심|저녁|아침|밥|생일|학원|병원)?(?:${PURPOSE_ENDS})(?![가-힣]))`,
      "gu",
    ),
    "$1 ",
  ],
  // 우리엄마; 우리은행 is a bank
  [new RegExp(`(?<![가-힣])(우리|울)(?=${RELATIVE})`, "gu"), "$1 "],
  // 엄마랑아빠한테
  [
    new RegExp(`((?<![가-힣])[가-힣]{2,12}?(?:이랑|랑|하고))(?=${RELATIVE}|${SOME_ONE})`, "gu"),
    "$1 ",
  ],
];

/** A sentence with the spaces that its writer left out. Pure. */
function withSpaces(line: string): string {
  return GLUED.reduce((text, [pattern, spaced]) => text.replaceAll(pattern, spaced), line);
}
