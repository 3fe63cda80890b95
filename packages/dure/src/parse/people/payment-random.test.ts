// @module-tag slow
import { expect, test } from "vitest";
import { josaOnly, type Josa } from "../josa.ts";
import { findPayments } from "./payments.ts";

/**
 * Sentences made by seed of people, amounts, particles, titles, purposes and what stands around
 * them. Who gets what is known before, and must be what is read.
 */

const SENTENCES = 1_000;

/** Numbers in a fixed order, so that a failed sentence comes again. */
function chooser(seed: number): <One>(all: readonly One[]) => One {
  let state = seed;
  return (all) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return all[Math.floor((state / 2 ** 32) * all.length)]!;
  };
}

type Choose = ReturnType<typeof chooser>;

interface Said {
  readonly sentence: string;
  /** `엄마 50000`, in the order of the sentence. */
  readonly expected: readonly string[];
}

interface Amount {
  readonly words: string;
  readonly won: number;
}

function amountsFrom(table: string): Amount[] {
  return table.split("; ").map((line) => {
    const [words = "", won] = line.split("|");
    return { words, won: Number(won) };
  });
}

function severalOf<One>(all: readonly One[], count: number, choose: Choose): One[] {
  const chosen = new Set<One>();
  while (chosen.size < count) chosen.add(choose(all));
  return [...chosen];
}

// --- Korean

const KO_NAMES = (
  "엄마/아빠/동생/누나/할머니/이모/집주인/철수/영희/민수/지은/예은/수진/이수/안나/하나/보라/홍길동/김철수/" +
  "이영희/박지은/정은/남궁민수/마이클/스미스/제임스/안젤리나/존/John/Amy/김 대리/박 과장/최 팀장님/이 부장/정 이사/" +
  "오 교수님/박 선생님/큰 이모/민수 엄마/옆집 아저씨"
).split("/");
const KO_AMOUNTS = amountsFrom(
  "5만원|50000; 3만 5천원|35000; 20,000원|20000; 만원|10000; 오만원|50000; 12만|120000; 15000원|15000; 1.5만원|15000",
);
const KO_PURPOSES = "용돈/월세/점심값/축의금/회비/생일 선물/커피값".split("/");
const KO_BEFORE = [
  "",
  "",
  "음 ",
  "저기 ",
  "아차, ",
  "네 ",
  "그럼 ",
  "내일 ",
  "참 ",
  "미안, ",
  "근데 ",
];
const KO_BEHIND = [
  "",
  "",
  " 보내줘",
  " 이체해 주세요",
  " 부탁해",
  "!",
  " 보내줄래?",
  " 송금 부탁드려요",
];
const KO_BETWEEN = [", ", " ", ", ", " 그리고 ", " / ", "\n"];
/** About another person, who gets nothing. */
const KO_ABOUT_OTHERS = [
  "",
  "",
  "",
  "",
  "어제 영호한테 7만원 보냈어. ",
  "영호한테 7만원 받았어. ",
  "영호가 7만원 줬는데 ",
  "영호한테는 보내지 말고 ",
  "영호한테서 받은 돈으로 ",
];

function withJosa(name: string, josa: Josa): string {
  return `${name}${josaOnly(name, josa)}`;
}

/** 수진이 5만원 may be a name. */
function takesSubject(name: string): boolean {
  return name.length !== 2 || josaOnly(name, "이/가") === "가";
}

const KO_PERSON_FIRST: readonly ((name: string, amount: string, choose: Choose) => string)[] = [
  (name, amount) => `${name}한테 ${amount}`,
  (name, amount) => `${name}에게 ${amount}`,
  (name, amount) => `${name}께 ${amount}`,
  (name, amount) => `${name} ${amount}`,
  (name, amount) => `${withJosa(name, "은/는")} ${amount}`,
  (name, amount) => `${takesSubject(name) ? withJosa(name, "이/가") : name} ${amount}`,
  (name, amount) => `${name}: ${amount}`,
  (name, amount) => `${name}=${amount}`,
  (name, amount) => `${name} → ${amount}`,
  (name, amount) => `${name}한테는 ${amount}`,
  (name, amount, choose) => `${name} ${choose(KO_PURPOSES)} ${amount}`,
  (name, amount, choose) => `${name}한테 ${choose(KO_PURPOSES)} ${amount}`,
  (name, amount, choose) => `${withJosa(name, "은/는")} ${choose(KO_PURPOSES)} ${amount}`,
];
const KO_AMOUNT_FIRST: typeof KO_PERSON_FIRST = [
  (name, amount) => `${amount} ${name}한테`,
  (name, amount) => `${amount} ${name}에게`,
  (name, amount) => `${amount}을 ${name}한테`,
  (name, amount) => `${amount}은 ${name}께`,
];

function koreanPairs(choose: Choose): Said {
  const people = severalOf(KO_NAMES, choose([1, 2, 2, 3, 4]), choose);
  const forms = choose([KO_PERSON_FIRST, KO_PERSON_FIRST, KO_AMOUNT_FIRST]);
  const parts = people.map((name) => ({ name, amount: choose(KO_AMOUNTS) }));
  const said = parts.map(({ name, amount }) => choose(forms)(name, amount.words, choose));
  return {
    sentence: around(said.join(choose(KO_BETWEEN)), choose),
    expected: parts.map(({ name, amount }) => `${name} ${amount.won}`),
  };
}

/** One amount for each of several. */
function koreanGroup(choose: Choose): Said {
  const people = severalOf(KO_NAMES, choose([2, 3, 4]), choose);
  const amount = choose(KO_AMOUNTS.filter(({ words }) => words !== "12만"));
  const last = people.at(-1)!;
  const joined = choose([", ", "랑 ", "하고 ", ",", " 그리고 "]);
  const each = choose([
    `한테 ${amount.words}씩`,
    `한테 각각 ${amount.words}`,
    ` 각각 ${amount.words}`,
  ]);
  return {
    sentence: around(`${[...people.slice(0, -1), last].join(joined)}${each}`, choose),
    expected: people.map((name) => `${name} ${amount.won}`),
  };
}

function around(said: string, choose: Choose): string {
  return `${choose(KO_ABOUT_OTHERS)}${choose(KO_BEFORE)}${said}${choose(KO_BEHIND)}`;
}

// --- English

const EN_NAMES = (
  "Mom/Dad/mom/Jane/Bob/Amy/Kim/John Smith/Mr. Smith/Dr. Lee/Ms. Jones/O'Brien/Mary-Jane/J. Kim/" +
  "Jean-Luc Picard/Tom's mom/Ludwig van Beethoven/엄마/홍길동"
).split("/");
const EN_AMOUNTS = amountsFrom(
  "50k|50000; 30,000 won|30000; 20k won|20000; ₩15,000|15000; fifty thousand won|50000; 12,000|12000",
);
const EN_PURPOSES = "lunch/rent/coffee/the movie/dinner".split("/");
const EN_BETWEEN = [", ", " and ", "; ", ", and ", " and then "];
const EN_BEHIND = ["", "", " please", ", thanks", "!", " asap", " right now", " tomorrow"];
const EN_BEFORE = ["", "", "um, ", "please ", "hey, ", "ok so ", "oh wait, ", "also "];
const EN_VERBS = ["", "send ", "can you send ", "I'd like to send ", "transfer "];
const EN_ABOUT_OTHERS = [
  "",
  "",
  "",
  "",
  "I got 70k from Zoe. ",
  "Zoe paid me 70k, so ",
  "I sent 70k to Zoe yesterday. ",
  "don't send 70k to Zoe. ",
  "not to Zoe but ",
];

const EN_PERSON_FIRST: typeof KO_PERSON_FIRST = [
  (name, amount) => `${name} ${amount}`,
  (name, amount) => `${name}: ${amount}`,
  (name, amount) => `${name} = ${amount}`,
  (name, amount) => `${name} -> ${amount}`,
  (name, amount) => `to ${name} ${amount}`,
  (name, amount) => `for ${name} ${amount}`,
  (name, amount, choose) => `${name} ${amount} for ${choose(EN_PURPOSES)}`,
];
const EN_AMOUNT_FIRST: typeof KO_PERSON_FIRST = [
  (name, amount) => `${amount} to ${name}`,
  (name, amount) => `${amount} for ${name}`,
  (name, amount) => `${amount} → ${name}`,
  (name, amount, choose) => `${amount} to ${name} for ${choose(EN_PURPOSES)}`,
];

function englishPairs(choose: Choose): Said {
  const people = severalOf(EN_NAMES, choose([1, 2, 2, 3, 4]), choose);
  const isPersonFirst = choose([true, false]);
  const forms = isPersonFirst ? EN_PERSON_FIRST : EN_AMOUNT_FIRST;
  const parts = people.map((name) => ({ name, amount: choose(EN_AMOUNTS) }));
  const said = parts.map(({ name, amount }) => choose(forms)(name, amount.words, choose));
  const verb = isPersonFirst ? "" : choose(EN_VERBS);
  const before = `${choose(EN_ABOUT_OTHERS)}${choose(EN_BEFORE)}${verb}`;
  return {
    sentence: `${before}${said.join(choose(EN_BETWEEN))}${choose(EN_BEHIND)}`,
    expected: parts.map(({ name, amount }) => `${name} ${amount.won}`),
  };
}

function englishGroup(choose: Choose): Said {
  const people = severalOf(EN_NAMES, choose([2, 3, 4]), choose);
  const { words, won } = choose(EN_AMOUNTS);
  const list = `${people.slice(0, -1).join(", ")} and ${people.at(-1)}`;
  const said = choose([
    `send ${list} ${words} each`,
    `${words} each to ${list}`,
    `send ${words} each to ${list}`,
    `${words} each for ${list}`,
  ]);
  return {
    sentence: `${choose(EN_BEFORE)}${said}${choose(EN_BEHIND)}`,
    expected: people.map((name) => `${name} ${won}`),
  };
}

// --- what is read

function readIn(sentence: string): string[] {
  return findPayments(sentence).payments.map(({ to, amount }) => {
    const won = amount?.ok ? amount.value : (amount?.because ?? "-");
    return `${to} ${won}`;
  });
}

test.each([
  ["Korean sentence with an amount for each person", koreanPairs, 1],
  ["Korean sentence with one amount for several people", koreanGroup, 2],
  ["English sentence with an amount for each person", englishPairs, 3],
  ["English sentence with one amount for several people", englishGroup, 4],
] as const)("no person is lost or added in a %s", (_, sentenceBy, seed) => {
  const choose = chooser(seed);
  const wrong: object[] = [];
  for (let made = 0; made < SENTENCES; made++) {
    const { sentence, expected } = sentenceBy(choose);
    const read = readIn(sentence);
    if (read.join() !== expected.join()) wrong.push({ sentence, read, expected });
  }

  expect(wrong).toEqual([]);
});
