/** Words of plans and their runs that every reader shares. Source: docs/spec/plans. */

export const OPEN_RUN_STATUSES = ["running", "paused", "cancelling", "waiting_host"] as const;
export const RUN_OUTCOMES = ["success", "partial", "failed", "cancelled"] as const;
export type RunOutcome = (typeof RUN_OUTCOMES)[number];

/** Those of a run that goes on, then its ends. */
export const PLAN_RUN_STATUSES = [...OPEN_RUN_STATUSES, ...RUN_OUTCOMES] as const;
/**
 * How a run stands. `waiting_host`: the machine that holds its files is gone. `success`, `partial`,
 * `failed` and `cancelled` are ends.
 */
export type PlanRunStatus = (typeof PLAN_RUN_STATUSES)[number];

/** Whether a run has ended, however it did. */
export function isRunOver(status: PlanRunStatus): status is RunOutcome {
  return (RUN_OUTCOMES as readonly string[]).includes(status);
}

/** What becomes of a result after its run. */
export const DELIVERIES = ["kept", "merged", "published", "undone", "superseded"] as const;
export type ResultDelivery = (typeof DELIVERIES)[number];

/** preparing: the base and the contracts. merging: the results become one tree, which is tried. */
export const RUN_PHASES = ["preparing", "building", "merging", "over"] as const;
/**
 * What a run is at. `preparing`: the base and the contracts. `merging`: the results become one
 * tree, which is tried.
 */
export type RunPhase = (typeof RUN_PHASES)[number];

/** In the order of the work. */
export const PORT_STATUSES = [
  "waiting",
  "ready",
  "running",
  "held",
  "succeeded",
  "failed",
  "blocked",
  "cancelled",
] as const;
/**
 * How a port stands. `held`: its work is accepted and waits for a person. `blocked`: something that
 * it needs has failed.
 */
export type PortStatus = (typeof PORT_STATUSES)[number];

const IS_PORT_OVER = {
  waiting: false,
  ready: false,
  running: false,
  held: false,
  succeeded: true,
  failed: true,
  blocked: false,
  cancelled: true,
} as const satisfies Record<PortStatus, boolean>;

/** Whether the work on a port has ended, however it did. */
export function isPortOver(status: PortStatus): boolean {
  return IS_PORT_OVER[status];
}

/** Who works on a port. */
export const MEMBERS = ["implementer", "tester", "orchestrator"] as const;
/** Who works on a port: one of its pair, or the plan's orchestrator. */
export type Member = (typeof MEMBERS)[number];

/** How a worker says that its work stands. */
export const WORKER_STATUSES = ["ready", "partial", "failed"] as const;
export type WorkerStatus = (typeof WORKER_STATUSES)[number];

export const CHANNEL_SPEAKERS = [...MEMBERS, "operator"] as const;
export type ChannelSpeaker = (typeof CHANNEL_SPEAKERS)[number];

/**
 * What stands in a member's transcript. `heard`: words of a person that it read; `session`: its
 * agent's conversation began or went on.
 */
export const TRANSCRIPT_KINDS = [
  "prompt",
  "session",
  "thought",
  "message",
  "tool",
  "result",
  "diff",
  "stdout",
  "stderr",
  "refused",
  "asked",
  "heard",
  "cost",
  "end",
] as const;
export type TranscriptKind = (typeof TRANSCRIPT_KINDS)[number];

export const CHANNEL_MESSAGE_TYPES = ["result", "feedback", "query", "ack"] as const;

/** What is done in a try: each kind once. Source of the order: docs/spec/plans §4. */
export const STEP_KINDS = [
  "contracts",
  "setup",
  "implement",
  "test",
  "accept",
  "count",
  "base",
  "judge",
  "check",
  "module",
  "merge",
  "shared",
  "integrate",
  "review",
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

/** `stopped`: its port failed or was cancelled meanwhile; a later try begins it again. */
export const STEP_STATUSES = ["running", "stopped", "done"] as const;
export type StepStatus = (typeof STEP_STATUSES)[number];

/**
 * What a step of a worker waits for before it goes on by itself: `rate_limit`, its provider takes no
 * calls; `key`, it refuses the key or the account; `provider`, it answers with errors, or not at
 * all. Source: docs/spec/plans §6.
 */
export const WAITING_FOR = ["rate_limit", "key", "provider"] as const;

/**
 * What a worker waits for that gives no sign: its provider, which serves no calls; an answer of its
 * model; a tool; nothing that is known.
 */
export const STALLED_ON = ["provider", "model", "tool", "nothing"] as const;

/** The provider of calls that an agent has made by itself, in the book of calls. */
export const AGENT_PROVIDER = "agent";

/** Source: docs/spec/plans §6. */
export const WORKER_KINDS = ["acp", "model", "command", "offline", "own"] as const;

/** What follows from a request outside of the scope. */
export const VIOLATION_RULES = ["stop", "refuse", "report"] as const;
export type OnViolation = (typeof VIOLATION_RULES)[number];

/** What a ref may not hold: control characters, blanks and what git reads as more than a name. */
const NOT_IN_REF = String.raw`\x00-\x20\x7f~^:?*[\\`;
/** A branch, a tag or a commit as people may write it. */
export const GIT_REF = {
  pattern: new RegExp(
    [
      String.raw`^(?![-/.])(?!.*(?:\.\.|@\{|\/\/|\.lock(?:\/|$)|\/\.))`,
      String.raw`[^${NOT_IN_REF}]*[^${NOT_IN_REF}/.]$`,
    ].join(""),
  ),
  longest: 255,
  words: "must be a branch, a tag or a commit",
} as const;

/** A worker without a sign for longer is stalled, milliseconds. Source: docs/spec/plans §6. */
export const STALLED_AFTER_MS = 10_000;

/** Tries of one port, those that people give included: a bound for every loop. */
export const MAX_TRIES = 50;

/** As people read it: steps of the merge are numbered by their commit, which is no try. Pure. */
export function shownTry(number: number): number {
  return number > MAX_TRIES ? 0 : number;
}

/** Ports of a run that are read together at most. */
export const MAX_PORTS_READ = 100;
