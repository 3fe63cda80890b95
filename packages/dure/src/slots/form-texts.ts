import type { FormTexts } from "./form.ts";
import type { MESSAGE_ERRORS, FormResult, SlotValues } from "./form-state.ts";
import { josa } from "../parse/josa.ts";
import type { Locale } from "../parse/text.ts";

/**
 * The words that only a form itself knows. Any other sentence of `FormTexts` may stand beside them,
 * and goes before the one that `formTexts` has for it.
 */
export interface OwnTexts<Values = SlotValues> extends Partial<
  Omit<FormTexts<Values>, "slotNames" | "askSlot" | "slotError" | "confirmQuestion" | "receipt">
> {
  /** Name of each slot, as a page shows it. */
  readonly slotNames: Readonly<Record<keyof Values & string, string>>;
  /** Asks for each slot. */
  readonly questions: Readonly<Record<keyof Values & string, string>>;
  /** Of each error that the form's slots give. One that is not here says that the value is not taken. */
  readonly errors: Readonly<Record<string, string>>;
  /** An entry in a few words, such as `taxi, ₩8,000`: stands in lists and in what became of it. */
  readonly describe: (slots: Values) => string;
  /** A value as people read it, such as `5시` for 5. Default: as it is. */
  readonly value?: ((slot: string, value: string | number) => string) | undefined;
  /** Everything that a yes leads to, as a question: what is not in it has not been seen. */
  confirmQuestion(slots: Values): string;
  /** Said when it has happened. `details`: what the outside gave; see `Deed.details`. */
  receipt(slots: Values, details: Readonly<Record<string, unknown>>): string;
}

/**
 * All words of a form in one language: those of its own, and for everything else a plain sentence.
 * Of several entries each question and receipt begins with its place, `(2/3)`.
 */
export function formTexts<Values = SlotValues>(
  locale: Locale,
  own: OwnTexts<Values>,
): FormTexts<Values> {
  const { questions, errors, describe, value: shown = plainValue, ...said } = own;
  const { sentences, notTaken, which, messageErrors, ends } = PLAIN[locale];
  const resultOf = ({ slots, outcome }: FormResult<Values>): string =>
    `${describe(slots)}: ${ends[outcome]}`;
  const texts: FormTexts<Values> = {
    ...sentences,
    ...PLAIN[locale].about(describe, resultOf),
    progress: ({ index, total }) => (total > 1 ? `(${index}/${total})` : ""),
    result: (result) => `${result.index}. ${resultOf(result)}`,
    slotError: (error) => errors[error] ?? messageErrors[error as MessageError] ?? notTaken,
    doubt: (slot, options) => {
      const asked = questions[slot as keyof Values & string] ?? "";
      return `${which(options.map((value) => shown(slot, value)))} ${asked}`.trim();
    },
    ...said,
    askSlot: (slot, _slots, at) => placed(at, questions[slot as keyof Values & string] ?? ""),
    confirmQuestion: (slots, at) => placed(at, own.confirmQuestion(slots)),
    receipt: (slots, details, at) => placed(at, own.receipt(slots, details)),
  };
  return texts;

  function placed(at: Parameters<FormTexts["progress"]>[0] | undefined, text: string): string {
    return [at && texts.progress(at), text].filter(Boolean).join(" ");
  }
}

function plainValue(_slot: string, value: string | number): string {
  return String(value);
}

type MessageError = (typeof MESSAGE_ERRORS)[number];

/** Sentences that name an entry. */
type AboutAnEntry = "added" | "effectUnknown" | "stoppedTooLate" | "status";

/** Sentences of every form, whatever it is about. */
type PlainSentences = Omit<
  FormTexts,
  | AboutAnEntry
  | "failed"
  | "doubt"
  | "slotNames"
  | "progress"
  | "askSlot"
  | "slotError"
  | "confirmQuestion"
  | "receipt"
  | "result"
> & { failed(): string };

interface PlainTexts {
  readonly sentences: PlainSentences;
  readonly notTaken: string;
  /** Which of several values is meant; or, of one, that it is not sure, with its name. */
  readonly which: (options: readonly string[]) => string;
  readonly messageErrors: Readonly<Record<MessageError, string>>;
  readonly ends: Readonly<Record<FormResult["outcome"], string>>;
  about<Values>(
    describe: (slots: Values) => string,
    resultOf: (result: FormResult<Values>) => string,
  ): Pick<FormTexts<Values>, AboutAnEntry>;
}

/** Finished entries that a status names. */
const MAX_STATUS = 3;

const ko: PlainTexts = {
  sentences: {
    buttons: { confirm: ["확인", "취소"], askContinue: ["계속 진행", "취소"] },
    labels: { slots: "내용 정리 중", interaction: "답변 작성 중" },
    confirmAgain: "아직 처리하지 않았어요. 아래 내용을 다시 확인해 주세요.",
    unchecked: "미리 확인하지 못했어요. 처리할 때 확인돼요.",
    cancelled: "취소했어요. 처리된 것은 없어요.",
    cancelledOne: "이 건은 취소했어요.",
    restCancelled: "남은 것은 처리하지 않았어요.",
    nothingToCancel: "지금은 취소할 것이 없어요.",
    nothingToConfirm: "지금은 확인할 것이 없어요.",
    unsupported: "필요한 내용을 다 알아듣지 못해서 여기서 마칠게요. 처리된 것은 없어요.",
    failed: () => "처리하지 못했어요.",
    resumed: "이미 확인하신 내용이라 바꿀 수 없어서 결과를 확인했어요.",
    alreadySettled: "확인을 기다리던 건은 이미 마무리됐어요.",
    noRepeats: "되풀이되는 일은 할 수 없어요. 한 번씩 말씀해 주세요.",
    askContinue: (remaining) => `아직 ${remaining}건이 남았어요. 계속 진행할까요?`,
    batchSummary: ({ done, cancelled, failed, unsupported }) =>
      `완료 ${done}건, 취소 ${cancelled}건, 실패 ${failed + unsupported}건이에요.`,
    noAnswer: "그건 제가 답해 드리기 어려워요.",
  },
  notTaken: "받을 수 없는 값이에요.",
  which: ([first, ...others]) => {
    if (first === undefined) return "말씀하신 내용이 확실하지 않아요.";
    return others.length > 0
      ? `${[first, ...others].join(", ")} 중 어느 쪽인가요?`
      : `${josa(first, "이/가")} 맞는지 확실하지 않아요.`;
  },
  messageErrors: {
    UNREADABLE: "말씀을 잘 이해하지 못했어요.",
    UNKNOWN_SLOT: "바꿀 수 없는 항목이 있어요.",
    TOO_MANY_TASKS: "한 번에 20건까지 말씀하실 수 있어요. 나누어 말씀해 주세요.",
    UNSURE: "말씀하신 내용이 확실하지 않아요.",
  },
  ends: { done: "완료", cancelled: "취소", failed: "실패", unsupported: "처리 불가" },
  about: (describe, resultOf) => ({
    added: (slots) => `더했어요: ${describe(slots)}`,
    effectUnknown: (slots) => `처리됐는지 아직 확인하지 못했어요: ${describe(slots)}`,
    stoppedTooLate: (result) => `멈췄지만 이미 처리됐어요. ${resultOf(result)}`,
    status: (results) =>
      results.slice(0, MAX_STATUS).map(resultOf).join("\n") || "아직 끝난 것이 없어요.",
  }),
};

const en: PlainTexts = {
  sentences: {
    buttons: { confirm: ["Confirm", "Cancel"], askContinue: ["Continue", "Cancel"] },
    labels: { slots: "Reading", interaction: "Writing an answer" },
    confirmAgain: "Nothing is done yet. Please check this again.",
    unchecked: "I could not check this beforehand. It is checked when it is done.",
    cancelled: "Cancelled. Nothing was done.",
    cancelledOne: "This one is cancelled.",
    restCancelled: "The rest was not done.",
    nothingToCancel: "There is nothing to cancel right now.",
    nothingToConfirm: "There is nothing to confirm right now.",
    unsupported: "I could not make out all I need, so I end this here. Nothing was done.",
    failed: () => "That could not be done.",
    resumed: "You had confirmed this already, so it cannot be changed; I asked what became of it.",
    alreadySettled: "What was waiting for an answer has been settled already.",
    noRepeats: "What repeats is not possible here. Please say each of them.",
    askContinue: (remaining) => `${remaining} left. Shall I go on?`,
    batchSummary: ({ done, cancelled, failed, unsupported }) =>
      `${done} done, ${cancelled} cancelled, ${failed + unsupported} failed.`,
    noAnswer: "I cannot answer that.",
  },
  notTaken: "That cannot be taken.",
  which: ([first, ...others]) => {
    if (first === undefined) return "I am not sure what you meant.";
    return others.length > 0
      ? `Is it ${[first, ...others].join(" or ")}?`
      : `I am not sure whether it is ${first}.`;
  },
  messageErrors: {
    UNREADABLE: "I did not understand that.",
    UNKNOWN_SLOT: "That cannot be changed.",
    TOO_MANY_TASKS: "20 at once are the most. Please split them.",
    UNSURE: "I am not sure what you meant.",
  },
  ends: { done: "done", cancelled: "cancelled", failed: "failed", unsupported: "given up" },
  about: (describe, resultOf) => ({
    added: (slots) => `Added: ${describe(slots)}.`,
    effectUnknown: (slots) => `I do not know yet whether this was done: ${describe(slots)}.`,
    stoppedTooLate: (result) => `Stopped, but this was settled before. ${resultOf(result)}`,
    status: (results) =>
      results.slice(0, MAX_STATUS).map(resultOf).join("\n") || "Nothing has ended yet.",
  }),
};

const PLAIN: Readonly<Record<Locale, PlainTexts>> = { ko, en };
