// What people write, read by code: amounts, days, yes and no
export { formatAmount, parseAmount, type AmountResult } from "./parse/amount.ts";
export { parseDate, type DateResult } from "./parse/date.ts";
export { clockIn, isIsoDate, todayIn, weekdayOf, type IsoDate } from "./parse/days.ts";
export {
  isCancel,
  isConfirm,
  parseContinue,
  type CancelDecision,
  type ConfirmDecision,
  type ContinueDecision,
} from "./parse/phrases.ts";

// Text
export { josa, josaOnly, type Josa } from "./parse/josa.ts";
export { fold, tokensOf, type Locale } from "./parse/text.ts";
