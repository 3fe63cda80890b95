/** What a message must be to be accepted, in which language it is, and what is refused. */

import { LOCALES, type Locale } from "../../kernel/locales.ts";
import { createHash } from "node:crypto";
import { DureError } from "../../kernel/errors.ts";
import { MAX_MESSAGE_FILES } from "../../kernel/files.ts";
import { canonicalJson } from "../../kernel/json.ts";
import { sessionIdOfKey } from "../../kernel/tenant.ts";
import { checkCallerTools } from "../caller/caller-tools.ts";
import type { TurnRequest } from "../api.ts";
import type { RetryAnswer } from "../../durable/turns.ts";

/** Half of what a message may hold. */
const BACKGROUND_BYTES = 32_768;

/** Source: docs/spec/conversation §6. */
const SESSION_ID = /^[A-Za-z0-9._:@-]{1,200}$/;

/** Characters of a session's title. */
const MAX_TITLE = 60;

/** Throws what is wrong with a request. */
export function checkRequest(request: TurnRequest, bytesMost: number): void {
  checkSession(request.session);
  const { callerTools, files = [] } = request;
  if (callerTools) checkCallerTools(callerTools);
  const isMore = request.slots !== undefined || callerTools?.results !== undefined;
  if (request.message.trim() === "" && !isMore && files.length === 0) {
    throw new DureError("MESSAGE_INVALID", "The message is empty.", {
      class: "input",
      hint: "Say something, or send slots or files.",
    });
  }
  if (files.length > MAX_MESSAGE_FILES) throw tooManyFiles(files.length);
  checkText(request, bytesMost);
  checkPlace(request);
}

/** More than a message carries. */
export function tooManyFiles(count: number): DureError {
  return new DureError(
    "FILES_TOO_MANY",
    `The message has ${count} files; ${MAX_MESSAGE_FILES} are allowed.`,
    { class: "input", hint: "Send fewer at once." },
  );
}

function checkSession(session: string): void {
  if (SESSION_ID.test(session)) return;
  throw new DureError("SESSION_INVALID", `"${session.slice(0, 80)}" cannot be a session id.`, {
    class: "input",
    hint: "Use 1 to 200 characters of A-Z a-z 0-9 . _ : @ -",
  });
}

function checkText({ message, background = "" }: TurnRequest, bytesMost: number): void {
  const bytes = Buffer.byteLength(message);
  if (bytes > bytesMost) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The message has ${bytes} bytes; ${bytesMost} are allowed.`,
      { class: "input", hint: "Send less at once." },
    );
  }
  if (message.includes("\u0000") || !message.isWellFormed()) {
    throw new DureError(
      "MESSAGE_INVALID",
      "The message holds characters that cannot be stored (U+0000 or half of a surrogate pair).",
      { class: "input", hint: "Send plain text in UTF-8." },
    );
  }
  const before = Buffer.byteLength(background);
  if (before > BACKGROUND_BYTES) {
    throw new DureError(
      "MESSAGE_TOO_LONG",
      `The background has ${before} bytes; ${BACKGROUND_BYTES} are allowed.`,
      { class: "input", hint: "Tell less before the message." },
    );
  }
}

function checkPlace({ locale, timeZone }: TurnRequest): void {
  if (locale !== undefined && !(LOCALES as readonly string[]).includes(locale)) {
    throw new DureError("LOCALE_UNKNOWN", `The locale "${locale}" is not known.`, {
      class: "input",
      hint: `Locales are: ${LOCALES.join(", ")}.`,
    });
  }
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    throw new DureError("TIME_ZONE_UNKNOWN", `The time zone "${timeZone}" is not known.`, {
      class: "input",
      hint: "Use an IANA name such as Asia/Seoul.",
    });
  }
}

function isTimeZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** The same request with the id of its session where the tenant's key was given. */
export function plainly(request: TurnRequest, tenant: string): TurnRequest {
  const isKey = tenant !== "" && request.session.startsWith(`${tenant}/`);
  return isKey ? { ...request, session: sessionIdOfKey(request.session) } : request;
}

/** The first words of a message. */
export function titleOf(message: string): string {
  const line = message.trim().split("\n")[0] ?? "";
  return line.length > MAX_TITLE ? `${line.slice(0, MAX_TITLE - 1).toWellFormed()}…` : line;
}

/** What an idempotency key stands for. */
export function hashOf(request: object): string {
  return createHash("sha256").update(canonicalJson(request)).digest("hex");
}

/**
 * The language in which a person clearly writes; undefined where the words do not tell. An answer
 * of a word or two (`ok`, `ㅋㅋ`, `네`), a name, an amount or a code tells nothing, so a session
 * keeps its language. Pure. Source: docs/spec/conversation §3.
 */
export function detectLanguage(text: string): Locale | undefined {
  const words = wordsOf(ownWords(text));
  const korean = words.filter((word) => HANGUL.test(word));
  const english = words.filter((word) => LATIN.test(word));
  const isEnglish = isEnglishSentence(english);
  // What is pasted into a Korean sentence is often English; a single Korean word may be quoted.
  if (isKoreanSentence(korean) && (korean.length > 1 || !isEnglish)) return "ko";
  return isEnglish ? "en" : undefined;
}

/**
 * The language of the letters, for the first words of a session where they do not tell it clearly:
 * two words of one script, or one that only English has. Pure.
 */
export function lettersOf(text: string): Locale | undefined {
  const words = wordsOf(ownWords(text)).filter((word) => /\p{L}/u.test(word));
  const isEnglish = words.length > 1 || (words.length === 1 && STRONG.has(words[0]!));
  if (isEnglish && words.every((word) => LATIN_SCRIPT.test(word))) return "en";
  return words.length > 1 && words.every((word) => HANGUL_SCRIPT.test(word)) ? "ko" : undefined;
}

const LATIN_SCRIPT = /^[\p{Script=Latin}\p{N}'’]+$/u;
const HANGUL_SCRIPT = /^[\p{Script=Hangul}\p{N}]+$/u;

const HANGUL = /[가-힣]/;
const LATIN = /^[a-z][a-z'’]*$/;

/** Characters that are looked at; a sentence tells its language by then. */
const LOOKED_AT = 2_000;

/** Without what is quoted or copied: code, addresses, names, words in quotation marks. */
function ownWords(text: string): string {
  const looked = text.length > LOOKED_AT ? text.slice(0, LOOKED_AT) : text;
  if (!MAY_QUOTE.test(looked)) return looked;
  return looked
    .replace(/```[^]*?(?:```|$)|`[^`\n]*`/gu, " ")
    .replace(/\b(?:https?:\/\/|www\.)\S+|\S+@\S+|@\S+/gu, " ")
    .replace(/"[^"\n]*"|“[^”\n]*”|‘[^’\n]*’|(?<!\S)'[^'\n]*'(?!\S)/gu, " ");
}

/** What a quoted or copied part has at least. */
const MAY_QUOTE = /[`@"“‘']|https?:|www\./;

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}'’]+/gu) ?? [];
}

// --- Korean

function isKoreanSentence(words: readonly string[]): boolean {
  if (words.length === 1) return isKoreanGreeting(words[0]!) || ONE_WORD_SENTENCE.test(words[0]!);
  return words.some((word) => ENDING.test(word) || PARTICLE.test(word));
}

function isKoreanGreeting(word: string): boolean {
  return /^(?:안녕|반가워|고마워|도와줘)/u.test(word);
}

/** At least three syllables, with an ending that no name has: 배고프다, 취소해줘, 뭐예요. */
const ONE_WORD_SENTENCE =
  /[가-힣](?:[가-힣]요|니다|니까|[해워려내가와봐]줘|[었았했겠]어|할래|할게|싶어|프다|하다|는데|나요)$/u;

/** How a Korean clause ends, behind at least one syllable. */
const ENDING =
  /[가-힣](?:요|다|까|야|줘|래|께|죠|지|니|냐|네|라|자|해|어|돼|봐|음|데|면|고|서|는|할|든)$/u;

/** What stands behind a noun. */
const PARTICLE = /[가-힣](?:은|는|을|를|에|에게|한테|으로|랑|에서|까지|부터|도|만|의|이랑)$/u;

// --- English

function isEnglishSentence(words: readonly string[]): boolean {
  const [first = "", second = ""] = words;
  if (GREETINGS.has(first) && words.length <= 2) return true;
  if (words.length < 2) return false;
  if (words.length === 2) return OPENERS.has(first) && !SHORT_SECONDS.has(second);

  if (words.some((word) => STRONG.has(word) || /['’]/.test(word))) return true;
  return words.length > 3 && words.filter((word) => WEAK.has(word)).length > 1;
}

const GREETINGS = wordSet("hello hi hey");

/** Begin a sentence of two words: send money, what now. */
const OPENERS = wordSet(
  "send transfer book show tell give help find open make i i'm my what what's when where who why how can do is are",
);
/** With an opener these are a short answer: send it, do that, help me. */
const SHORT_SECONDS = wordSet("it that this all now ok okay yes no");

/** Words that only an English sentence has. */
const STRONG = wordSet(
  "i you my your we our they their he she his it this that these those is are were be been do does did " +
    "can could will would should shall may might must have has had not please want need like know " +
    "what which when where who whom whose why how send transfer pay give tell show help make book " +
    "change cancel check there here about because if thanks thank",
);
/** Words that titles and names have too: Bank of America. */
const WEAK = wordSet("the a an of and or to for from in on at with by as into");

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(" "));
}

/** Why a turn is not opened again; undefined: it runs. Pure. */
export function retryRefusal(
  answer: NonNullable<RetryAnswer>,
  turn: string,
): DureError | undefined {
  const why = { class: "conflict", hint: "Say it again in a new message." } as const;
  if (answer === "final") {
    return new DureError("TURN_NOT_RETRYABLE", `The turn ${turn} cannot go on from its end.`, why);
  }
  if (answer === "passed") {
    return new DureError(
      "TURN_PASSED",
      `The conversation has gone on after the turn ${turn}.`,
      why,
    );
  }
  return undefined;
}
