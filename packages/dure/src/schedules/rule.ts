import { Cron } from "croner";
import { messageOf } from "../kernel/errors.ts";

/** When something is due. */
export interface ScheduleRule {
  /** The first moment behind `after`; undefined: there is none. Milliseconds since the epoch. */
  next(after: number): number | undefined;
  /** The last moments in (`after`, `until`], at most `most`, oldest first. */
  between(after: number, until: number, most: number): readonly number[];
}

/**
 * Reads five fields of cron. A time that exists twice comes once, one that does not exist comes
 * after the gap, where the rule names its hours and minutes. Throws what `ruleProblem` tells.
 */
export function readRule(cron: string, timeZone: string): ScheduleRule {
  const pattern = new Cron(cron, {
    paused: true,
    timezone: timeZone,
    mode: "5-part",
    fixedTimeRule: "no-wildcard",
  });
  const next = (after: number): number | undefined => pattern.nextRun(new Date(after))?.getTime();

  return { next, between: (after, until, most) => momentsIn(next, { after, until, most }) };
}

/** What is wrong with a rule; undefined: nothing. */
export function ruleProblem(cron: string, now: number): string | undefined {
  try {
    return readRule(cron, "UTC").next(now) === undefined ? "never comes" : undefined;
  } catch (error) {
    return `cannot be read: ${messageOf(error)
      .replace(/^CronPattern: /, "")
      .replace(/\.$/, "")}`;
  }
}

interface Span {
  readonly after: number;
  readonly until: number;
  readonly most: number;
}

function momentsIn(next: ScheduleRule["next"], { after, until, most }: Span): readonly number[] {
  const found: number[] = [];
  let moment = next(after);

  while (moment !== undefined && moment <= until) {
    found.push(moment);
    if (found.length > most) found.shift();
    moment = next(moment);
  }

  return found;
}
