import type { DureClient, Schedule, ScheduleFiring } from "../client/index.ts";
import { EXIT, type ExitCode, type Output } from "./output.ts";

interface Command {
  readonly client: DureClient;
  readonly output: Output;
}

/** Each with its next moment, and what came of the last one. */
export async function listSchedules({ client, output }: Command): Promise<ExitCode> {
  const items = await client.schedules.list();
  if (items.length === 0) output.line("no schedules; `schedules` of the configuration names them");
  else output.table([["name", "rule", "does", "next", "last"], ...items.map(rowOf)]);
  output.result({ items });

  return EXIT.ok;
}

export async function runSchedule(
  name: string,
  key: string | undefined,
  { client, output }: Command,
): Promise<ExitCode> {
  const firing = await client.schedules.run(name, key === undefined ? {} : { idempotencyKey: key });
  output.line(`${name} is being run: dure schedules list`);
  output.result(firing);

  return EXIT.ok;
}

export async function pauseSchedule(name: string, { client, output }: Command): Promise<ExitCode> {
  const schedule = await client.schedules.pause(name);
  output.line(`${name} is paused: its moments pass until dure schedules resume ${name}`);
  output.result(schedule);

  return EXIT.ok;
}

export async function resumeSchedule(name: string, { client, output }: Command): Promise<ExitCode> {
  const schedule = await client.schedules.resume(name);
  output.line(`${name} goes on; next: ${nextOf(schedule)}`);
  output.result(schedule);

  return EXIT.ok;
}

function rowOf(schedule: Schedule): string[] {
  const { name, cron, timeZone, does, with: target, last } = schedule;
  return [name, `${cron} ${timeZone}`, `${does} ${target}`, nextOf(schedule), lastOf(last[0])];
}

function nextOf({ next, paused }: Schedule): string {
  if (paused) return `paused by ${paused.by}`;
  return next === null ? "never" : timeOf(next);
}

/** `2026-11-24T00:00 done job_01K…`. Pure. */
function lastOf(firing: ScheduleFiring | undefined): string {
  if (!firing) return "–";
  const { due, status, error, messageId, jobId, runId } = firing;
  const what = error ?? messageId ?? jobId ?? runId ?? "";

  return `${timeOf(due)} ${status} ${what}`.trim();
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(0, 16);
}
