import type { DureClient, Schedule, ScheduleFiring } from "../client/index.ts";
import { EXIT, momentOf, type ExitCode, type Output } from "./output.ts";
import type { CliWords } from "./words/words.ts";

type ScheduleWords = CliWords["work"]["schedule"];

interface Command {
  readonly client: DureClient;
  readonly output: Output;
}

/** Each with its next moment, and what came of the last one. */
export async function listSchedules({ client, output }: Command): Promise<ExitCode> {
  const items = await client.schedules.list();
  const { schedule: words } = output.words.work;
  if (items.length === 0) output.line(words.none);
  else output.table([words.head, ...items.map((item) => rowOf(item, words))]);
  output.result({ items });

  return EXIT.ok;
}

export async function runSchedule(
  name: string,
  key: string | undefined,
  { client, output }: Command,
): Promise<ExitCode> {
  const firing = await client.schedules.run(name, key === undefined ? {} : { idempotencyKey: key });
  output.line(output.words.work.schedule.runs(name));
  output.result(firing);

  return EXIT.ok;
}

export async function pauseSchedule(name: string, { client, output }: Command): Promise<ExitCode> {
  const schedule = await client.schedules.pause(name);
  output.line(output.words.work.schedule.paused(name));
  output.result(schedule);

  return EXIT.ok;
}

export async function resumeSchedule(name: string, { client, output }: Command): Promise<ExitCode> {
  const schedule = await client.schedules.resume(name);
  const { schedule: words } = output.words.work;
  output.line(words.goesOn(name, nextOf(schedule, words)));
  output.result(schedule);

  return EXIT.ok;
}

function rowOf(schedule: Schedule, words: ScheduleWords): string[] {
  const { name, cron, timeZone, does, with: target, last } = schedule;
  return [
    name,
    `${cron} ${timeZone}`,
    `${does} ${target}`,
    nextOf(schedule, words),
    lastOf(last[0]),
  ];
}

function nextOf({ next, paused }: Schedule, words: ScheduleWords): string {
  if (paused) return words.pausedBy(paused.by);
  return next === null ? words.never : momentOf(next);
}

/** `2026-11-24T00:00 done job_01K…`. Pure. */
function lastOf(firing: ScheduleFiring | undefined): string {
  if (!firing) return "–";
  const { due, status, error, messageId, jobId, runId } = firing;
  const what = error ?? messageId ?? jobId ?? runId ?? "";

  return `${momentOf(due)} ${status} ${what}`.trim();
}
