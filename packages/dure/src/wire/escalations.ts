import { z } from "zod";
import {
  ESCALATION_SEVERITIES,
  ESCALATION_STATUSES,
  ESCALATION_STEPS,
  ESCALATION_TYPES,
  MAX_NOTE,
  type EscalationSource,
  type SuggestedAction,
} from "../kernel/escalation.ts";
import type { QueryInput, FromWire } from "../kernel/wire.ts";
import { pageOf, time } from "./shared.ts";

/** What `/v1/escalations` takes and gives. Source: docs/spec/plans §7. */

const id = z.string().max(200);

// --- requests

export const EscalationParams = z.object({ id: z.string().min(1).max(100) });

export const EscalationsQuery = z.object({
  status: z.enum(ESCALATION_STATUSES).optional(),
  severity: z.enum(ESCALATION_SEVERITIES).optional(),
  type: z.enum(ESCALATION_TYPES).optional(),
  run: id.optional(),
  port: id.optional(),
  job: id.optional(),
  room: id.optional(),
  session: id.optional(),
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: z.string().max(200).optional(),
  count: z.enum(["true", "false"]).optional().meta({
    description: "`true`: the answer says how many there are on all pages, by severity.",
  }),
});

const note = z.string().max(MAX_NOTE).optional();

const input = z.record(z.string(), z.unknown());

export const EscalationAnswerBody = z.object({
  value: z
    .string()
    .min(1)
    .max(100)
    .meta({ description: "The value of one of the suggested actions." }),
  note: note.meta({ description: "A hint, a reason." }),
  input: input.optional().meta({
    description: "Other arguments for the call, where the answer asks for `input`; all of them.",
  }),
});

export const DismissBody = z.object({ note }).nullish();

// --- answers

const SourceJson = z
  .object({
    run: id.optional(),
    port: id.optional(),
    job: id.optional(),
    room: id.optional(),
    session: z.string().optional(),
    turn: id.optional(),
    service: id.optional(),
  })
  .meta({
    description: "Where it comes from.",
  }) satisfies z.ZodType<Required<EscalationSource> | EscalationSource>;

const SuggestedActionJson = z.object({
  value: z.string(),
  label: z.string(),
  code: z.string().optional().meta({
    description: "The answer as dure names it, for clients with words of their own.",
  }),
  style: z.enum(["primary", "danger"]).optional(),
  asks: z
    .enum(["text", "input"])
    .optional()
    .meta({
      description:
        "What may come with this answer. `text`: a note, such as a hint for the next try or an " +
        "amount. `input`: other arguments for the call that it allows.",
    }),
}) satisfies z.ZodType<SuggestedAction>;

const ApprovalJson = z
  .object({
    role: z.string().nullable().meta({ description: "Only who has it approves; null: no role." }),
    two: z.boolean().meta({ description: "Two people say yes." }),
    first: z
      .object({
        by: z.string().meta({ description: "Id of the token." }),
        person: z.string().nullable().meta({ description: "For whom the token was made." }),
        at: time,
        note: z.string().optional(),
      })
      .nullable()
      .meta({ description: "The first of two yeses." }),
    refused: z
      .enum(["role", "given"])
      .nullable()
      .meta({
        description:
          "Why the caller cannot approve, and the answers that approve are left out: the role is " +
          "missing, or the first yes is theirs. Null: they can, as far as their scopes go.",
      }),
  })
  .meta({ description: "Who approves, where that is not every operator." });

export const EscalationJson = z
  .object({
    id: z.string(),
    source: SourceJson,
    type: z.enum(ESCALATION_TYPES),
    severity: z.enum(ESCALATION_SEVERITIES),
    title: z.string().meta({ description: "One line." }),
    description: z.string().meta({ description: "May be empty." }),
    context: z
      .record(z.string(), z.unknown())
      .meta({ description: "What it is about; its keys are those of the part that raised it." }),
    approval: ApprovalJson.optional(),
    suggested_actions: z
      .array(SuggestedActionJson)
      .meta({ description: "An answer is the value of one of them." }),
    status: z.enum(ESCALATION_STATUSES),
    resolution: z
      .object({ value: z.string(), note: z.string().optional(), input: input.optional() })
      .nullable()
      .meta({
        description:
          "Null while it is open. `settled`: a decision is no longer needed. `dismissed`, `time` " +
          "and `left` (the person said something else): closed without a decision.",
      }),
    resolved_by: z
      .string()
      .nullable()
      .meta({
        description:
          "Id of the token, an agent's name, `system`, or `person`: the one who talks, in the " +
          "conversation; an address on a server without tokens.",
      }),
    resolved_by_person: z.string().nullable().meta({ description: "For whom the token was made." }),
    resolved_at: time.nullable(),
    created_at: time,
    expires_at: time.nullable(),
    step: z
      .enum(ESCALATION_STEPS)
      .meta({ description: "Who has it: where it was raised, the operator agent, or people." }),
    next_step_at: time
      .nullable()
      .meta({ description: "Time of the next step; null: there is none." }),
  })
  .meta({ id: "Escalation", description: "A recorded request for a decision." });
export type EscalationJson = z.output<typeof EscalationJson>;

export const EscalationsAnswer = pageOf(EscalationJson).extend({
  counts: z
    .object({
      critical: z.number().int().optional(),
      high: z.number().int().optional(),
      medium: z.number().int().optional(),
      low: z.number().int().optional(),
    })
    .optional()
    .meta({ description: "How many there are on all pages, where `count` asked for it." }),
});

export const AnsweredJson = z.object({
  turn_id: z.string().nullable().meta({ description: "The turn that goes on, if one does." }),
  escalation: EscalationJson,
});

// --- in TypeScript's spelling

/** A recorded request for a decision: one object for the whole product. */
export type Escalation = FromWire<EscalationJson>;
/** A decision on an escalation: one of its suggested actions, and words to it. */
export type EscalationAnswer = FromWire<z.output<typeof EscalationAnswerBody>>;
/** The escalation after its answer. */
export type EscalationAnswered = FromWire<z.output<typeof AnsweredJson>>;
/** A page, with the counts that were asked for. */
export type EscalationsPage = FromWire<z.output<typeof EscalationsAnswer>>;
/**
 * Which escalations are wanted, newest first. All given members must fit. `limit` is 1–200, by
 * default 50.
 */
export type EscalationsFilter = QueryInput<z.output<typeof EscalationsQuery>>;
