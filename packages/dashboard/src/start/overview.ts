import {
  isJobOver,
  isRunOver,
  type Costs,
  type Escalation,
  type Job,
  type ListedRun,
  type Room,
  type RoomAgent,
  type SessionSummary,
} from "dure/client";

/** Something that runs or has failed, as the start page lists it. */
export type Work =
  | { readonly kind: "job"; readonly job: Job }
  | { readonly kind: "run"; readonly run: ListedRun }
  | { readonly kind: "session"; readonly session: SessionSummary }
  | { readonly kind: "agent"; readonly agent: RoomAgent };

/**
 * What the server told. A list is undefined while it is read, and null where the reader may not see
 * it.
 */
export interface Told {
  readonly model: "provider" | "offline";
  readonly escalations: readonly Escalation[] | null | undefined;
  readonly jobs: readonly Job[] | null | undefined;
  readonly runs: readonly ListedRun[] | null | undefined;
  readonly sessions: readonly SessionSummary[] | null | undefined;
  readonly agents: readonly RoomAgent[] | null | undefined;
  readonly rooms: readonly Room[] | null | undefined;
  readonly costs: Costs | null | undefined;
}

/** A failure counts as news for so long, milliseconds. */
const NEWS_MS = 24 * 60 * 60 * 1_000;
/** Ends that are no news, of jobs and of runs. */
const GOOD_ENDS: ReadonlySet<string> = new Set(["COMPLETED", "CANCELLED", "success", "cancelled"]);

/** What goes on: runs first, then jobs, conversations, and agents that answer in rooms. Pure. */
export function runningOf({ runs, jobs, sessions, agents }: Told): readonly Work[] {
  const isRunning = ({ status }: ListedRun): boolean => !isRunOver(status);
  return [
    ...(runs ?? []).filter(isRunning).map((run) => ({ kind: "run" as const, run })),
    ...(jobs ?? [])
      .filter(({ status }) => status === "RUNNING")
      .map((job) => ({ kind: "job" as const, job })),
    ...(sessions ?? [])
      .filter(({ runningTurn }) => Boolean(runningTurn))
      .map((session) => ({ kind: "session" as const, session })),
    ...(agents ?? [])
      .filter(({ working }) => working > 0)
      .map((agent) => ({ kind: "agent" as const, agent })),
  ];
}

/** What has failed within a day, the newest first. Pure. */
export function failedOf({ runs, jobs }: Told, now: number): readonly Work[] {
  const isNews = (at: number | null): boolean => at !== null && now - at < NEWS_MS;
  const failed = [
    ...(runs ?? [])
      .filter(
        ({ status, finishedAt }) =>
          isRunOver(status) && !GOOD_ENDS.has(status) && isNews(finishedAt),
      )
      .map((run) => ({ at: run.finishedAt ?? 0, work: { kind: "run" as const, run } })),
    ...(jobs ?? [])
      .filter(
        ({ status, finishedAt }) =>
          isJobOver(status) && !GOOD_ENDS.has(status) && isNews(finishedAt),
      )
      .map((job) => ({ at: job.finishedAt ?? 0, work: { kind: "job" as const, job } })),
  ];
  return failed.toSorted((a, b) => b.at - a.at).map(({ work }) => work);
}

export const FIRST_STEPS = ["model", "agent", "room", "plan"] as const;
export type FirstStep = (typeof FIRST_STEPS)[number];

/**
 * What a new team needs, and whether it has it. Undefined until all is read; a step that the reader
 * may not see is left out. Pure.
 */
export function firstStepsOf(
  told: Told,
): readonly { readonly id: FirstStep; readonly isDone: boolean }[] | undefined {
  const { model, agents, rooms, runs } = told;
  if (agents === undefined || rooms === undefined || runs === undefined) return undefined;

  const isDone: Readonly<Record<FirstStep, boolean | undefined>> = {
    model: model === "provider",
    agent: agents === null ? undefined : agents.length > 0,
    room: rooms === null ? undefined : rooms.some(({ lastAt }) => lastAt !== null),
    plan: runs === null ? undefined : runs.length > 0,
  };
  return FIRST_STEPS.flatMap((id) => {
    const done = isDone[id];
    return done === undefined ? [] : [{ id, isDone: done }];
  });
}

export type SuggestedStep = "decide" | "look" | "budget" | "talk";

/** What is worth doing next in a team that is set up, the most urgent first. Pure. */
export function nextStepsOf(told: Told, now: number): readonly SuggestedStep[] {
  const steps: SuggestedStep[] = [];
  if ((told.escalations ?? []).length > 0) steps.push("decide");
  if (failedOf(told, now).length > 0) steps.push("look");
  if (told.costs && told.costs.budgets.length === 0) steps.push("budget");

  return [...steps, "talk"];
}
