import { z } from "zod";

/** How every refusal is answered: RFC 9457. Source: docs/spec/platform §3. */

const FieldErrorJson = z.object({
  field: z.string().meta({
    description: "Dotted path in the words of the wire, such as `slots.amount`; empty: the body.",
  }),
  message: z.string(),
});

export const ProblemJson = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string(),
    hint: z.string().optional(),
    errors: z.array(FieldErrorJson).optional().meta({
      description: "One entry per field that was wrong.",
    }),
  })
  .meta({ id: "Problem", description: "RFC 9457 problem details." });
export type ProblemJson = z.output<typeof ProblemJson>;
export type FieldError = z.output<typeof FieldErrorJson>;
