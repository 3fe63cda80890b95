import { systemClock } from "../../kernel/clock.ts";
import type { Schedule } from "../../schedules/schedule.ts";
import type { LoadedTeam } from "../../team/config.ts";
import type { Environment } from "../../team/environment.ts";
import { settingsOf } from "../../team/limits.ts";
import { nextMoment, schedulesOf } from "../../team/schedules.ts";
import type { Finding } from "./finding.ts";

/** Each rule with its next moment. */
export function checkSchedules(team: LoadedTeam, environment: Environment): Finding[] {
  const { timeZone } = settingsOf(team.config, environment);
  return schedulesOf(team.config, timeZone).map(findingOf);
}

function findingOf(schedule: Schedule): Finding {
  const { name, cron, timeZone, missed } = schedule;
  const next = nextMoment(schedule, systemClock.now());

  return {
    name: `schedule ${name}`,
    status: "ok",
    detail: `${cron} in ${timeZone}, next ${next}; missed moments: ${missed}`,
  };
}
