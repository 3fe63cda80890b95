import type { Locale } from "../kernel/locales.ts";
import type { FormTexts, Offer, SlotSpecs, SlotValue } from "./form.ts";
import type { MESSAGE_ERRORS, FormResult, SlotValues } from "./form-state.ts";
import { DEED_SLOT } from "./deed-slot.ts";
import { josa } from "../parse/josa.ts";

/**
 * The words that only a form itself knows. Any other sentence of `FormTexts` may stand beside them,
 * and goes before the one that `formTexts` has for it.
 */
export interface OwnTexts<Values = SlotValues> extends Partial<
  Omit<
    FormTexts<Values>,
    "slotNames" | "askSlot" | "slotError" | "confirmQuestion" | "receipt" | "value"
  >
> {
  /** The form's slots: their ways of showing a value, and their words for errors, are used. */
  readonly slots?: SlotSpecs | undefined;
  /** Name of each slot, as a page shows it. */
  readonly slotNames: ForSlots<Values>;
  /** Asks for each slot. */
  readonly questions: ForSlots<Values>;
  /**
   * Of each error that the form's slots give and have no words for. One that neither has says that
   * the value is not taken.
   */
  readonly errors?: Readonly<Record<string, string>> | undefined;
  /** An entry in a few words, such as `taxi, ₩8,000`: stands in lists and in what became of it. */
  readonly describe: (slots: Values, shown: Shown<Values>) => string;
  /** A value as people read it, such as `5시` for 5. Default: as it is. */
  readonly value?: ((slot: string, value: SlotValue) => string) | undefined;
  /** Everything that a yes leads to, as a question: what is not in it has not been seen. */
  confirmQuestion(slots: Values, shown: Shown<Values>): string;
  /** Said when it has happened. `details`: what the outside gave; see `Deed.details`. */
  receipt(slots: Values, details: Readonly<Record<string, unknown>>, shown: Shown<Values>): string;
}

/** Each value as people read it: `December 4, 2026` for 2026-12-04. "" where there is none. */
export type Shown<Values> = { readonly [Slot in keyof Values & string]-?: string };

/** A text for each slot. Of which deed is meant, dure has its own. */
type ForSlots<Values> = Readonly<
  Record<Exclude<keyof Values & string, typeof DEED_SLOT>, string> & { [DEED_SLOT]?: string }
>;

/**
 * All words of a form in one language: those of its own, and for everything else a plain sentence.
 * Of several entries each question and receipt begins with its place, `(2/3)`.
 */
export function formTexts<Values = SlotValues>(
  locale: Locale,
  own: OwnTexts<Values>,
): FormTexts<Values> {
  const { questions, errors = {}, describe: describedBy, slots: specs = {}, ...said } = own;
  const { sentences, notTaken, which, messageErrors, ends } = PLAIN[locale];
  const resultOf = ({ slots, outcome }: FormResult<Values>): string =>
    `${describe(slots)}: ${ends[outcome]}`;
  const describe = (slots: Values): string => describedBy(slots, shownIn(slots));
  const shown = own.value ?? ((slot, value) => specs[slot]?.show?.(value, locale) ?? String(value));
  const ofSlots = Object.assign({}, ...Object.values(specs).map((one) => one.errors?.[locale]));
  const words: Readonly<Record<string, string>> = { ...messageErrors, ...ofSlots, ...errors };
  // Two slots of one kind have sentences of their own for the same error.
  const wordsOf = (error: string, slot = ""): string | undefined =>
    errors[error] ?? specs[slot]?.errors?.[locale]?.[error] ?? words[error];
  const texts: FormTexts<Values> = {
    ...sentences,
    ...PLAIN[locale].about(describe, resultOf),
    progress: ({ index, total }) => (total > 1 ? `(${index}/${total})` : ""),
    result: (result) => `${result.index}. ${resultOf(result)}`,
    slotError: (error, slot) => wordsOf(error, slot) ?? notTaken,
    doubt: (slot, options) => {
      const asked = (questions as Readonly<Record<string, string>>)[slot] ?? "";
      const name: string | undefined = slot === DEED_SLOT ? undefined : nameOf(slot);
      return options.length > 0
        ? which(
            options.map((value) => shown(slot, value)),
            name,
          )
        : `${which([])} ${asked}`.trim();
    },
    askSlots: (names, _slots, at) =>
      placed(at, PLAIN[locale].tell(names.map((name) => nameOf(name)))),
    ...said,
    slotNames: { [DEED_SLOT]: PLAIN[locale].deedName, ...own.slotNames },
    value: shown,
    askSlot: (slot, _slots, at) =>
      placed(at, (questions as Readonly<Record<string, string>>)[slot] ?? PLAIN[locale].deed),
    confirmQuestion: (slots, at) => placed(at, own.confirmQuestion(slots, shownIn(slots))),
    receipt: (slots, details, at) => placed(at, own.receipt(slots, details, shownIn(slots))),
  };
  return texts;

  function shownIn(slots: Values): Shown<Values> {
    const values = slots as Readonly<Record<string, SlotValue | undefined>>;
    const names = Object.keys({ ...own.slotNames, ...values });
    const texts = names.map((slot) => {
      const value = values[slot];
      return [slot, value === undefined ? "" : shown(slot, value)];
    });
    return Object.fromEntries(texts) as Shown<Values>;
  }

  function nameOf(slot: string): string {
    return (own.slotNames as Readonly<Record<string, string>>)[slot] ?? slot;
  }

  function placed(at: Parameters<FormTexts["progress"]>[0] | undefined, text: string): string {
    return [at && texts.progress(at), text].filter(Boolean).join(" ");
  }
}

type MessageError = (typeof MESSAGE_ERRORS)[number];

/** Sentences that name an entry. */
type AboutAnEntry = "added" | "removed" | "effectUnknown" | "stoppedTooLate" | "status";

/** Sentences of every form, whatever it is about. */
type PlainSentences = Omit<
  FormTexts,
  | AboutAnEntry
  | "failed"
  | "doubt"
  | "slotNames"
  | "progress"
  | "askSlot"
  | "askSlots"
  | "slotError"
  | "value"
  | "confirmQuestion"
  | "receipt"
  | "result"
> & { failed(): string };

interface PlainTexts {
  readonly sentences: PlainSentences;
  readonly notTaken: string;
  /** Asks for several things at once. */
  readonly tell: (names: readonly string[]) => string;
  /** Asks which of several deeds is meant. */
  readonly deed: string;
  /** Name of the slot that says which deed is meant. */
  readonly deedName: string;
  /** Which of several values is meant; or, of one, that it is not sure, with its name. */
  readonly which: (options: readonly string[], name?: string) => string;
  readonly messageErrors: Readonly<Record<MessageError, string>>;
  readonly ends: Readonly<Record<FormResult["outcome"], string>>;
  about<Values>(
    describe: (slots: Values) => string,
    resultOf: (result: FormResult<Values>) => string,
  ): Pick<FormTexts<Values>, AboutAnEntry>;
}

/** Finished entries that a status names. */
const MAX_STATUS = 3;

function changeOrAddKo(current: string, other: string): Offer {
  const instead = `${josa(other, "으로/로")} 바꾸기`;
  return {
    question: `${current} 대신 ${josa(other, "으로/로")} 바꿀까요, 아니면 ${other}도 더할까요?`,
    buttons: [instead, `${other}도 더하기`],
  };
}

function changeOrAddEn(current: string, other: string): Offer {
  return {
    question: `Is that ${other} instead of ${current}, or ${other} too?`,
    buttons: [`${other} instead`, `${other} too`],
  };
}

function passedOverKo(names: readonly string[]): Offer {
  return { question: `${names.join(", ")}도 더할까요?`, buttons: ["네", "아니요"] };
}

function passedOverEn(names: readonly string[]): Offer {
  return { question: `Shall I add ${listEn(names)} too?`, buttons: ["Yes", "No"] };
}

function capital(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function listKo(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  const before = names.slice(0, -1).join(", ");
  return before === "" ? last : `${josa(before, "과/와")} ${last}`;
}

function listEn(names: readonly string[]): string {
  const last = names.at(-1) ?? "";
  const before = names.slice(0, -1).join(", ");
  return before === "" ? last : `${before} and ${last}`;
}

const ko: PlainTexts = {
  sentences: {
    buttons: {
      confirm: ["확인", "취소"],
      askContinue: ["계속 진행", "취소"],
      yesNo: ["네", "아니요"],
      skip: "건너뛰기",
    },
    labels: { slots: "내용 정리 중", interaction: "답변 작성 중" },
    outdated: "지난 질문의 버튼이라 바뀐 것은 없어요.",
    confirmAgain: "이 건은 아직 처리하지 않았어요. 아래 내용을 다시 확인해 주세요.",
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
    unread: (words) => `“${josa(`${words}”`, "은/는")} 알아듣지 못했어요.`,
    derived: (words, shown) => `“${words}” = ${shown}`,
    cancelsWhich: ([deed, leave]) =>
      `“${deed}”인지 “${leave}”인지 확실하지 않아요. 하나를 골라 주세요.`,
    leftOut: (names) => `${josa(listKo(names), "은/는")} 여기에 쓰이지 않아서 뺐어요.`,
    changeOrAdd: changeOrAddKo,
    passedOver: passedOverKo,
  },
  notTaken: "받을 수 없는 값이에요.",
  tell: (names) => `${josa(listKo(names), "을/를")} 알려 주세요.`,
  deed: "무엇을 도와드릴까요?",
  deedName: "할 일",
  which: ([first, ...others], name) => {
    if (first === undefined) return "말씀하신 내용이 확실하지 않아요.";
    const about = name === undefined ? "" : `${josa(name, "은/는")} `;
    return others.length > 0
      ? `${about}${[first, ...others].join(", ")} 중 어느 쪽인가요?`
      : `${about}${josa(first, "이/가")} 맞나요?`;
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
    removed: (slots) => `뺐어요: ${describe(slots)}`,
    effectUnknown: (slots) => `처리됐는지 아직 확인하지 못했어요: ${describe(slots)}`,
    stoppedTooLate: (result) => `멈췄지만 이미 처리됐어요. ${resultOf(result)}`,
    status: (results) =>
      results.slice(0, MAX_STATUS).map(resultOf).join("\n") || "아직 처리된 것이 없어요.",
  }),
};

const en: PlainTexts = {
  sentences: {
    buttons: {
      confirm: ["Confirm", "Cancel"],
      askContinue: ["Continue", "Cancel"],
      yesNo: ["Yes", "No"],
      skip: "Skip",
    },
    labels: { slots: "Reading", interaction: "Writing an answer" },
    outdated: "That button belongs to an earlier question, so nothing has changed.",
    confirmAgain: "This is not done yet. Please check it again.",
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
    unread: (words) => `I did not understand “${words}”.`,
    derived: (words, shown) => `“${words}” = ${shown}`,
    cancelsWhich: ([deed, leave]) => `That can mean “${deed}” or “${leave}”. Please say which.`,
    leftOut: (names) => `Not used here, so left out: ${listEn(names)}.`,
    changeOrAdd: changeOrAddEn,
    passedOver: passedOverEn,
  },
  notTaken: "That cannot be taken.",
  tell: (names) => `Please tell me: ${listEn(names)}.`,
  deed: "What shall I do?",
  deedName: "what to do",
  which: ([first, ...others], name) => {
    if (first === undefined) return "I am not sure what you meant.";
    const asked = `s it ${[first, ...others].join(" or ")}?`;
    return name === undefined ? `I${asked}` : `${capital(name)}: i${asked}`;
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
    removed: (slots) => `Taken out: ${describe(slots)}.`,
    effectUnknown: (slots) => `I do not know yet whether this was done: ${describe(slots)}.`,
    stoppedTooLate: (result) => `Stopped, but this was settled before. ${resultOf(result)}`,
    status: (results) =>
      results.slice(0, MAX_STATUS).map(resultOf).join("\n") || "Nothing has been done yet.",
  }),
};

const PLAIN: Readonly<Record<Locale, PlainTexts>> = { ko, en };
