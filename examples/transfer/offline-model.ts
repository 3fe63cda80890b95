import {
  askedSlotOf,
  classifyReply,
  findMoney,
  findPayments,
  findRecurrence,
  findWhen,
  fold,
  parseAmount,
  parsePerson,
  type Delta,
  type Locale,
  type MoneyReading,
  type PaymentsReading,
  type Progress,
  type SlotErrors,
  type SlotOperation,
  type SlotValues,
} from "dure/slots";
import { MESSAGES } from "./messages.ts";
import { SLOT_NAMES, SLOTS, type SlotErrorKey, type SlotName } from "./slots.ts";

/**
 * What stands in for the language model when none is configured: three deterministic functions, one
 * per agent. They read sentences by patterns, so they understand less than a model; they return raw
 * text (`"5만원"`), and the code that judges a model's answers judges theirs as well. They never
 * confirm and never cancel.
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
  /** The slot that was asked for: a bare answer (`홍길동`, `5만`) fills it. */
  readonly askedSlot?: string | undefined;
}

/**
 * The slot agent: a delta, with `tasks` when one message holds several transfers. An empty delta
 * changes nothing.
 */
export function offlineSlots(text: string, { stage, askedSlot }: OfflineSlotContext): Delta {
  if (text.length > LONGEST_MESSAGE) return { operations: [], _meta: { because: "too-long" } };
  const line = text.normalize("NFC").replace(/\s+/g, " ").trim();
  const notes = readNotes(line);
  // Nothing here can repeat a transfer, and one transfer is not what was asked for.
  if (findRecurrence(notes.rest).length > 0) {
    return { operations: [], _meta: { because: "recurring" } };
  }

  const tasks = readTasks(notes.rest);
  if (tasks.length > 1) {
    const [first, ...others] = tasks;
    return { operations: [], tasks: [{ ...first, ...notes.values }, ...others] };
  }

  const isAboutIt = stage !== "READY" || classifyReply(line).kind === "change";
  const values: RawSlots =
    !isAboutIt || isQuestionAboutADay(notes.rest)
      ? notes.values
      : {
          ...readOrder(notes.rest),
          ...readEdits(notes.rest),
          ...notes.values,
        };
  const operations: SlotOperation[] = [
    ...notes.cleared.map((slot) => ({ op: "clear", slot }) as const),
    ...SLOT_NAMES.flatMap((slot) =>
      values[slot] === undefined ? [] : [{ op: "set", slot, value: values[slot] } as const],
    ),
  ];
  if (operations.length > 0) return { operations };

  const asked = SLOT_NAMES.find((name) => name === askedSlot);
  const bare = asked === undefined ? undefined : readBareAnswer(line, asked);
  if (bare !== undefined) return { operations: [{ op: "set", slot: asked!, value: bare }] };
  return { operations: [], _meta: { because: "nothing-found" } };
}

export interface OfflineReplyContext {
  readonly text: string;
  readonly locale: Locale;
  readonly stage: string;
  readonly slots: SlotValues;
  readonly slotErrors: SlotErrors;
  readonly progress?: Progress | undefined;
}

/**
 * The interaction agent: explains errors first, then asks for one missing slot; outside a transfer
 * it makes small talk.
 */
export function offlineReply({
  text,
  locale,
  stage,
  slots,
  slotErrors,
  progress,
}: OfflineReplyContext): string {
  const texts = MESSAGES[locale];
  if (stage === "ANSWERING" && ASKS_WHAT_IS_POSSIBLE.test(fold(text))) {
    const known = Object.values(slotErrors).map((error) => texts.slotError(error as SlotErrorKey));
    if (known.length > 0) return known.join(" ");
  }
  if (stage !== "FILLING") {
    const { fallback, unclear } = texts.smallTalk;
    const answer = smallTalk(text, locale);
    return stage === "READY" && answer === fallback ? unclear : answer;
  }

  const errors = Object.values(slotErrors).map((error) => texts.slotError(error as SlotErrorKey));
  const asked = askedSlotOf(slots, slotErrors, SLOTS) as SlotName | undefined;
  const question = asked === undefined ? [] : [texts.askSlot(asked, slots, progress)];
  return [...errors, ...question].join(" ");
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

/** Memo and alias are read first and taken out: whatever stands in them is a note, not an order. */
function readNotes(line: string): {
  readonly rest: string;
  readonly values: RawSlots;
  readonly cleared: readonly SlotName[];
} {
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
