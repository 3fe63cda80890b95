import { z } from "zod";
import type { FromWire, QueryInput } from "../kernel/wire.ts";
import {
  LISTED_KINDS,
  TRACE_KINDS,
  TRACE_STATES,
  TRACE_STEP_KINDS,
  type TraceState,
} from "../kernel/traces.ts";
import { AsPerson } from "./rooms.ts";
import { json, pageOf, time } from "./shared.ts";

/** What began what, as it is stored. Source: docs/spec/platform §3. */

/** The last moment that an id can tell, milliseconds. */
const MOST_TIME = 2 ** 48 - 1;

export const TraceParams = z.object({
  id: z.string().regex(/^(turn|job|run|message|request)_[A-Za-z0-9]{1,60}$/, {
    error: "must be the id of a turn, a job, a run, a message or a request of a room",
  }),
});
export const TraceQuery = AsPerson;

export const TraceNodeJson = z.object({
  id: z.string(),
  kind: z.enum(TRACE_KINDS),
  began_by: z.string().nullable().meta({ description: "The one of this list that began it." }),
  title: z.string().meta({ description: "What was said or asked, its beginning." }),
  who: z.string().meta({ description: "Agent, service, plan or person that does it." }),
  session: z.string().nullable(),
  place: z.string().nullable(),
  status: z.string(),
  at: time,
  ended_at: time.nullable(),
  tokens: z.number().nullable(),
  agents: z
    .array(z.object({ agent: z.string(), elapsed_ms: z.number(), success: z.boolean() }))
    .meta({ description: "Of a turn that has ended, one after the other." }),
});

export const TraceStepJson = z.object({
  turn: z.string(),
  place: z.string(),
  under: z.string().nullable().meta({ description: "Place of the step that it is a part of." }),
  kind: z.enum(TRACE_STEP_KINDS),
  title: z.string(),
  status: z.enum(["done", "failed", "running", "waiting"]),
  error: z.string().nullable(),
  at: time,
  ended_at: time.nullable(),
  model: z.string().nullable().meta({ description: "Of a call of a model, as the rest." }),
  attempt: z.number().nullable(),
  tokens_in: z.number().nullable(),
  tokens_out: z.number().nullable(),
  cached_in: z.number().nullable().meta({ description: "Read from the provider's cache." }),
  micro_usd: z.number().nullable(),
  first_token_ms: z.number().nullable(),
});

export const TraceTextsParams = z.object({
  id: z.string().regex(/^(turn|job|run|message|request|escalation)_[A-Za-z0-9]{1,60}$/, {
    error: "must be the id of a thing of a trace",
  }),
});
export const TraceTextsQuery = TraceQuery.extend({
  at: z
    .string()
    .regex(/^(call\.)?\d+(\.\d+)*$/, { error: "must be the place of a step" })
    .max(100)
    .optional()
    .meta({ description: "Place of a step of a turn; it needs the scope `admin`." }),
});

export const TraceTextsAnswer = z.object({
  args: json.meta({ description: "What went in." }),
  result: json.meta({ description: "What came out." }),
  prompt: z
    .object({
      system: z.string(),
      messages: z.array(
        z.object({ part: z.enum(["history", "context", "message", "work"]), data: json }),
      ),
      tools: z.array(z.string()).meta({ description: "Names of those that it may call." }),
      is_as_sent: z.boolean().meta({
        description: "Exactly this was sent; else the team's prompts have changed since.",
      }),
    })
    .nullable()
    .meta({ description: "The request of a call of a model, made again from the journal." }),
  no_prompt: z.string().nullable().meta({ description: "Code of why it cannot be made again." }),
});

export const TraceAnswer = z.object({
  asked: z.string(),
  items: z.array(TraceNodeJson).meta({ description: "The first began all others." }),
  steps: z.array(TraceStepJson).meta({
    description: "What its turns consist of; tools and steps by those who see all of a service.",
  }),
  is_cut: z.boolean().meta({
    description: "More is stored: 200 things and 20 levels are shown at most.",
  }),
});

const word = z.string().min(1).max(200).optional();

export const TracesQuery = z.object({
  kind: z.enum(LISTED_KINDS).optional(),
  state: z.enum(Object.keys(TRACE_STATES) as [TraceState, ...TraceState[]]).optional(),
  agent: word,
  service: word,
  model: word.meta({ description: "As `provider:model`." }),
  error: word.meta({ description: "Its code." }),
  min_micro_usd: z.coerce.number().int().min(0).max(1e12).optional(),
  since: z.coerce.number().min(0).max(MOST_TIME).optional(),
  until: z.coerce.number().min(0).max(MOST_TIME).optional(),
  search: z.string().max(300).optional().meta({
    description: "Stands in what was said or answered, whatever the case.",
  }),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(100).optional(),
});

export const TraceLineJson = z.object({
  id: z.string(),
  kind: z.enum(LISTED_KINDS),
  title: z.string(),
  who: z.string(),
  status: z.string(),
  error: z.string().nullable(),
  at: time,
  ended_at: time.nullable(),
  tokens: z.number().nullable(),
  micro_usd: z.number().nullable(),
  models: z.array(z.string()),
});
export const TracesAnswer = pageOf(TraceLineJson);

/** What of the traces is listed. */
export type TracesFilter = QueryInput<z.output<typeof TracesQuery>>;
/** One line of the list. */
export type WorkTraceLine = FromWire<z.output<typeof TraceLineJson>>;
/** One step of a turn in it. */
export type WorkTraceStep = FromWire<z.output<typeof TraceStepJson>>;
/** What went into one thing or step, and what came out. */
export type WorkTraceTexts = FromWire<z.output<typeof TraceTextsAnswer>>;
/** The whole chain around one thing: what began it, and what it began. */
export type WorkTrace = FromWire<z.output<typeof TraceAnswer>>;
/** One thing in it. */
export type WorkTraceNode = FromWire<z.output<typeof TraceNodeJson>>;
