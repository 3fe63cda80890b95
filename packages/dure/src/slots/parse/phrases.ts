import { fold, tokensOf, type Locale } from "./text.ts";

/**
 * Whether a message, as a whole, means yes or no. A list of whole words, never a search inside a
 * sentence: `메모에 취소환불이라고 써줘` contains 취소 and cancels nothing. What is not clearly a yes is none.
 * Source: docs/spec/conversation §8.
 */
export type ConfirmDecision =
  | { readonly confirm: true; readonly because: "listed-words" }
  | {
      readonly confirm: false;
      readonly because: "empty" | "question" | "refusing-emoji" | "other-words";
    };

export type CancelDecision =
  | { readonly cancel: true; readonly because: "listed-words" | "explicit-after-lead-in" }
  | { readonly cancel: false; readonly because: "empty" | "question" | "other-words" };

export type ContinueDecision =
  | { readonly choice: "continue"; readonly because: "listed-words" }
  | { readonly choice: "stop"; readonly because: "listed-words" | "explicit-after-lead-in" }
  | {
      readonly choice: "none";
      readonly because: "empty" | "question" | "refusing-emoji" | "other-words";
    };

/**
 * Pure; the first rule that applies wins. English words count in an English session only; Korean
 * ones in both.
 */
export function isConfirm(text: string, locale: Locale): ConfirmDecision {
  const folded = fold(text);
  if (isQuestion(folded)) return { confirm: false, because: "question" };
  if (REFUSING_EMOJI.test(folded)) return { confirm: false, because: "refusing-emoji" };

  const tokens = tokensOf(folded);
  if (tokens.length === 0) return { confirm: false, because: "empty" };
  return isMadeOf(tokens, CONFIRM[locale]) && !ASKS_TO_CHECK.test(tokens.join(" "))
    ? { confirm: true, because: "listed-words" }
    : { confirm: false, because: "other-words" };
}

/**
 * Pure. Both languages count in every session: to stop is always safe. A question (`됐어?`) never
 * cancels.
 */
export function isCancel(text: string, _locale: Locale): CancelDecision {
  const folded = fold(text);
  if (isQuestion(folded)) return { cancel: false, because: "question" };

  const tokens = tokensOf(folded)
    .map((token) => token.replace(/(?<=[가-힣])(?:ㅠ+|ㅜ+)$/, ""))
    .filter((token) => !/^(?:ㅠ+|ㅜ+)$/.test(token));
  if (tokens.length === 0) return { cancel: false, because: "empty" };
  if (isRefusal(tokens)) return { cancel: true, because: "listed-words" };

  for (let leads = 1; leads <= 2 && leads < tokens.length; leads++) {
    if (!tokens.slice(0, leads).every((token) => LEAD_INS.has(token))) break;
    if (isMadeOf(tokens.slice(leads), EXPLICIT_CANCEL)) {
      return { cancel: true, because: "explicit-after-lead-in" };
    }
  }
  return { cancel: false, because: "other-words" };
}

/** The answer to `ASK_CONTINUE`, buttons [계속 진행, 취소]: whether the rest of a batch goes on. Pure. */
export function parseContinue(text: string, locale: Locale): ContinueDecision {
  const cancel = isCancel(text, locale);
  if (cancel.cancel) return { choice: "stop", because: cancel.because };

  const confirm = isConfirm(text, locale);
  if (confirm.confirm) return { choice: "continue", because: "listed-words" };
  if (confirm.because !== "other-words") return { choice: "none", because: confirm.because };
  return isMadeOf(tokensOf(fold(text)), CONTINUE)
    ? { choice: "continue", because: "listed-words" }
    : { choice: "none", because: "other-words" };
}

/**
 * ASCII (full-width is folded to it), Arabic, Spanish, interrobang, vertical, small, and the emoji.
 */
function isQuestion(folded: string): boolean {
  return /[?؟¿‽⁇⁈⁉﹖︖❓❔]/u.test(folded);
}

/** `네 ❌` says two things at once, so it says nothing. */
const REFUSING_EMOJI = /[👎❌❎🙅🚫✋🛑⛔]/u;

/** 확인 해줘 is 확인해줘 with a space, and asks for a check. */
const ASKS_TO_CHECK = /(?:^| )확인 (?:해|할|하)/;

/**
 * Refusals, then what is said by name; never the other way round: 취소 안 할래, 취소 하지 마 and 취소 아니야
 * are made of cancelling words and mean the opposite.
 */
function isRefusal(tokens: readonly string[]): boolean {
  if (tokens.length > MAX_WORDS) return false;
  if (isMadeOf(tokens, REFUSALS)) return true;
  return tokens.some(
    (_, place) =>
      isMadeOfOrEmpty(tokens.slice(0, place), REFUSALS) &&
      isMadeOf(tokens.slice(place), EXPLICIT_CANCEL),
  );
}

function isMadeOfOrEmpty(tokens: readonly string[], list: ReadonlySet<string>): boolean {
  return tokens.length === 0 || isMadeOf(tokens, list);
}

/** A longer message is never only a yes or a no. */
const MAX_WORDS = 12;

/** Whether the tokens, in order and without a rest, are phrases of the list. */
function isMadeOf(tokens: readonly string[], phrases: ReadonlySet<string>): boolean {
  if (tokens.length === 0 || tokens.length > MAX_WORDS) return false;

  const reachable = [true];
  for (let end = 1; end <= tokens.length; end++) {
    reachable[end] = false;
    for (let start = Math.max(0, end - LONGEST_PHRASE); start < end; start++) {
      if (reachable[start] && phrases.has(tokens.slice(start, end).join(" "))) {
        reachable[end] = true;
      }
    }
  }
  return reachable[tokens.length]!;
}

/**
 * Words of the longest phrase in the lists below: `do not send it`, `보내지 말아 주세요`, with room for
 * one.
 */
const LONGEST_PHRASE = 5;

/** `_` marks a place where people may or may not put a space: `보내_줘` is 보내줘 and 보내 줘. */
function phrases(...spellings: readonly string[]): Set<string> {
  const all = new Set<string>();
  for (const spelling of spellings) {
    const parts = spelling.split("_");
    for (let spaces = 0; spaces < 2 ** (parts.length - 1); spaces++) {
      all.add(
        parts.reduce(
          (text, part, index) => `${text}${(spaces >> (index - 1)) & 1 ? " " : ""}${part}`,
        ),
      );
    }
  }
  return all;
}

/** The list of the specification, word by word; what it writes in brackets is optional. */
const SPECIFIED_CONFIRM = phrases(
  ...[
    "확인",
    "네",
    "예",
    "응",
    "맞아",
    "맞아요",
    "맞습니다",
    "그래",
    "그래요",
    "그럼",
    "그럼요",
    "좋아",
    "좋아요",
    "좋습니다",
  ],
  ...["ok", "okay", "ㅇㅇ", "ㅇㅋ"],
  ...["진행", "진행_해", "진행_해_줘", "진행_해_주세요", "진행_할게요", "진행_하겠습니다"],
  ...["보내", "보내_줘", "보내_주세요", "보내요"],
  ...["이체", "이체_해", "이체_해_줘", "이체_해_주세요"],
  ...["해_줘", "할게", "할게요", "하겠습니다", "당연"],
);

/**
 * The same words as fast thumbs write them: repeated, clipped, or ok in Hangul. Nothing here means
 * anything but yes.
 */
const TYPED_CONFIRM = phrases(
  ...[
    "네네",
    "네네네",
    "예예",
    "응응",
    "넵",
    "넵넵",
    "넹",
    "옙",
    "ㅇㅇㅇ",
    "ㅇㅇㅇㅇ",
    "ㅇㅋㅇㅋ",
    "오케이",
    "해_주세요",
  ],
);

const ENGLISH_CONFIRM = phrases(
  ...[
    "yes",
    "yes please",
    "yeah",
    "yep",
    "yup",
    "sure",
    "confirm",
    "confirmed",
    "correct",
    "thats right",
    "thats correct",
  ],
  ...[
    "looks good",
    "go ahead",
    "please go ahead",
    "do it",
    "please do",
    "proceed",
    "please proceed",
  ],
  ...["send", "send it", "send it please", "please send", "please send it"],
);

const CONFIRM = {
  ko: SPECIFIED_CONFIRM.union(TYPED_CONFIRM),
  en: SPECIFIED_CONFIRM.union(TYPED_CONFIRM).union(ENGLISH_CONFIRM),
} as const satisfies Record<Locale, ReadonlySet<string>>;

/** Says so by name: these may follow a lead-in such as 네 or 그냥 (`네, 취소해주세요`). */
const EXPLICIT_CANCEL = phrases(
  ...[
    "취소",
    "취소요",
    "취소_해",
    "취소_해요",
    "취소_해_줘",
    "취소_해_줘요",
    "취소_해_주세요",
    "취소_할래",
    "취소_할래요",
  ],
  ...[
    "취소_할게",
    "취소_할게요",
    "취소_하자",
    "취소_합니다",
    "취소_하겠습니다",
    "취소_부탁해요",
    "취소_부탁드려요",
    "취소_부탁드립니다",
  ],
  ...[
    "그만",
    "그만요",
    "그만_해",
    "그만_해요",
    "그만_해_줘",
    "그만_할래",
    "그만_할래요",
    "그만_할게",
    "그만_할게요",
    "그만_하자",
  ],
  ...["그만_하겠습니다", "그만_둘래", "그만_둘래요", "그만_둘게", "그만_둘게요"],
  ...[
    "cancel",
    "cancel it",
    "cancel that",
    "cancel this",
    "cancel please",
    "please cancel",
    "please cancel it",
  ],
  ...["cancel the transfer", "cancel this transfer", "stop", "stop it", "please stop", "abort"],
);

const REFUSALS = phrases(
  ...[
    "안_할래",
    "안_할래요",
    "안_할게",
    "안_할게요",
    "안_해",
    "안_해요",
    "안_합니다",
    "안_하겠습니다",
  ],
  ...[
    "안_보낼래",
    "안_보낼래요",
    "안_보낼게",
    "안_보낼게요",
    "안_보내",
    "안_보내요",
    "안_보내도_돼",
    "안_보내도_돼요",
    "안_보내도_됩니다",
  ],
  ...[
    "됐어",
    "됐어요",
    "됐습니다",
    "필요_없어",
    "필요_없어요",
    "필요_없습니다",
    "싫어",
    "싫어요",
    "싫습니다",
  ],
  ...["하지_마", "하지_마요", "하지_마세요", "하지_말아_줘", "하지_말아_주세요"],
  ...["보내지_마", "보내지_마요", "보내지_마세요", "보내지_말아_줘", "보내지_말아_주세요"],
  ...["이체_하지_마", "이체_하지_마세요", "진행_하지_마", "진행_하지_마세요"],
  ...[
    "아니",
    "아니요",
    "아니오",
    "아뇨",
    "아냐",
    "아니야",
    "아닙니다",
    "아니에요",
    "아니예요",
    "ㄴㄴ",
    "ㄴㄴㄴ",
    "노",
  ],
  ...["no", "nope", "no thanks", "no thank you", "never mind", "nevermind", "forget it"],
  ...["dont do it", "do not do it", "dont send", "dont send it", "do not send", "do not send it"],
);

/** Words that may stand before an explicit cancel without changing what the message means. */
const LEAD_INS: ReadonlySet<string> = new Set([
  "네",
  "예",
  "응",
  "그래",
  "그럼",
  "그냥",
  "아",
  "이제",
  "이거",
  "그거",
  "이체",
  "송금",
  "ok",
  "yes",
  "please",
  "just",
]);

const CONTINUE = CONFIRM.en.union(
  phrases(
    ...[
      "계속",
      "계속요",
      "계속_진행",
      "계속_진행_해",
      "계속_진행_해_줘",
      "계속_진행_해_주세요",
      "계속_진행_할게요",
      "계속_진행_하겠습니다",
    ],
    ...[
      "계속_해",
      "계속_해요",
      "계속_해_줘",
      "계속_해_주세요",
      "계속_할게",
      "계속_할게요",
      "계속_할래",
      "계속_할래요",
    ],
    ...["계속_보내_줘", "계속_보내_주세요", "이어서_해_줘", "이어서_진행_해_줘", "이어서_보내_줘"],
    ...["continue", "please continue", "continue please", "keep going", "carry on", "go on"],
  ),
);
