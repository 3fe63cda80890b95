import type { Outcome } from "./understand.ts";
import { SHOWN, type Label, type PaymentLabel, type Utterance } from "./utterances.ts";

/**
 * `right`; `asked`: a question too many, allowed and counted; `missed`: taken for something that
 * moves no money; `wrong`: a booking, or a value shown for one, that was not said.
 */
export type Verdict = "right" | "asked" | "missed" | "wrong";

export interface Judged {
  readonly utterance: Utterance;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
}

/** Holds what was understood against the label. Pure. */
export function judge(utterance: Utterance, outcome: Outcome): Judged {
  const verdict =
    utterance.stage === "READY" ? judgeReply(utterance, outcome) : judgeOrder(utterance, outcome);
  return { utterance, outcome, verdict };
}

const REFUSALS: ReadonlySet<string> = new Set(["no", "cancel-one", "cancel-all"]);
/** Labels after which the question is asked again, and nothing else happens. */
const KEPT: ReadonlySet<string> = new Set(["question", "other", "unsure"]);

function judgeReply({ class: label, want }: Utterance, outcome: Outcome): Verdict {
  const { kind } = outcome;
  if (kind === "yes") return label === "yes" ? "right" : "wrong";
  if (label === "yes") return REFUSALS.has(kind) ? "missed" : "asked";
  if (isHeardAs(label, kind)) return label === "change" ? judgeChange(want, outcome) : "right";
  return kind === "unsure" || kind === "kept" ? "asked" : "missed";
}

function isHeardAs(label: Label, kind: Outcome["kind"]): boolean {
  if (kind === "kept") return KEPT.has(label);
  if (kind === "refused") return REFUSALS.has(label);
  const isOneRefused = label === "no" || label === "cancel-one";
  return kind === label || (isOneRefused && (kind === "no" || kind === "cancel-one"));
}

function judgeChange(want: Utterance["want"], { payments, day, asks }: Outcome): Verdict {
  const [got] = payments;
  const compared = [
    { wanted: want.won, read: got?.won, before: SHOWN.won },
    { wanted: want.to, read: got?.to === "" ? undefined : got?.to, before: SHOWN.to },
    { wanted: want.day, read: day, before: undefined },
  ].filter(({ wanted }) => wanted !== undefined);

  const different = compared.filter(({ wanted, read }) => read !== wanted);
  const isWrong = different.some(({ read, before }) => read !== before && read !== undefined);
  if (isWrong && !asks) return "wrong";
  return asks || different.length > 0 ? "asked" : "right";
}

function judgeOrder(utterance: Utterance, outcome: Outcome): Verdict {
  const { class: label, want } = utterance;
  const isShown = !outcome.asks && isComplete(outcome.payments);
  if (label === "question" || label === "other") {
    return outcome.payments.length === 0 ? "right" : isShown ? "wrong" : "missed";
  }
  if (REFUSALS.has(label)) return isHeardAs(label, outcome.kind) ? "right" : "missed";
  if (want.unsupported) {
    return outcome.kind === "unsupported" ? "right" : isShown ? "wrong" : "asked";
  }
  return want.ask === true ? judgeDoubt(utterance, outcome) : judgeDetails(utterance, outcome);
}

/** What must be asked: asking is right, and so is showing what was said where one thing was said. */
function judgeDoubt({ want, stage }: Utterance, { payments, day, asks }: Outcome): Verdict {
  if (asks || (payments.length === 0 && day === undefined)) return "right";
  const wanted = wantedPayments(want);
  const isSaid = wanted.length > 0 && samePayments(wanted, payments) && isDay(want, day);
  return isSaid || (stage === "INIT" && !isComplete(payments)) ? "right" : "wrong";
}

function judgeDetails({ want, stage }: Utterance, { payments, day, asks }: Outcome): Verdict {
  const wanted = wantedPayments(want);
  const isOtherDay = stage === "INIT" && day !== undefined && day !== want.day;
  if (samePayments(wanted, payments) && isDay(want, day) && !isOtherDay) {
    return asks && (isComplete(wanted) || stage === "FILLING") ? "asked" : "right";
  }
  return asks || !(isOtherDay || contradicts(wanted, payments)) ? "asked" : "wrong";
}

function isComplete(payments: readonly PaymentLabel[]): boolean {
  return payments.length > 0 && payments.every(({ won }) => won !== undefined);
}

function isDay(want: Utterance["want"], day: string | undefined): boolean {
  return want.day === undefined || want.day === day;
}

function wantedPayments({ payments, to, won }: Utterance["want"]): readonly PaymentLabel[] {
  if (payments) return payments;
  return to === undefined && won === undefined ? [] : [{ to: to ?? "", won }];
}

function samePayments(wanted: readonly PaymentLabel[], got: readonly PaymentLabel[]): boolean {
  const key = ({ to, won }: PaymentLabel): string => `${to}:${won ?? "-"}`;
  return wanted.map(key).join() === got.map(key).join();
}

/** Whether anything that was understood was not said; what is missing is asked for. */
function contradicts(wanted: readonly PaymentLabel[], got: readonly PaymentLabel[]): boolean {
  if (got.length === 0 && wanted.length > 0) return false;
  if (got.length < wanted.length) return true;
  return got.some(({ to, won }) => {
    const label = wanted.find((one) => one.to === to);
    return !label || (won !== undefined && won !== label.won);
  });
}

/** The classes in which a wrong verdict is a wrong booking. */
export const MONEY_CLASSES: readonly Label[] = ["people", "amount", "date", "recurrence", "change"];
