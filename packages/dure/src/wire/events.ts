import { z } from "zod";
import {
  ESCALATION_SEVERITIES,
  ESCALATION_STEPS,
  ESCALATION_TYPES,
  ROUTE_REASONS,
  ROUTE_TARGETS,
} from "../kernel/escalation.ts";
import { JOB_INTENTS, JOB_OUTCOMES, JOB_STATUSES } from "../kernel/jobs.ts";
import {
  CHANNEL_MESSAGE_TYPES,
  CHANNEL_SPEAKERS,
  MEMBERS,
  RUN_OUTCOMES,
  STALLED_ON,
  WAITING_FOR,
  WORKER_STATUSES,
} from "../kernel/plans.ts";
import type { EventRole } from "../kernel/platform-events.ts";
import {
  ACCOUNT_STATES,
  AUTHOR_KINDS,
  GONE_REASONS,
  HANDLING_OUTCOMES,
  MESSAGE_MARKS,
  ROLES,
} from "../kernel/rooms.ts";
import { NEXT_ACTIONS } from "../kernel/turn-events.ts";
import type { Frozen } from "../kernel/wire.ts";

/**
 * Every event of the platform with its data, as `/v1/events` tells it. The writers are typed by
 * this table, and so are the readers. The members of `data` are spelled as they are stored.
 */

const agent = z.string();
const count = z.int().min(0);
const milliseconds = z.number();

/** Members that every event of a job has. */
const job = {
  requester: agent,
  target: agent,
  status: z.enum(JOB_STATUSES),
  turnsDone: count,
  maxTurns: count,
  conversationId: z.string(),
  parentJobId: z.string().nullable(),
};
const jobEnd = z.object({
  ...job,
  outcome: z.enum(JOB_OUTCOMES),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  by: z.string().nullable(),
});

/** Members that every event of an escalation has. `kind`: its type. */
const escalation = {
  id: z.string(),
  kind: z.enum(ESCALATION_TYPES),
  severity: z.enum(ESCALATION_SEVERITIES),
  title: z.string(),
  subject: z.string(),
  port: z.string().optional(),
};
const escalationEnd = z.object({
  ...escalation,
  value: z.string(),
  note: z.string().optional(),
  by: z.string().optional(),
});

/** Of a thread: its channel. */
const parent = z.string().nullable();
const roles = z.record(agent, z.enum(ROLES));
const spoken = {
  message: z.string(),
  author: z.string(),
  author_kind: z.enum(AUTHOR_KINDS),
  parent,
};
const guarded = z.object({
  guard: z.enum(["thread-rate", "exchange-budget"]).nullable(),
  parent,
});

/** Members that every event of a run has, but for words in a pair's channel. `plan`: its name. */
const run = { plan: z.string() };
const port = { ...run, port: z.string() };
const failedPort = z.object({ ...port, because: z.string(), code: z.string() });
/** `try`: 1-based over all tries of the port. */
const worker = { ...port, member: z.enum(MEMBERS), try: count };
const ordered = z.object({ ...run, by: z.string() });

const undelivered = z.object({
  key: z.string(),
  topic: z.string(),
  ordering: z.string(),
  attempts: count,
  error: z.object({ code: z.string().optional(), message: z.string() }).optional(),
});

const of = <const Role extends EventRole, Data extends z.ZodObject>(
  role: Role,
  data: Data,
): { readonly role: Role; readonly data: Data } => ({ role, data });

/** Events by type. */
export const EVENTS = {
  // Turns
  "turn.accepted": of("conversation", z.object({ author: z.enum(["person", "system"]) })),
  "turn.done": of(
    "conversation",
    z.object({
      author: z.enum(["person", "system"]),
      message: z.string(),
      nextAction: z.enum(NEXT_ACTIONS),
      error: z.string().optional(),
      elapsedMs: milliseconds,
    }),
  ),
  "hook.failed": of("system", z.object({ key: z.string(), attempts: count, error: z.string() })),

  // Processes and what leaves
  "process.taken_over": of(
    "system",
    z.object({
      process: z.string(),
      epoch: z.int(),
      because: z.enum(["silent", "gone"]),
      by: z.string(),
    }),
  ),
  "outbox.failed": of("system", undelivered),
  "outbox.unknown": of("system", undelivered),

  // Escalations
  "escalation.new": of("system", z.object(escalation)),
  "escalation.worsened": of("system", z.object(escalation)),
  /** Of the two people that a call needs the first has approved it. */
  "escalation.first_yes": of(
    "system",
    z.object({ ...escalation, by: z.string(), person: z.string().optional() }),
  ),
  "escalation.routed": of(
    "system",
    z.object({
      ...escalation,
      from: z.enum(ESCALATION_STEPS),
      step: z.enum(ESCALATION_STEPS),
      because: z.enum(ROUTE_REASONS),
      told: z.array(z.enum(ROUTE_TARGETS)),
    }),
  ),
  "escalation.resolved": of("system", escalationEnd),
  "escalation.dismissed": of("system", escalationEnd),

  // Jobs
  "job.accepted": of(
    "delegation",
    z.object({
      ...job,
      message: z.string(),
      intent: z.enum(JOB_INTENTS),
      depth: count,
      topic: z.string().nullable(),
    }),
  ),
  "job.started": of(
    "delegation",
    z.object({ ...job, turn: count, resumed: z.boolean(), quarantined: z.boolean() }),
  ),
  "job.resuming": of("delegation", z.object({ ...job, turn: count, resumeCount: count })),
  "job.retried": of("delegation", z.object({ ...job, turn: count, by: z.string() })),
  "job.turn": of(
    "delegation",
    z.object({
      ...job,
      number: count,
      speaker: agent,
      text: z.string(),
      tokensIn: count,
      tokensOut: count,
      costMicroUsd: z.number().nullable(),
    }),
  ),
  "job.waiting": of(
    "delegation",
    z.object({ ...job, for: z.enum(["person", "pause"]), turn: count }),
  ),
  "job.spoken": of(
    "delegation",
    z.object({ ...job, id: z.int(), by: z.string(), text: z.string() }),
  ),
  "job.completed": of("delegation", jobEnd),
  "job.failed": of("delegation", jobEnd),
  "job.cancelled": of("delegation", jobEnd),
  "job.abandoned": of("delegation", jobEnd),
  "jobs.recovered": of(
    "system",
    z.object({ resumed: count, abandoned: count, removed: count, incomplete: count }),
  ),

  // Rooms: what is said
  "room.message": of(
    "conversation",
    z.object({
      ...spoken,
      roles: roles.optional(),
      mark: z.enum(MESSAGE_MARKS).nullish(),
      delivery: z.literal("queued").optional(),
    }),
  ),
  "room.heard": of("conversation", z.object({ ...spoken, roles })),
  "room.edited": of("conversation", z.object({ message: z.string() })),
  "room.handled": of(
    "conversation",
    z.object({
      /** Null: what was handled is the result of background work. */
      message: z.string().nullable(),
      outcome: z.enum(HANDLING_OUTCOMES),
      answer: z.string().nullable(),
      parent,
    }),
  ),
  "room.delivery_failed": of(
    "system",
    z.object({
      message: z.string(),
      outcome: z.enum(["failed", "unknown"]),
      code: z.string().nullable(),
      detail: z.string().nullable(),
    }),
  ),
  "room.missed": of("system", z.object({ parent })),

  // Rooms: places, who is in them, and guards
  "room.thread_opened": of(
    "delegation",
    z.object({ name: z.string(), parent: z.string(), from: agent, to: agent }),
  ),
  "room.thread_made": of("system", z.object({})),
  "room.closed": of("system", z.object({ because: z.enum(GONE_REASONS) })),
  "room.access_lost": of("system", z.object({ account: z.string() })),
  "room.left": of("system", z.object({ by: z.string(), parent })),
  "room.resting": of("system", guarded),
  "room.suspended": of("system", guarded),
  "room.resumed": of(
    "system",
    z.object({
      by: z.string().nullish(),
      guard: guarded.shape.guard.optional(),
      parent,
    }),
  ),
  "room.stopped": of(
    "system",
    z.object({ by: z.string(), answers: count, requests: count, jobs: count, parent }),
  ),
  "room.guard_tripped": of(
    "system",
    z.object({ guard: z.enum(["pair", "chain"]), from: agent, to: agent }),
  ),
  "agent.paused": of("system", z.object({ by: z.string() })),
  "agent.resumed": of("system", z.object({ by: z.string() })),
  "account.changed": of(
    "system",
    z.object({
      adapter: z.string(),
      account: z.string(),
      from: z.enum(ACCOUNT_STATES),
      state: z.enum(ACCOUNT_STATES),
      detail: z.string().nullable(),
    }),
  ),

  // Requests between agents
  "collaborate.asked": of(
    "delegation",
    z.object({
      from: agent,
      to: agent,
      thread: z.string(),
      message: z.string(),
      reused: z.boolean(),
    }),
  ),
  "collaborate.answered": of(
    "delegation",
    z.object({
      request: z.string(),
      /** Who asked. */
      from: agent,
      /** Who was asked, and answers now. */
      to: agent,
      message: z.string(),
      thread: z.string(),
      /** The answer, at most 8 KiB. Older releases tell none. */
      text: z.string().optional(),
    }),
  ),
  "collaborate.failed": of(
    "delegation",
    z.object({ request: z.string(), to: agent, why: z.string().nullable() }),
  ),

  // Runs of plans
  "session.start": of("orchestration", z.object({ ...run, ports: count, by: z.string() })),
  "session.end": of("orchestration", z.object({ ...run, outcome: z.enum(RUN_OUTCOMES) })),
  "run.start": of("orchestration", z.object({ ...run, name: z.string(), ports: count })),
  "run.pause": of("orchestration", ordered),
  "run.resume": of(
    "orchestration",
    z.object({
      ...run,
      by: z.string().optional(),
      because: z.string().optional(),
      host: z.string().optional(),
      /** Ports that are worked on again, because what they had made is gone. */
      again: z.array(z.string()).optional(),
    }),
  ),
  "run.cancel": of("orchestration", ordered),
  "run.refused": of(
    "orchestration",
    z.object({
      ...run,
      order: z.string(),
      port: z.string().optional(),
      by: z.string(),
      code: z.string(),
      because: z.string(),
    }),
  ),
  "run.waiting_host": of("orchestration", z.object(run)),
  "run.end": of(
    "orchestration",
    z.object({
      ...run,
      outcome: z.enum(RUN_OUTCOMES),
      because: z.string().optional(),
      kept: count,
      missing: count,
      branch: z.string().nullish(),
    }),
  ),
  "run.cleaned": of("orchestration", z.object(run)),

  // Ports of runs
  "port.ready": of("orchestration", z.object(port)),
  "port.start": of("orchestration", z.object({ ...port, attempt: count })),
  "port.success": of("orchestration", z.object({ ...port, commit: z.string() })),
  "port.failed": of("orchestration", failedPort),
  "port.blocked": of("orchestration", z.object({ ...port, by: z.string() })),
  "port.held": of("orchestration", z.object({ ...port, commit: z.string() })),
  "port.recalled": of("orchestration", z.object({ ...port, because: z.string() })),

  // Workers of ports
  "worker.spawn": of(
    "orchestration",
    z.object({
      ...worker,
      worker: z.string().nullable(),
      starts: count,
      node: z.object({
        id: z.string(),
        parent: z.string().nullable(),
        root: z.string(),
        path: z.array(z.string()),
        depth: z.literal([0, 1, 2]),
      }),
    }),
  ),
  "worker.progress": of(
    "orchestration",
    z.object({ ...worker, progress: z.number(), task: z.string(), tokens: count }),
  ),
  "worker.stalled": of(
    "orchestration",
    z.object({ ...worker, silentMs: milliseconds, on: z.enum(STALLED_ON), task: z.string() }),
  ),
  "worker.waiting": of(
    "orchestration",
    z.object({
      ...worker,
      for: z.enum(WAITING_FOR),
      status: count.nullable().optional(),
      until: milliseconds.nullable(),
      says: z.string(),
    }),
  ),
  "worker.complete": of(
    "orchestration",
    z.object({
      ...worker,
      tokens: count,
      status: z.enum(WORKER_STATUSES).optional(),
      changed: count.optional(),
      violations: count.optional(),
    }),
  ),
  "worker.feedback": of(
    "orchestration",
    z.object({
      ...port,
      try: count,
      success: z.boolean(),
      total: count,
      passed: count,
      failed: count,
      durationMs: milliseconds,
      coverage: z.number().optional(),
    }),
  ),
  "direct.message": of(
    "delegation",
    z.object({
      port: z.string(),
      id: z.int(),
      from: z.enum(CHANNEL_SPEAKERS),
      to: z.enum(CHANNEL_SPEAKERS),
      kind: z.enum(CHANNEL_MESSAGE_TYPES),
    }),
  ),

  // What ports have made becomes one tree
  "merge.ready": of(
    "orchestration",
    z.object({ ...run, commit: z.string(), ports: z.array(z.string()) }),
  ),
  "merge.conflict": of("orchestration", z.object({ ...run, paths: z.array(z.string()) })),
  "merge.done": of(
    "orchestration",
    z.object({
      ...run,
      branch: z.string().nullable(),
      commit: z.string().nullable(),
      conflicts: count,
    }),
  ),
} as const;

/** Name of an event of the platform, such as `turn.done` or `job.completed`. */
export type EventType = keyof typeof EVENTS;
/** The data of one type of event. */
export type EventData<Type extends EventType> = Frozen<z.output<(typeof EVENTS)[Type]["data"]>>;

/** What an event is about. */
interface EventSubjects {
  /** Whose it is. Absent: that of what it is about. */
  readonly tenant?: string | undefined;
  /** As it is stored: a tenant's as `<tenant>/<id>`. */
  readonly session?: string | undefined;
  readonly turn?: string | undefined;
  readonly service?: string | undefined;
  readonly agent?: string | undefined;
  readonly room?: string | undefined;
  readonly run?: string | undefined;
  readonly job?: string | undefined;
}

interface EventPlace {
  /** Opaque position `era.xid.seq`; give it back as `Last-Event-ID` to continue behind it. */
  readonly id: string;
  /** Milliseconds since the epoch, by the database's clock. */
  readonly at: number;
}

export interface NewEventOf<Type extends EventType> extends EventSubjects {
  readonly type: Type;
  readonly role: (typeof EVENTS)[Type]["role"];
  readonly data: EventData<Type>;
}

/** An event as its writer gives it. */
export type NewPlatformEvent = { [Type in EventType]: NewEventOf<Type> }[EventType];

/** An event of this table as readers see it. */
export type KnownEvent = { [Type in EventType]: NewEventOf<Type> & EventPlace }[EventType];

/**
 * An event of a newer server: its type is none of this table. The literal stands for all of them
 * and is never sent. So a `switch` that takes each known type is not exhaustive.
 */
export interface UnknownEvent extends EventSubjects, EventPlace {
  readonly type: "(of a newer server)";
  readonly role: EventRole;
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event as readers see it. */
export type PlatformEvent = KnownEvent | UnknownEvent;

/** An event of one type, with its data. */
export type EventOf<Type extends EventType> = Extract<KnownEvent, { readonly type: Type }>;

const subject = z.string().optional();
const envelope = {
  id: z.string().meta({ description: "Position in the log; give it back as Last-Event-ID." }),
  at: z.number().meta({ description: "Milliseconds since the epoch." }),
  tenant: subject,
  session: subject,
  turn: subject,
  service: subject,
  agent: subject,
  room: subject,
  run: subject,
  job: subject,
};

function eventSchema([type, { role, data }]: [string, (typeof EVENTS)[EventType]]): z.ZodObject {
  return z.object({ ...envelope, type: z.literal(type), role: z.literal(role), data });
}

const known = Object.entries(EVENTS).map(eventSchema);

/** `data:` of a frame of `/v1/events`. */
export const PlatformEventJson = z
  .discriminatedUnion("type", [known[0]!, ...known.slice(1)])
  .meta({ id: "PlatformEvent", description: "What happened, by type. A newer server has more." });
