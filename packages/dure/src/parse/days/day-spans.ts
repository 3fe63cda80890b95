/** How many days: `3일간`, `2박 3일`, `일주일`, `for two nights`. */

import { parseDay } from "./day.ts";
import { addDays, addMonths, SPANS, type IsoDate } from "./days.ts";
import { numbersOf } from "../number-words.ts";

const COUNT =
  "(?:\\d{1,3}|an?|one|two|three|four|five|six|seven|ten|[한두세네일이삼사오육칠팔구십]{1,3})";

/** By which a span is found; `3일` alone is one only at the end of a text. */
export const SPAN_SOURCE =
  `(?:${COUNT} ?박(?: ?${COUNT} ?일)?|${COUNT} ?(?:일|주일?|달|개월)(?: ?동안| ?간|(?=$))|` +
  `(?:${Object.keys(SPANS).join("|")})(?: ?동안| ?간|만)?|` +
  `${COUNT} (?:nights?|days?|weeks?|months?))`;

const COUNTED = /^(.{1,6}?) ?(박|일|주|달|개월|night|day|week|month)/u;
const BARE_DAYS = /^(?:\d{1,3}|[한두세네일이삼사오육칠팔구십]{1,3}) ?일$/u;

/**
 * The last days of a span that begins with `start`: nights end on the day after the last of them.
 * `3일` alone is three days, or the third; it counts only behind 부터 (`isFrom`). Pure.
 */
export function lastDaysOf(
  span: string,
  start: IsoDate,
  isFrom: boolean,
): readonly (IsoDate | undefined)[] {
  const named = SPANS[span.replace(/ ?(?:동안|간|만)$/u, "")];
  if (named !== undefined) return [addDays(start, named - 1)];
  const isBare = BARE_DAYS.test(span);
  if (isBare && !isFrom) return [];
  const [, count = "", unit = ""] = COUNTED.exec(span) ?? [];
  const [amount, other] = numbersOf(/^[a-z]/u.test(unit) ? `${count} days` : `${count} 일`);
  if (amount === undefined || other !== undefined || amount < 1) return [];
  const third = isBare ? parseDay(span, start) : undefined;
  return [lastDay(start, amount, unit), ...(third?.ok === true ? [third.value] : [])];
}

function lastDay(start: IsoDate, amount: number, unit: string): IsoDate | undefined {
  if (unit === "박" || unit === "night") return addDays(start, amount);
  if (unit === "일" || unit === "day") return addDays(start, amount - 1);
  if (unit === "주" || unit === "week") return addDays(start, 7 * amount - 1);
  const after = addMonths(start, amount);
  return after === undefined ? undefined : addDays(after, -1);
}
