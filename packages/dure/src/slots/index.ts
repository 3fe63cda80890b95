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

// Amounts, numbers, days
export { formatAmount, parseAmount, type AmountResult } from "../parse/money/amount.ts";
export {
  deriveAmounts,
  showDerived,
  type DerivedAmount,
  type KnownAmounts,
} from "../parse/money/derived.ts";
export { findMoney, moneyLimitReader, moneyReader } from "../parse/money/find-money.ts";
export { parseMoney, type MoneyBecause, type MoneyReading } from "../parse/money/money.ts";
export { numberReader, parseNumber, type NumberReading } from "../parse/number.ts";
export { parseDate, type DateResult } from "../parse/days/date.ts";
export { dateRangeReader, isIsoDateRange, type IsoDateRange } from "../parse/days/date-range.ts";
export { parseDay, type DayBecause, type DayReading } from "../parse/days/day.ts";
export { clockIn, isIsoDate, todayIn, weekdayOf, type IsoDate } from "../parse/days/days.ts";
export {
  findRecurrence,
  recurrenceReader,
  recurrenceRule,
  type Recurrence,
} from "../parse/days/recurrence.ts";
export { dayReaderFor, parsePastDay, type PastDays } from "../parse/days/past-day.ts";
export { parseTime, type IsoTime, type TimeBecause, type TimeReading } from "../parse/days/time.ts";
export {
  dayOnlyReader,
  dayReader,
  findWhen,
  namesATime,
  parseWhen,
  whenReader,
  type PersonClock as Clock,
  type When,
  type WhenBecause,
  type WhenReading,
} from "../parse/days/when.ts";

// People, and what each of them is to get
export {
  findPayments,
  personReader,
  type Payment,
  type PaymentDoubt,
  type PaymentsReading,
} from "../parse/people/payments.ts";
export { parsePerson, type PersonReading } from "../parse/people/person.ts";
export { formatPhone, parsePhone, phoneReader, type PhoneNumber } from "../parse/phone.ts";

// One of several things, a yes or a no to one
export { choiceReader, type NamedOption } from "../parse/choice.ts";
export { truthReader, type TruthNames } from "../parse/truth.ts";

// Yes, no and the rest
export {
  classifyContinue,
  classifyReply,
  REFUSING_KINDS,
  type Reply,
  type ReplyBecause,
  type ReplyKind,
} from "../parse/replies/reply.ts";
export { moveWordsOf, type MoveWords } from "../parse/replies/moves.ts";
export { pickOf } from "../parse/replies/pick.ts";
export {
  lexiconWith,
  type Lexicon,
  type MoreWords,
  type PhraseLists,
  type WordPatterns,
} from "../parse/lexicon/index.ts";

// Slots of the kinds of values that people give
export { slot } from "./kinds/slot.ts";

// A service that fills slots, asks for a yes, and does one thing
export { slotFlow, type SlotFlowParts } from "./slot-flow.ts";
export { formTexts, type OwnTexts, type Shown } from "./form-texts.ts";
export {
  SLOT_TYPES,
  type Contact,
  type Deed,
  type FormEntities,
  type FormTexts,
  type Look,
  type NamedDeed,
  type Offer,
  type Progress,
  type SlotContext,
  type SlotForm,
  type SlotLimits,
  type SlotOption,
  type SlotRead,
  type SlotSpec,
  type SlotSpecs,
  type SlotType,
  type SlotValue,
} from "./form.ts";
export type { KindOptions } from "./kinds/kind.ts";
export {
  MESSAGE_ERRORS,
  type DoubtOption,
  type FormEntry as Entry,
  type FormResult,
  type FormState,
  type FormTask,
  type OpenChoice,
  type SlotErrors,
  type SlotValues,
} from "./form-state.ts";
export { formFactsIn, slotAgents, type FormFacts } from "./form-agents.ts";
export { askedSlotOf, missingSlots } from "./entries.ts";
export type { BatchCounts } from "./batch.ts";
export { STAGES, type Stage } from "./stages.ts";

// What the model that reads is asked, and how it answers
export type {
  MessageKind,
  Move,
  SlotChange,
  SlotExample,
  SlotItem,
  SlotReading,
} from "./prompts.ts";

// Text
export { josa, josaOnly, type Josa } from "../parse/josa.ts";
export type { Locale } from "../kernel/locales.ts";
export { fold, tokensOf } from "../parse/text.ts";
