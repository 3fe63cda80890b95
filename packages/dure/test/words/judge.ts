import type { SlotValues } from "../../src/slots/form-state.ts";
import { knownAt, formAt, SERVICES } from "./services.ts";
import type { Case } from "./cases.ts";
import { FormDesk, type Answered, type DeskModel } from "./form-desk.ts";

/**
 * `right`; `asked`: a question too many, allowed and counted; `wrong`: a deed, or a value shown for
 * one without a mark, that was not meant, or a person who is lost or invented.
 */
export type Verdict = "right" | "asked" | "wrong";

/** What became of one message. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly because: string;
  readonly answered: Answered;
}

/** Says the message where it is said, to a service whose slot agent is this model. */
export async function hear(one: Case, model: DeskModel): Promise<Outcome> {
  const { service, flow } = SERVICES[one.in];
  let isListening = false;
  const quiet: DeskModel = (asked) => {
    if (asked.agent === "interaction") return { action: "chat", message: "" };
    if (isListening) return model(asked);
    return asked.agent === "intent" ? { scenario: flow } : { kind: "other", items: [] };
  };
  const desk = new FormDesk(service, quiet, { locale: one.lang });
  const form = formAt(one);
  if (form) await desk.stand(form, flow);
  if (one.at === "receipt") {
    const { lang } = one;
    desk.finished.push({ flow, stage: "EXECUTED", data: receiptIn(lang) });
  }
  isListening = true;
  const answered = await desk.say(one.say);
  return { ...judge(one, answered, desk.done.length), answered };
}

function receiptIn(lang: Case["lang"]): object {
  const slots = { target: lang === "ko" ? "홍길동" : "John", amount: 50_000 };
  return { index: 1, total: 1, outcome: "done", slots };
}

/** Whether what followed is what the person meant. Pure. */
function judge(one: Case, answered: Answered, done: number): Pick<Outcome, "verdict" | "because"> {
  const { want } = one;
  if (want.ends !== undefined) return judgeEnd(one, answered, done);
  if (done > 0) return { verdict: "wrong", because: "a deed was done" };
  if (want.asks !== undefined) return judgeDoubt(one, answered);
  return judgeEntries(one, answered);
}

function judgeEnd(
  one: Case,
  { state, message }: Answered,
  done: number,
): Pick<Outcome, "verdict" | "because"> {
  const { ends } = one.want;
  const left = state.results.filter(({ outcome }) => outcome === "cancelled").length;
  if (ends === "yes") {
    if (done === 1) return RIGHT;
    return left > 0 ? { verdict: "asked", because: "given up" } : ASKED;
  }
  if (done > 0) return { verdict: "wrong", because: "a deed was done" };
  if (ends === "nothing") {
    const isNothing = entriesOf(state).length === 0 || left > 0;
    if (isNothing) return RIGHT;
    return isAsking(state) || UNREAD.test(message)
      ? { verdict: "asked", because: "began, and says what it did not read" }
      : { verdict: "wrong", because: `began ${shown(state)}` };
  }
  const wanted = ends === "all-left" ? knownAt(one).length : 1;
  return left >= wanted ? RIGHT : ASKED;
}

const RIGHT = { verdict: "right", because: "" } as const;
const ASKED = { verdict: "asked", because: "asked again" } as const;

function judgeDoubt(
  one: Case,
  { state, nextAction, message }: Answered,
): Pick<Outcome, "verdict" | "because"> {
  const isOpen = isAsking(state) || nextAction !== "CONFIRM";
  const isDerived = one.want.asks === "value" && Object.keys(state.meta.derived).length > 0;
  const isMarked = isDerived || UNREAD.test(message);
  if (state.results.length > 0) return { verdict: "asked", because: "given up" };
  if (isOpen || isMarked || sameEntries(entriesOf(state), knownAt(one))) {
    return RIGHT;
  }
  return { verdict: "wrong", because: `shows ${shown(state)}` };
}

const UNREAD = /알아듣지 못했어요|I did not understand/u;

function judgeEntries(
  one: Case,
  { state, nextAction, message }: Answered,
): Pick<Outcome, "verdict" | "because"> {
  const wanted = one.want.entries ?? [];
  const got = entriesOf(state);
  const marked = new Set(
    [state.meta.derived, ...state.tasks.map((task) => task.derived ?? {})].flatMap((notes) =>
      Object.keys(notes),
    ),
  );
  if (sameEntries(got, wanted)) {
    const unmarked = (one.want.derived ?? []).find((slot) => !marked.has(slot));
    if (unmarked !== undefined) return { verdict: "wrong", because: `${unmarked} is not marked` };
    return isAsking(state) ? { verdict: "asked", because: "doubts" } : RIGHT;
  }
  if (isAsking(state)) return { verdict: "asked", because: `asks, with ${shown(state)}` };
  if (sameEntries(got, knownAt(one))) return { verdict: "asked", because: "nothing was heard" };
  // The person is told what was not understood, and what was given up.
  if (UNREAD.test(message)) return { verdict: "asked", because: "says what it did not read" };
  if (state.results.length > 0) return { verdict: "asked", because: "given up" };
  const lost = wanted.length !== got.length;
  const isShown =
    nextAction === "CONFIRM" ||
    lost ||
    got.some((slots, place) => contradicts(slots, wanted[place]));
  return isShown
    ? { verdict: "wrong", because: `shows ${shown(state)}` }
    : { verdict: "asked", because: `asks for more than ${shown(state)}` };
}

/** Whether a value is there that was not meant; one that is missing is asked for. */
function contradicts(got: SlotValues, wanted: SlotValues = {}): boolean {
  return Object.entries(got).some(([slot, value]) => wanted[slot] !== value);
}

/** Whether something is in doubt: of the current entry, or of one that waits and is asked later. */
function isAsking({ meta, tasks }: Answered["state"]): boolean {
  const open = [meta, ...tasks].flatMap(({ doubts = {}, slot_errors: errors }) => [
    ...Object.keys(doubts),
    ...Object.keys(errors),
  ]);
  return open.length > 0 || meta.choice !== undefined;
}

function entriesOf({ stage, slots, tasks }: Answered["state"]): readonly SlotValues[] {
  if (stage === "INIT" && Object.keys(slots).length === 0) return [];
  return [slots, ...tasks.map((task) => task.slots)].filter((one) => Object.keys(one).length > 0);
}

function sameEntries(a: readonly SlotValues[], b: readonly SlotValues[]): boolean {
  const key = (slots: SlotValues): string =>
    JSON.stringify(
      Object.entries(slots)
        .map(([slot, value]) => [slot, slot === "target" ? plainName(String(value)) : value])
        .toSorted(([one], [other]) => (String(one) < String(other) ? -1 : 1)),
    );
  return a.map(key).join() === b.map(key).join();
}

/** 박 과장님 and Mr. Seo are who they are with and without it. */
function plainName(name: string): string {
  return name.replace(/님$|^(?:Mr|Ms|Mrs|Dr)\.? /u, "");
}

function shown(state: Answered["state"]): string {
  return JSON.stringify(entriesOf(state));
}
