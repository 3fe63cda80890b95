import { SPOKEN_ENDS } from "../lexicon/names.ko.ts";
import { isLikeName, isPlainName, isRelation } from "./names.ts";
import type { Mark } from "./payment-words.ts";
import { isCapital, type NamedToken, type WholeName } from "./payment-names.ts";

/** Which of the names in a sentence are people who may get something. */

type TokenKind = NamedToken["kind"];
type NamedTokens = readonly NamedToken[];

/** For each token whether it is one; first by its own marks, then by what it is joined with. Pure. */
export function peopleIn(tokens: NamedTokens): boolean[] {
  const isAnOrder = tokens.some(({ kind }) => ORDERING.has(kind));
  const people = tokens.map((token, place) =>
    token.kind === "name" ? isSure(token, { tokens, place, isAnOrder }) : false,
  );
  for (let place = tokens.length - 1; place >= 0; place--) {
    people[place] ||= isJoinedToNext(tokens, place, people);
  }
  for (let place = 0; place < tokens.length; place++) {
    people[place] ||= isJoinedToLast(tokens, place, people);
  }
  return people;
}

/** With one of them in it a sentence orders something. */
const ORDERING: ReadonlySet<TokenKind> = new Set(["money", "sent", "verb", "share"]);
/** A name reaches its amount over these. */
const OVER: ReadonlySet<TokenKind> = new Set(["small", "each", "purpose", "pair", "for"]);
const SMALL: ReadonlySet<TokenKind> = new Set(["small", "each"]);
/** And it is reached over these from what stands before it. */
const BACK: ReadonlySet<TokenKind> = new Set([...SMALL, "pair"]);
/** Behind these nothing more is said about a name before them. */
const ENDS: ReadonlySet<TokenKind | undefined> = new Set([
  undefined,
  "break",
  "clause-end",
  "sent",
  "joiner",
  "not-before",
  "not-behind",
]);

interface Spot {
  readonly tokens: NamedTokens;
  readonly place: number;
  readonly isAnOrder: boolean;
}

function isSure(token: WholeName, spot: Spot): boolean {
  const { tokens, place, isAnOrder } = spot;
  switch (token.mark) {
    case "dative":
      return isAnOrder || !saysMore(tokens, place);
    case "place":
      return reachesAmount(tokens, place) || isBehindAmount(tokens, place) || isSent(tokens, place);
    case "aim":
      return isSent(tokens, place) && isPlainName(token.name);
    case "topic":
    case "also":
      return reachesAmount(tokens, place);
    case "joined":
      return false;
    case "bare":
      return isIntroduced(token, spot) || isBesideAmount(token, spot);
  }
}

/** 엄마한테 다녀올게 says more than to whom. */
function saysMore(tokens: NamedTokens, place: number): boolean {
  return tokens.slice(place).some(({ kind }) => kind === "break");
}

function isSent(tokens: NamedTokens, place: number): boolean {
  return kindOf(tokens, nextPlace(tokens, place, SMALL)) === "sent";
}

/** `to John`, `send Mom`, 아내 계좌로. */
function isIntroduced(token: WholeName, { tokens, place, isAnOrder }: Spot): boolean {
  if (kindOf(tokens, nextPlace(tokens, place, SMALL)) === "close") return true;
  const isWritten = isWrittenAsName(token.name);
  const before = nextPlace(tokens, place, BACK, -1);
  switch (kindOf(tokens, before)) {
    case "arrow":
      return true;
    case "not-before":
    case "instead":
      return isLikeName(token.name);
    case "to":
      return isWritten ? isAnOrder || isFirst(tokens, before) : isRecipientOf(tokens, before);
    case "for":
      return isWritten && (isForAmount(tokens, before) || reachesAmount(tokens, place));
    case "verb":
      return isWritten;
    default:
      return false;
  }
}

/** 20k for Jane, and the same for Bob. */
function isForAmount(tokens: NamedTokens, place: number): boolean {
  return isBehindAmount(tokens, place) || kindOf(tokens, place - 1) === "other-amount";
}

/** A capital, Hangul, or a word for a person: mom. */
function isWrittenAsName(name: string): boolean {
  return isCapital(name) || /^[가-힣]/u.test(name) || isRelation(name);
}

function isFirst(tokens: NamedTokens, place: number): boolean {
  return tokens.slice(0, place).every(({ kind }) => kind !== "name" && kind !== "break");
}

/** `20k to john`, `send to john`; not `I want to borrow`. */
function isRecipientOf(tokens: NamedTokens, place: number): boolean {
  const before = tokens[place - 1];
  return before?.kind === "small" ? GOING.test(before.text) : before?.kind !== "break";
}

/** send it to, 20k back to; a day has no text. */
const GOING = /^(?:it|this|won|back|over|please|out|money|)$/iu;

function isBesideAmount(token: WholeName, { tokens, place }: Spot): boolean {
  if (reachesAmount(tokens, place)) {
    return !isPurposeName(tokens, place) && !isVerbLike(token, tokens, place);
  }
  const isKnown = isCapital(token.name) || token.name.split(" ").every(isLikeName);
  return isKnown && isBehindAmount(tokens, place) && isLast(tokens, place);
}

function isLast(tokens: NamedTokens, place: number): boolean {
  return ENDS.has(kindOf(tokens, nextPlace(tokens, place, SMALL)));
}

/** `zap 20k to Bob`: a word that no list has, where a verb stands. */
function isVerbLike({ name }: WholeName, tokens: NamedTokens, place: number): boolean {
  if (/^[가-힣]/u.test(name) || isRelation(name)) return false;
  if (isCapital(name) && !isFirst(tokens, place)) return false;
  const money = tokens.findIndex(({ kind }, at) => at > place && kind === "money");
  const behind = nextPlace(tokens, money, SMALL);
  return kindOf(tokens, behind) === "to" && kindOf(tokens, behind + 1) === "name";
}

/** 엄마한테 치킨 2만원, 철수는 커피 5천원: what the money of the one before is for. Pure. */
export function isPurposeName(tokens: NamedTokens, place: number): boolean {
  const token = tokens[place];
  if (token?.kind !== "name" || token.mark !== "bare" || isPlainName(token.name)) return false;
  if (kindOf(tokens, nextPlace(tokens, place, OVER)) !== "money") return false;
  const before = tokens[nextPlace(tokens, place, OVER, -1)];
  return before?.kind === "name" && takesPurpose(before);
}

function takesPurpose({ mark, name }: WholeName): boolean {
  if (mark === "joined") return false;
  return mark === "dative" || mark === "topic" || mark === "also" || isRelation(name);
}

/** Whether an amount follows: 엄마 3만원, 엄마 내일 용돈 3만원. */
function reachesAmount(tokens: NamedTokens, place: number): boolean {
  const next = nextPlace(tokens, place, OVER);
  if (kindOf(tokens, next) === "money") return true;
  const token = tokens[place];
  return token?.kind === "name" && takesPurpose(token) && isPurposeName(tokens, next);
}

/** Whether an amount is directly before, or before a comma. */
function isBehindAmount(tokens: NamedTokens, place: number): boolean {
  const before = nextPlace(tokens, place, BACK, -1);
  if (kindOf(tokens, before) === "money") return true;
  return kindOf(tokens, before) === "joiner" && kindOf(tokens, before - 1) === "money";
}

// --- by what a name is joined with

const UNJOINED: ReadonlySet<Mark> = new Set(["topic", "place", "aim"]);

/** 민수 of 민수, 영희한테; 엄마, 3만원. */
function isJoinedToNext(tokens: NamedTokens, place: number, people: readonly boolean[]): boolean {
  const token = tokens[place];
  if (token?.kind !== "name" || UNJOINED.has(token.mark)) return false;
  const next = nextPlace(tokens, place, SMALL);
  const isJoiner = kindOf(tokens, next) === "joiner";
  if (!isJoiner && token.mark !== "joined") return false;

  const other = isJoiner ? behindJoiner(tokens, next, 1) : next;
  const behind = tokens[other];
  if (behind?.kind === "money") {
    return isWrittenAsName(token.name) && !isVerbLike(token, tokens, place);
  }
  if (behind?.kind !== "name") return false;
  if (people[other] === true) return isWrittenAsName(token.name) || !isWrittenAsName(behind.name);
  return token.mark === "joined" && isPair(tokens, token, behind);
}

/** 엄마랑 아빠 보내줘 */
function isPair(tokens: NamedTokens, { name }: WholeName, other: WholeName): boolean {
  const isAnOrder = tokens.some(({ kind }) => ORDERING.has(kind));
  return isAnOrder && isLikeName(name) && isLikeName(other.name);
}

const SPOKEN = new RegExp(`${SPOKEN_ENDS}$`, "u");

/** 아빠 of 엄마한테 3만원, 아빠; 아빠도 behind 엄마한테. */
function isJoinedToLast(tokens: NamedTokens, place: number, people: readonly boolean[]): boolean {
  const token = tokens[place];
  if (token?.kind !== "name") return false;
  const isPerson = (at: number): boolean => people[at] === true;
  if (token.mark === "also") return people.slice(0, place).includes(true);
  if (token.mark !== "bare" && token.mark !== "joined") return false;

  const before = nextPlace(tokens, place, new Set(["small", "to"]), -1);
  const last = tokens[before];
  if (last?.kind === "name") return last.mark === "joined" && isPerson(before);
  if (last?.kind !== "joiner" || SPOKEN.test(token.name)) return false;
  return isJoinedTo(tokens, behindJoiner(tokens, before, -1), token.name, people);
}

/** Whether a name belongs to what stands before its joiner: a person, or the sum of one. */
function isJoinedTo(
  tokens: NamedTokens,
  place: number,
  name: string,
  people: readonly boolean[],
): boolean {
  const joined = tokens[place];
  if (joined?.kind === "money") {
    return people.slice(0, place).includes(true) && isWrittenAsName(name);
  }
  if (joined?.kind !== "name" || people[place] !== true) return false;
  return isWrittenAsName(name) || !isWrittenAsName(joined.name);
}

// --- places

function kindOf(tokens: NamedTokens, place: number): TokenKind | undefined {
  return tokens[place]?.kind;
}

function nextPlace(
  tokens: NamedTokens,
  place: number,
  over: ReadonlySet<TokenKind>,
  step: 1 | -1 = 1,
): number {
  let next = place + step;
  for (let kind = kindOf(tokens, next); kind && over.has(kind); kind = kindOf(tokens, next)) {
    next += step;
  }
  return next;
}

const JOINING: ReadonlySet<TokenKind> = new Set(["joiner", "small", "each", "to", "for", "pair"]);

function behindJoiner(tokens: NamedTokens, place: number, step: 1 | -1): number {
  return nextPlace(tokens, place, JOINING, step);
}
