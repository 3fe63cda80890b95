import {
  classifyReply,
  deriveAmounts,
  findMoney,
  findPayments,
  findRecurrence,
  findWhen,
  fold,
  moveWordsOf,
  parseAmount,
  parsePerson,
  type Locale,
  type MoneyReading,
  type Move,
  type PaymentsReading,
  type SlotChange,
  type SlotErrors,
  type SlotItem,
  type SlotReading,
  type SlotValues,
} from "dure/slots";
import { MESSAGES } from "./messages.ts";
import { meantIn, replacedIn } from "./offline-entries.ts";
import { SLOT_NAMES, type SlotErrorKey, type SlotName } from "./slots.ts";

/**
 * What stands in for the language model when none is configured: three deterministic functions, one
 * per agent. They read sentences by patterns, so they understand less than a model; they return raw
 * text (`"5만원"`), and the code that judges a model's answers judges theirs as well. They never
 * confirm.
 */

export type Scenario = "TRANSFER" | "GENERAL";

/**
 * The intent agent: whether a message wants a transfer. A question about transfers (`방금 이체 됐어?`)
 * wants none.
 */
export function offlineIntent(text: string): {
  readonly scenario: Scenario;
  readonly because: string;
} {
  if (text.length > LONGEST_MESSAGE) return { scenario: "GENERAL", because: "too-long" };
  const spoken = spokenOf(text);
  const words = fold(spoken).trim();
  if (ASKS_ABOUT.test(words)) return { scenario: "GENERAL", because: "asks-about" };
  if (WANTS_TRANSFER.test(words) || SENDS_TO.test(words)) {
    return { scenario: "TRANSFER", because: "says-so" };
  }

  if (findPayments(spoken).payments.some(({ amount }) => amount !== undefined)) {
    return { scenario: "TRANSFER", because: "recipient-and-amount" };
  }
  return { scenario: "GENERAL", because: "neither-said-nor-shown" };
}

export interface OfflineSlotContext {
  readonly stage: string;
  /** What is known: what "half of it" is counted from. */
  readonly slots?: SlotValues | undefined;
  /** The transfers behind the current one. */
  readonly waiting?: readonly SlotValues[] | undefined;
  /** The slot that was asked for: a bare answer (`홍길동`, `5만`) fills it. */
  readonly askedSlot?: string | undefined;
}

/** The slot agent: what a message changes, with the words that say it. */
export function offlineSlots(text: string, context: OfflineSlotContext): SlotReading {
  if (text.length > LONGEST_MESSAGE) return NOTHING;
  const line = text.normalize("NFC").replace(/\s+/g, " ").trim();
  const notes = readNotes(line);
  if (BEYOND_PATTERNS.test(line)) return NOTHING;
  const { negated, reported, supposed, changes } = moveWordsOf(notes.rest);
  const standing = reported ? [] : standingIn(line, notes, context);
  if (!standing) return NOTHING;
  if (standing.length > 0) return { ...NOTHING, kind: "details", items: standing };
  if (negated && !changes) return { ...NOTHING, kind: "refuse" };
  if (reported || (supposed && context.stage !== "FILLING")) return NOTHING;
  // Nothing here can repeat a transfer, and one transfer is not what was asked for.
  if (findRecurrence(notes.rest).length > 0) return NOTHING;

  return detailsIn(line, notes, context);
}

function detailsIn(line: string, notes: Notes, context: OfflineSlotContext): SlotReading {
  const items = itemsIn(line, notes, context);
  const hasAny = items.length > 0 || notes.cleared.length > 0;
  // Who is there already has been read: 철수 말고 엄마한테.
  const known = String(context.slots?.["target"] ?? "\n");
  const note = hasAny ? unreadIn(notes.rest.replaceAll(known, " "), items) : "";
  return { kind: hasAny ? "details" : "other", items, clear: notes.cleared, note };
}

/** Places in a list, sums in several steps, one of two: what only a model makes out. */
const BEYOND_PATTERNS =
  /[만천원]이나 |서로|라던데|라더라|라고 카톡|\bswap|— ?no,|\bwait,? no\b|\bhalf of what\b|\b(?:wire|send|pay|transfer|give)s? me\b|\bon \d{1,2}\/\d{1,2}\b/iu;

const NOTHING: SlotReading = { kind: "other", items: [], clear: [], note: "" };

/**
 * What a message changes of transfers that stand: to whom they go, or one of several by its name.
 * Undefined where it says two things of them, which only a model tells apart.
 */
function standingIn(
  line: string,
  { rest, values: said }: Notes,
  { slots = {}, waiting = [] }: OfflineSlotContext,
): readonly SlotItem[] | undefined {
  const entries = [slots, ...waiting];
  const names = entries.flatMap(({ target }) => (typeof target === "string" ? [target] : []));
  const replaced = replacedIn(rest, names);
  if (replaced) {
    const { from, to, rest: others } = replaced;
    const values = { ...readOrder(others), ...said, target: to };
    return [{ ...itemOf(values, line, "correct"), entry: from }];
  }
  const meant = meantIn(rest, names);
  if (!meant) return [];
  if (IS_WRONG.test(meant.rest) || /[?？]/u.test(line)) return undefined;
  const isOneMore = moveWordsOf(meant.rest).adds && !isAnswer(meant.rest);
  if (isOneMore) return [];
  const leaves = LEAVES_OUT.test(meant.rest);
  const items = meant.names.flatMap((entry) => {
    const values = {
      ...valuesOf(meant.rest, entries.find(({ target }) => target === entry) ?? {}),
      ...said,
    };
    const item = itemOf(values, line, "correct");
    if (item.changes.length > 0) return values.target === undefined ? [{ ...item, entry }] : [];
    return leaves ? [{ move: "remove" as const, entry, changes: [] }] : [];
  });
  const isMixed = leaves && (items.some(({ move }) => move !== "remove") || KEEPS.test(line));
  return isMixed ? undefined : items;
}

/** The second one's wrong: what is right may be any value of it. */
const IS_WRONG = /틀렸|틀려|잘못|\bwrong\b/iu;
const KEEPS = /(?<=[가-힣])만(?![가-힣])|남기|남겨|대신|\b(?:only|keep|just)\b/iu;
const LEAVES_OUT =
  /빼|지워|삭제|취소|없던|없애|제외|안 ?보내|\b(?:remove|drop|delete|take|cancel|skip|leave|scratch)\b/iu;

/** Amount and day that words say of one transfer. */
function valuesOf(rest: string, { amount }: SlotValues): RawSlots {
  const read = readOrder(rest);
  const known = typeof amount === "number" ? { current: amount } : {};
  const [derived] = deriveAmounts(rest, known).filter(({ isWhole }) => isWhole);
  return derived ? { ...read, amount: `${derived.value}원` } : read;
}

function itemsIn(line: string, notes: Notes, context: OfflineSlotContext): readonly SlotItem[] {
  const move = moveIn(notes.rest);
  const people = readTasks(notes.rest);
  if (move === "swap") return [{ move, changes: [] }];
  if (move === "remove") return leavingOut(notes.rest);
  if (people.length > 1) {
    return people.map((raw, place) =>
      itemOf(place === 0 ? { ...raw, ...notes.values } : raw, line, move),
    );
  }
  const item = itemOf(valuesIn(line, notes, context), line, move);
  return item.changes.length > 0 ? [item] : [];
}

/**
 * The first words of a message that none of its values stands in, and that are no ordinary words of
 * an order. Patterns read less than a model: what they passed over is shown.
 */
function unreadIn(line: string, items: readonly SlotItem[]): string {
  const read = items
    .flatMap(({ entry = "", changes }) => [
      entry,
      ...changes.flatMap(({ value, quote }) => [quote, String(value)]),
    ])
    .filter((one) => one !== "");
  let rest = line;
  for (const words of read.toSorted((a, b) => b.length - a.length)) {
    rest = rest.replaceAll(words, " ");
  }
  for (const { words } of [...findMoney(line), ...findWhen(line, { today: "2000-01-01" })]) {
    if (read.some((one) => one.includes(words) || words.includes(one))) {
      rest = rest.replace(words, " ");
    }
  }
  return (
    ORDINARY.reduce((left, words) => left.replaceAll(words, " "), ` ${rest} `)
      .replaceAll(/[\p{P}\p{S}ㄱ-ㅎㅏ-ㅣ]+/gu, " ")
      .trim()
      .split(/\s{2,}/)
      .filter((words) => /[\p{L}\p{N}]{2}/u.test(words) && !isTakenBack(words, line))[0] ?? ""
  );
}

/** 5만원 of 5만원, 아니 6만원: it was understood, and is not meant. */
function isTakenBack(words: string, line: string): boolean {
  const meant = new Set(findMoney(line).map((one) => one.words));
  const [amount] = findMoney(words);
  return amount?.words === words && !meant.has(words);
}

/** Words of an order that carry no value. */
const ORDINARY: readonly RegExp[] = [
  /(?<=\s)(?:좀|꼭|지금|바로|빨리|얼른|그냥|그럼|그러면|그리고|또|이번엔|우리|울|내|제|아|앗|아차|아참|음|어|저기요?|저|그|참|미안|죄송한데|네|응|아니다?|아니요|근데|혹시|돈|금액|금액을|금액은|받는 ?사람[을은]?|수신자[를는]?|날짜[를는]?|각각|각자|전부|모두|다|하나|용돈|씩)(?=\s)/gu,
  /(?:보내|부쳐|쏴|이체|송금|입금|해|바꿔|변경|수정|정정|추가|넣어|빼)(?: ?(?:해 ?)?(?:줘요?|주라|주세요|줄래요?|주실래요?|주십시오|줄 수 있어요?|드려요?|부탁(?:해요?|드려요|드립니다|합니다)?|할게요?|할래요?|하고|고|자|요|야|죠|해요?|으로|로|쥬|줭|줘여))*/gu,
  /(?:부탁(?:해요?|드려요|드립니다|합니다)?|주세요|줘요?|해요?)(?=\s)/gu,
  /(?<=\s)(?:한테|에게|께|님|씨|으로|로|을|를|은|는|이|가|도|만|씩|이요|요|에|날|까지|하고|이랑|랑|와|과|입니다|이에요|예요|이었어|였어|였다|이야|야|말고|대신|더|덜|깎아서|추가로)+(?=\s)/gu,
  /\b(?:please|pls|send|transfer|wire|pay|give|can|could|you|i|want|to|the|a|an|of|and|for|from|on|at|by|it|its|it's|that|this|is|my|me|oh|um|uh|hey|ok|okay|well|so|sorry|wait|no|not|yes|make|change|also|too|add|instead|actually|meant|recipient|amount|now|then|each|with|won|more|less|some|money|just|let's|lets|would|like|go|should|be|as|thanks|thank|hi|hello)\b/giu,
];

function moveIn(line: string): Move {
  const { changes, adds, removes, swaps } = moveWordsOf(line);
  if (swaps) return "swap";
  if (adds && !changes) return "add";
  if (deriveAmounts(line, { current: 2 }).length > 0) return "correct";
  if (removes && !changes) return "remove";
  return changes && !adds ? "correct" : "set";
}

/** 영희는 빼줘, without Bob: whose transfer is not wanted. */
function leavingOut(line: string): readonly SlotItem[] {
  const [who] = line.split(
    /(?:은|는|을|를)?\s*(?:빼|제외|없이)|\b(?:without|drop|remove|leave)\b/iu,
  );
  const rest = /\b(?:without|drop|remove|leave)\b\s*(?:out\s*)?(\p{L}+)/iu.exec(line)?.[1];
  const name = parsePerson(rest ?? who ?? "");
  return name.ok ? [{ move: "remove", entry: name.value, changes: [] }] : [];
}

function valuesIn(line: string, { rest, values }: Notes, context: OfflineSlotContext): RawSlots {
  const { stage, askedSlot, slots = {} } = context;
  const isAboutIt = stage !== "READY" || isChange(line) || isAnswer(line);
  if (!isAboutIt || isQuestionAboutADay(rest)) return values;
  const read = { ...readOrder(rest), ...readEdits(rest), ...values };
  const isOther = read.target !== undefined && read.target !== slots["target"];
  const known = !isOther && typeof slots["amount"] === "number" ? { current: slots["amount"] } : {};
  const [derived] = deriveAmounts(rest, known).filter(({ isWhole }) => isWhole);
  const amount = derived && `${derived.value}원`;
  const target = read.target ?? (stage === "READY" ? otherNameIn(rest) : undefined);
  const all = amount === undefined ? { ...read, target } : { ...read, target, amount };
  if (Object.values(all).some((value) => value !== undefined)) return all;
  const asked = SLOT_NAMES.find((name) => name === askedSlot);
  return asked === undefined ? all : { [asked]: readBareAnswer(line, asked) };
}

/** A sum that is computed, or a name alone: 반만, 영희. */
function isAnswer(line: string): boolean {
  return deriveAmounts(line, { current: 2 }).length > 0 || otherNameIn(line) !== undefined;
}

/** Who is named where nothing but a name is said: 영희로, 아 영희였다, make it Lucy instead. */
function otherNameIn(line: string): string | undefined {
  const named = NAMED_ALONE.exec(line)
    ?.slice(1)
    .find((name) => name !== undefined);
  if (named === undefined || findWhen(line, { today: "2000-01-01" }).length > 0) return undefined;
  const name = parsePerson(named);
  const isAlso = /[가-힣]{2}도$/u.test(named);
  return name.ok && !isAlso && !ANSWERS.has(classifyReply(named).kind) ? name.value : undefined;
}

const NAMED_ALONE =
  /^(?:(?:아|앗|아차|음|어|참|아니|아니다)[,. ]+)?(?:(?:수신자|받는 ?사람|받는 ?분|대상)(?:을|를|은|는|이|가)? ?)?([가-힣]{2,4}?)(?:님|씨)?(?:한테|에게|께)?(?:으로|로)?(?:이었어|였어|이었다|였다|이야|야|이에요|예요|이요|요)?(?: ?(?:바꿔|변경|정정)(?: ?(?:줘|주세요))?)?[.!~? ]*$|^(?:(?:oh|sorry|no|um|wait),? )*(?:the recipient is |it'?s |[Ii] meant? |make it |add |not \p{L}+, ?(?:but )?)?(?:to )?(\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)?)(?: instead| with .+)?[.! ]*$/u;

function isChange(line: string): boolean {
  const { changes, adds } = moveWordsOf(line);
  return changes || adds || classifyReply(line).kind === "change";
}

function itemOf(raw: RawSlots, line: string, move: Move): SlotItem {
  const changes = SLOT_NAMES.flatMap((slot): SlotChange[] => {
    const value = raw[slot];
    return value === undefined ? [] : [{ slot, value, quote: quoteOf(value, line) }];
  });
  return { move, changes };
}

/** The words of the message that say a value; the whole message where the value is computed. */
function quoteOf(value: string, line: string): string {
  if (line.includes(value)) return value;
  const sum = parseAmount(value);
  const said = findMoney(line).find((one) => one.ok && sum.ok && one.value === sum.won);
  if (said) return said.words;
  return sum.ok && deriveAmounts(line, { current: 1 }).length > 0 ? line : "";
}

export interface OfflineReplyContext {
  readonly text: string;
  readonly locale: Locale;
  readonly stage: string;
  readonly slotErrors: SlotErrors;
}

/** The interaction agent: an answer on the way, and small talk. */
export function offlineReply({ text, locale, stage, slotErrors }: OfflineReplyContext): string {
  const texts = MESSAGES[locale];
  if (stage === "ANSWERING" && ASKS_WHAT_IS_POSSIBLE.test(fold(text))) {
    const known = Object.values(slotErrors).map((error) => texts.slotError(error as SlotErrorKey));
    if (known.length > 0) return known.join(" ");
  }
  const { fallback, unclear } = texts.smallTalk;
  const answer = smallTalk(text, locale);
  return stage === "READY" && answer === fallback ? unclear : answer;
}

const ASKS_WHAT_IS_POSSIBLE = /얼마|잔액|한도|왜|how much|balance|limit|why/u;

type RawSlots = Partial<Record<SlotName, string | undefined>>;

/**
 * Characters; twenty transfers fit. The patterns are not meant for essays, and must not keep the
 * process busy with one.
 */
const LONGEST_MESSAGE = 1_000;

/**
 * Whole words, their beginnings after a space, and compounds of 이체: 이체 in 대이체 or 보내 in 못보내 do
 * not count.
 */
const WANTS_TRANSFER =
  /(?<![\p{L}\p{N}])(?:(?:계좌 ?|은행|실시간|당행|타행)?(?:이체|송금)|돈(?:을|좀)? ?보내|보내 ?(?:줘|주세요|줄래|고 ?싶|려고|야|자|라|요|$)|부쳐 ?(?:줘|주세요)?|transfer|wire|send (?:₩?\d|some |money|it to ))/u;

/** 엄마한테보내줘, and 엄마한테 5망원, whose amount is asked for. */
const SENDS_TO =
  /(?:한테|에게|께) ?(?:돈 ?)?(?:보내 ?(?:줘|주)|부쳐|쏴|이체|송금|[\d.,]+[가-힣]{0,3}원)/u;

const ASKS_ABOUT =
  /(?:됐어|됐나|됐니|되었|됐을까|갔어|갔나|보냈)[^?]*\?|(?:수수료|한도|방법|얼마야|얼마예요|얼마인가|뭐야|뭐예요|무엇|왜|어떻게|하는 법)|^(?:what|why|how|when|did|does|is|are)\b/u;

const QUOTES = `"'“”‘’「」『』`;

interface Notes {
  readonly rest: string;
  readonly values: RawSlots;
  readonly cleared: readonly SlotName[];
}

/** Memo and alias are read first and taken out: whatever stands in them is a note, not an order. */
function readNotes(line: string): Notes {
  let rest = line;
  const values: RawSlots = {};
  const cleared: SlotName[] = [];

  const take = (pattern: RegExp, slot: "memo" | "alias"): void => {
    const match = pattern.exec(rest);
    const value = match?.[1]?.replace(new RegExp(`^[${QUOTES}\\s]+|[${QUOTES}\\s]+$`, "gu"), "");
    if (!match || !value || values[slot] !== undefined) return;
    values[slot] = value;
    rest = `${rest.slice(0, match.index)} ${rest.slice(match.index + match[0].length)}`;
  };

  for (const [slot, pattern] of CLEARS) {
    if (!pattern.test(rest)) continue;
    cleared.push(slot);
    rest = rest.replace(pattern, " ");
  }
  for (const [slot, pattern] of NOTES) take(pattern, slot);
  return { rest: rest.replace(/\s+/g, " ").trim(), values, cleared };
}

const REMOVE = "(?:지워|삭제|빼|없애)[^,.]*";
const CLEARS: readonly (readonly [SlotName, RegExp])[] = [
  [
    "memo",
    new RegExp(
      `메모(?:는|를|은)? ?(?:없이|없어|필요 ?없어|${REMOVE})|(?:remove|clear|no) (?:the )?memo`,
      "iu",
    ),
  ],
  [
    "alias",
    new RegExp(`별칭(?:은|을)? ?(?:없이|없어|${REMOVE})|(?:remove|clear|no) (?:the )?alias`, "iu"),
  ],
  [
    "transfer_date",
    new RegExp(`날짜(?:는|를)? ?(?:없이|없어|${REMOVE})|(?:remove|clear|no) (?:the )?date`, "iu"),
  ],
  ["amount", new RegExp(`금액(?:은|을)? ?${REMOVE}|(?:remove|clear) (?:the )?amount`, "iu")],
  [
    "target",
    new RegExp(`받는 ?(?:사람|분)(?:은|을)? ?${REMOVE}|(?:remove|clear) (?:the )?recipient`, "iu"),
  ],
];

const WRITE = "(?:써|적어|남겨|넣어|해|바꿔|변경|수정)[^,.]*";
const NOTES: readonly (readonly ["memo" | "alias", RegExp])[] = [
  [
    "memo",
    new RegExp(
      `메모(?:에는|에|를|는|은)? ?[:：]?\\s*(.+?) ?(?:이라고|라고|으로|로) ?${WRITE}`,
      "u",
    ),
  ],
  ["memo", new RegExp(`(?<=^|[ ,])([^ ,]+?)(?:이라고|라고) ?메모(?: ?${WRITE})?`, "u")],
  ["memo", /메모(?:는|은|:|：) ?(.+?)(?=$|[,.](?: |$))/u],
  ["memo", /\bmemo:? (.+?) ?(?:으로|로) ?(?:해|써|적어)[^,.]*/iu],
  ["memo", /메모(?:에|로|에다) (.+?) ?(?:넣어|써|적어|남겨) ?(?:줘|주세요)?/u],
  [
    "memo",
    new RegExp(`[${QUOTES}]([^${QUOTES}]{1,100})[${QUOTES}] ?(?:이라고|라고) ?${WRITE}`, "u"),
  ],
  [
    "memo",
    /\b(?:with (?:the|a) |and )?(?:memo|note|write|saying) ?["“]([^"”]{1,100})["”](?: on it)?/iu,
  ],
  ["memo", /\bput (.+?) as the (?:memo|note)(?: first)?/iu],
  ["memo", /\b(?:the )?note(?: should say|:| says):? (.+?)$/iu],
  ["memo", /\bmemo(?: is|:| should say| says)? (.+?)(?=$|[,.](?: |$))/iu],
  [
    "alias",
    new RegExp(`별칭(?:에는|에|을|은)? ?[:：]?\\s*(.+?) ?(?:이라고|라고|으로|로) ?${WRITE}`, "u"),
  ],
  ["alias", /별칭(?:은|:|：) ?(.+?)(?=$|[,.](?: |$))/u],
  ["alias", /\balias(?: is|:)? (.+?)(?=$|[,.](?: |$))/iu],
];

/**
 * The transfers of a message that names several recipients: one for each, also for one whose amount
 * is missing, so that every person who was named is kept.
 */
function readTasks(line: string): RawSlots[] {
  const { payments, doubts } = findPayments(line);
  if (payments.length < 2 || !payments.some(({ amount }) => amount !== undefined)) return [];

  const date = dayIn(line);
  return payments.map(({ to, amount }) => ({
    transfer_date: date,
    target: to,
    amount: rawAmount(amount, doubts),
  }));
}

/** Recipient, amount and date of a message that names at most one recipient. */
function readOrder(line: string): RawSlots {
  const { payments, doubts } = findPayments(line);
  const [amount, ...others] = findMoney(line);
  const isOnePerson = payments.length === 1 && !doubts.includes("one-name-or-two");
  return {
    target: isOnePerson ? payments[0]!.to : undefined,
    amount: others.length === 0 ? rawAmount(payments[0]?.amount ?? amount, doubts) : undefined,
    transfer_date: dayIn(line),
  };
}

/**
 * The amount as it was written, where `parseAmount` reads it; none where it must be asked for whom
 * it is meant.
 */
function rawAmount(
  amount: MoneyReading | undefined,
  doubts: PaymentsReading["doubts"],
): string | undefined {
  if (!amount || doubts.includes("each-or-total")) return undefined;
  const isExact = amount.ok && amount.sure === "exact";
  return isExact && !parseAmount(amount.words).ok ? `${amount.value}원` : amount.words;
}

/** The words of the one day that a message names; whether there is such a day is judged later. */
function dayIn(line: string): string | undefined {
  const days = findWhen(line, { today: "2000-01-01" });
  return days.length === 1 ? days[0]!.words : undefined;
}

/** `금액을 3만원으로 바꿔줘`, `받는 사람은 김철수로`, `날짜는 내일`. */
function readEdits(line: string): RawSlots {
  const values: RawSlots = {};
  const target =
    /받는 ?(?:사람|분)(?:을|은|이)? ?([\p{L}\p{N}·.-]+?)(?: ?님| ?씨)?(?:으로|로|에게|이야|야|입니다|이에요|예요)?(?=[\s,.!]|$)/u.exec(
      line,
    ) ??
    /\brecipient (?:to|is) ([\p{L}][\p{L}\p{N}.-]*(?: (?=\p{Lu})[\p{L}\p{N}.-]+)*)/u.exec(line);
  if (target) values.target = target[1]!;

  const amount =
    /(?:금액|amount)(?:을|은|이|를)? ?(?:to |is )?([-−]?[^\s,]+(?: ?[\d천백십]+원)?)/u.exec(line);
  if (amount && values.amount === undefined) {
    values.amount =
      findMoney(line)[0]?.words ?? amount[1]!.replace(/(?:으로|로|이야|입니다|이에요|예요)$/u, "");
  }
  return values;
}

/**
 * The whole message as the value that was asked for, without the endings of speech. A question is
 * no answer.
 */
function readBareAnswer(line: string, slot: SlotName): string | undefined {
  if (/[?？]/.test(line)) return undefined;
  const answer = line
    .replace(/[.!~ㅎㅋㅠㅜ\s]+$/u, "")
    .replace(/ ?(?:이요|요|입니다|이에요|예요|이야)$/u, "")
    .trim();
  if (answer === "" || answer.length > 200) return undefined;
  if (slot !== "target") return answer;
  if (ANSWERS.has(classifyReply(line).kind)) return undefined;
  const name = parsePerson(answer);
  return name.ok ? name.value : undefined;
}

/** 네보내주세요, ㄴㄴ: the name of no one. */
const ANSWERS: ReadonlySet<string> = new Set(["yes", "no", "cancel-one", "cancel-all", "unsure"]);

/** `오늘 날씨 어때?` names a day and changes none. */
function isQuestionAboutADay(line: string): boolean {
  if (!/[?？]/.test(line)) return false;
  const { transfer_date: day, ...others } = readOrder(line);
  return day !== undefined && Object.values(others).every((value) => value === undefined);
}

function smallTalk(text: string, locale: Locale): string {
  const words = fold(text).trim();
  const { greeting, thanks, help, fallback } = MESSAGES[locale].smallTalk;
  if (
    /^(?:안녕|반가워|하이(?:[\s!~]|$)|hi\b|hello\b|hey\b|good (?:morning|afternoon|evening)\b)/u.test(
      words,
    )
  ) {
    return greeting;
  }
  if (/^(?:고마워|감사|땡큐|thanks?\b|thank you)/u.test(words)) return thanks;
  if (/(?<![\p{L}])(?:도와|도움|어떻게|사용법|help\b|how\b)/u.test(words)) return help;
  return fallback;
}

/** A sentence without what stands in its notes, for deciding what it wants. */
function spokenOf(text: string): string {
  return readNotes(text.normalize("NFC").replace(/\s+/g, " ").trim()).rest;
}
