// What is read, and how sure
export {
  type Found,
  type NotUnderstood,
  type Reader,
  type Reading,
  type Sureness,
  type Understood,
} from "./parse/reading.ts";
export { checkProposal, isQuoteOf, type Proposal, type ProposalCheck } from "./parse/check.ts";

// Amounts, days
export { formatAmount, parseAmount, type AmountResult } from "./parse/amount.ts";
export { findMoney, moneyReader } from "./parse/find-money.ts";
export { parseMoney, type MoneyBecause, type MoneyReading } from "./parse/money.ts";
export { parseDate, type DateResult } from "./parse/date.ts";
export { clockIn, isIsoDate, todayIn, weekdayOf, type IsoDate } from "./parse/days.ts";

// Yes, no and the rest
export {
  classifyContinue,
  classifyReply,
  REFUSING_KINDS,
  type Reply,
  type ReplyBecause,
  type ReplyKind,
} from "./parse/reply.ts";

// Whether a question still shows what a yes would do
export { isAbout } from "../engine/question.ts";

// Text
export { josa, josaOnly, type Josa } from "./parse/josa.ts";
export { fold, tokensOf, type Locale } from "./parse/text.ts";
