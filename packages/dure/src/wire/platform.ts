import { z } from "zod";
import { ACCESS_REASONS, SCOPES } from "../kernel/access.ts";
import { EVENT_ROLES } from "../kernel/platform-events.ts";
import type { QueryInput, FromWire } from "../kernel/wire.ts";
import { EVENTS } from "./events.ts";
import { pageOf, seenSession, time } from "./shared.ts";

/** What the routes of the platform take and give. Source: docs/spec/platform §3. */

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
  people: z
    .enum(["true"])
    .optional()
    .meta({
      description:
        "With frames `people`, a RoomPeople each: who looks at a web room now and who writes there, " +
        "at first of all rooms with people, then as it changes. They are no part of the log.",
    }),
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

const AccessJson = z.object({
  mode: z.enum(["same-user", "credentials"]).meta({
    description:
      "Whether the user who runs the server may come without credentials, at its machine.",
  }),
  because: z.enum(ACCESS_REASONS),
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
  model: z.enum(["provider", "offline"]).meta({
    description:
      "`offline`: no agent of the team has the model of a provider, so scripted models answer.",
  }),
});
export const HealthAnswer = z.object({
  status: z.literal("ok"),
  version: z.string(),
  process_id: z.string().optional().meta({
    description: "Of this run of the server; a restart has another one.",
  }),
});
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
export const PlatformEventStream = {
  description:
    "SSE. `id:` is the position in the log, `event:` the type, `data:` a PlatformEvent; `event: " +
    `reset\` says that older events are gone; \`people\` comes where it was asked for. Types: ${Object.keys(EVENTS).join(", ")}.`,
  content: { "text/event-stream": { schema: z.string() } },
};

// --- costs

export const CostsQuery = z.object({
  days: z.coerce
    .number()
    .int()
    .min(1)
    .max(90) // the book of calls is kept so long
    .default(30),
});

const CostSumJson = z.object({
  calls: z.int(),
  tokens_in: z.int(),
  tokens_out: z.int(),
  micro_usd: z.int().meta({ description: "Millionths of a US dollar." }),
  unpriced: z
    .int()
    .meta({ description: "Calls of models without a price; what they have cost is not counted." }),
  reported_micro_usd: z.int().optional().meta({
    description:
      "Of `micro_usd` what agents of plans say that their calls have cost. Absent: none.",
  }),
  estimated_micro_usd: z.int().optional().meta({
    description: "Of `micro_usd` what was reckoned from estimated tokens. Absent: none.",
  }),
});
const NamedSum = CostSumJson.extend({ id: z.string(), name: z.string() });
const CostPointJson = z.object({
  day: z.string(),
  id: z.string().meta({ description: "Empty: all but the dearest ones together." }),
  name: z.string(),
  tokens: z.int(),
  micro_usd: z.int(),
});
export const CostsAnswer = z
  .object({
    since: z.string(),
    time_zone: z.string(),
    total: CostSumJson,
    by_day: z.array(NamedSum),
    by_agent: z.array(NamedSum),
    by_service: z.array(NamedSum),
    by_model: z.array(NamedSum),
    over_time: z
      .object({
        agent: z.array(CostPointJson),
        service: z.array(CostPointJson),
        model: z.array(CostPointJson),
      })
      .meta({ description: "By day: the seven dearest of each, and the rest as one." }),
    budgets: z.array(
      z.object({
        of: z.enum(["team", "agent", "session", "turn"]),
        per: z.enum(["day", "session", "turn"]),
        agent: z.string().nullable(),
        name: z.string().nullable(),
        unit: z.enum(["tokens", "micro_usd"]),
        most: z.number(),
        used: z.number().nullable(),
      }),
    ),
  })
  .meta({
    id: "Costs",
    description:
      "What model calls have used, and the budgets of the team; an agent's card may have stricter ones.",
  });

// --- the audit log

const id = z.string().min(1).max(300);
export const AuditQuery = z.object({
  what: id
    .optional()
    .meta({ description: "One deed, such as `job.cancel`, or all of a kind: `job.*`." }),
  name: id
    .optional()
    .meta({ description: "Who: as it stands in the log, or the name that a token was made for." }),
  subject: id.optional().meta({ description: "Id of what it was done to." }),
  search: z
    .string()
    .max(300)
    .optional()
    .meta({ description: "Stands in one of them, whatever the case." }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(100).optional(),
});
export const AuditEntryJson = z
  .object({
    id: z.int(),
    at: time,
    tenant: z.string(),
    name: z.string().meta({
      description:
        "Id of the token, `cli:<user>` or `agent:<id>`; on a server without tokens `machine:<name>` or an address.",
    }),
    person: z.string().nullable().meta({ description: "For whom the token was made." }),
    role: z.string().nullable().meta({
      description: "The role by which they might do it; null: by the scopes of the token.",
    }),
    what: z.string(),
    subject: z.string().meta({ description: "Id of what it was done to." }),
    outcome: z.string().nullable().meta({
      description: "`done`, or the code of the refusal; null: begun, and the outcome is unknown.",
    }),
  })
  .meta({ id: "AuditEntry", description: "Who did what to what, and how it ended." });

export const AuditAnswer = pageOf(AuditEntryJson);

// --- in TypeScript's spelling

/** `processId` is of this run of the server; absent in servers that do not tell it. */
export type ServerHealth = FromWire<z.output<typeof HealthAnswer>>;
/** Who asks, and what they may do. */
export type Me = FromWire<z.output<typeof MeAnswer>>;
/**
 * What model calls have used since the day `since`, which begins in `timeZone`: in all, by day, by
 * agent, by service and by model.
 */
export type Costs = FromWire<z.output<typeof CostsAnswer>>;
/** What one agent, service or model used on one day. */
export type CostPoint = FromWire<z.output<typeof CostPointJson>>;
/** A sum over model calls. */
export type CostSum = FromWire<z.output<typeof CostSumJson>>;
/** The same of one day (`2026-11-22`), agent or service. */
export type NamedCost = FromWire<z.output<typeof NamedSum>>;
/**
 * A budget and how far it is used. `most` and `used` are in `unit`; `used` is null for a budget of
 * each session or turn.
 */
export type CostBudget = Costs["budgets"][number];
/** One deed in the audit log: who did what to what, and how it ended. */
export type AuditEntry = FromWire<z.output<typeof AuditEntryJson>>;
/**
 * Which entries of the audit log are wanted, newest first. All given members must fit. `limit` is
 * 1–200, by default 50.
 */
export type AuditFilter = QueryInput<z.output<typeof AuditQuery>>;
