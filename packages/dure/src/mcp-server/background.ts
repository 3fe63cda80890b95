import { z } from "zod";
import { systemClock, withTimeout } from "../kernel/clock.ts";
import type { PlatformEvent } from "../wire/events.ts";
import type { JobAnswer, JobDetail } from "../wire/jobs.ts";
import type { PlanRun } from "../wire/runs.ts";
import type { TeamCall } from "./team-tool.ts";

/** Seconds that a tool waits for the end of what it tells of. */
export const wait = z
  .int()
  .min(0)
  .max(300)
  .default(0)
  .describe("Seconds to wait for its end. Progress is told meanwhile.");

interface Delegated {
  readonly agent: string;
  readonly target: string;
  readonly message: string;
  readonly wait_sec: number;
  readonly max_turns?: number | undefined;
  readonly key?: string | undefined;
}

export function ask(delegated: Delegated, { client, signal }: TeamCall): Promise<JobAnswer> {
  const { wait_sec: waitSec, max_turns: maxTurns, key: idempotencyKey, ...asked } = delegated;
  return client.jobs.ask({ ...asked, waitSec, maxTurns }, { signal, idempotencyKey });
}

/** Where progress is asked for, the job is begun first: so its turns are told while it is waited. */
export async function delegate(delegated: Delegated, call: TeamCall): Promise<JobAnswer> {
  if (!call.tell || delegated.wait_sec === 0) return ask(delegated, call);
  const once = { ...delegated, key: delegated.key ?? crypto.randomUUID() };
  const { jobId } = await ask({ ...once, wait_sec: 0 }, call);
  const answered = new AbortController();
  const signal = AbortSignal.any([call.signal, answered.signal]);
  const told = tellNews(call.client.jobs.stream(jobId, { signal }), call.tell, signal);
  try {
    const answer = await ask(once, call);
    // A job that was over at once is told too.
    await Promise.race([told, systemClock.sleep(LAST_NEWS_MS, { signal: call.signal })]);
    return answer;
  } finally {
    answered.abort();
    await told;
  }
}

/** How long an answer waits for the news before it, milliseconds. */
const LAST_NEWS_MS = 500;

export interface StartedRun {
  readonly plan: string;
  readonly only?: string[] | undefined;
  readonly key?: string | undefined;
}

export function startRun(
  { key: idempotencyKey, ...asked }: StartedRun,
  { client, signal }: TeamCall,
): Promise<PlanRun> {
  return client.plans.start(asked, { signal, idempotencyKey });
}

interface TaskNews {
  readonly kind: string;
  readonly event?: PlatformEvent;
  readonly job?: Pick<JobDetail, "status">;
}

interface Followed {
  stream(id: string, options: { readonly signal: AbortSignal }): AsyncIterable<TaskNews>;
}

/** Waits until a job or a run has ended, at most as long as it was told to. */
export async function untilOver(
  work: Followed,
  { id, waitSec }: { readonly id: string; readonly waitSec: number },
  { signal, tell }: TeamCall,
): Promise<void> {
  if (waitSec === 0) return;
  const isLate = new Error("It has not ended yet.");
  const patience = { ms: waitSec * 1_000, signal };
  try {
    await withTimeout(
      systemClock,
      patience,
      () => isLate,
      (bounded) => tellNews(work.stream(id, { signal: bounded }), tell, bounded),
    );
  } catch (error) {
    if (error !== isLate) throw error;
  }
}

/** Tells each event to its end, or until the signal aborts. A refusal is thrown. */
async function tellNews(
  news: AsyncIterable<TaskNews>,
  tell: TeamCall["tell"],
  signal: AbortSignal,
): Promise<void> {
  try {
    for await (const { event, job } of news) {
      if (event) tell?.(describe(event));
      else if (job) tell?.(`job ${job.status}`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Such as `port.success parser`. Pure. */
function describe({ type, data }: PlatformEvent): string {
  const { port, turn } = data as { readonly port?: unknown; readonly turn?: unknown };
  const about = port ?? turn;
  return typeof about === "string" || typeof about === "number" ? `${type} ${about}` : type;
}
