import {
  askedSlotOf,
  fold,
  type Delta,
  type Locale,
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
  if (WANTS_TRANSFER.test(words)) return { scenario: "TRANSFER", because: "says-so" };

  const { target, amount } = readSegment(spoken, { bareNames: true });
  if (target !== undefined && amount !== undefined) {
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

  const tasks = readTasks(notes.rest);
  if (tasks.length > 1) {
    const [first, ...others] = tasks;
    return { operations: [], tasks: [{ ...first, ...notes.values }, ...others] };
  }

  const values: RawSlots = isQuestionAboutADay(notes.rest)
    ? notes.values
    : {
        ...readSegment(notes.rest, { bareNames: stage === "INIT" }),
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
  if (stage !== "FILLING") return smallTalk(text, locale);

  const errors = Object.values(slotErrors).map((error) => texts.slotError(error as SlotErrorKey));
  const asked = askedSlotOf(slots, slotErrors, SLOTS) as SlotName | undefined;
  const question = asked === undefined ? [] : [texts.askSlot(asked, slots, progress)];
  return [...errors, ...question].join(" ");
}

type RawSlots = Partial<Record<SlotName, string>>;

/**
 * Characters; twenty transfers fit. The patterns are not meant for essays, and must not keep the
 * process busy with one.
 */
const LONGEST_MESSAGE = 1_000;

/** Whole words or their beginnings after a space: 이체 in 대이체 or 보내 in 못보내 do not count. */
const WANTS_TRANSFER =
  /(?<![\p{L}\p{N}])(?:이체|송금|돈(?:을|좀)? ?보내|보내 ?(?:줘|주세요|줄래|고 ?싶|려고|야|자|라|요|$)|부쳐 ?(?:줘|주세요)?|transfer|wire|send (?:₩?\d|some |money|it to ))/u;

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
 * is missing, so that every person who was named is kept. A comma inside `50,000` separates nothing.
 */
function readTasks(line: string): RawSlots[] {
  const shared = readSharedAmount(line);
  if (shared.length > 1) return shared;
  const separated = line
    .split(SEPARATOR)
    .map((segment) => readSegment(segment, { bareNames: true }));
  const starts = [...line.matchAll(RECIPIENTS)].map(({ index }) => index);
  const tasks = separated.filter(({ target }) => target !== undefined);
  const named =
    starts.length > tasks.length
      ? starts.map((start, place) => readSegment(line.slice(start, starts[place + 1])))
      : tasks;
  if (named.length < 2 || !named.some(({ amount }) => amount !== undefined)) return [];

  const date = startsWithDate(line);
  return date === undefined ? named : named.map((task) => ({ transfer_date: date, ...task }));
}

/** One amount for several people: 엄마, 아빠, 동생한테 각각 3만원; 엄마랑 아빠한테 3만원씩. */
function readSharedAmount(line: string): RawSlots[] {
  const match = SHARED.exec(line);
  const amount = match && AMOUNT.exec(line.slice(match.index + match[1]!.length))?.[0];
  if (!amount || (!/각각|각자|모두|씩|똑같이/u.test(line) && !/each/iu.test(line))) return [];
  const date = DATE.exec(line.slice(match.index + match[1]!.length))?.[0];
  const names = match[1]!.split(/\s*[,、·]\s*|(?<=\S)(?:이랑|랑|하고|와|과) |\s+/u).filter(Boolean);
  return names.map((name) => {
    const target = name.replace(/(?:에게|한테|께)$/u, "").replace(/(?:님|씨)$/u, "");
    return date === undefined ? { target, amount } : { target, amount, transfer_date: date };
  });
}

/** Names with commas or 랑, 하고 between them, in front of one 에게 for all. */
const SHARED =
  /(?<![\p{L}\p{N}])((?:[가-힣]{1,6}(?:에게|한테|께)?(?:\s*[,、·]\s*|(?:이랑|랑|하고|와|과) ))+[가-힣]{1,6})(?:님|씨)?(?:에게|한테|께)/u;

const SEPARATOR =
  /,(?!\d{3})|[、;，]|(?<=[원\s])하고 |(?<=보내|송금하|이체하|부치|주)고 | 그리고 |(?<=원)이랑 | 랑 | and /u;

/** `홍길동에게`, `엄마한테도`, `김철수님께`; a question for someone (`누구에게`) names no person. */
const RECIPIENT_WORD =
  "(?<=^|[\\s,])(?!누구|아무|나에게|저에게|나한테|저한테)([\\p{L}\\p{N}·.-]+?)(?: ?님| " +
  "?씨)?(?:에게로|에게|한테|께|앞으로)(?:도|는|만)?(?=[\\s,.!?]|$|[\\d₩])";
const RECIPIENT = new RegExp(RECIPIENT_WORD, "u");
const RECIPIENTS = new RegExp(RECIPIENT_WORD, "gu");
const ENGLISH_RECIPIENT =
  /\bto (?!me\b|the\b|do\b|send\b)([\p{L}][\p{L}\p{N}.-]*(?: (?=\p{Lu})[\p{L}\p{N}.-]+)*)/u;

/** Words that stand in front of an amount and are no person's name. */
const NO_NAMES = new Set([
  "그냥",
  "그럼",
  "그러면",
  "아니",
  "다시",
  "대략",
  "약간",
  "우선",
  "일단",
  "각각",
  "전부",
  "모두",
  "금액",
  "금액은",
  "메모",
  "송금",
  "이체",
  "추가로",
  "한번에",
  "현금",
  "용돈",
]);

/**
 * Recipient, amount and date of one stretch of words. With `bareNames`, `홍길동 5만원` names a recipient
 * too.
 */
function readSegment(segment: string, { bareNames = false } = {}): RawSlots {
  const values: RawSlots = {};
  const put = (slot: SlotName, value: string | undefined): void => {
    if (value !== undefined && value !== "") values[slot] = value.trim();
  };

  const korean = RECIPIENT.exec(segment);
  const english = ENGLISH_RECIPIENT.exec(segment);
  put("target", korean?.[1] ?? english?.[1]?.replace(/[.]+$/, ""));

  const rest = korean ? segment.replace(korean[0], " ") : segment;
  const date = DATE.exec(rest);
  put("transfer_date", date?.[0]);
  const undated = date ? rest.replace(date[0], " ") : rest;
  const amount = AMOUNT.exec(undated);
  put("amount", amount?.[0]);

  if (bareNames && values.target === undefined && amount) {
    const name = /^(?:에 )?([가-힣]{2,5}?)(?: ?님| ?씨)?$/u.exec(
      undated.slice(0, amount.index).trim(),
    )?.[1];
    if (name !== undefined && !NO_NAMES.has(name)) put("target", name);
  }
  return values;
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
      AMOUNT.exec(line)?.[0] ?? amount[1]!.replace(/(?:으로|로|이야|입니다|이에요|예요)$/u, "");
  }
  return values;
}

const KOREAN_NUMBER = "[일이삼사오육칠팔구십백천만억조]";
/**
 * Something that is meant as an amount, right or wrong; `parseAmount` judges it. A bare number
 * needs four digits.
 */
const AMOUNT = new RegExp(
  [
    `(?<![\\p{L}\\p{N}])[-−]?[₩￦] ?[\\d,.]+(?: ?[천만억조])?(?: ?원)?`,
    `(?<![\\p{L}\\p{N}])(?:[-−]|마이너스 ?)?[\\d０-９][\\d０-９,，.]*(?: ?[십백천만억조]+(?: ?[\\d,]+)?)+(?: ?원)?`,
    `(?<![\\p{L}\\p{N}])(?:[-−]|마이너스 ?)?[\\d０-９][\\d０-９,，.]* ?(?:원|won|krw)(?!\\p{L}*장)`,
    `(?<![\\p{L}\\p{N}])(?:마이너스 ?)?${KOREAN_NUMBER}+(?: ${KOREAN_NUMBER}+)? ?원`,
    `(?<![\\p{L}\\p{N}])영원(?=[\\s,.!]|$|을|만)`,
    `(?<![\\p{L}\\p{N}.-])[-−]?(?:\\d{1,3}(?:,\\d{3})+|\\d{4,})(?=[\\s.!]|$|을|를|만|으로|로)`,
  ].join("|"),
  "iu",
);

const MONTH_NAME = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*";
const WEEKDAY_NAME = "(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?";
/** Something that is meant as a day; `parseDate` judges it. */
const DATE = new RegExp(
  [
    `\\d{4}-\\d{1,2}-\\d{1,2}`,
    `(?:\\d{4}년|작년|올해|내년|후년)? ?\\d{1,2}월 ?(?:\\d{1,2}일|말일?)`,
    `(?:지난|이번|다음|담|다다음) ?달 ?(?:\\d{1,2}일|말일?)`,
    `(?:이번|다음|담|다다음) ?주 ?[월화수목금토일]요일`,
    `(?<![\\p{L}\\p{N}])[월화수목금토일]요일`,
    `(?<![\\p{L}\\p{N}])(?:내일모레|낼모레|그글피|글피|모레|내일|오늘|어제|그저께|그제|말일|월말)(?=[\\s,.!에로은]|$)`,
    `(?<![\\p{L}\\p{N}])\\d{1,3}일 ?(?:뒤|후)`,
    `(?<![\\p{L}\\p{N}])\\d{1,2}/\\d{1,2}(?![\\d/])`,
    `(?<![\\p{L}\\p{N}])\\d{1,2}일(?=[\\s,.!에로]|$)`,
    `\\b(?:the )?day after tomorrow\\b|\\b(?:today|tomorrow|yesterday)\\b`,
    `\\b(?:(?:next|this) )?${WEEKDAY_NAME}\\b(?!\\p{L})`,
    `\\b${MONTH_NAME} \\d{1,2}(?:st|nd|rd|th)?(?:,? \\d{4})?\\b`,
  ].join("|"),
  "iu",
);

function startsWithDate(line: string): string | undefined {
  const match = DATE.exec(line);
  return match?.index === 0 ? match[0].trim() : undefined;
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
  if (IS_A_SENTENCE.test(answer)) return undefined;
  const name = answer.replace(/(?: ?님| ?씨)?(?:에게|한테|께|으로)?$/u, "").trim();
  return name === "" || name.split(" ").length > 3 ? undefined : name;
}

/** 배고프다, 졸려, 잠깐만, 나중에: how a sentence ends, and a name does not. */
const IS_A_SENTENCE =
  /(?:[가-힣](?:다|까|네|죠|군|려|파|워|싶어|할래|할게|을게|는데|잖아)|어때|잠깐만?|잠시만?|나중에|글쎄|몰라|모르겠어|그냥|뭐)$|^(?:i|i'm|im|it|hmm|wait|what|why|later)\b/iu;

/** `오늘 날씨 어때?` names a day and changes none. */
function isQuestionAboutADay(line: string): boolean {
  if (!/[?？]/.test(line)) return false;
  const { transfer_date: day, ...others } = readSegment(line, { bareNames: true });
  return day !== undefined && Object.keys(others).length === 0;
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
