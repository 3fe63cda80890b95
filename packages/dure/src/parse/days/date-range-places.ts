/** Where a sentence names a range of days; `date-range.ts` reads it. */

import { SPAN_SOURCE } from "./day-spans.ts";
import { ANY_DAY_SOURCE } from "./past-day.ts";
import { fold } from "../text.ts";

/** A weekend in folded words; which one is in its first group. */
export const WEEKEND = /^(?:(이번|다음|담|this|next|the) ?)?(?:주말|weekend)(?:에|동안|내내)?$/u;

const DAYS = new RegExp(ANY_DAY_SOURCE, "giu");
const BETWEEN = /^ ?(?:부터|에서|~|∼|–|—|-|\/|to|through|thru|until|till|and)? ?$/iu;
const TAIL = new RegExp(
  `^ ?(?:(?:부터|출발|,)? ?(?:for )?${SPAN_SOURCE}(?![가-힣a-z])|` +
    "(?:부터|에서|~|–|-|to|through|until|till) ?\\d{1,2}(?:일|st|nd|rd|th)?(?:까지)?" +
    "(?![\\d시분:/월원만명개]))",
  "iu",
);

/** Words that may be one, each with its place. Pure. */
export function rangesIn(line: string): readonly { readonly words: string; readonly at: number }[] {
  const days = [...line.matchAll(DAYS)];
  let end = 0;
  return days.flatMap((day, index) => {
    if (day.index < end) return [];
    const words = wordsFrom(line, day, days[index + 1]);
    end = day.index + words.length;
    return words === "" ? [] : [{ words, at: day.index }];
  });
}

/** The words from one day to the next, or to where its length is said; else none. */
function wordsFrom(line: string, day: RegExpExecArray, next: RegExpExecArray | undefined): string {
  const end = day.index + day[0].length;
  if (next && BETWEEN.test(line.slice(end, next.index))) {
    const last = next.index + next[0].length;
    // 5일까지요: 까지 says that it is a day, and no length.
    const until = /^ ?까지/u.exec(line.slice(last, last + 4))?.[0] ?? "";
    return line.slice(day.index, last + until.length);
  }
  const tail = TAIL.exec(line.slice(end, end + 40));
  if (tail) return line.slice(day.index, end + tail[0].length);
  return WEEKEND.test(fold(day[0]).trim()) ? day[0] : "";
}
