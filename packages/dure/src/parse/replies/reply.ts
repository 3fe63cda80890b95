import { findMoney } from "../money/find-money.ts";
import {
  asksToCancel,
  isCancel,
  isToGoOn,
  isYes,
  mixtureIn,
  refusalIn,
  speaksOfAll,
} from "../lexicon/answers.ts";
import { anyOf, inOrder, isWhole, phraseOf, someOf } from "../lexicon/grammar.ts";
import { LEXICON, type Lexicon } from "../lexicon/index.ts";
import { has } from "../lexicon/patterns.ts";
import { spokenWords, withoutFaces } from "../lexicon/spoken.ts";
import { moveWordsOf, namesAValue, sentenceOf, type MoveWords } from "./moves.ts";
import { LONGEST_SENTENCE, type Sureness } from "../reading.ts";

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
  /** 엄마한테 보내지 마, don't send 20,000 won to Bob: it is given up, and a value is named. */
  | "says-not-to"
  | "names-a-value"
  | "yes-and-no"
  | "yes-with-more"
  | "no-with-more"
  /** 패스, skip: where a form asks for what it cannot do without. */
  | "skips"
  | "nothing-of-these";

/**
 * Decides what a reply means, in both languages whatever the session's. A yes is a whole message of
 * phrases of the lexicon, written plainly: what is not wholly read, is marked up, or is meant as the
 * opposite is never yes. Pure; the first rule that applies wins. Source: docs/spec/conversation §8.
 */
export function classifyReply(text: string, lexicon: Lexicon = LEXICON): Reply {
  const words = text.trim();
  const decided = decide(words, lexicon);
  return { ...decided, words };
}

type DecidedReply = Omit<Reply, "words">;

/** A message in the forms in which it is looked at. */
interface MessageForms {
  /** Folded, without apostrophes inside of words. */
  readonly line: string;
  readonly words: readonly string[];
  readonly moves: MoveWords;
}

function decide(text: string, lexicon: Lexicon): DecidedReply {
  if (text === "") return reply("other", "empty", "exact");
  if (text.length > LONGEST_SENTENCE) return reply("other", "too-long", "exact");

  const moves = moveWordsOf(text, lexicon);
  const said = { line: sentenceOf(text), words: spokenWords(text), moves };
  return (
    decidePlain(said, lexicon) ?? decideSentence(said, lexicon) ?? decideRest(said.words, lexicon)
  );
}

function reply(
  kind: ReplyKind,
  because: ReplyBecause,
  sure: Sureness = "approximate",
): DecidedReply {
  return { kind, because, sure };
}

// --- whole messages of listed words

function decidePlain(said: MessageForms, lexicon: Lexicon): DecidedReply | undefined {
  const { line, words } = said;
  const isQuestion = QUESTION_MARK.test(line);
  const emoji = { yes: YES_EMOJI.test(line), no: NO_EMOJI.test(line) };
  if (words.length === 0) return isQuestion ? undefined : decideEmoji(emoji, line);
  if (asksToCancel(words, lexicon)) return reply("cancel-one", "listed-words", "exact");
  if (isQuestion) return undefined;

  const refusal = refusalIn(words, lexicon);
  if (refusal) return reply(refusal, "listed-words", "exact");
  if (isYes(words, lexicon)) return decideYes(line, emoji.no);
  const mixture = mixtureIn(words, lexicon);
  const isOpen = mixture === "yes-and-no" || (mixture === "refusals" && !said.moves.negated);
  return isOpen ? reply("unsure", "yes-and-no", "ambiguous") : undefined;
}

/** A yes in words, unless it stands beside a no, or in marks. */
function decideYes(line: string, isDenied: boolean): DecidedReply {
  if (isDenied) return reply("unsure", "yes-and-no", "ambiguous");
  return isPlainlyWritten(line)
    ? reply("yes", "listed-words", "exact")
    : reply("unsure", "yes-with-more", "ambiguous");
}

function decideEmoji(
  emoji: { readonly yes: boolean; readonly no: boolean },
  line: string,
): DecidedReply {
  if (emoji.yes && emoji.no) return reply("unsure", "yes-and-no", "ambiguous");
  if (emoji.yes && isPlainlyWritten(line)) return reply("yes", "listed-emoji", "exact");
  return emoji.no ? reply("no", "listed-emoji", "exact") : reply("other", "nothing-of-these");
}

/**
 * Whether letters, sentence marks and friendly emoji are all that is written: <yes>, ~~네~~, "yes",
 * !네 and 네 🙄 are no plain words.
 */
function isPlainlyWritten(line: string): boolean {
  return PLAIN.test(withoutFaces(line).trim());
}

const FRIENDLY =
  "👍👌🙆✅☑🆗⭕🫡💯🙏😊🙂😀😃😄😁😆☺😍🥰🤗❤💕💙💛💚🧡💜🖤🤍♥♡💖💗✨🎉🎊👏💪🤝🫶🙌😎🥳✔💸💰🏦⭐🌟😇👋♂♀";
const PLAIN = new RegExp(
  `^[\\p{L}\\p{N}${FRIENDLY}](?:[\\p{L}\\p{N} .,!~…。、〜—–-]|[${FRIENDLY}\\p{Emoji_Modifier}\\uFE0F])*$`,
  "u",
);

// --- sentences

/**
 * ASCII (full-width is folded to it), Arabic, Spanish, interrobang, vertical, small, and the emoji.
 */
const QUESTION_MARK = /[?؟¿‽⁇⁈⁉﹖︖❓❔]/u;
const YES_EMOJI = /[👍👌🙆✅☑🆗⭕🫡💯]/u;
/** `네 ❌` says two things at once, so it says nothing. */
const NO_EMOJI = /[👎❌❎🙅🚫✋🛑⛔✖]/u;

function decideSentence(said: MessageForms, lexicon: Lexicon): DecidedReply | undefined {
  if (has(lexicon.asksWithWords, said.line)) return reply("question", "question-words");
  return decideGivenUp(said, lexicon) ?? decideChange(said, lexicon) ?? decideForm(said, lexicon);
}

/** Words around a value: 엄마한테 보내지 마. */
function decideGivenUp(
  { line, words, moves }: MessageForms,
  lexicon: Lexicon,
): DecidedReply | undefined {
  const isNegated = moves.negated && !moves.supposed;
  if (!isNegated && !cancelsAValue(line, lexicon)) return undefined;
  const [first = ""] = words;
  if (saysYes(first, lexicon) && !lexicon.politeness.has(first)) {
    return reply("unsure", "yes-and-no", "ambiguous");
  }
  return reply(speaksOfAll(words, lexicon) ? "cancel-all" : "cancel-one", "says-not-to");
}

/** Asks for a change, also in the form of a question: 바꿔줄래?, can you change it? */
function decideChange({ line, moves }: MessageForms, lexicon: Lexicon): DecidedReply | undefined {
  const isAsked = has(lexicon.changes, line) || has(lexicon.notes, line);
  if (isAsked || moves.adds || moves.removes || moves.swaps) {
    return reply("change", "asks-to-change");
  }
  return moves.changes ? reply("change", "says-what-it-is-not") : undefined;
}

/** A question, or a value that is neither reported nor supposed. */
function decideForm({ line, moves }: MessageForms, lexicon: Lexicon): DecidedReply | undefined {
  if (QUESTION_MARK.test(line)) return reply("question", "question-mark", "exact");
  if (has(lexicon.asksByForm, line)) return reply("question", "question-words");
  const isMeant = !moves.reported && !moves.supposed;
  return isMeant && namesAValue(line, lexicon) ? reply("change", "names-a-value") : undefined;
}

/** 엄마한테 보내는 거 취소해줘, cancel the 50k to Bob: a cancel by name around values. */
function cancelsAValue(line: string, lexicon: Lexicon): boolean {
  if (QUESTION_MARK.test(line)) return false;
  const money = findMoney(line).reduce((rest, { words }) => rest.replace(words, " "), line);
  const rest = money.replaceAll(A_RECIPIENT, " ");
  return rest !== line && isCancel(spokenWords(rest), lexicon);
}

const A_RECIPIENT =
  /(?<![\p{L}\d])[\p{L}\d]{1,30}(?: ?[님씨])?(?:에게|한테|께)(?!\p{L})|\bto (?:my )?\p{L}+/gu;

/** Starts of messages that say yes and then more, or no and then more. */
function decideRest(words: readonly string[], lexicon: Lexicon): DecidedReply {
  const { halfYes, no, negators, cancel } = lexicon;
  const [first = ""] = words;
  const last = words.at(-1) ?? "";
  const starts = words.slice(0, 4).map((_, index) => words.slice(0, index + 1).join(" "));
  if (starts.some((start) => saysYes(start, lexicon))) {
    return reply("unsure", "yes-with-more", "ambiguous");
  }
  const isRefusing = no.has(first) || negators.has(first);
  if (isRefusing || words.some((word) => SPEAKS_OF_CANCELLING.test(word))) {
    return reply("unsure", "no-with-more", "ambiguous");
  }
  const isHalf = halfYes.has(words.join(" ")) || saysYes(last, lexicon) || cancel.has(last);
  return isHalf
    ? reply("unsure", "yes-with-more", "ambiguous")
    : reply("other", "nothing-of-these");
}

function saysYes(phrase: string, { yes, goAheads }: Lexicon): boolean {
  return yes.has(phrase) || goAheads.has(phrase);
}

const SPEAKS_OF_CANCELLING = /^(?:취소|그만|멈추|중단|cancel|stop)/u;

/**
 * The answer to a question whether the rest of a batch goes on, buttons [계속 진행, 취소]: the words of
 * yes and no, and those of going on. Pure.
 */
export function classifyContinue(
  text: string,
  lexicon: Lexicon = LEXICON,
): {
  readonly choice: "continue" | "stop" | "none";
  readonly because: ReplyBecause;
} {
  const { kind, because, words } = classifyReply(text, lexicon);
  if (kind === "yes") return { choice: "continue", because };
  if (REFUSING_KINDS.has(kind)) return { choice: "stop", because };
  return goesOn(words, lexicon)
    ? { choice: "continue", because: "listed-words" }
    : { choice: "none", because };
}

function goesOn(text: string, lexicon: Lexicon): boolean {
  if (text.length > LONGEST_SENTENCE) return false;
  return isPlainlyWritten(sentenceOf(text)) && isToGoOn(spokenWords(text), lexicon);
}

/**
 * Whether a message is the yes to a question whether to cancel something: 네 취소해 주세요, yes cancel
 * it, 응 없애줘. A whole message of a yes and of a cancel by its name; 취소 alone can mean the question,
 * and 네 아니 취소 says two things. Pure.
 */
export function isYesToCancel(text: string, lexicon: Lexicon = LEXICON): boolean {
  const { yes, acknowledges, fillers, politeness, cancel, removesIt } = lexicon;
  const byName = new Set([...cancel].filter((phrase) => CANCELS_BY_NAME.test(phrase)));
  const part = inOrder(
    anyOf(phraseOf(fillers)),
    someOf(phraseOf(yes, acknowledges)),
    phraseOf(byName, removesIt),
    anyOf(phraseOf(politeness)),
  );
  return isPlainlyWritten(sentenceOf(text)) && isWhole(part, spokenWords(text));
}

const CANCELS_BY_NAME = /취소|cancel/u;

/** The kinds that give up what was asked about. */
export const REFUSING_KINDS: ReadonlySet<ReplyKind> = new Set(["no", "cancel-one", "cancel-all"]);
