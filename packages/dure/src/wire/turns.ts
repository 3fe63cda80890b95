import { LOCALES } from "../kernel/locales.ts";
import { z } from "zod";
import { NEXT_ACTIONS, TURN_EVENT_TYPES, type Done } from "../kernel/turn-events.ts";
import type { FromWire } from "../kernel/wire.ts";
import { fileRef, fileIds } from "./files.ts";
import { idempotencyKey, json, seenSession, time } from "./shared.ts";

/** What the routes of conversations take and give. Source: docs/spec/conversation §6. */

const sessionId = z
  .string()
  .regex(/^[A-Za-z0-9._:@-]{1,200}$/, "must be 1–200 characters of A-Z a-z 0-9 . _ : @ -")
  .meta({ description: "Names the conversation; made on its first message." });

const locale = z.enum(LOCALES).meta({ description: "Sticks to the session." });

const timeZone = z
  .string()
  .max(64)
  .refine(isTimeZone, "must be an IANA time zone such as Asia/Seoul")
  .meta({ description: "IANA name; sticks to the session." });

const service = z.string().min(1).max(100);
const slots = z
  .record(z.string(), z.unknown())
  .meta({ description: "Slots edited on a card; their names are the service's." });
const confirmId = z
  .string()
  .min(1)
  .max(200)
  .meta({ description: "`ui_hint.confirm_id` of the DONE that asked." });
const lastQuestion = z
  .string()
  .min(1)
  .max(200)
  .nullable()
  .meta({
    description:
      "For a server between person and service: `confirm_id` of the question that the person was " +
      "shown last, null for none of this session.",
  });
const message = z.string().meta({
  description:
    "At most 64 KiB of UTF-8 unless the team says otherwise; empty only together with slots or files.",
});

export const ChatBody = z.object({
  session_id: sessionId
    .optional()
    .meta({ description: "Absent: a new one, which the header session-id names." }),
  message,
  service: service.optional(),
  files: fileIds.optional(),
  slots: slots.optional(),
  confirm_id: confirmId.optional(),
  last_question: lastQuestion.optional(),
  locale: locale.optional(),
  time_zone: timeZone.optional(),
});
export type ChatBody = z.output<typeof ChatBody>;

/** EventSource can only GET: no slots, and the text stays in the address. */
export const ChatQuery = z.object({
  session_id: sessionId,
  message,
  service: service.optional(),
  confirm_id: confirmId.optional(),
  locale: locale.optional(),
  time_zone: timeZone.optional(),
});

export const IdempotencyHeaders = z.looseObject({
  "idempotency-key": idempotencyKey.optional().meta({
    description:
      "Holds 24 h per caller and path: the same body gives the same turn, another body is 422.",
  }),
});

export const ResumeHeaders = z.looseObject({
  "last-event-id": z
    .string()
    .optional()
    .meta({ description: "The last id that was read; the stream goes on behind it." }),
});
export const StreamHeaders = ResumeHeaders.extend(IdempotencyHeaders.shape);

export const ResumeQuery = z.object({ last_event_id: z.string().max(200).optional() });
export const TurnParams = z.object({ turn_id: z.string() });
export const SessionParams = z.object({ session_id: seenSession });
export const SessionQuery = z.object({ session_id: seenSession });

export const SessionsQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(500).optional(),
  search: z.string().max(200).optional(),
});

// --- answers

const hooks = z.array(z.object({ type: z.string(), data: z.unknown().optional() }));

export const traceAgent = z.object({
  agent: z.string(),
  elapsed_ms: z.number(),
  success: z.boolean(),
  retries: z.int(),
  error: z.string().nullable(),
  tokens_in: z.int(),
  tokens_out: z.int(),
});

const DoneJson = z
  .looseObject({
    message: z.string(),
    next_action: z.enum(NEXT_ACTIONS),
    ui_hint: z
      .looseObject({ buttons: z.array(z.string()).optional(), confirm_id: z.string().optional() })
      .optional(),
    state_snapshot: z.record(z.string(), json).meta({
      description:
        "The state's own members, `scenario` where one is known, and where the state declares slots " +
        "`missing_required`: names of the required ones without a value.",
    }),
    hooks,
    _trace: z.looseObject({
      turn_id: z.string(),
      total_elapsed_ms: z.number(),
      agents: z.array(traceAgent),
    }),
    error: z
      .looseObject({
        code: z.string(),
        message: z.string(),
        retry: z.boolean().meta({
          description: "The model was away: POST /v1/agent/turns/{turn_id}/retry goes on.",
        }),
        details: z.unknown(),
      })
      .partial({ retry: true, details: true })
      .optional(),
    calls: z.array(z.object({ call_id: z.string(), tool: z.string(), args: json })).optional(),
    approvals: z
      .array(
        z.object({
          id: z.string(),
          tool: z.string(),
          by: z.enum(["person", "operator"]),
          role: z.string().optional().meta({ description: "Who answers has this role." }),
          two: z.literal(true).optional().meta({ description: "Two people say yes." }),
          at: z.string().optional().meta({
            description: "A service on another server, whose inbox has it; here it is unknown.",
          }),
          args: json.optional(),
          question: z.string().optional(),
          expires_at: z.number().meta({ description: "Milliseconds since the epoch." }),
        }),
      )
      .optional()
      .meta({ description: "Calls that are made when their yes comes." }),
    files: z.array(fileRef).optional().meta({ description: "What tools made in this turn." }),
    slots_card: z.unknown().optional(),
    receipt: z.unknown().optional(),
    receipts: z.array(z.unknown()).optional(),
  })
  .meta({ id: "Done", description: "The last event of a turn, exactly once." });

export const ChatAnswer = z.object({ interaction: DoneJson, hooks, turn_id: z.string() });

const completedEntry = z.object({
  service: z.string(),
  flow: z.string(),
  stage: z.string(),
  turn_id: z.string(),
  at: time,
  data: z.unknown(),
});
export const CompletedAnswer = z.object({ items: z.array(completedEntry) });

const sessionSummary = z.object({
  session_id: z.string(),
  service: z.string(),
  title: z.string(),
  updated_at: time,
  running_turn: z.object({ turn_id: z.string() }).nullable(),
});
export const SessionsAnswer = z.object({
  items: z.array(sessionSummary),
  next_cursor: z.string().nullable(),
});

const historyEntry = z.object({
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  files: z.array(fileRef).optional().meta({ description: "What the message carried." }),
  at: time,
  turn_id: z.string().optional(),
  author: z.enum(["person", "system"]).optional(),
  interrupted: z.literal(true).optional(),
  done: DoneJson.optional(),
});

export const SessionAnswer = z.object({
  ...sessionSummary.shape,
  services: z.array(z.string()),
  locale: z.string(),
  time_zone: z.string(),
  state: z.record(z.string(), json),
  stage: z.string().nullable(),
  history: z.array(historyEntry),
  completed: z.array(completedEntry),
  trace: DoneJson.shape._trace.optional(),
});

export const DebugAnswer = z.object({
  state: z.record(z.string(), json),
  memory: z.object({
    raw_history: z.array(z.object({ role: z.string(), content: z.string() })),
    summary_text: z.string(),
  }),
  completed: z.array(completedEntry),
});

/** From a stage to the next; `/openapi.json` says so by the bounds of an array. */
const transition = z.array(z.string()).min(2).max(2) as unknown as z.ZodType<[string, string]>;

export const ServicesAnswer = z.object({
  items: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      description: z.string(),
      examples: z.array(z.string()),
      translations: z
        .array(
          z.object({
            language: z.string(),
            title: z.string().optional(),
            description: z.string().optional(),
            examples: z.array(z.string()).optional(),
          }),
        )
        .optional()
        .meta({ description: "The words of the service in other languages." }),
      /** Whether requests may bring tools of their own. */
      caller_tools: z.boolean().optional(),
      flows: z.array(z.string()),
      stages: z
        .object({
          initial: z.string(),
          terminal: z.array(z.string()),
          transitions: z.array(transition),
        })
        .optional(),
      slots: z
        .array(
          z.object({
            name: z.string(),
            label: z.string(),
            labels: z
              .record(z.string(), z.string())
              .optional()
              .meta({ description: "The label in each language that the service speaks." }),
            required: z.boolean(),
            type: z.string(),
            options: z
              .array(
                z.object({
                  value: z.string(),
                  label: z.string(),
                  labels: z.record(z.string(), z.string()).optional(),
                }),
              )
              .optional()
              .meta({
                description: "The values of a choice, as they are stored, and their names.",
              }),
          }),
        )
        .optional(),
      default: z.boolean(),
    }),
  ),
});

export const LeaveBody = z.object({
  question: z
    .string()
    .min(1)
    .max(200)
    .meta({ description: "`ui_hint.confirm_id` of the question that the person has left." }),
});
export const LeaveAnswer = z.object({
  taken_back: z
    .boolean()
    .meta({ description: "False: it was not the session's question any more." }),
});
export const StopAnswer = z.object({ turn_id: z.string(), status: z.literal("stopping") });
export const RetryAnswer = z.object({ turn_id: z.string(), status: z.literal("retrying") });
/** An answer that is a stream of events. */
export const EventStream = {
  description:
    `SSE. \`id:\` is <turn_id>.<seq> on stored events, \`event:\` one of ` +
    `${TURN_EVENT_TYPES.join(", ")}, \`data:\` its JSON payload.`,
  content: { "text/event-stream": { schema: z.string() } },
};
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

// --- in TypeScript's spelling

/**
 * A message to a service. Without `service` the session keeps its own, a new one takes the default.
 * `confirmId` binds a yes to the question whose button was pressed. `locale` and `timeZone` stick to
 * the session.
 */
export type MessageRequest = FromWire<z.input<typeof ChatBody>>;
/** A session in a list. `runningTurn` is null while it waits for a message. */
export type SessionSummary = FromWire<z.output<typeof sessionSummary>>;
/** A flow that a session has finished. `data` is what the flow gave; `at` is an ISO time in UTC. */
export type CompletedEntry = FromWire<z.output<typeof completedEntry>>;
/**
 * One message of a session, oldest first. `author` is `system` where no person wrote it; absent: a
 * person or the service, by `role`. `interrupted`: the text of a turn that was stopped.
 */
export type HistoryEntry = Omit<FromWire<z.output<typeof historyEntry>>, "done"> & {
  /** The `DONE` that ended the turn, on its answer. */
  readonly done?: Done | undefined;
};
/**
 * A session with its history and its state. `stage` is null outside of a flow; `trace` is the last
 * turn's, absent before the first.
 */
export type Session = Omit<FromWire<z.output<typeof SessionAnswer>>, "history"> & {
  readonly history: readonly HistoryEntry[];
};
/**
 * What a session holds inside: its whole state, its memory and the flows that it finished. Only in
 * dev mode.
 */
export type SessionDebug = FromWire<z.output<typeof DebugAnswer>>;
/**
 * A service as a page shows it. `stages` and `slots` are absent where the service declares none.
 */
export type ServiceInfo = FromWire<z.output<typeof ServicesAnswer>>["items"][number];
/** The stages of a service: where it begins, where it ends, and what follows what. */
export type StageMachine = NonNullable<ServiceInfo["stages"]>;
/** A slot of a service's form; `label` is its name for people. */
export type SlotInfo = NonNullable<ServiceInfo["slots"]>[number];
