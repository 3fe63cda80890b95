import { z } from "zod";
import {
  ACCOUNT_STATES,
  AUTHOR_KINDS,
  COLLABORATE_CODES,
  DELIVERIES,
  HANDLING_OUTCOMES,
  MESSAGE_MARKS,
  PLACE_KINDS,
  PLACE_STATES,
  RANKS,
  ROLES,
} from "../kernel/rooms.ts";
import type { FromWire } from "../kernel/wire.ts";
import { CodedJson, pageOf, time } from "./shared.ts";

/** What `/v1/rooms` and its neighbours take and give. Source: docs/spec/collaboration §9. */

const placeId = z.string().min(1).max(200);
const person = z.string().trim().min(1).max(60).meta({
  description: "Name to speak under: needed without a token; with one it needs scope `admin`.",
});

// --- requests

export const RoomParams = z.object({ room: placeId });
export const PlaceParams = z.object({ id: placeId });
export const ParticipantParams = z.object({ id: placeId, agent: placeId });
export const AgentParams = z.object({ agent: placeId });

export const MessagesQuery = z.object({
  thread: placeId.optional(),
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .meta({ description: "`seq` behind which to read; the newest without it." }),
  before: z.coerce
    .number()
    .int()
    .min(1)
    .optional()
    .meta({ description: "`seq` before which to read." }),
  limit: z.coerce.number().int().min(1).max(200).optional(),
  as_person: person.optional(),
});
export const AsPerson = z.object({ as_person: person.optional() });
export const RetryBody = AsPerson.extend({
  answer: z.string().max(200).optional().meta({
    description: "Of the button `retry:<answer>`. Absent: models that are away are called now.",
  }),
});
export const AnswerBody = AsPerson.extend({
  question: z.string().max(200).meta({ description: "Of the button `<question>:<value>`." }),
  value: z.string().max(100),
});
export const RoomsQuery = AsPerson.extend({
  limit: z.coerce.number().int().min(1).max(200).optional().meta({ description: "Default 50." }),
  cursor: z.string().max(500).optional().meta({ description: "`next_cursor` of the page before." }),
});
export const MessageSearchQuery = AsPerson.extend({
  search: z
    .string()
    .trim()
    .min(1)
    .max(200)
    .meta({ description: "Words as they stand in the message, in any case." }),
  author: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: "Name of a person, or id of an agent." }),
  author_kind: z.enum(AUTHOR_KINDS).optional(),
  after: z.coerce.number().min(0).optional().meta({
    description: "Said at this moment or later, milliseconds since the epoch.",
  }),
  before: z.coerce.number().min(0).optional().meta({ description: "Said before this moment." }),
  limit: z.coerce.number().int().min(1).max(50).optional().meta({ description: "Default 20." }),
  cursor: z
    .string()
    .max(500)
    .optional()
    .meta({
      description:
        "`next_cursor` of the page before. A call reads 20,000 messages, so a page may be empty and " +
        "have a next one.",
    }),
});
export const ThreadsQuery = AsPerson.extend({
  before: z.coerce.number().min(0).optional().meta({
    description: "`active_at` of the last one of a page: gives those that were last active before.",
  }),
  limit: z.coerce.number().int().min(1).max(500).optional().meta({ description: "Default 100." }),
});
export const ObservationsQuery = z.object({
  agent: z.string().max(100).optional(),
  place: placeId.optional(),
});
export const DirectBody = AsPerson.extend({ agent: z.string().min(1).max(100) });
export const PostBody = z.object({
  text: z.string().meta({ description: "At most 100,000 characters." }),
  thread_id: placeId.optional(),
  client_id: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: "The same one again within 24 h posts nothing new." }),
  reply_to: z.string().min(1).max(100).optional(),
  below: z.string().min(1).max(100).optional().meta({
    description: "A message of the room: this goes to the thread below it, made when it is new.",
  }),
  files: z
    .array(z.string().min(1).max(100))
    .max(10)
    .optional()
    .meta({ description: "Ids that `POST /v1/rooms/{room}/files` gave; the text may be empty." }),
  as_person: person.optional(),
});
export const ReactionParams = z.object({
  id: z.string().min(1).max(100),
  emoji: z.string().min(1).max(40),
});
export const EditBody = AsPerson.extend({
  text: z.string().meta({ description: "At most 100,000 characters." }),
});
export const PresenceBody = AsPerson.extend({
  typing: z.boolean().optional().meta({ description: "Whether the person is writing there." }),
});
export const ReadBody = AsPerson.extend({ seq: z.number().int().min(0) });
export const CollaborateBody = z.object({
  agent: z.string().min(1).max(100).meta({ description: "In whose name." }),
  target_agent: z.string().max(100),
  message: z.string(),
  topic: z.string().max(200).optional(),
  thread_id: placeId.optional(),
  channel_id: placeId.optional(),
  thread_name: z.string().max(100).optional(),
  attachments: z.array(z.url()).max(10).optional(),
  idempotency_key: z.string().min(1).max(200).optional(),
});
export const PauseBody = AsPerson.extend({ paused: z.boolean() });

// --- answers

export const PlaceJson = z.looseObject({
  id: z.string(),
  adapter: z.string(),
  kind: z.enum(PLACE_KINDS),
  parent: z.string().nullable().meta({ description: "Of a thread: its channel." }),
  name: z.string(),
  state: z.enum(PLACE_STATES).meta({
    description: "resting, suspended: agents may not go on by themselves; `resume` lifts it.",
  }),
  suspended_until: time.nullable(),
  closed_because: z.string().nullable(),
  closed_for: CodedJson.nullable().meta({
    description: "The same for clients with words of their own; null while it is open.",
  }),
  archived: z.boolean(),
  agent: z.string().nullable().meta({ description: "Of a direct room." }),
});
export const RoomJson = PlaceJson.extend({
  default_agent: z.string().nullable(),
  unread: z.number(),
  last_at: time.nullable(),
  members: z.array(z.string()).meta({ description: "Agents that are here." }),
  deaf: z.array(z.string()).meta({
    description:
      "Of the members, those that do not see or read the room; an open escalation says why.",
  }),
});
export const RoomPeopleJson = z
  .object({
    room: z.string(),
    here: z.array(z.string()).meta({ description: "Up to 20 names." }),
    here_count: z.number(),
    typing: z.array(z.string()).meta({ description: "Up to 3 names, the first to begin first." }),
    typing_count: z.number(),
  })
  .meta({ id: "RoomPeople", description: "Who looks at a web room now, and who writes there." });
export const StoppedAnswer = z.object({
  answers: z.number().meta({ description: "Answers that agents were giving, or that waited." }),
  requests: z.number().meta({ description: "Requests between agents; they end as withdrawn." }),
  jobs: z.number().meta({ description: "Jobs that were asked for there; they are cancelled." }),
});
export const ThreadJson = PlaceJson.extend({
  below: z.string().nullable().meta({
    description: "The message of its channel that it goes on from; null: it stands for itself.",
  }),
  participants: z.array(z.string()).meta({ description: "Agents." }),
  people: z.array(z.string()).meta({
    description: "Up to 10 names of people who wrote there lately, the last one first.",
  }),
  messages: z.number(),
  unread: z.number(),
  active_at: time.meta({ description: "To within a second." }),
  created_at: time,
  open_requests: z.number().meta({ description: "Requests without an answer yet." }),
});

const RoleJson = z
  .object({
    agent: z.string(),
    role: z.enum(ROLES),
    rank: z.enum(RANKS).optional(),
    because: z.string(),
    observed_at: time.optional(),
    answered_by: z.string().optional().meta({ description: "The message that answered." }),
    outcome: z
      .enum(HANDLING_OUTCOMES)
      .optional()
      .meta({ description: "How it ended without an answer; absent as long as it has not." }),
  })
  .meta({ description: "What one agent did with one message, and why." });

export const MessageJson = z.looseObject({
  id: z.string(),
  place: z.string(),
  seq: z.number().meta({ description: "Grows by one within a place." }),
  author: z.string(),
  author_kind: z.enum(AUTHOR_KINDS),
  author_name: z.string(),
  text: z.string().meta({ description: "Mentions may stand as `<@agent-id>`." }),
  mentions: z.array(z.string()),
  mark: z.enum(MESSAGE_MARKS).nullable(),
  reply_to: z.string().nullable(),
  delivery: z.enum(DELIVERIES),
  delivery_error: z
    .object({ code: z.string().optional(), message: z.string().optional() })
    .nullable(),
  attachments: z.array(z.looseObject({ name: z.string().optional(), url: z.string().optional() })),
  buttons: z
    .array(
      z.object({
        value: z.string(),
        label: z.string(),
        code: z.string().optional(),
        for: z.string().optional(),
      }),
    )
    .nullable()
    .meta({
      description:
        "Answers to an escalation: `escalation-id:value`; or `lift:<place>`, which `resume` does; or " +
        "`retry:<answer>`, `order:retry` and `order:stop`, which `retry` and `stop` do. `for`: the " +
        "person whom alone the question is for; `answer` does it.",
    }),
  at: time,
  edited_at: time.nullable(),
  deleted_at: time.nullable().meta({ description: "Its author took it back; the text is empty." }),
  roles: z.array(RoleJson),
  reactions: z
    .array(
      z.object({
        emoji: z.string(),
        count: z.number(),
        own: z.boolean(),
        people: z.array(z.string()).meta({
          description: "Up to 10 names, the first to set it first; none on other platforms.",
        }),
      }),
    )
    .meta({ description: "Signs of people below it, the oldest first; `own`: the caller's too." }),
  thread: z
    .object({ id: z.string(), messages: z.number(), active_at: time })
    .nullable()
    .meta({ description: "The thread below it that the caller may see." }),
});

export const FoundMessageJson = z.object({
  id: z.string(),
  place: z.string(),
  place_name: z.string(),
  author: z.string(),
  author_kind: z.enum(AUTHOR_KINDS),
  author_name: z.string(),
  excerpt: z.string().meta({ description: "Up to 180 characters around the words." }),
  at: time,
});

export const ObservationJson = z.object({
  agent: z.string(),
  place: z.string(),
  message: z.string(),
  sender: z.string(),
  excerpt: z.string(),
  at: time,
});

const PausedJson = z.object({
  by: z.string().meta({ description: "Empty where the caller may not know it." }),
  at: time,
});
export const AgentJson = z.object({
  id: z.string(),
  display_name: z.string(),
  service: z.string(),
  leads: z.boolean(),
  channel: z.string().nullable(),
  persona: z.string().nullable().meta({ description: "Its SOUL.md; null without scope `admin`." }),
  accounts: z.array(
    z.object({
      adapter: z.string(),
      id: z.string(),
      platform_id: z
        .string()
        .nullable()
        .meta({ description: "The platform's own, once it was connected." }),
      state: z.enum(ACCOUNT_STATES),
      detail: z.string().nullable(),
      reason: CodedJson.nullable().meta({ description: "Code and facts of `detail`." }),
      changed_at: time,
    }),
  ),
  paused: PausedJson.nullable().meta({ description: "No model call of it begins meanwhile." }),
  working: z.number(),
  waiting: z.number(),
  tokens_today: z.number(),
  micro_usd_today: z.number(),
});

export const AgentDetailJson = AgentJson.extend({
  models: z.array(z.string()).meta({
    description: "As `provider:model`; several where a service behind it has several agents.",
  }),
  tools: z.array(
    z.object({
      name: z.string(),
      description: z.string(),
      effect: z.enum(["none", "idempotent", "once"]),
      mcp: z.string().nullable().meta({ description: "Server, as the agent's card names it." }),
    }),
  ),
  skills: z
    .array(z.object({ name: z.string(), description: z.string() }))
    .meta({ description: "Instructions that it may load, from `skills/` of the team." }),
  left_out: z
    .array(
      z.object({
        name: z.string(),
        mcp: z.string().nullable(),
        because: z.string(),
        next: z.string(),
      }),
    )
    .meta({
      description:
        "Tools that it does not get, why, and what to do: of MCP servers, and by its provider.",
    }),
  files: z
    .array(z.object({ path: z.string(), text: z.string(), cut: z.boolean() }))
    .nullable()
    .meta({
      description:
        "Its card and persona, paths from the team's folder, 64 KiB of each; null for all but " +
        "administrators of all tenants.",
    }),
  answers: z
    .array(
      z.object({
        place: z.string(),
        place_name: z.string(),
        message: z.string().nullable(),
        excerpt: z.string().nullable(),
        outcome: z.enum(HANDLING_OUTCOMES),
        at: time,
      }),
    )
    .meta({ description: "Its last 20 answers in rooms within a week that the caller may see." }),
});

const DoneJson = z.object({
  ok: z.literal(true),
  thread_id: z.string(),
  thread_name: z.string(),
  channel_id: z.string(),
  message_id: z.string(),
  reused: z.boolean(),
  delivery: z.enum(["sent", "queued"]),
  note: z.string(),
});
const RefusedJson = z.object({
  ok: z.literal(false),
  code: z.enum(COLLABORATE_CODES),
  message: z.string(),
  hint: z.string(),
  escalated: z.boolean(),
});
export const CollaborateJson = z.union([DoneJson, RefusedJson]);
export type CollaborateJson = z.output<typeof CollaborateJson>;

export const RoomsAnswer = pageOf(RoomJson);
export const MessagesAnswer = z.object({
  items: z.array(MessageJson),
  typing: z.array(z.string()).meta({ description: "Agents that are writing." }),
});
export const PostedAnswer = z.object({
  message_id: z.string(),
  place: z.string().meta({ description: "The room or thread where it stands." }),
});
export const FoundMessagesAnswer = pageOf(FoundMessageJson);
export const ThreadsAnswer = z.object({ items: z.array(ThreadJson) });
export const ResumedAnswer = z.object({ state: z.enum(PLACE_STATES) });
export const ObservationsAnswer = z.object({ items: z.array(ObservationJson) });
export const AgentsAnswer = z.object({ items: z.array(AgentJson) });

// --- in TypeScript's spelling

/** A channel, a thread or a direct room; only lists count what is unread. */
export type Room = FromWire<z.output<typeof PlaceJson>> &
  Partial<FromWire<z.output<typeof RoomJson>>>;
/** A thread of a room. `unread` counts messages that the asking person has not seen. */
export type Thread = FromWire<z.output<typeof ThreadJson>>;
/**
 * A message of a place. `mark` is null for what an author said as usual. `deliveryError` is null
 * unless the platform refused it. `buttons` is null without any.
 */
export type RoomMessage = FromWire<z.output<typeof MessageJson>>;
/** A message that a search found. */
export type FoundMessage = FromWire<z.output<typeof FoundMessageJson>>;
/** What one agent is to one message, and why. */
export type MessageRole = RoomMessage["roles"][number];
/** Who looks at a web room now, and who writes there. */
export type RoomPeople = FromWire<z.output<typeof RoomPeopleJson>>;
/** What a stop has ended. */
export type Stopped = FromWire<z.output<typeof StoppedAnswer>>;
export type Observation = FromWire<z.output<typeof ObservationJson>>;
/**
 * An agent of the team: its accounts, the messages that it handles and that wait for it, and what
 * it used today. `channel` is null where it has none of its own.
 */
export type RoomAgent = FromWire<z.output<typeof AgentJson>>;
/** One agent with its models, tools, files and last answers. */
export type AgentDetail = FromWire<z.output<typeof AgentDetailJson>>;
/**
 * One agent asks another in a thread. `threadId` goes on in a thread; without it one of the two is
 * used again, or begun under `channelId`. Calls with one `idempotencyKey` are one call.
 */
export type CollaborateRequest = FromWire<z.input<typeof CollaborateBody>>;
/**
 * How a `collaborate` ended: the thread and the message, or the code of the refusal and what to do.
 * `escalated`: people were told of the refusal.
 */
export type CollaborateAnswer = FromWire<CollaborateJson>;
