import { findMoney } from "./find-money.ts";
import { KIN } from "./names.ts";
import {
  LONGEST_VALUE,
  notUnderstood,
  understood,
  type NotUnderstood,
  type Understood,
} from "./reading.ts";

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
const ENDS = new RegExp(
  "(?:[\\s.!~,ㅎㅋㅏ-ㅣ]|\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\u{FE0F})+$",
  "u",
);
const COPULA =
  /(?<=[가-힣]) ?(?:이요|요|입니다|이에요|예요|이야|이에여|(?<=[가-힣]{2})한태|한테 ?(?:보내 ?줘|보내 ?주세요)?|에게|께|앞으로|으로)$/u;

/** A name without particles, politeness and possessives; 님 and 씨 go, 선생님 stays. */
export function withoutEnds(words: string): string {
  let name = words;
  for (let taken = 0; taken < 4; taken++) {
    const shorter = name
      .replace(ENDS, "")
      .replace(POSSESSIVE, "")
      .replace(COPULA, "")
      .replace(
        new RegExp(
          "(?<=[가-힣]{2})(?<!선생|부모|사장|과장|부장|팀장|차장|이사|교수|원장|고객|스|" +
            "누|형|아저|어머|아버|할머|할아버)(?: ?님| ?씨)$",
          "u",
        ),
        "",
      )
      .trim();
    if (shorter === name) break;
    name = shorter;
  }
  return name;
}

/** Endings of speech, which no name has. */
const SPEECH = new RegExp(
  "(?:줘|주라|세요|니다|습니까|어요|아요|해요|돼요|네요|죠|까|려고|싶어|할게|할래|했어|" +
    "됐어|있어|없어|몰라|프다|하다|한다|했다|싶다|좋다|싫다|었다|았다|는데|은데|한데|어떡하지|던데|거든|" +
    "잖아|구나|이체|송금|보내|다고|라고)$",
  "u",
);
const NO_NAMES: ReadonlySet<string> = new Set(
  (
    "그냥 그럼 그러면 아니 아니요 다시 대략 약간 우선 일단 각각 각자 전부 모두 다 금액 " +
    "금액은 메모 송금 이체 추가로 한번에 현금 용돈 월세 생활비 회비 축의금 급하게 빨리 얼른 " +
    "지금 바로 그리고 또 좀 제발 혹시 돈 계좌 통장 누구 아무나 네 예 응 근데 근데요 그런데 그런데요 but 안녕 안녕하세요 " +
    "하이 뭐 왜 나중에 이번 다음 오늘 내일 어제 씩 은행 send pay give wire " +
    "계속 진행 이제 이젠 이번에 이번에는 이번엔 이번에도 이번은 다음에 다음에는 다음엔 다음은 마지막 마지막으로 이어서 " +
    "오늘은 내일은 그다음 그다음에 그담에 이왕이면 기왕이면 참 now then also next this time " +
    "한번 한번만 이번만 이번 꼭 급히 몰래 먼저 방금 아까 보내고 transfer please yes no hi hello hey money some won " +
    "each"
  ).split(" "),
);
const LONGEST_NAME_WORDS = 4;

/** 홍길동5만원, 오만원; an account has digits too. */
function hasAmount(word: string): boolean {
  return /[가-힣]/u.test(word) && /[\d원]/u.test(word) && findMoney(word).length > 0;
}

/** Whether words can be a name: letters or an account number, not a sentence, an amount or a day. */
export function isName(name: string): boolean {
  if (!/[\p{L}\p{N}]/u.test(name) || /[?？!"<>{}]/.test(name)) return false;
  const parts = name.split(" ");
  if (parts.length > LONGEST_NAME_WORDS || parts.some((part) => NO_NAMES.has(part.toLowerCase()))) {
    return false;
  }
  return (
    !/\p{L}{2}[을를]$/u.test(name) &&
    !parts.some((part) => SPEECH.test(part)) &&
    !parts.some(hasAmount) &&
    !/^\d{0,5}$/.test(name) &&
    !/^\d[\d,.]*(?:만|천|원|일|시|월)/u.test(name) &&
    !/^[ㄱ-ㅎㅏ-ㅣ ]+$/u.test(name)
  );
}
