import { PURPOSE_ENDS } from "../lexicon/names.ko.ts";
import { KIN } from "./names.ts";

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
export function withSpaces(line: string): string {
  return GLUED.reduce((text, [pattern, spaced]) => text.replaceAll(pattern, spaced), line);
}
