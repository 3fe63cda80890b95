import type { HookDeed } from "../webhooks/hook-deed.ts";
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

/** What may become of a moment. `unknown`: it may have been done. */
export const FIRING_STATUSES = ["taken", "done", "failed", "unknown", "missed"] as const;
export type FiringStatus = (typeof FIRING_STATUSES)[number];

/** One moment of a schedule, and what came of it. */
export interface Firing {
  readonly key: string;
  /** Milliseconds since the epoch. */
  readonly due: number;
  /** Who has run it by hand; null: its time had come. */
  readonly by: string | null;
  readonly status: FiringStatus;
  readonly messageId: string | null;
  readonly jobId: string | null;
  readonly runId: string | null;
  /** Code of the refusal. */
  readonly error: string | null;
}

/** A schedule as it stands. */
export interface ShownSchedule extends Schedule {
  /** Milliseconds since the epoch; null while it is paused. */
  readonly next: number | null;
  readonly paused: { readonly by: string; readonly at: number } | null;
  /** Newest first. */
  readonly last: readonly Firing[];
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
