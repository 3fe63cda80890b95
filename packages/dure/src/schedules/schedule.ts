import type { HookDeed } from "../webhooks/hook-deed.ts";
import type { ScheduleFiring } from "../wire/schedules.ts";
import type { MissedRule } from "./decide-due.ts";

/** Work that begins at a time, as the configuration says. Source: docs/spec/interop §6. */
export interface Schedule {
  readonly name: string;
  readonly cron: string;
  readonly timeZone: string;
  readonly missed: MissedRule;
  /** Owner of what is done. */
  readonly tenant: string;
  readonly deed: HookDeed;
}

/** A schedule as it stands. */
export interface ShownSchedule extends Schedule {
  /** Milliseconds since the epoch; null while it is paused. */
  readonly next: number | null;
  readonly paused: { readonly by: string; readonly at: number } | null;
  /** Newest first. */
  readonly last: readonly ScheduleFiring[];
}

/** What an entry of the outbox holds: what was taken is done as it was then. */
export interface TakenMoment {
  readonly name: string;
  readonly timeZone: string;
  readonly tenant: string;
  readonly deed: HookDeed;
  readonly due: number;
}

/** Name of the topic in the outbox. */
export const SCHEDULE_TOPIC = "schedule";

/** What the text of a schedule may quote. Pure. */
export function momentWords({ name, timeZone, due }: TakenMoment): Record<string, string> {
  const moment = new Date(due);
  // Sweden writes dates as ISO does.
  const at = new Intl.DateTimeFormat("sv-SE", { timeZone, ...DATE_AND_TIME }).format(moment);
  const [date = "", time = ""] = at.split(" ");

  return { name, date, time, moment: moment.toISOString() };
}

const DATE_AND_TIME = { dateStyle: "short", timeStyle: "short" } as const;
