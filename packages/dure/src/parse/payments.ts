import { findMoney } from "./find-money.ts";
import type { MoneyReading } from "./money.ts";
import { withoutOpenWord } from "./glued-money.ts";
import { withSpaces } from "./glued-words.ts";
import { isPlainName, KIN } from "./names.ts";
import { isName, parsePerson, withoutEnds } from "./person.ts";
import { LONGEST_SENTENCE, understood, type Found, type Reader } from "./reading.ts";
import { findWhen } from "./when.ts";

/** A person, and what is to go there; without an amount where none was said. */
export interface Payment {
  readonly to: string;
  readonly amount: MoneyReading | undefined;
}

/** The payments that a sentence names. */
export interface PaymentsReading {
  /** Every person who was named, in order. */
  readonly payments: readonly Payment[];
  /** What must be asked before any of them counts; empty where the sentence says one thing. */
  readonly doubts: readonly PaymentDoubt[];
}

/** What a sentence leaves open about who gets what. */
export type PaymentDoubt =
  /** 엄마랑 아빠한테 5만원: for each, or for both together? */
  | "each-or-total"
  /** 민수 영희한테 5만원: one person or two? */
  | "one-name-or-two"
  /** 엄마한테 5만원 3만원. */
  | "several-amounts"
  /** 5만원 보내줘. */
  | "amount-without-person";

/**
 * People with their amounts in one sentence: `엄마, 아빠, 동생한테 각각 3만원`, `엄마랑 아빠한테 5만원씩`,
 * `엄마 3만, 아빠 2만`, `10k each to Mom and Dad`. No person who was named is dropped. Pure.
 */
export function findPayments(sentence: string): PaymentsReading {
  const line = sentence
    .normalize("NFC")
    .replaceAll(/\s+/g, " ")
    .replaceAll(/(?<=[가-힣]{2}) (?=[씨님](?:에게|한테|께|이랑|랑|하고|와|과|[\s,]|$))/gu, "")
    .trim();
  if (line.length > LONGEST_SENTENCE) return { payments: [], doubts: [] };
  return new PaymentReader(tokensOf(withSpaces(line))).read();
}

/** For a slot that is a person. */
export const personReader: Reader<string> = {
  parse: parsePerson,
  find: (sentence) =>
    findPayments(sentence).payments.map(({ to }) => ({
      ...understood(to, to),
      at: Math.max(0, sentence.indexOf(to)),
    })),
};

// --- tokens

type Role = "joiner" | "each" | "to" | "break" | "verb" | "not" | "close";

type Token =
  | { readonly kind: "money"; readonly money: MoneyReading }
  | { readonly kind: Role }
  /** `dative`: 엄마한테; `joined`: 엄마랑; `bare`: a word that can be a name. */
  | { readonly kind: "dative" | "joined" | "bare"; readonly name: string };

const DATIVE = /^(.+?)(?:에게|한테|께|앞으로)(?:로|도|는|만|다|다가)?$/u;
/** 매일유업에: where to, and no 저번에. */
const PLACE = /^(?!이번|저번|다음|나중|점심|아침|저녁|이따|한번|동시)([가-힣]{3,12})에$/u;
const JOINED = /^(.{1,12}?)(?:이랑|랑|하고|와|과)$/u;
const ALSO = /^(.{2,12}?)도$/u;
const ACCOUNT = new RegExp(
  "(?:[가-힣]{2,6}(?:은행|" +
    "뱅크)? ?)?(?<![\\d-])(?:\\d{2,6}-\\d{2,6}-\\d{2,8}(?:-\\d{1,6})?|" +
    "\\d{10,14})(?![\\d,-]| ?(?:원|won))",
  "gu",
);
const VERBS = /^(?:send|pay|give|wire|transfer|venmo)$/iu;
const STOPS = new RegExp(
  "^(?:for|with|on|by|at|from|tomorrow|today|now|" +
    "please|memo|note|from|next|this|via|using|as|in|" +
    "then|because|so|money|some|the|me|it|is|was|can|you|" +
    "i|want|need|would|like|could|let|lets)$",
  "iu",
);
const RELATIONS = new RegExp(
  `^(?:${KIN}|mom|dad|mum|mother|father|` +
    "brother|sister|wife|husband|grandma|grandpa|son|" +
    "daughter)$",
  "iu",
);

/** A name behind `send`: its first letter is a capital, or Hangul, or it is a relation. */
const BARE_NAME = new RegExp(`^[\\p{Lu}가-힣]|${RELATIONS.source}`, "u");

/** Behind an amount, a day or an account: 5만원을, 25일에, 계좌로. */
const PARTICLE = new RegExp(
  `^(?:(?:으로|로|을|를|에게|에|은|는|만|이요|요|날|씩)(?=[\\s,\\d]|$|(?:${KIN}))|[을를](?=[가-힣]))`,
  "u",
);
const POSSESSIVE = /^(?:우리|울|제|내|저희|my|our|the)$/iu;

function tokensOf(line: string): Token[] {
  const moneys: Found<MoneyReading>[] = [...findMoney(line)];
  const accounts = [...line.matchAll(ACCOUNT)].map((match) => match[0]);
  const spans = [
    ...moneys.map((money, index) => ({
      ...money,
      mark: `\u{E000}${index}`,
      // 철수오만원 does not say whether it is 철수 or 철수오.
      isOpen: money.ok && money.sure === "ambiguous",
    })),
    ...findWhen(line, { today: "2000-01-01" }).map(({ at, words }) => ({
      at,
      words,
      mark: "\u{E001}",
      isOpen: false,
    })),
    ...accounts.map((words, index) => ({
      at: line.indexOf(words),
      words,
      mark: `\u{E002}${index}`,
      isOpen: false,
    })),
  ].toSorted((a, b) => a.at - b.at);

  let marked = "";
  let end = 0;
  for (const { at, words, mark, isOpen } of spans) {
    if (at < end) continue;
    marked += `${isOpen ? withoutOpenWord(line.slice(end), at - end) : line.slice(end, at)} ${mark} `;
    end = at + words.length;
    end += PARTICLE.exec(line.slice(end, end + 6))?.[0].length ?? 0;
  }
  marked += line.slice(end);

  const words = marked
    .replaceAll(/[,，、/·&+;]|그리고|(?<=\s)및(?=\s)/gu, " \u{E003} ")
    .split(/[\s.!?~()]+/);
  return words.filter((word) => word !== "").flatMap((word) => tokenOf(word, moneys, accounts));
}

/** Words that are no names, and what they do to the names around them. */
const ROLES: readonly (readonly [pattern: RegExp, token: Token | undefined])[] = [
  [/^\u{E001}/u, { kind: "break" }],
  [/^(?:\u{E003}|and|랑|이랑|하고|와|과)$/iu, { kind: "joiner" }],
  [/^(?:각각|각자|각|씩|each|똑같이|apiece)$/iu, { kind: "each" }],
  [/^to$/iu, { kind: "to" }],
  [/^(?:말고|아니고|아니라|대신|아닌)$/u, { kind: "not" }],
  [/^(?:계좌|통장)(?:로|으로|에)?$/u, { kind: "close" }],
  [POSSESSIVE, undefined],
  [VERBS, { kind: "verb" }],
  [STOPS, { kind: "break" }],
];

function tokenOf(
  word: string,
  moneys: readonly MoneyReading[],
  accounts: readonly string[],
): Token[] {
  const index = Number(word.slice(1));
  if (word.startsWith("\u{E000}")) return [{ kind: "money", money: moneys[index]! }];
  if (word.startsWith("\u{E002}")) return [{ kind: "dative", name: accounts[index]! }];
  const role = ROLES.find(([pattern]) => pattern.test(word));
  if (role) return role[1] ? [role[1]] : [];

  const dative = DATIVE.exec(word)?.[1] ?? PLACE.exec(word)?.[1];
  if (dative !== undefined) return nameToken("dative", dative);
  return joinedToken(word) ?? nameToken("bare", word);
}

/** 엄마랑 joins what follows; 아빠도 joins what was before. */
function joinedToken(word: string): Token[] | undefined {
  const also = ALSO.exec(word)?.[1];
  const joined = JOINED.exec(word)?.[1] ?? also;
  if (joined === undefined || !isName(withoutEnds(joined))) return undefined;
  return also === undefined
    ? nameToken("joined", joined)
    : [{ kind: "joiner" }, ...nameToken("bare", also)];
}

/** 누구에게 asks; 나한테 is no recipient. */
const NO_RECIPIENTS = /^(?:누구|아무|나|저|내|me|거기|여기|이거|그거|어디)$/iu;

function nameToken(kind: "dative" | "joined" | "bare", word: string): Token[] {
  const name = withoutEnds(word);
  return isName(name) && !NO_RECIPIENTS.test(name) ? [{ kind, name }] : [{ kind: "break" }];
}

// --- who gets what

interface Group {
  readonly names: string[];
  readonly moneys: MoneyReading[];
  isEach: boolean;
}

/** 엄마 아빠 5만씩 */
function areRelatives(name: string, next: Token): boolean {
  return RELATIONS.test(name) && next.kind === "bare" && RELATIONS.test(next.name);
}

/** Reads tokens from left to right: names gather until an amount or a 한테 closes their group. */
class PaymentReader {
  readonly #tokens: readonly Token[];
  readonly #groups: Group[] = [];
  readonly #doubts = new Set<PaymentDoubt>();
  /** Names that 랑, a comma or `and` has joined, and the last bare word. */
  #names: string[] = [];
  #isJoined = false;
  /** Behind `to`, or a verb that takes a person: bare words are names. */
  #expectsName: "to" | "verb" | undefined;
  /** 엄마한테, 아빠한테: the next name belongs to the group that waits for its amount. */
  #extendsGroup = false;
  #hasJustClosed = false;
  #held: MoneyReading | undefined;
  #isEach = false;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  read(): PaymentsReading {
    for (const [place, token] of this.#tokens.entries()) this.#take(token, this.#tokens[place + 1]);
    this.#finish();
    const payments = this.#groups.flatMap((group) => this.#paymentsOf(group));
    if (payments.length === 0 && this.#held) this.#doubts.add("amount-without-person");
    return { payments, doubts: [...this.#doubts] };
  }

  #take(token: Token, next: Token | undefined): void {
    switch (token.kind) {
      case "money":
        return this.#takeMoney(token.money);
      case "bare":
        return this.#takeBare(token.name, next);
      case "joined":
        this.#addName(token.name);
        this.#isJoined = true;
        return;
      case "dative":
        this.#addName(token.name);
        return this.#closeGroup();
      default:
        return this.#takeRole(token.kind);
    }
  }

  #takeRole(kind: Role): void {
    switch (kind) {
      case "joiner":
        this.#isJoined = true;
        this.#extendsGroup = this.#hasJustClosed && this.#awaitsAmount();
        return;
      case "each":
        this.#isEach = true;
        if (this.#groups.length > 0) this.#groups.at(-1)!.isEach = true;
        return;
      case "to":
      case "verb":
        this.#expectsName = kind;
        return;
      case "close":
        return this.#closeGroup();
      case "not":
        return this.#dropLast();
      case "break":
        return this.#interrupt();
    }
  }

  #interrupt(): void {
    this.#extendsGroup = false;
    this.#hasJustClosed = false;
    if (this.#expectsName && this.#names.length > 0) this.#closeGroup();
    if (!this.#isJoined) this.#names = [];
  }

  /**
   * A bare word is a name beside a joiner, an amount, another name, or where one is expected; and
   * behind an amount, if it is plainly one: 50000 홍길동.
   */
  #takeBare(name: string, next: Token | undefined): void {
    const isBeside =
      next !== undefined &&
      (["joiner", "money", "dative", "joined", "each", "close"].includes(next.kind) ||
        areRelatives(name, next));
    const isExpected =
      this.#expectsName === "to" || (this.#expectsName === "verb" && BARE_NAME.test(name));
    const isAPurpose = this.#awaitsAmount() && !this.#isJoined;
    if ((isBeside && !isAPurpose) || this.#isJoined || isExpected) return this.#addName(name);
    this.#names = [];
    const isLast = next === undefined || next.kind === "break";
    if (this.#held && isLast && isPlainName(name)) {
      this.#addName(name);
      this.#closeGroup();
    }
  }

  /** 엄마한테 점심값 5만원: the people are known, and the word says what it is for. */
  #awaitsAmount(): boolean {
    return this.#groups.at(-1)?.moneys.length === 0 && this.#names.length === 0;
  }

  /** 엄마 말고 아빠한테: the one before is not meant. */
  #dropLast(): void {
    if (this.#names.length > 0) this.#names = [];
    else if (this.#awaitsAmount() && !this.#hasMoneyBefore()) this.#groups.pop();
  }

  /** 엄마한테 5만원 말고 7만원: it is the amount that is not meant. */
  #hasMoneyBefore(): boolean {
    const place = this.#tokens.findIndex(({ kind }) => kind === "not");
    return this.#tokens[place - 1]?.kind === "break";
  }

  /** Two words without a joiner are one name (김 대리, John Smith, 민수 엄마), or two (엄마 아빠). */
  #addName(name: string): void {
    const last = this.#names.at(-1);
    if (last === undefined || this.#isJoined) {
      this.#names.push(name);
      this.#isJoined = false;
      return;
    }
    if (RELATIONS.test(last) && RELATIONS.test(name)) {
      this.#names.push(name);
      return;
    }
    const isTitled = /^[가-힣]$|^[a-z]/iu.test(last) || RELATIONS.test(name);
    if (!isTitled) this.#doubts.add("one-name-or-two");
    this.#names[this.#names.length - 1] = `${last} ${name}`;
  }

  #closeGroup(): void {
    if (this.#names.length === 0) return;
    const last = this.#groups.at(-1);
    if (this.#extendsGroup && last) {
      last.names.push(...this.#names);
      last.isEach ||= this.#isEach;
      this.#startAnew();
      return;
    }
    const moneys = this.#held ? [this.#held] : [];
    this.#groups.push({ names: this.#names, moneys, isEach: this.#isEach });
    this.#held = undefined;
    this.#startAnew();
  }

  #startAnew(): void {
    this.#names = [];
    this.#extendsGroup = false;
    this.#hasJustClosed = true;
    this.#isEach = false;
    this.#isJoined = false;
    this.#expectsName = undefined;
  }

  #takeMoney(money: MoneyReading): void {
    this.#closeGroup();
    const group = this.#groups.at(-1);
    this.#isJoined = false;
    if (
      !group ||
      (group.moneys.length > 0 && this.#held === undefined && this.#comesBeforeNames())
    ) {
      this.#held = money;
      return;
    }
    group.moneys.push(money);
  }

  /** Whether amounts stand before their people in this sentence (`5만원을 엄마한테, 3만원을 아빠한테`). */
  #comesBeforeNames(): boolean {
    return (
      this.#tokens.find(({ kind }) => kind === "money" || kind === "dative" || kind === "to")
        ?.kind === "money"
    );
  }

  #finish(): void {
    if (this.#names.length > 0 && (this.#held || this.#groups.length > 0 || this.#expectsName)) {
      this.#closeGroup();
    }
  }

  #paymentsOf({ names, moneys, isEach }: Group): Payment[] {
    const [amount] = moneys;
    if (moneys.length > 1) this.#doubts.add("several-amounts");
    const per = amount?.ok === true ? amount.per : undefined;
    if (names.length > 1 && amount && !isEach && per !== "each") this.#doubts.add("each-or-total");
    return names.map((to) => ({ to, amount: moneys.length > 1 ? undefined : amount }));
  }
}
