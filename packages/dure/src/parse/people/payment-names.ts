import { BEGINNINGS, LIKE_SMALL_WORDS, TITLES } from "../lexicon/names.en.ts";
import {
  areTwoRelatives,
  isEpithet,
  isLikeName,
  isPronoun,
  isRelation,
  isSurname,
  isTitle,
} from "./names.ts";
import type { NameToken, Token } from "./payment-words.ts";

/** A name of all its words: 김 대리, John Smith, 민수 엄마. */
export interface WholeName extends NameToken {
  /** 민수 영희: one name, or two. */
  readonly isOpen?: boolean;
}
export type NamedToken = Exclude<Token, NameToken> | WholeName;

/** Words that make one name together become one, and what is said not to be meant is left out. Pure. */
export function withWholeNames(tokens: readonly Token[]): NamedToken[] {
  const whole: NamedToken[] = [];
  for (const token of tokens.map(asJoined)) {
    const last = whole.pop();
    const named = asName(token, last);
    whole.push(...(last ? joined(last, named) : [named]));
  }
  return withoutRejected(whole.map(withoutPossessive).flatMap(asSeveral));
}

/** 민수 지연 철수 are three. */
function asSeveral(token: NamedToken): NamedToken[] {
  if (token.kind !== "name" || token.isOpen !== true) return [token];
  const parts = token.name.split(" ");
  if (parts.length < 3 || !parts.every(isLikeName)) return [token];
  return parts.flatMap((name, place): NamedToken[] => {
    const mark = place === parts.length - 1 ? token.mark : "bare";
    const one: NamedToken = { kind: "name", name, whole: name, mark };
    return place === 0 ? [one] : [{ kind: "joiner" }, one];
  });
}

/** 엄마랑 with no name behind it joins nothing; and 김하랑 is a name. */
function asJoined(token: Token, place: number, tokens: readonly Token[]): Token {
  if (token.kind !== "name" || token.mark !== "joined") return token;
  const [next, following] = tokens
    .slice(place + 1, place + 5)
    .filter(({ kind }) => kind !== "small" && kind !== "each");
  const other = next?.kind === "joiner" ? following : next;
  if (other?.kind === "name") return token;
  const before = tokens[place - 1];
  const isLast = before?.kind === "joiner" || (before?.kind === "name" && before.mark === "joined");
  const name = isLast || isRelation(token.name) ? token.name : token.whole;
  return { ...token, mark: "bare", name };
}

/** Bill, and Will inside of a sentence; and any word with a capital behind `to` and Mr. */
function asName(token: Token, last: NamedToken | undefined): Token {
  if (token.kind !== "small") return token;
  const { text } = token;
  const isInside = last !== undefined && last.kind !== "clause-end";
  const isLike = LIKE_SMALL_WORDS.has(text) && (isInside || !BEGINNINGS.has(text));
  if (!isLike && !(isBeforeName(last) && isWord(text))) return token;
  return { kind: "name", mark: "bare", name: text, whole: text };
}

function isBeforeName(last: NamedToken | undefined): boolean {
  if (last?.kind === "name") return TITLES.has(last.name);
  return last?.kind === "to" || last?.kind === "for";
}

function isWord(text: string): boolean {
  return /^\p{Lu}\p{Ll}+$/u.test(text) && !isPronoun(text);
}

function joined(last: NamedToken, token: Token): NamedToken[] {
  if (token.kind === "particle") return [last.kind === "name" ? { ...last, mark: "dative" } : last];
  if (isAccount(last) && isOfAccount(token)) return [withOwner(last, token)];
  if (token.kind !== "name") return [last, token];
  if (last.kind === "small" && isSurname(last.text) && isTitle(token.name)) {
    return [oneName({ ...token, name: last.text }, token)];
  }
  if (last.kind !== "name" || last.mark !== "bare") return [last, token];
  if (areTwoRelatives(last.name, token.name)) return [last, { kind: "joiner" }, token];
  return isLatin(last.name) && isLatin(token.name)
    ? latinNames(last, token)
    : [oneName(last, token, isOpen(last, token))];
}

const ACCOUNT = /\d{2}-?\d{2,}$/;

function isAccount(token: NamedToken): token is WholeName {
  return token.kind === "name" && ACCOUNT.test(token.name);
}

/** 국민은행 and 홍길동 behind an account are of it. */
function isOfAccount(token: Token): token is Extract<Token, { kind: "name" | "small" }> {
  if (token.kind === "small") return /(?:은행|뱅크)$/u.test(token.text);
  return token.kind === "name" && isLikeName(token.name);
}

function withOwner(
  account: WholeName,
  token: Extract<Token, { kind: "name" | "small" }>,
): WholeName {
  const name = `${account.name} ${token.kind === "name" ? token.name : token.text}`;
  return { ...account, name, whole: name };
}

function oneName(first: WholeName, second: NameToken, isOpen = false): WholeName {
  return {
    ...second,
    name: `${first.name} ${second.name}`,
    whole: `${first.name} ${second.whole}`,
    isOpen: isOpen || first.isOpen === true,
  };
}

/** 민수 영희 may be two; 큰 이모, 지은 언니 and 김 대리 are one. */
function isOpen({ name: first }: NameToken, { name: second }: NameToken): boolean {
  if (first.length === 1 || isEpithet(first) || ACCOUNT.test(second)) return false;
  return !isRelation(second) && !isTitle(second);
}

function isLatin(name: string): boolean {
  return /^\p{Script=Latin}/u.test(name);
}

/** Whether a Latin name begins with a capital. Pure. */
export function isCapital(name: string): boolean {
  return /^(?:[dl]['’])?\p{Lu}/u.test(name);
}

/** John Smith, Tom's mom; of `friend Jane` and `refund Tom` the name. */
function latinNames(last: WholeName, token: NameToken): NamedToken[] {
  if (/['’]s$/u.test(last.name)) return [oneName(last, token)];
  if (isCapital(last.name) === isCapital(token.name)) {
    return isRelation(last.name) ? [last, token] : [oneName(last, token)];
  }
  if (!isCapital(token.name)) return [last, token];
  return [token];
}

function withoutPossessive(token: NamedToken): NamedToken {
  return token.kind === "name" ? { ...token, name: token.name.replace(/['’]s$/u, "") } : token;
}

// --- who is not meant

function withoutRejected(tokens: readonly NamedToken[]): NamedToken[] {
  const kept: NamedToken[] = [];
  for (let place = 0; place < tokens.length; place++) {
    const token = tokens[place]!;
    const isPair = isPairRejected(tokens, place);
    if (isPair) kept.pop();
    if (isPair || isRejecting(tokens, place)) dropRun(kept);
    const isTo = token.kind === "from" && isShared(tokens, place);
    kept.push(isTo ? { kind: "to" } : token);
    if (token.kind === "not-behind" || (token.kind === "from" && !isTo)) {
      place = endOfRun(tokens, place) - 1;
    }
    if (token.kind === "note") place = endOfNote(tokens, place) - 1;
  }
  return kept;
}

/** 엄마 말고; but 엄마한테 대신 is to her. */
function isRejecting(tokens: readonly NamedToken[], place: number): boolean {
  const token = tokens[place]!;
  if (token.kind !== "instead") {
    return token.kind === "not-before" || isCorrection(tokens, place);
  }
  const before = tokens[place - 1];
  return before?.kind === "name" && before.mark !== "dative";
}

/** 엄마한테 5만원 말고 아빠한테: the amount is left out already, and the person is not meant either. */
function isPairRejected(tokens: readonly NamedToken[], place: number): boolean {
  const { kind } = tokens[place]!;
  if (kind !== "not-before" && kind !== "instead") return false;
  const isBefore = tokens[place - 1]?.kind === "break" && tokens[place - 2]?.kind === "name";
  const next = tokens.slice(place + 1).find((one) => one.kind !== "small");
  return isBefore && next?.kind === "name";
}

/** 엄마 말고, 엄마랑 아빠 말고: the names directly before. */
function dropRun(kept: NamedToken[]): void {
  while (kept.length > 0) {
    const { kind } = kept.at(-1)!;
    if (kind !== "name" && kind !== "small" && kind !== "joiner" && kind !== "to") return;
    kept.pop();
  }
}

/** Behind `not` and `from`: the names up to a comma, a `to`, an amount. */
function endOfRun(tokens: readonly NamedToken[], start: number): number {
  const { length } = tokens;
  let isToOver = tokens[start]!.kind === "from";
  for (let place = start + 1; place < length; place++) {
    const { kind } = tokens[place]!;
    if (kind === "name") isToOver = true;
    else if (kind !== "small" && (isToOver || kind !== "to")) return place;
  }
  return length;
}

/** Behind 메모: the words that nothing marks. */
function endOfNote(tokens: readonly NamedToken[], start: number): number {
  const end = tokens.findIndex((token, place) => {
    if (place <= start) return false;
    return token.kind === "name" ? token.mark === "dative" : !NOTED.has(token.kind);
  });
  return end < 0 ? tokens.length : end;
}

const NOTED: ReadonlySet<NamedToken["kind"]> = new Set(["small", "pair", "for", "purpose"]);

/** split 60,000 with Tom: Tom is meant. */
function isShared(tokens: readonly NamedToken[], place: number): boolean {
  return tokens.slice(0, place).some(({ kind }) => kind === "share");
}

const CORRECTIONS = /^(?:아니|아니다|no|nope|sorry|mean|actually|rather|wait)$/iu;

/** 엄마한테 아니 아빠한테; to Bob, I mean Amy: a name follows another. */
function isCorrection(tokens: readonly NamedToken[], place: number): boolean {
  const token = tokens[place]!;
  if (token.kind !== "small" || !CORRECTIONS.test(token.text)) return false;
  const isBetween = ({ kind }: NamedToken): boolean =>
    kind === "small" || kind === "joiner" || kind === "to";
  const before = tokens.slice(0, place).findLast((one) => !isBetween(one));
  const behind = tokens.slice(place).find((one) => !isBetween(one));
  return before?.kind === "name" && before.mark !== "topic" && behind?.kind === "name";
}
