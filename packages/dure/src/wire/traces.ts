import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";
import { TRACE_KINDS } from "../kernel/traces.ts";
import { AsPerson } from "./rooms.ts";
import { time } from "./shared.ts";

/** What began what, as it is stored. Source: docs/spec/platform §3. */

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

export const TraceAnswer = z.object({
  asked: z.string(),
  items: z.array(TraceNodeJson).meta({ description: "The first began all others." }),
  is_cut: z.boolean().meta({
    description: "More is stored: 200 things and 20 levels are shown at most.",
  }),
});

/** The whole chain around one thing: what began it, and what it began. */
export type WorkTrace = FromWire<z.output<typeof TraceAnswer>>;
/** One thing in it. */
export type WorkTraceNode = FromWire<z.output<typeof TraceNodeJson>>;
