import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";

/** What the tools of a running step send, and what they are told. Source: docs/spec/plans §4. */

// --- requests

export const HookFeedbackBody = z.looseObject({}).meta({
  description:
    "{success?, failed_tests: [{name, expected?, actual?, stack_trace?, suggested_fix?, file?, " +
    "line?}], suggestions, metrics: {total, passed, failed, duration_ms, coverage?}}; keys in " +
    "either spelling.",
});
export const HookAskBody = z.object({ question: z.string().trim().min(1).max(4_000) });
export const HookAccessBody = z.object({
  path: z.string().min(1).max(1_024),
  wants: z.enum(["read", "own"]),
  why: z.string().trim().min(1).max(2_000),
});

// --- answers

export const HookFeedbackAnswer = z.object({
  decision: z.enum(["accept", "retry", "escalate"]).meta({
    description:
      "accept: the acceptance command has the last word; retry: the next try is told; escalate: " +
      "there is no next try.",
  }),
  notifications: z.array(z.string()).meta({ description: "What was said to which agent." }),
});
export const HookAskAnswer = z.object({ answer: z.string() });
export const HookAccessAnswer = z.object({ granted: z.boolean(), note: z.string() });

// --- in TypeScript's spelling

/** What becomes of a report. */
export type HookFeedbackTaken = FromWire<z.output<typeof HookFeedbackAnswer>>;
/** What a worker is told when it has asked for a path. */
export type HookAccess = FromWire<z.output<typeof HookAccessAnswer>>;
