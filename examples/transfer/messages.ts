import {
  findMoney,
  formatAmount,
  josa,
  josaOnly,
  weekdayOf,
  type FormResult,
  type FormTexts,
  type IsoDate,
  type Locale,
  type SlotValue,
} from "dure/slots";
import type { LookErrorKey, SlotErrorKey, SlotName, TransferSlots } from "./slots.ts";

type TransferResult = FormResult<TransferSlots>;

/** Why a transfer failed: the bank's refusals, or what happened on the way to it. */
export type FailureCode =
  | "INSUFFICIENT_FUNDS"
  | "LIMIT_EXCEEDED"
  | "UNKNOWN_ACCOUNT"
  | "INVALID_REQUEST"
  | "BANK_UNREACHABLE"
  | "NOT_HAPPENED"
  | "EFFECT_UNKNOWN"
  | "OTHER";

/** A code of the bank or of the engine as one that has words; `OTHER` for the rest. */
function failureCodeOf(code: string | undefined): FailureCode {
  return code !== undefined && code in FAILURES_KO ? (code as FailureCode) : "OTHER";
}

/**
 * Every text that a person can read in this example. Nothing outside this file speaks to persons.
 */
export interface Texts extends FormTexts<TransferSlots> {
  readonly slotNames: Readonly<Record<SlotName, string>>;
  askSlot(slot: SlotName, ...more: Tail<Parameters<FormTexts<TransferSlots>["askSlot"]>>): string;
  slotError(error: SlotErrorKey | LookErrorKey): string;
  readonly unchecked: string;
  readonly noForeign: string;
  readonly smallTalk: {
    readonly greeting: string;
    readonly thanks: string;
    readonly help: string;
    readonly fallback: string;
    /** While a transfer waits for its yes. */
    readonly unclear: string;
  };
}

type Tail<List extends readonly unknown[]> = List extends readonly [unknown, ...infer Rest]
  ? Rest
  : never;

const ko: Texts = {
  buttons: {
    confirm: ["확인", "취소"],
    askContinue: ["계속 진행", "취소"],
    yesNo: ["네", "아니요"],
  },
  labels: { slots: "이체 정보 정리 중", interaction: "답변 작성 중" },
  slotNames: {
    target: "받는 분",
    amount: "금액",
    memo: "메모",
    alias: "별칭",
    transfer_date: "보낼 날짜",
  },
  progress: ({ index, total }) => (total > 1 ? `(${index}/${total})` : ""),
  askSlot(slot, slots, progress) {
    const questions = {
      target:
        slots.amount === undefined
          ? "누구에게 보낼까요?"
          : `${josa(formatAmount(slots.amount, "ko"), "을/를")} 누구에게 보낼까요?`,
      amount:
        slots.target === undefined
          ? "얼마를 보낼까요?"
          : `${recipientKo(slots.target)}에게 얼마를 보낼까요?`,
      memo: "메모는 뭐라고 남길까요?",
      alias: "이 이체의 별칭을 알려 주세요.",
      transfer_date: "언제 보낼까요?",
    } as const satisfies Record<SlotName, string>;
    return sentence(progress && ko.progress(progress), questions[slot]);
  },
  askSlots: (names, _slots, progress) =>
    isTargetAndAmount(names)
      ? sentence(progress && ko.progress(progress), "누구에게 얼마를 보낼까요?")
      : undefined,
  slotError: (error) => errorText(error, SLOT_ERRORS_KO, LOOK_ERRORS_KO),
  value: valueKo,
  unread: (words) =>
    `“${josa(`${words}”`, "은/는")} 알아듣지 못했어요. 아래 내용이 맞는지 봐 주세요.`,
  derived: (words, shown) => `“${words}” = ${shown}`,
  changeOrAdd: (current, other) => ({
    question: `${recipientKo(current)} 대신 ${recipientKo(other)}에게 보낼까요, 아니면 ${recipientKo(other)}에게도 보낼까요?`,
    buttons: [
      `${josa(recipientKo(other), "으로/로")} 바꾸기`,
      `${recipientKo(other)}에게도 보내기`,
    ],
  }),
  passedOver: (names) => ({
    question: `${names.map(recipientKo).join(", ")}에게도 보낼까요?`,
    buttons: ["네", "아니요"],
  }),
  confirmQuestion: (slots, progress) =>
    sentence(
      progress && ko.progress(progress),
      `${transferKo(slots)} 보낼까요?${notes(slots, "ko")}`,
    ),
  outdated: "지난 질문의 버튼이라 바뀐 것은 없어요.",
  confirmAgain: "아직 보내지 않았어요. 아래 내용을 다시 확인해 주세요.",
  unchecked:
    "은행에 잔액과 한도를 미리 확인하지 못했어요. 보낼 때 은행이 확인하고, 안 되면 알려 드릴게요.",
  receipt: (slots, { transaction_id: number }, progress) =>
    sentence(
      progress && ko.progress(progress),
      slots.transfer_date === undefined
        ? `${transferKo(slots)} 보냈어요.${notes(slots, "ko")}`
        : `${transferKo(slots)} 보내도록 접수했어요.${notes(slots, "ko")}`,
      typeof number === "string" ? `거래 번호: ${number}` : undefined,
    ),
  leftOut: (names) => `${names.join(", ")}: 이 이체에는 쓰이지 않아서 뺐어요.`,
  added: (slots) => `${summaryKo(slots)} 이체도 더했어요. 차례가 되면 따로 여쭤볼게요.`,
  removed: (slots) => `${summaryKo(slots)} 이체는 뺐어요.`,
  cancelled: "이체를 취소했어요. 보낸 돈은 없어요.",
  cancelledOne: "이 이체는 취소했어요.",
  restCancelled: "남은 이체는 보내지 않았어요.",
  nothingToCancel: "지금은 취소할 이체가 없어요.",
  nothingToConfirm: "지금은 확인할 이체가 없어요.",
  unsupported:
    "필요한 내용을 다 알아듣지 못해서 이 이체는 여기서 마칠게요. 보낸 돈은 없어요. 받는 분과 금액을 한 번에 말씀해 주시면 도와드릴게요.",
  failed: (code, slots) => FAILURES_KO[failureCodeOf(code)](slots),
  effectUnknown: (slots) =>
    `${transferKo(slots)} 보냈는지 아직 은행에서 확인하지 못했어요. 두 번 보내지 않도록 확인이 끝날 때까지 기다릴게요.`,
  resumed: "이미 확인하신 이체라 바꾸거나 취소할 수 없어서, 은행에 결과를 확인했어요.",
  alreadySettled: "확인을 기다리던 이체는 이미 마무리됐어요.",
  stoppedTooLate: (result) => `멈췄지만, 이 이체는 은행이 먼저 답했어요. ${ko.result(result)}`,
  result: ({ outcome, index, slots }) => `${index}. ${summaryKo(slots)}: ${OUTCOMES_KO[outcome]}`,
  askContinue: (remaining) => `아직 ${remaining}건이 남았어요. 계속 진행할까요?`,
  batchSummary: ({ done, cancelled, failed, unsupported }) =>
    `모두 ${done + cancelled + failed + unsupported}건 중 완료 ${done}건, 취소 ${cancelled}건, 실패 ` +
    `${failed}건${unsupported > 0 ? `, 처리 불가 ${unsupported}건` : ""}이에요.`,
  status: ([last, ...others]) =>
    last === undefined
      ? "이 대화에서 끝난 이체는 아직 없어요."
      : ["최근 이체를 알려 드릴게요.", ...[last, ...others].slice(0, 3).map(statusKo)].join("\n"),
  doubt: doubtKo,
  noAnswer: "그건 제가 답해 드리기 어려워요. 이체에 대해서는 도와드릴 수 있어요.",
  noRepeats:
    "자동이체처럼 되풀이되는 이체는 할 수 없어요. 한 번 보내는 이체는 날짜를 정해 도와드릴게요.",
  noForeign: "여기서는 원화만 보낼 수 있어요. 금액을 원으로 말씀해 주세요.",
  smallTalk: {
    greeting: "안녕하세요! 이체를 도와드려요. 누구에게 얼마를 보낼지 말씀해 주세요.",
    thanks: "천만에요. 더 필요한 게 있으면 말씀해 주세요.",
    help: "예를 들어 “홍길동에게 5만원 보내줘”라고 말씀하시면 돼요. 여러 건을 한 번에 말씀하셔도 괜찮아요.",
    fallback: "저는 이체를 도와드리고 있어요. 보내고 싶은 분과 금액을 말씀해 주세요.",
    unclear: "네, 아니요로 답하시거나 바꿀 것을 말씀해 주세요.",
  },
};

const en: Texts = {
  buttons: {
    confirm: ["Confirm", "Cancel"],
    askContinue: ["Continue", "Cancel"],
    yesNo: ["Yes", "No"],
  },
  labels: { slots: "Reading the transfer", interaction: "Writing an answer" },
  slotNames: {
    target: "recipient",
    amount: "amount",
    memo: "memo",
    alias: "alias",
    transfer_date: "date",
  },
  progress: ({ index, total }) => (total > 1 ? `(${index}/${total})` : ""),
  askSlot(slot, slots, progress) {
    const questions = {
      target:
        slots.amount === undefined
          ? "Who shall I send it to?"
          : `Who shall I send ${formatAmount(slots.amount, "en")} to?`,
      amount:
        slots.target === undefined
          ? "How much shall I send?"
          : `How much shall I send to ${slots.target}?`,
      memo: "What shall the memo say?",
      alias: "What shall I call this transfer?",
      transfer_date: "When shall I send it?",
    } as const satisfies Record<SlotName, string>;
    return sentence(progress && en.progress(progress), questions[slot]);
  },
  askSlots: (names, _slots, progress) =>
    isTargetAndAmount(names)
      ? sentence(progress && en.progress(progress), "Who shall I send it to, and how much?")
      : undefined,
  slotError: (error) => errorText(error, SLOT_ERRORS_EN, LOOK_ERRORS_EN),
  value: valueEn,
  unread: (words) => `I did not understand “${words}”. Please check what is below.`,
  derived: (words, shown) => `“${words}” = ${shown}`,
  changeOrAdd: (current, other) => ({
    question: `Shall it go to ${other} instead of ${current}, or to ${other} too?`,
    buttons: [`${other} instead`, `${other} too`],
  }),
  passedOver: (names) => ({
    question: `Shall I also send to ${names.join(" and ")}?`,
    buttons: ["Yes", "No"],
  }),
  confirmQuestion: (slots, progress) =>
    sentence(
      progress && en.progress(progress),
      `Shall I send ${transferEn(slots)}?${notes(slots, "en")}`,
    ),
  outdated: "That button belongs to an earlier question, so nothing has changed.",
  confirmAgain: "Nothing has been sent yet. Please check this again.",
  unchecked:
    "I could not check balance and limits with the bank beforehand. It checks them when it sends, " +
    "and I tell you if it refuses.",
  receipt: (slots, { transaction_id: number }, progress) =>
    sentence(
      progress && en.progress(progress),
      `${slots.transfer_date === undefined ? "Sent" : "Scheduled"}: ` +
        `${transferEn(slots)}.${notes(slots, "en")}`,
      typeof number === "string" ? `Transaction: ${number}` : undefined,
    ),
  leftOut: (names) => `Not used in this transfer, so left out: ${names.join(", ")}.`,
  added: (slots) => `Added: ${summaryEn(slots)}. I will ask about it when its turn comes.`,
  removed: (slots) => `Taken out: ${summaryEn(slots)}.`,
  cancelled: "The transfer is cancelled. No money was sent.",
  cancelledOne: "This transfer is cancelled.",
  restCancelled: "The remaining transfers were not sent.",
  nothingToCancel: "There is no transfer to cancel right now.",
  nothingToConfirm: "There is no transfer to confirm right now.",
  unsupported:
    "I could not make out all I need, so I end this transfer here. No money was sent. " +
    "Tell me recipient and amount in one message and I can help.",
  failed: (code, slots) => FAILURES_EN[failureCodeOf(code)](slots),
  effectUnknown: (slots) =>
    `The bank has not yet told me whether ${transferEn(slots)} was sent. I wait for its ` +
    "answer so that nothing is sent twice.",
  resumed:
    "You had confirmed this transfer already, so it cannot be changed or cancelled; I " +
    "asked the bank what became of it.",
  alreadySettled: "The transfer that was waiting for an answer has been settled already.",
  stoppedTooLate: (result) =>
    `Stopped, but the bank had answered this transfer before. ${en.result(result)}`,
  result: ({ outcome, index, slots }) => `${index}. ${summaryEn(slots)}: ${OUTCOMES_EN[outcome]}`,
  askContinue: (remaining) =>
    `${remaining} ${remaining === 1 ? "transfer is" : "transfers are"} left. Shall I go on?`,
  batchSummary: ({ done, cancelled, failed, unsupported }) =>
    `Of ${done + cancelled + failed + unsupported}: ${done} done, ${cancelled} cancelled, ` +
    `${failed} failed${unsupported > 0 ? `, ${unsupported} not supported` : ""}.`,
  status: ([last, ...others]) =>
    last === undefined
      ? "No transfer has ended in this conversation yet."
      : ["Your latest transfers:", ...[last, ...others].slice(0, 3).map(statusEn)].join("\n"),
  doubt: doubtEn,
  noAnswer: "I cannot answer that. I can help you with transfers.",
  noRepeats:
    "Repeating transfers are not possible here. I can send money once, also on a day that you name.",
  noForeign: "Only Korean won can be sent here. Please tell me the amount in won.",
  smallTalk: {
    greeting: "Hello! I help with transfers. Tell me who gets how much.",
    thanks: "You are welcome. Tell me if you need anything else.",
    help: "Say for example “send 50,000 won to John”. Several transfers in one message are fine.",
    fallback: "I help with transfers. Tell me who you want to send money to, and how much.",
    unclear: "Please say yes or no, or tell me what to change.",
  },
};

function valueKo(slot: string, value: SlotValue): string {
  if (slot === "amount") return formatAmount(Number(value), "ko");
  return slot === "transfer_date" ? dateKo(String(value)) : String(value);
}

function valueEn(slot: string, value: SlotValue): string {
  if (slot === "amount") return formatAmount(Number(value), "en");
  return slot === "transfer_date" ? dateEn(String(value)) : String(value);
}

function isTargetAndAmount(names: readonly string[]): boolean {
  return names.length === 2 && names.includes("target") && names.includes("amount");
}

function doubtKo(slot: string, [first, second]: readonly SlotValue[]): string {
  const name = ko.slotNames[slot as SlotName];
  if (first === undefined) {
    const again = `${josa(name, "을/를")} 정확히 말씀해 주세요.`;
    return `${josa(name, "을/를")} 확실히 읽지 못했어요. ${again}`;
  }
  const value = valueKo(slot, first);
  return second === undefined
    ? `${josa(name, "이/가")} ${josa(value, "이/가")} 맞나요?`
    : `${josa(name, "은/는")} ${josa(value, "과/와")} ${valueKo(slot, second)} 중 어느 쪽인가요?`;
}

function doubtEn(slot: string, [first, second]: readonly SlotValue[]): string {
  const name = en.slotNames[slot as SlotName];
  if (first === undefined) return `I could not read the ${name}. Please say it exactly.`;
  const value = valueEn(slot, first);
  return second === undefined
    ? `Is ${value} the ${name}?`
    : `Which ${name} do you mean, ${value} or ${valueEn(slot, second)}?`;
}

function statusKo({ slots, outcome, code }: TransferResult): string {
  const why = outcome === "failed" ? ` ${ko.failed(code, slots)}` : "";
  return `${summaryKo(slots)}: ${OUTCOMES_KO[outcome]}.${why}`;
}

function statusEn({ slots, outcome, code }: TransferResult): string {
  const why = outcome === "failed" ? ` ${en.failed(code, slots)}` : "";
  return `${summaryEn(slots)}: ${OUTCOMES_EN[outcome]}.${why}`;
}

/** What this service cannot do: transfers that repeat, and money that is not won. */
export function refusalOf(message: string, locale: Locale): string | undefined {
  const isForeign = findMoney(message).some((one) => !one.ok && one.because === "foreign-currency");
  return isForeign ? MESSAGES[locale].noForeign : undefined;
}

/** The texts of this example, by the session's locale. */
export const MESSAGES = { ko, en } as const satisfies Record<Locale, Texts>;

const SLOT_ERRORS_KO = {
  TARGET_UNREADABLE: "받는 분을 알아볼 수 없어요.",
  TARGET_ONE_OR_TWO: "한 분인지 두 분인지 알 수 없어요.",
  TARGET_TOO_LONG: "받는 분 이름이 너무 길어요. 60자까지 쓸 수 있어요.",
  AMOUNT_UNREADABLE: "금액을 알아볼 수 없어요. 예: 5만원, 50,000원",
  AMOUNT_NOT_POSITIVE: "금액은 1원 이상이어야 해요.",
  AMOUNT_FRACTION: "1원보다 작은 단위는 보낼 수 없어요.",
  AMOUNT_TOO_LARGE: "금액이 너무 커요.",
  AMOUNT_EACH_OR_TOTAL: "한 분께 그만큼씩인지, 모두 합쳐 그만큼인지 알려 주세요.",
  AMOUNT_SEVERAL: "금액이 여럿이라 어느 쪽인지 알 수 없어요.",
  MEMO_UNREADABLE: "메모를 알아볼 수 없어요.",
  MEMO_TOO_LONG: "메모가 너무 길어요. 60자까지 쓸 수 있어요.",
  ALIAS_UNREADABLE: "별칭을 알아볼 수 없어요.",
  ALIAS_TOO_LONG: "별칭이 너무 길어요. 60자까지 쓸 수 있어요.",
  DATE_UNREADABLE: "날짜를 알아볼 수 없어요. 예: 내일, 3월 5일",
  DATE_NO_SUCH_DAY: "달력에 없는 날짜예요.",
  DATE_PAST: "지난 날짜로는 보낼 수 없어요.",
  DATE_WITHOUT_TIME: "보내는 시각은 정할 수 없어서 날짜만 적었어요.",
  UNSURE: "말씀하신 내용이 확실하지 않아요.",
  UNREADABLE: "말씀을 잘 이해하지 못했어요.",
  UNKNOWN_SLOT: "바꿀 수 없는 항목이 있어요. 받는 분, 금액, 메모, 별칭, 날짜만 바꿀 수 있어요.",
  TOO_MANY_TASKS: "한 번에 20건까지 보낼 수 있어요. 나누어 말씀해 주세요.",
} as const satisfies Record<SlotErrorKey, string>;

const SLOT_ERRORS_EN = {
  TARGET_UNREADABLE: "I cannot make out the recipient.",
  TARGET_ONE_OR_TWO: "I cannot tell whether that is one recipient or two.",
  TARGET_TOO_LONG: "The recipient's name is too long; 60 characters are the most.",
  AMOUNT_UNREADABLE: "I cannot read the amount. Try 50,000 won.",
  AMOUNT_NOT_POSITIVE: "The amount has to be at least 1 won.",
  AMOUNT_FRACTION: "Fractions of a won cannot be sent.",
  AMOUNT_TOO_LARGE: "The amount is too large.",
  AMOUNT_EACH_OR_TOTAL: "Is that for each, or for all together?",
  AMOUNT_SEVERAL: "There are several amounts, and I cannot tell which one is meant.",
  MEMO_UNREADABLE: "I cannot make out the memo.",
  MEMO_TOO_LONG: "The memo is too long; 60 characters are the most.",
  ALIAS_UNREADABLE: "I cannot make out the alias.",
  ALIAS_TOO_LONG: "The alias is too long; 60 characters are the most.",
  DATE_UNREADABLE: "I cannot read the date. Try tomorrow, or March 5.",
  DATE_NO_SUCH_DAY: "There is no such day in the calendar.",
  DATE_PAST: "That day has passed.",
  DATE_WITHOUT_TIME: "The time of day cannot be chosen, so only the day is kept.",
  UNSURE: "I am not sure what you meant.",
  UNREADABLE: "I did not understand that.",
  UNKNOWN_SLOT: "That cannot be changed. Recipient, amount, memo, alias and date can.",
  TOO_MANY_TASKS: "20 transfers at once are the most. Please split them.",
} as const satisfies Record<SlotErrorKey, string>;

type LookError = LookErrorKey extends `${infer Name}:${string}` ? Name : never;

const LOOK_ERRORS_KO = {
  AMOUNT_OVER_BALANCE: (won) =>
    Number(won) === 0
      ? "잔액이 0원이라 지금은 보낼 수 없어요."
      : `잔액이 ${formatAmount(Number(won), "ko")}이라 그만큼은 보낼 수 없어요.`,
  AMOUNT_OVER_LIMIT: (won) => `한 번에 ${formatAmount(Number(won), "ko")}까지만 보낼 수 있어요.`,
  TARGET_NOT_FOUND: (name) => `은행에서 “${name}”${josaOnly(name, "을/를")} 찾지 못했어요.`,
} as const satisfies Record<LookError, (fact: string) => string>;

const LOOK_ERRORS_EN = {
  AMOUNT_OVER_BALANCE: (won) =>
    `That is more than the balance of ${formatAmount(Number(won), "en")}.`,
  AMOUNT_OVER_LIMIT: (won) => `One transfer can be ${formatAmount(Number(won), "en")} at most.`,
  TARGET_NOT_FOUND: (name) => `The bank does not know “${name}”.`,
} as const satisfies Record<LookError, (fact: string) => string>;

/** The words of an error; one of the bank's has its fact behind a colon. */
function errorText(
  error: SlotErrorKey | LookErrorKey,
  plain: Readonly<Record<SlotErrorKey, string>>,
  looked: Readonly<Record<LookError, (fact: string) => string>>,
): string {
  const colon = error.indexOf(":");
  if (colon < 0) return plain[error as SlotErrorKey];
  return looked[error.slice(0, colon) as LookError](error.slice(colon + 1));
}

const FAILURES_KO = {
  INSUFFICIENT_FUNDS: (slots) => `잔액이 부족해서 ${transferKo(slots)} 보내지 못했어요.`,
  LIMIT_EXCEEDED: (slots) => `이체 한도를 넘어서 ${transferKo(slots)} 보내지 못했어요.`,
  UNKNOWN_ACCOUNT: ({ target }) =>
    `은행에서 ${target === undefined ? "받는 분을" : `“${target}”${josaOnly(target, "을/를")}`} 찾지 못해서 보내지 못했어요.`,
  INVALID_REQUEST: (slots) =>
    `은행이 내용을 받아들이지 않아서 ${transferKo(slots)} 보내지 못했어요.`,
  BANK_UNREACHABLE: (slots) =>
    `은행에 연결되지 않아서 ${transferKo(slots)} 보내지 못했어요. 돈은 나가지 않았어요.`,
  NOT_HAPPENED: (slots) =>
    `확인해 보니 은행이 처리하지 않아서 ${transferKo(slots)} 보내지 못했어요. 돈은 나가지 않았어요.`,
  EFFECT_UNKNOWN: (slots) => ko.effectUnknown(slots),
  OTHER: (slots) => `문제가 생겨서 ${transferKo(slots)} 보내지 못했어요.`,
} as const satisfies Record<FailureCode, (slots: TransferSlots) => string>;

const FAILURES_EN = {
  INSUFFICIENT_FUNDS: (slots) => `Not sent: the balance is too low for ${transferEn(slots)}.`,
  LIMIT_EXCEEDED: (slots) => `Not sent: ${transferEn(slots)} is over the transfer limit.`,
  UNKNOWN_ACCOUNT: ({ target }) =>
    `Not sent: the bank does not know ${target === undefined ? "the recipient" : `“${target}”`}.`,
  INVALID_REQUEST: (slots) => `Not sent: the bank did not accept ${transferEn(slots)}.`,
  BANK_UNREACHABLE: (slots) =>
    `Not sent: the bank cannot be reached for ${transferEn(slots)}. No money has left.`,
  NOT_HAPPENED: (slots) =>
    `Not sent: the bank was asked and has not carried out ${transferEn(slots)}. No money has left.`,
  EFFECT_UNKNOWN: (slots) => en.effectUnknown(slots),
  OTHER: (slots) => `Not sent: something went wrong with ${transferEn(slots)}.`,
} as const satisfies Record<FailureCode, (slots: TransferSlots) => string>;

const OUTCOMES_KO = {
  done: "완료",
  cancelled: "취소",
  failed: "실패",
  unsupported: "처리 불가",
} as const satisfies Record<TransferResult["outcome"], string>;
const OUTCOMES_EN = {
  done: "done",
  cancelled: "cancelled",
  failed: "failed",
  unsupported: "not supported",
} as const satisfies Record<TransferResult["outcome"], string>;

/**
 * Words for relatives take no 님 (엄마에게, not 엄마님에게); nor do accounts, and what already carries 님 or
 * 씨.
 */
const RELATIVES = new Set([
  "엄마",
  "아빠",
  "할머니",
  "할아버지",
  "언니",
  "누나",
  "오빠",
  "형",
  "동생",
  "이모",
  "고모",
  "삼촌",
  "남편",
  "아내",
  "딸",
  "아들",
  "친구",
]);

function recipientKo(target: string): string {
  const takesNoTitle = RELATIVES.has(target) || /(?:님|씨)$/.test(target) || /\d/.test(target);
  return takesNoTitle ? target : `${target}님`;
}

/** `2027년 3월 5일(금)에 홍길동님에게 50,000원을`: the object of a sentence that goes on with a verb. */
function transferKo({ target, amount, transfer_date }: TransferSlots): string {
  return sentence(
    transfer_date && `${dateKo(transfer_date)}에`,
    target && `${recipientKo(target)}에게`,
    amount === undefined ? "돈을" : josa(formatAmount(amount, "ko"), "을/를"),
  );
}

function transferEn({ target, amount, transfer_date }: TransferSlots): string {
  return sentence(
    amount === undefined ? "the money" : formatAmount(amount, "en"),
    target && `to ${target}`,
    transfer_date && `on ${dateEn(transfer_date)}`,
  );
}

function summaryKo({ target, amount }: TransferSlots): string {
  return sentence(
    target === undefined ? "받는 분 미정" : recipientKo(target),
    amount === undefined ? "금액 미정" : formatAmount(amount, "ko"),
  );
}

function summaryEn({ target, amount }: TransferSlots): string {
  const who = target ?? "no recipient";
  return amount === undefined ? `${who}, no amount` : `${who} ${formatAmount(amount, "en")}`;
}

function notes({ memo, alias }: TransferSlots, locale: Locale): string {
  const names = MESSAGES[locale].slotNames;
  const parts = [memo && `${names.memo}: ${memo}`, alias && `${names.alias}: ${alias}`].filter(
    Boolean,
  );
  return parts.length === 0 ? "" : ` (${parts.join(", ")})`;
}

function dateKo(date: IsoDate): string {
  const [year, month, day] = date.split("-").map(Number);
  return `${year}년 ${month}월 ${day}일(${"월화수목금토일"[weekdayOf(date) - 1]})`;
}

function dateEn(date: IsoDate): string {
  const [year, month, day] = date.split("-").map(Number);
  const weekday = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"][
    weekdayOf(date) - 1
  ];
  const name = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
  ][month! - 1];
  return `${weekday}, ${name} ${day}, ${year}`;
}

function sentence(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join(" ");
}
