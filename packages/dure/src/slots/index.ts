// The door `dure/slots`: what people write, read by code.

// What is read, and how sure
export {
  type Found,
  type NotUnderstood,
  type Reader,
  type Reading,
  type Sureness,
  type Understood,
} from "../parse/reading.ts";
export { checkProposal, isQuoteOf, type Proposal, type ProposalCheck } from "../parse/check.ts";

// Amounts, days
export { formatAmount, parseAmount, type AmountResult } from "../parse/amount.ts";
export { findMoney, moneyLimitReader, moneyReader } from "../parse/find-money.ts";
export { parseMoney, type MoneyBecause, type MoneyReading } from "../parse/money.ts";
export { parseDate, type DateResult } from "../parse/date.ts";
export { parseDay, type DayBecause, type DayReading } from "../parse/day.ts";
export { clockIn, isIsoDate, todayIn, weekdayOf, type IsoDate } from "../parse/days.ts";
export {
  findRecurrence,
  recurrenceReader,
  recurrenceRule,
  type Recurrence,
} from "../parse/recurrence.ts";
export { parseTime, type IsoTime, type TimeBecause, type TimeReading } from "../parse/time.ts";
export {
  dayOnlyReader,
  dayReader,
  findWhen,
  namesATime,
  parseWhen,
  whenReader,
  type Clock,
  type When,
  type WhenBecause,
  type WhenReading,
} from "../parse/when.ts";

// People, and what each of them is to get
export {
  findPayments,
  personReader,
  type Payment,
  type PaymentDoubt,
  type PaymentsReading,
} from "../parse/payments.ts";
export { parsePerson, type PersonReading } from "../parse/person.ts";

// Yes, no and the rest
export {
  classifyContinue,
  classifyReply,
  REFUSING_KINDS,
  type Reply,
  type ReplyBecause,
  type ReplyKind,
} from "../parse/reply.ts";

// A service that fills slots, asks for a yes, and does one thing
export { slotFlow, type SlotFlowParts } from "./slot-flow.ts";
export { formTexts, type OwnTexts } from "./form-texts.ts";
export type {
  Deed,
  FormTexts,
  Look,
  Progress,
  SlotContext,
  SlotForm,
  SlotRead,
  SlotSpec,
  SlotSpecs,
} from "./form.ts";
export {
  MESSAGE_ERRORS,
  type FormResult,
  type FormState,
  type SlotErrors,
  type SlotValues,
} from "./form-state.ts";
export { formFactsIn, slotAgents, type FormFacts } from "./form-agents.ts";
export { askedSlotOf, missingSlots } from "./delta.ts";
export type { BatchCounts } from "./batch.ts";
export type { Delta, SlotOperation } from "./delta.ts";
export { STAGES, type Stage } from "./stages.ts";

// What the model that reads is asked, and how it answers
export type { MessageKind, SlotExample, SlotReading } from "./prompts.ts";

// Text
export { josa, josaOnly, type Josa } from "../parse/josa.ts";
export { fold, tokensOf, type Locale } from "../parse/text.ts";
