import { readRule } from "../schedules/rule.ts";
import type { Schedule } from "../schedules/schedule.ts";
import type { TeamConfig } from "./config.ts";
import { deedOf } from "./hooks.ts";
import { webRoomsOf } from "./room-channels.ts";

/** The schedules of the configuration, by name. Pure. @param timeZone of the team */
export function schedulesOf(
  { schedules = {}, rooms }: TeamConfig,
  timeZone: string,
): readonly Schedule[] {
  const channels = webRoomsOf({ rooms });
  return Object.entries(schedules).map(([name, settings]) => {
    const { cron, missed = "skip", tenant = "" } = settings;
    const zone = settings.timeZone ?? timeZone;

    return { name, cron, timeZone: zone, missed, tenant, deed: deedOf(settings, channels) };
  });
}

/** The first moment from now on. Pure. */
export function nextMoment({ cron, timeZone }: Schedule, now: number): string | undefined {
  const next = readRule(cron, timeZone).next(now);
  return next === undefined ? undefined : new Date(next).toISOString();
}

/** Names of plans that schedules begin. Pure. */
export function plansOfSchedules(schedules: readonly Schedule[]): readonly string[] {
  const plans = schedules.flatMap(({ deed }) => (deed.kind === "plan" ? [deed.plan] : []));
  return [...new Set(plans)];
}
