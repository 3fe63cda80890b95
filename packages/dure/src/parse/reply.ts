import { findMoney } from "./find-money.ts";
import { LONGEST_SENTENCE, type Sureness } from "./reading.ts";
import {
  CANCEL_REQUESTS,
  CANCEL_WORDS,
  CONTINUE_WORDS,
  isMadeOf,
  LEAD_INS,
  NO_WORDS,
  PUT_OFF_WORDS,
  YES_WORDS,
} from "./reply-words.ts";
import { fold, tokensOf, withoutEchoes } from "./text.ts";
import { findWhen } from "./when.ts";

/** What a message means as the answer to a question that waits for a yes. */
export type ReplyKind =
  | "yes"
  /** 아니요, 싫어, 안 돼, no: refuses, without a word of cancelling. */
  | "no"
  /** 취소, 멈춰, 나중에 할게, never mind: gives up what was asked about. */
  | "cancel-one"
  /** 전부 취소, cancel everything: also what waits behind it. */
  | "cancel-all"
  /** Another amount, day or person: 네 근데 7만원으로, make it 70k. */
  | "change"
  | "question"
  /** Something that answers nothing: small talk. */
  | "other"
  /** Could be an answer, and it is not plain which: 응 아니, 네 그런데. Ask again. */
  | "unsure";

/** Whether a message says yes, no, or something else. */
export interface Reply {
  readonly kind: ReplyKind;
  /** `exact` where whole words of a list say it; `approximate` where patterns do. */
  readonly sure: Sureness;
  readonly because: ReplyBecause;
  /** The message without its ends. */
  readonly words: string;
}

/** The rule that decided what a reply is; the first that applies. */
export type ReplyBecause =
  | "empty"
  | "too-long"
  | "listed-words"
  | "listed-emoji"
  | "question-mark"
  | "question-words"
  | "asks-to-change"
  | "says-what-it-is-not"
  | "names-a-value"
  | "yes-and-no"
  | "yes-with-more"
  | "no-with-more"
  | "nothing-of-these";

/**
 * Decides what a reply means, in both languages whatever the session's. A yes is a whole message of
 * listed words: what is not plainly yes is never yes. Pure; the first rule that applies wins.
 * Source: docs/spec/conversation §8.
 */
export function classifyReply(text: string): Reply {
  const words = text.trim();
  const decided = decide(words);
  return { ...decided, words };
}

type Decided = Omit<Reply, "words">;

function decide(words: string): Decided {
  if (words === "") return reply("other", "empty", "exact");
  if (words.length > LONGEST_SENTENCE) return reply("other", "too-long", "exact");

  const line = fold(words);
  const tokens = spokenTokens(line);
  const plain = decidePlain(line, tokens);
  if (plain) return plain;

  if (ASKS_FOR_WORDS.test(line)) return reply("question", "question-words");
  if (CHANGES.test(line)) return reply("change", "asks-to-change");
  if (CORRECTS.test(line)) return reply("change", "says-what-it-is-not");
  if (QUESTION_MARK.test(line)) return reply("question", "question-mark", "exact");
  if (ASKS.test(line)) return reply("question", "question-words");
  if (namesAValue(line)) {
    const corrects = isMadeOf(tokens.slice(0, 1), NO_WORDS);
    return reply("change", corrects ? "says-what-it-is-not" : "names-a-value");
  }
  return decideRest(tokens);
}

function reply(kind: ReplyKind, because: ReplyBecause, sure: Sureness = "approximate"): Decided {
  return { kind, because, sure };
}

// --- whole messages of listed words

function decidePlain(line: string, tokens: readonly string[]): Decided | undefined {
  const isQuestion = QUESTION_MARK.test(line);
  const emoji = { yes: YES_EMOJI.test(line), no: NO_EMOJI.test(line) };
  if (tokens.length === 0) return isQuestion ? undefined : decideEmoji(emoji);
  if (isMadeOf(tokens, CANCEL_REQUESTS)) return reply("cancel-one", "listed-words", "exact");
  if (isQuestion) return undefined;

  const refusal = decideRefusal(tokens);
  if (refusal) return refusal;
  if (isYes(tokens)) {
    return emoji.no
      ? reply("unsure", "yes-and-no", "ambiguous")
      : reply("yes", "listed-words", "exact");
  }
  return isMadeOf(tokens, ANY_ANSWER) && !ASKS_TO_CHECK.test(tokens.join(" "))
    ? reply("unsure", "yes-and-no", "ambiguous")
    : undefined;
}

function decideEmoji({ yes, no }: { readonly yes: boolean; readonly no: boolean }): Decided {
  if (yes && no) return reply("unsure", "yes-and-no", "ambiguous");
  if (yes) return reply("yes", "listed-emoji", "exact");
  return no ? reply("no", "listed-emoji", "exact") : reply("other", "nothing-of-these");
}

/** 확인 해줘 is 확인해줘 with a space, and asks for a check. */
const ASKS_TO_CHECK = /(?:^| )확인 ?(?:해|할|하|좀|부탁|바랍)/u;

function isYes(tokens: readonly string[]): boolean {
  return isMadeOf(tokens, YES_WORDS) && !ASKS_TO_CHECK.test(tokens.join(" "));
}

const ALL = new RegExp(
  "^(?:전부|전부다|모두|다|모조리|싹|싹다|몽땅|전체|나머지|나머지도|나머지는|all|" +
    "everything|both|of|them|the|rest)$",
  "u",
);
const REFUSALS = NO_WORDS.union(PUT_OFF_WORDS);
const ANY_ANSWER = YES_WORDS.union(REFUSALS).union(CANCEL_WORDS);
/** Of everything: 다 됐어 is no cancel. */
const REFUSES_ALL = /^(?:안|보내지|하지|dont)/u;

function decideRefusal(tokens: readonly string[]): Decided | undefined {
  const rest = tokens.filter((token) => !ALL.test(token));
  if (rest.length < tokens.length && rest.length > 0) {
    const isAll = isCancelByName(rest) || (isMadeOf(rest, REFUSALS) && REFUSES_ALL.test(rest[0]!));
    if (isAll) return reply("cancel-all", "listed-words", "exact");
  }
  if (isMadeOf(tokens, NO_WORDS)) return reply("no", "listed-words", "exact");
  return isMadeOf(withoutLeads(tokens), REFUSALS) || isCancelByName(tokens)
    ? reply("cancel-one", "listed-words", "exact")
    : undefined;
}

/**
 * Refusals, then what is said by name; never the other way round: 취소 안 할래, 취소 하지 마 and 취소 아니야
 * are made of cancelling words and mean the opposite.
 */
function isCancelByName(tokens: readonly string[]): boolean {
  for (let leads = 0; leads < tokens.length && leads <= MAX_LEADS; leads++) {
    const lead = tokens.slice(0, leads);
    const isLead =
      isMadeOfOrEmpty(lead, REFUSALS) ||
      (leads <= 3 && isMadeOfOrEmpty(lead, LEAD_INS.union(NO_WORDS)));
    if (isLead && isMadeOf(tokens.slice(leads), CANCEL_WORDS)) return true;
  }
  return false;
}

/** Words before a cancel: 아니 됐어요 그냥. */
const MAX_LEADS = 5;
/** Before 나중에 할게 and its likes: no yes. */
const HESITANT = new RegExp(
  "^(?:아|앗|어|음|흠|그냥|죄송한데|죄송해요|미안|미안한데|잠깐만|역시|아무래도|일단|" +
    "우선|um|oh|wait|sorry|actually)$",
  "u",
);

function withoutLeads(tokens: readonly string[]): readonly string[] {
  const leads = tokens.findIndex((token) => !HESITANT.test(token));
  return leads > 0 && leads <= 3 ? tokens.slice(leads) : tokens;
}

function isMadeOfOrEmpty(tokens: readonly string[], list: ReadonlySet<string>): boolean {
  return tokens.length === 0 || isMadeOf(tokens, list);
}

// --- patterns

/**
 * ASCII (full-width is folded to it), Arabic, Spanish, interrobang, vertical, small, and the emoji.
 */
const QUESTION_MARK = /[?؟¿‽⁇⁈⁉﹖︖❓❔]/u;
const YES_EMOJI = /[👍👌🙆✅☑🆗⭕🫡💯]/u;
/** `네 ❌` says two things at once, so it says nothing. */
const NO_EMOJI = /[👎❌❎🙅🚫✋🛑⛔✖]/u;
/** Words that ask, wherever they stand. */
const ASKS_FOR_WORDS = new RegExp(
  "(?<!\\p{L})(?:얼마|왜|어떻게|어떡|언제쯤|누구|무슨|뭐야|뭐예요|뭔가요|뭐지|" +
    "수수료|한도|잔액|몇 시|며칠)|^(?:what|why|how|when|who|where|" +
    "which)\\b|\\b(?:fees?|limit|balance)\\b",
  "u",
);
/** Asks by its ending or its first word. */
const ASKS = new RegExp(
  "(?:나요|까요?|을까|는지요?|은가요|인가요?|는가요|던가|됐니|됐나|되나|되니|돼요|맞지|" +
    "맞죠|맞나|맞니|있어요|거야|건가|건데|어때요?|라고요|다고요)[\\s.!~ㅋㅎㅠㅜ]*$|" +
    "^(?:did|does|do|is|are|can|could|will|would|should|" +
    "was|were|has|have|am)\\s",
  "u",
);
/** Asks for a change, also in the form of a question: 바꿔줄래?, can you change it? */
const CHANGES = new RegExp(
  "바꿔|바꾸|바꿀|변경|수정|고쳐|고칠|정정|추가|빼 ?줘|빼고|지워|삭제|적어|메모|별칭|써 ?줘|남겨|" +
    "미뤄|당겨|올려|내려|낮춰|줄여|늘려|더 ?(?:많이|적게|보내)|으로 ?(?:해|부탁|보내|이체|하자|할게)|(?<=[일욜시원만천])로 ?(?:해|" +
    "부탁|보내|이체|하자|할게)|\\b(?:change|edit|update|modify|" +
    "instead|make (?:it|that)|raise|lower|increase|" +
    "reduce|add|remove|switch|replace|put|memo)\\b",
  "u",
);
const CORRECTS = new RegExp(
  "(?:말고|아니고|아니라|가 아닌|이 아닌|대신)(?![\\p{L}])|\\b(?:rather|" +
    "actually|not to|i meant?|should be|wrong)\\b|틀렸|틀려|잘못",
  "u",
);

/** A recipient: 엄마한테, 김 대리님께, to John. */
const RECIPIENT = /\p{L}(?:에게|한테|께)(?:도|는|만)?(?![\p{L}])|\bto \p{L}/u;

function namesAValue(line: string): boolean {
  return findMoney(line).length > 0 || RECIPIENT.test(line) || namesADay(line);
}

/** What a day may stand beside, so that it is a wish: 네 내일 보내줘, but not 오늘 날씨 좋다. */
const BESIDE_A_DAY = YES_WORDS.union(NO_WORDS)
  .union(LEAD_INS)
  .union(
    new Set("에 로 으로 요 이요 날 하자 맞다 보내야 보내야돼 돼 but 근데 그런데 on".split(" ")),
  );

function namesADay(line: string): boolean {
  const [day, ...others] = findWhen(line, { today: "2000-01-01" });
  if (!day || others.length > 0) return false;
  const rest = tokensOf(line.replace(day.words, " "));
  return rest.length === 0 || isMadeOf(rest, BESIDE_A_DAY);
}

/** Likely a yes, and too short to be sure of. */
const HALF_A_YES = /^(?:ㅇ|ㄱ|ㄱㄱ|고고|어|k|kk|go)$/u;
const SPEAKS_OF_CANCELLING = /^(?:취소|그만|멈추|중단|cancel|stop)/u;

/** Starts of messages that say yes and then more, or no and then more. */
function decideRest(tokens: readonly string[]): Decided {
  const [first = ""] = tokens;
  if (isMadeOf([first], YES_WORDS)) return reply("unsure", "yes-with-more", "ambiguous");
  if (isMadeOf([first], NO_WORDS) || tokens.some((token) => SPEAKS_OF_CANCELLING.test(token))) {
    return reply("unsure", "no-with-more", "ambiguous");
  }
  if (tokens.length === 1 && HALF_A_YES.test(first)) {
    return reply("unsure", "yes-with-more", "ambiguous");
  }
  const last = tokens.at(-1) ?? "";
  return isMadeOf([last], YES_WORDS.union(CANCEL_WORDS))
    ? reply("unsure", "yes-with-more", "ambiguous")
    : reply("other", "nothing-of-these");
}

/**
 * The answer to a question whether the rest of a batch goes on, buttons [계속 진행, 취소]: the words of
 * yes and no, and those of going on. Pure.
 */
export function classifyContinue(text: string): {
  readonly choice: "continue" | "stop" | "none";
  readonly because: ReplyBecause;
} {
  const { kind, because } = classifyReply(text);
  if (kind === "yes") return { choice: "continue", because };
  if (REFUSING_KINDS.has(kind)) return { choice: "stop", because };
  const line = fold(text);
  return line.length <= LONGEST_SENTENCE &&
    !QUESTION_MARK.test(line) &&
    isMadeOf(tokensOf(line), YES_WORDS.union(CONTINUE_WORDS))
    ? { choice: "continue", because: "listed-words" }
    : { choice: "none", because };
}

/** The kinds that give up what was asked about. */
export const REFUSING_KINDS: ReadonlySet<ReplyKind> = new Set(["no", "cancel-one", "cancel-all"]);

/** 네보내주세요, ㄴㄴ취소: an answer and what it asks for, without the space. */
const GLUED_ANSWER =
  /^(네|넵|넹|예|응|웅|ㅇㅇ|그래|아니|아니요|ㄴㄴ)(?=보내|진행|이체|송금|해 ?줘|해 ?주|취소|그만)/u;

/** Tokens without crying and laughing, which change no meaning: 취소ㅠㅠ, 네ㅎㅎ. */
function spokenTokens(line: string): string[] {
  return tokensOf(withoutEchoes(line))
    .flatMap((token) => token.replace(GLUED_ANSWER, "$1 ").split(" "))
    .map((token) => token.replace(/(?<=[가-힣a-z])[ㅠㅜㅋㅎ]{1,50}$/u, ""))
    .filter((token) => !/^[ㅠㅜㅋㅎ]+$/u.test(token));
}
