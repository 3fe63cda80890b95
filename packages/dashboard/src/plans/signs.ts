import {
  STALLED_AFTER_MS,
  type EventOf,
  type PairMember,
  type PlatformEvent,
  type PlanPort,
  type PlanStep,
} from "dure/client";

/** What is known of the work on a port beside its row: from its steps, then from events. */
export interface Sign {
  /** 1-based over all tries. */
  readonly try: number;
  readonly kind: PlanStep["kind"] | undefined;
  /** Null: a command runs, which gives no signs. */
  readonly member: PairMember | null;
  /** 0 to 1. */
  readonly progress: number;
  readonly task: string;
  /** When it last gave a sign. */
  readonly at: number;
  /** While the provider of its worker serves no calls. */
  readonly waits?: Waits | undefined;
  /** What it waits for that has said nothing for long. */
  readonly stalledOn?: StalledOn | undefined;
}

export type StalledOn = EventOf<"worker.stalled">["data"]["on"];

/** What a worker waits for. */
export type Waits = Pick<NonNullable<PlanPort["waiting"]>, "for" | "status" | "until">;

export type Signs = Readonly<Record<string, Sign>>;

/** Signs after an event of the run. Pure. */
export function signsAfter(signs: Signs, event: PlatformEvent): Signs {
  switch (event.type) {
    case "worker.spawn":
    case "worker.progress":
    case "worker.waiting":
      return { ...signs, [event.data.port]: workerSign(event) };
    case "worker.stalled": {
      const { port, on } = event.data;
      const sign = signs[port];
      return sign === undefined ? signs : { ...signs, [port]: { ...sign, stalledOn: on } };
    }
    case "worker.complete":
      // Between two workers a command runs, which gives no signs of its own.
      return {
        ...signs,
        [event.data.port]: { ...workerSign(event), ...NO_WORKER, progress: 1 },
      };
    case "worker.feedback": {
      const { port, try: number } = event.data;
      const sign = { ...(signs[port] ?? NOTHING), ...NO_WORKER, at: event.at };
      return { ...signs, [port]: { ...sign, try: number } };
    }
    default:
      return signs;
  }
}

function workerSign({
  at,
  data,
}: EventOf<"worker.spawn" | "worker.progress" | "worker.waiting" | "worker.complete">): Sign {
  return {
    try: data.try,
    kind: data.member === "tester" ? "test" : "implement",
    member: data.member,
    progress: "progress" in data ? data.progress : 0,
    task: "task" in data ? data.task : "",
    at,
    waits: "until" in data ? data : undefined,
  };
}

const NO_WORKER = { kind: undefined, member: null } as const;

const NOTHING = {
  try: 1,
  kind: undefined,
  member: null,
  progress: 0,
  task: "",
  at: 0,
} as const satisfies Sign;

/** The sign of the newest step. Pure. */
export function signOf(steps: readonly PlanStep[]): Sign | undefined {
  const newest = steps.toSorted((a, b) => a.startedAt - b.startedAt || a.id - b.id).at(-1);
  if (newest === undefined) return undefined;

  const isRunning = newest.status === "running";

  return {
    try: Math.max(1, newest.try),
    kind: newest.kind,
    member: isRunning ? newest.member : null,
    progress: newest.progress,
    task: newest.task,
    at: newest.seenAt,
    waits: newest.waiting ?? undefined,
  };
}

/** Events come sooner, the port's own steps hold more; the younger one counts. Pure. */
export function younger(told: Sign | undefined, read: Sign | undefined): Sign | undefined {
  if (told === undefined || read === undefined) return told ?? read;
  return told.at >= read.at ? told : read;
}

/** What a port waits for: by its sign, or by its row before there is one. */
export function waitsOf(
  port: Pick<PlanPort, "status" | "waiting">,
  sign: Pick<Sign, "waits"> | undefined,
): Waits | undefined {
  if (port.status !== "running") return undefined;
  return sign === undefined ? (port.waiting ?? undefined) : sign.waits;
}

/** How long a worker has said nothing, when that is too long. Pure. */
export function stalledFor(
  port: Pick<PlanPort, "status">,
  sign: Pick<Sign, "member" | "at" | "waits"> | undefined,
  now: number,
): number | undefined {
  if (port.status !== "running" || sign === undefined || sign.member === null) return undefined;
  if (sign.waits !== undefined) return undefined;
  const silent = now - sign.at;
  return silent > STALLED_AFTER_MS ? silent : undefined;
}

/**
 * The share of a port that is done, 0 to 1: a try counts up to its end, which only success reaches.
 * Pure.
 */
export function shareOf({ status }: Pick<PlanPort, "status">, sign: Sign | undefined): number {
  if (status === "succeeded") return 1;
  return status === "running" && sign !== undefined ? Math.min(1, Math.max(0, sign.progress)) : 0;
}

/** Which try it is of how many: an event may be ahead of the row. Pure. */
export function tryOf(
  {
    triesMade,
    triesPair,
    triesOrchestrator,
  }: Pick<PlanPort, "triesMade" | "triesPair" | "triesOrchestrator">,
  sign: Sign | undefined,
): { readonly number: number; readonly most: number } {
  const number = Math.max(triesMade, sign?.try ?? 0);
  return { number, most: Math.max(number, triesPair + triesOrchestrator) };
}
