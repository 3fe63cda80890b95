import { classifyReply, formatAmount } from "dure/slots";
import type { Booking } from "../../../../examples/transfer/bank/ledger.ts";
import type { WireDone } from "./desk.ts";

/** One turn, as the person knows it. */
export interface Told {
  readonly turnId: string;
  readonly text: string;
  readonly pressed: string | undefined;
  /** Between the turn before and this one lay more time than a question holds. */
  readonly afterSilence: boolean;
  /** Texts of its events before `DONE`. */
  readonly shown: readonly string[];
  readonly done: WireDone;
}

/** When a message was stored, and when its `DONE` was; of the database's clock, milliseconds. */
export interface Times {
  readonly acceptedAt: number;
  readonly finishedAt: number;
}

/** All that is known of a conversation from outside. */
export interface Conversation {
  readonly told: readonly Told[];
  readonly booked: readonly Booking[];
  readonly completed: readonly { readonly data: unknown }[];
  readonly times: ReadonlyMap<string, Times>;
}

/** What is wrong with a conversation; empty where all is well. Pure. */
export function findingsOf(conversation: Conversation): readonly string[] {
  return [
    ...bookedTwice(conversation),
    ...bookedWithoutYes(conversation),
    ...claimsWithoutBooking(conversation),
    ...strangers(conversation),
    ...lost(conversation),
  ];
}

/** The conversation as a person reads it. */
export function scriptOf(told: readonly Told[]): string {
  return told
    .map(({ text, pressed, afterSilence, done }) => {
      const said = `${afterSilence ? "[later] " : ""}${pressed ? "[button] " : ""}${text}`;
      return `${said} → ${done.error?.code ?? ""} ${done.message}`;
    })
    .join("\n");
}

function questionIdOf({ key }: Booking): string {
  return key.split("/").at(-1)!;
}

function bookedTwice({ booked }: Conversation): readonly string[] {
  const ids = booked.map(questionIdOf);
  return ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `booked twice: ${id}`);
}

function bookedWithoutYes({ booked, told, times }: Conversation): readonly string[] {
  return booked.flatMap((booking) => {
    const { to, amount } = booking;
    const id = questionIdOf(booking);
    const at = told.findIndex(({ done }) => done.ui_hint.confirm_id === id);
    const question = told[at];
    const answer = told[at + 1];
    if (!question || !answer) return [`${to} ${amount} was never asked`];

    const findings: string[] = [];
    const { target, amount: shown } = question.done.state_snapshot["slots"] as Slots;
    if (target !== to || shown !== amount) findings.push(`${to} ${amount} is not what was stored`);
    if (!isAbout(question.done.message, booking)) {
      findings.push(`${to} ${amount} is not what was shown: ${question.done.message}`);
    }
    const because = whyNoYes(answer, { id, question, times });
    if (because !== undefined) findings.push(`${answer.text} to ${to} ${amount} ${because}`);
    return findings;
  });
}

interface Slots {
  readonly target?: string;
  readonly amount?: number;
}

function whyNoYes(
  { turnId, text, pressed, afterSilence }: Told,
  { id, question, times }: { id: string; question: Told; times: Conversation["times"] },
): string | undefined {
  if (afterSilence) return "came after the question had expired";
  if (classifyReply(text).kind !== "yes") return "is no yes";
  if (pressed !== undefined) return pressed === id ? undefined : "presses another question";
  const asked = times.get(question.turnId)!.finishedAt;
  return times.get(turnId)!.acceptedAt > asked ? undefined : "was written before it was asked";
}

function isAbout(text: string, { to, amount }: Booking): boolean {
  const amounts = [formatAmount(amount, "ko"), formatAmount(amount, "en")];
  return text.includes(to) && amounts.some((words) => text.includes(words));
}

const CLAIM = /보냈어요|접수했어요|완료[돼됐되]|예약을 마쳤|: 완료|was sent|have sent|all done/iu;
const COUNT = /완료 (\d+)건/u;

/** Each line that says that money was sent names a transfer that the bank has. */
function claimsWithoutBooking({ told, booked }: Conversation): readonly string[] {
  const texts = told.flatMap(({ done, shown }) => [done.message, ...shown]);
  return texts
    .flatMap((text) => text.split("\n"))
    .filter((line) => {
      if (CLAIM.test(line)) return !booked.some((booking) => isAbout(line, booking));
      return Number(COUNT.exec(line)?.[1] ?? 0) > booked.length;
    })
    .map((line) => `says without a booking: ${line}`);
}

/** People in a state whom the person has not named. */
function strangers({ told }: Conversation): readonly string[] {
  const words = told.map(({ text }) => text).join("\n");
  const names = told.flatMap(({ done }) => namesIn(done));
  return [...new Set(names)]
    .filter((name) => !words.includes(name))
    .map((name) => `${name} was never named`);
}

/** People who stood in a state once, and are neither finished nor still there. */
function lost({ told, completed }: Conversation): readonly string[] {
  const named = new Set(told.flatMap(({ done }) => namesIn(done)));
  for (const { data } of completed) named.delete((data as { slots: Slots }).slots.target ?? "");
  const last = told.findLast(({ done }) => "tasks" in done.state_snapshot)?.done;
  for (const name of last ? namesIn(last) : []) named.delete(name);
  return [...named].map((name) => `${name} is lost`);
}

function namesIn({ state_snapshot: state }: WireDone): readonly string[] {
  const { slots, tasks } = state as { slots?: Slots; tasks?: readonly { slots: Slots }[] };
  return [slots, ...(tasks ?? []).map((task) => task.slots)].flatMap((one) => one?.target ?? []);
}
