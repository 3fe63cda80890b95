import type { Done } from "dure";
import type { TurnRequest } from "dure/team";
import { dayReader, todayIn } from "dure/slots";
import { z } from "zod";
import { MESSAGES } from "../messages.ts";
import type { Outcome } from "./understand.ts";
import { SHOWN, TODAY, type PaymentLabel, type Utterance } from "./utterances.ts";

/** What is judged is what was understood, not what the bank would refuse. */
export const RICH = { balance: Number.MAX_SAFE_INTEGER, limit: Number.MAX_SAFE_INTEGER } as const;

/** A person in front of a running service, and the bank's book behind it. */
export interface Desk {
  say(request: TurnRequest): Promise<Done>;
  bookings(): number;
}

/**
 * Says an utterance to the service in a session of its own, in the stage that it was written for,
 * and looks at what has changed: the state, and the bank's book.
 * @throws Error when the service cannot be brought into that stage, or a turn ends with an error.
 */
export async function hear(utterance: Utterance, desk: Desk, session: string): Promise<Outcome> {
  const { text, stage, asked } = utterance;
  const locale = /[가-힣ㄱ-ㅎ]/u.test(text) ? "ko" : "en";
  if (stage !== "INIT") {
    const slots =
      stage === "READY" ? KNOWN : asked === "amount" ? { target: "엄마" } : { amount: 50_000 };
    await desk.say({ session, message: "보내 주세요", slots: { ...slots }, locale });
  }

  const booked = desk.bookings();
  const done = await desk.say({ session, message: text, locale });
  if (done.error) throw new Error(`${done.error.code}: ${text}`);
  const state = stateSchema.parse(done.stateSnapshot);
  if (desk.bookings() > booked) return outcome("yes", state);
  return stage === "READY" ? afterQuestion(done, state) : afterOrder(done, state, asked);
}

const KNOWN = { target: SHOWN.to, amount: SHOWN.won } as const;

const slotsSchema = z.looseObject({
  target: z.string().nullish(),
  amount: z.number().nullish(),
  transfer_date: z.string().nullish(),
});
const stateSchema = z.looseObject({
  stage: z.string(),
  slots: slotsSchema.default({}),
  tasks: z.array(z.looseObject({ slots: slotsSchema })).default([]),
});
type State = z.output<typeof stateSchema>;

function outcome(kind: Outcome["kind"], state: State, asks = false): Outcome {
  const payments = [state.slots, ...state.tasks.map(({ slots }) => slots)]
    .filter(({ target, amount }) => target != null || amount != null)
    .map(({ target, amount }): PaymentLabel => ({ to: target ?? "", won: amount ?? undefined }));
  return { kind, payments, day: state.slots.transfer_date ?? undefined, asks };
}

/** After a question that waited for a yes: given up, changed, or asked again. */
function afterQuestion(done: Done, state: State): Outcome {
  if (state.stage === "CANCELLED" || done.nextAction === "DONE") return outcome("refused", state);
  const { target, amount, transfer_date: day, memo, alias } = state.slots;
  const isSame =
    target === SHOWN.to && amount === SHOWN.won && day == null && memo == null && alias == null;
  return isSame && state.tasks.length === 0
    ? outcome("kept", state)
    : outcome("change", state, done.nextAction !== "CONFIRM");
}

function afterOrder(done: Done, state: State, asked: Utterance["asked"]): Outcome {
  if (state.stage === "CANCELLED") return { ...outcome("refused", state), payments: [] };
  const asks = done.nextAction !== "CONFIRM";
  if (UNSUPPORTED.some((text) => done.message.includes(text))) {
    return outcome("unsupported", state, asks);
  }
  const read = outcome("details", state, asks);
  if (asked === undefined) return read;
  // What was known before is no part of the answer.
  const [{ to, won }] = [read.payments[0] ?? { to: "" }];
  const answer = asked === "amount" ? { to: "", won } : { to };
  const isAnswered = asked === "amount" ? won !== undefined : to !== "";
  return { ...read, payments: isAnswered ? [answer] : [] };
}

/** What the service says of what it cannot do. */
const UNSUPPORTED = Object.values(MESSAGES).flatMap(({ noRepeats, noForeign }) => [
  noRepeats,
  noForeign,
]);

/**
 * The utterance as it would be labelled today: its day is moved from {@link TODAY}. A day that the
 * parsers do not read alike is not judged.
 */
export function asOfToday(utterance: Utterance, nowMs: number): Utterance {
  const { day, ...want } = utterance.want;
  if (day === undefined) return utterance;
  const dayOn = (today: string): string | undefined => {
    const [first] = dayReader({ today }).find(utterance.text);
    return first?.ok === true ? first.value : undefined;
  };
  const moved = dayOn(TODAY) === day ? dayOn(todayIn("Asia/Seoul", nowMs)) : undefined;
  return { ...utterance, want: moved === undefined ? want : { ...want, day: moved } };
}
