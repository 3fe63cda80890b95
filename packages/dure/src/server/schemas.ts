import { z } from "zod";
import { TURN_EVENT_TYPES } from "../kernel/turn-events.ts";
import { ACCESS_REASONS, type AccessReason } from "./access-mode.ts";
import { SCOPES } from "./token-store.ts";
import { EVENT_ROLES } from "../kernel/platform-events.ts";
import { EVENTS } from "../wire/events.ts";

/**
 * What the wire may hold, in its own spelling. These schemas check requests and describe answers in
 * `/openapi.json`.
 */

const sessionId = z
  .string()
  .regex(/^[A-Za-z0-9._:@-]{1,200}$/, "must be 1–200 characters of A-Z a-z 0-9 . _ : @ -")
  .meta({ description: "Names the conversation; made on its first message." });

/**
 * Of a session that is looked at. Who sees all tenants names another's session as it is listed:
 * `acme/ceo`.
 */
const seenSession = z
  .string()
  .max(400)
  .regex(
    /^(?:[^\0]+\/)?[A-Za-z0-9._:@-]{1,200}$/,
    "must be 1–200 characters of A-Z a-z 0-9 . _ : @ -",
  )
  .meta({
    description:
      "Names the conversation; for an administrator without a tenant `<tenant>/<id>` that of a tenant.",
  });

const locale = z.enum(["ko", "en"]).meta({ description: "Sticks to the session." });

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
    "At most 64 KiB of UTF-8 unless the team says otherwise; empty only together with slots.",
});

export const ChatBody = z.object({
  session_id: sessionId,
  message,
  service: service.optional(),
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
  "idempotency-key": z
    .string()
    .regex(/^[\x21-\x7e]{1,255}$/, "must be 1–255 visible ASCII characters")
    .optional()
    .meta({
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

export const EventsQuery = z.object({
  types: z
    .string()
    .max(2_000)
    .optional()
    .meta({ description: "Comma separated; a prefix ends in .* such as turn.*" }),
  session: seenSession.optional(),
  run: z.string().max(200).optional(),
  room: z.string().max(200).optional(),
  job: z.string().max(100).optional(),
  role: z.enum(EVENT_ROLES).optional(),
  last_event_id: z.string().max(100).optional(),
  last: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000)
    .optional()
    .meta({
      description:
        "Begin with the newest so many stored events that match, 0 to 1,000, then go on live; " +
        "without it from now on. Last-Event-ID goes before it.",
    }),
});

/** `a, b` as `["a", "b"]`. */
export function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

// --- answers

export const ProblemJson = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    hint: z.string().optional(),
    errors: z.array(z.object({ field: z.string(), message: z.string() })).optional(),
  })
  .meta({ id: "Problem", description: "RFC 9457 problem details." });

const hooks = z.array(z.object({ type: z.string(), data: z.unknown().optional() }));

const traceAgent = z.object({
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
    next_action: z.enum(["ASK", "CONFIRM", "DONE", "ASK_CONTINUE"]),
    ui_hint: z
      .looseObject({ buttons: z.array(z.string()).optional(), confirm_id: z.string().optional() })
      .optional(),
    state_snapshot: z.record(z.string(), z.unknown()),
    hooks,
    _trace: z.looseObject({
      turn_id: z.string(),
      total_elapsed_ms: z.number(),
      agents: z.array(traceAgent),
    }),
    error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
  })
  .meta({ id: "Done", description: "The last event of a turn, exactly once." });

export const ChatAnswer = z.object({ interaction: DoneJson, hooks, turn_id: z.string() });

const completedEntry = z.object({
  service: z.string(),
  flow: z.string(),
  stage: z.string(),
  turn_id: z.string(),
  at: z.number().meta({ description: "Milliseconds since the epoch." }),
  data: z.unknown(),
});
export const CompletedAnswer = z.object({ items: z.array(completedEntry) });

const sessionSummary = z.object({
  session_id: z.string(),
  service: z.string(),
  title: z.string(),
  updated_at: z.number(),
  running_turn: z.object({ turn_id: z.string() }).nullable(),
});
export const SessionsAnswer = z.object({
  items: z.array(sessionSummary),
  next_cursor: z.string().nullable(),
});

const historyEntry = z.object({
  role: z.enum(["user", "assistant"]),
  content: z.string(),
  at: z.number(),
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
  state: z.record(z.string(), z.unknown()),
  stage: z.string().nullable(),
  history: z.array(historyEntry),
  completed: z.array(completedEntry),
  trace: DoneJson.shape._trace.optional(),
});

export const DebugAnswer = z.object({
  state: z.record(z.string(), z.unknown()),
  memory: z.object({
    raw_history: z.array(z.object({ role: z.string(), content: z.string() })),
    summary_text: z.string(),
  }),
  completed: z.array(completedEntry),
});

export const ServicesAnswer = z.object({
  items: z.array(
    z.object({
      name: z.string(),
      title: z.string(),
      description: z.string(),
      examples: z.array(z.string()),
      flows: z.array(z.string()),
      stages: z
        .object({
          initial: z.string(),
          terminal: z.array(z.string()),
          transitions: z.array(z.array(z.string()).min(2).max(2)),
        })
        .optional(),
      slots: z
        .array(
          z.object({
            name: z.string(),
            label: z.string(),
            required: z.boolean(),
            type: z.string(),
          }),
        )
        .optional(),
      default: z.boolean(),
    }),
  ),
});

export const StopAnswer = z.object({ turn_id: z.string(), status: z.literal("stopping") });
const AccessJson = z.object({
  mode: z.enum(["same-user", "credentials"]).meta({
    description:
      "Whether the user who runs the server may come without credentials, at its machine.",
  }),
  because: z.enum(Object.keys(ACCESS_REASONS) as [AccessReason, ...AccessReason[]]),
});
export const MeAnswer = z.object({
  auth: z
    .enum(["open", "token"])
    .meta({ description: "`open`: without credentials, as the user who runs the server." }),
  access: AccessJson,
  scopes: z.array(z.enum(SCOPES)),
  person: z.string().nullable().meta({
    description:
      "Name of the person whose token it is, as rooms call them; null for the person at the machine.",
  }),
  dev_mode: z.boolean(),
  locale: z.string(),
});
export const HealthAnswer = z.object({ status: z.literal("ok"), version: z.string() });
export const ReadyAnswer = z.object({
  ready: z.boolean(),
  checks: z.record(z.string(), z.object({ ok: z.boolean(), detail: z.string().optional() })),
});
export const ReloadAnswer = z.object({
  services: z.array(z.string()),
  agents: z.array(z.string()),
  restart: z.array(z.string()).meta({
    description:
      "Keys of the configuration that have changed and stay as they were until a restart.",
  }),
});
/** 503 of `/readyz`: why it cannot work, or, while it closes, a problem. */
export const NotReady = {
  description: "Not ready",
  content: {
    "application/json": { schema: ReadyAnswer },
    "application/problem+json": { schema: ProblemJson },
  },
};

/** An answer that is a stream of events. */
export const EventStream = {
  description:
    `SSE. \`id:\` is <turn_id>.<seq> on stored events, \`event:\` one of ` +
    `${TURN_EVENT_TYPES.join(", ")}, \`data:\` its JSON payload.`,
  content: { "text/event-stream": { schema: z.string() } },
};
export const PlatformEventStream = {
  description:
    "SSE. `id:` is the position in the log, `event:` the type, `data:` a PlatformEvent; `event: " +
    `reset\` says that older events are gone. Types: ${Object.keys(EVENTS).join(", ")}.`,
  content: { "text/event-stream": { schema: z.string() } },
};

/** Problem answers of a route, for its description. */
export function problems(
  ...statuses: readonly number[]
): Record<
  number,
  { description: string; content: { "application/problem+json": { schema: typeof ProblemJson } } }
> {
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      { description: "Problem", content: { "application/problem+json": { schema: ProblemJson } } },
    ]),
  );
}

function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9_+/-]*$/.test(name)) return false;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}
