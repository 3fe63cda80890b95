import { findMoney } from "../money/find-money.ts";
import { LIKE_SMALL_WORDS, SURNAMES_LIKE_SMALL_WORDS } from "../lexicon/names.en.ts";
import { HONORED, SPEECH_ENDS, TITLES } from "../lexicon/names.ko.ts";
import { isSmallWord, KIN } from "./names.ts";
import {
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type NotUnderstood,
  type Understood,
} from "../reading.ts";

/** A person's name in a sentence. */
export type PersonReading = Understood<string> | NotUnderstood<"empty" | "not-a-name">;

/**
 * A person or an account as it is answered to a question: `엄마요`, `홍길동님에게`, `to John Smith`,
 * `국민 110-234-567890`. A sentence is none (`배고프다`). Keeps the spelling. Pure.
 */
export function parsePerson(text: string): PersonReading {
  const words = text
    .normalize("NFC")
    .replaceAll(/[\p{C}\p{Z}\s]+/gu, " ")
    .trim();
  if (words === "") return notUnderstood("empty", words);
  if (words.length > LONGEST_VALUE) return notUnderstood("not-a-name", words);

  const name = withoutEnds(words);
  return isName(name) && !SENTENCE.test(name)
    ? understood(name, words)
    : notUnderstood("not-a-name", words);
}

/** 졸려, 잠깐만, 글쎄: how a sentence ends or begins, and an answered name does not. */
const SENTENCE = new RegExp(
  "(?:[가-힣](?:까|네|죠|군|려|파|워|잖아)|어때|잠깐만?|잠시만?|나중에|글쎄|몰라)$|" +
    "^(?:i|i'm|im|it|hmm|wait|what|why|later)(?![a-z])",
  "iu",
);

const POSSESSIVE = new RegExp(
  `^(?:(?:우리|울|제|내|저희|my|our|the|to|음+|네|예|그) (?=\\S)|(?:우리|울)(?=(?:${KIN})$))`,
  "iu",
);
const EMOJI = "\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\u{FE0F}|\\u{200D}";
const ENDS = new RegExp(`^(?:[\\s]|${EMOJI})+|(?:[\\s.!~,ㅎㅋㅏ-ㅣ]|${EMOJI})+$`, "gu");
const COPULA =
  /(?<=[가-힣]) ?(?:이요|요|입니다|이에요|예요|이야|이에여|(?<=[가-힣]{2})한태|한테 ?(?:보내 ?줘|보내 ?주세요)?|에게|께|앞으로|으로)$/u;
const TITLES_WITH_HONOR = TITLES.filter((title) => title.length > 1).join("|");
const HONORIFIC = new RegExp(
  `(?<=[가-힣]{2})(?<!${TITLES_WITH_HONOR}|${HONORED.join("|")})(?: ?님| ?씨)$|` +
    `(?<=(?:${KIN}))(?:놈|녀석)$`,
  "u",
);

/** A name without particles, politeness and possessives; 님 and 씨 go, 선생님 stays. */
export function withoutEnds(words: string): string {
  let name = words;
  for (let taken = 0; taken < 4; taken++) {
    const shorter = name
      .replace(ENDS, "")
      .replace(POSSESSIVE, "")
      .replace(COPULA, "")
      .replace(HONORIFIC, "")
      .trim();
    if (shorter === name) break;
    name = shorter;
  }
  return name;
}

const SPEECH = new RegExp(`(?:${SPEECH_ENDS})$`, "u");
const LONGEST_NAME_WORDS = 4;

/** 홍길동5만원, 오만원; an account has digits too. */
function hasAmount(word: string): boolean {
  return /[가-힣]/u.test(word) && /[\d원]/u.test(word) && findMoney(word).length > 0;
}

/** A small word, unless it stands inside of a name (Bank of America) or begins one (Will Smith). */
function isNoPart(part: string, place: number, parts: readonly string[]): boolean {
  if (!isSmallWord(part) || LIKE_SMALL_WORDS.has(part)) return false;
  if (
    SURNAMES_LIKE_SMALL_WORDS.has(part) &&
    /^\p{Lu}\p{L}+-\p{L}+$/u.test(parts[place + 1] ?? "")
  ) {
    return false;
  }
  const isInside = place > 0 && place < parts.length - 1;
  const isBank = parts.includes("of") && /^\p{Lu}/u.test(part);
  return !(isInside || isBank) || /[가-힣]/u.test(part);
}

/** Whether words can be a name: letters or an account number, not a sentence, an amount or a day. */
export function isName(name: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(name) || /[?？!"<>{}]/.test(name)) return false;
  const parts = name.split(" ");
  if (parts.length > LONGEST_NAME_WORDS || parts.some(isNoPart)) return false;
  return (
    !/\p{L}(?![가노])\p{L}을$|\p{L}{2}를$/u.test(name) &&
    !parts.some((part) => SPEECH.test(part)) &&
    !parts.some(hasAmount) &&
    !/^\d{0,5}$/.test(name) &&
    !/^\d[\d,.]*(?:만|천|원|일|시|월)/u.test(name) &&
    !/^[ㄱ-ㅎㅏ-ㅣ ]+$/u.test(name)
  );
}
