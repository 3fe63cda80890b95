import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";
import { idempotencyKey, time } from "./shared.ts";

/** What `/v1/schedules` takes and gives. Source: docs/spec/interop §6. */

// --- requests

export const ScheduleParams = z.object({ name: z.string().min(1).max(100) });

export const ScheduleRunHeaders = z.looseObject({
  "idempotency-key": idempotencyKey
    .optional()
    .meta({ description: "The same key of a schedule is the same run, for 90 days." }),
});

// --- answers

export const FiringJson = z
  .object({
    key: z.string(),
    due: time,
    by: z
      .string()
      .nullable()
      .meta({ description: "Who has run it by hand; null: its time had come." }),
    status: z.enum(["taken", "done", "failed", "unknown", "missed"]).meta({
      description: "`taken`: it is being done. `unknown`: it may have been done.",
    }),
    message_id: z.string().nullable(),
    job_id: z.string().nullable(),
    run_id: z.string().nullable(),
    error: z.string().nullable().meta({ description: "Code of the refusal." }),
  })
  .meta({ id: "ScheduleFiring", description: "One moment of a schedule, and what came of it." });

export const ScheduleJson = z
  .object({
    name: z.string(),
    cron: z.string(),
    time_zone: z.string(),
    missed: z.enum(["skip", "once"]),
    tenant: z.string(),
    does: z.enum(["message", "job", "plan"]),
    with: z.string().meta({ description: "The room, the asked agent or the plan." }),
    next: time.nullable().meta({ description: "Null while it is paused." }),
    paused: z.object({ by: z.string(), at: time }).nullable(),
    last: z.array(FiringJson).meta({ description: "Newest first, at most 5." }),
  })
  .meta({ id: "Schedule", description: "Work that begins at a time." });

export const SchedulesAnswer = z.object({ items: z.array(ScheduleJson) });

// --- in TypeScript's spelling

/** One moment of a schedule, and what came of it. */
export interface ScheduleFiring extends FromWire<z.output<typeof FiringJson>> {}
/** Work that begins at a time, as it stands. */
export interface Schedule extends FromWire<z.output<typeof ScheduleJson>> {}
