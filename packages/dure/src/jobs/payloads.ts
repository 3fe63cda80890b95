import { z } from "zod";
import { DureError } from "../kernel/errors.ts";

/** Typed payloads of a request. Source: docs/spec/jobs §1. */
const text = (most: number) => z.string().trim().min(1).max(most);
const texts = z.array(text(1_000)).max(50);

const PAYLOADS = {
  task_delegation: z.strictObject({
    kind: z.literal("task_delegation"),
    task: text(4_000),
    context: text(8_000).optional(),
    constraints: texts.optional(),
    acceptance: texts.optional(),
    /** ISO 8601, a date or a date with time. */
    deadline: z.union([z.iso.date(), z.iso.datetime({ offset: true })]).optional(),
    urgent: z.boolean().optional(),
  }),
  status_report: z.strictObject({
    kind: z.literal("status_report"),
    subject: text(500),
    status: z.enum(["in_progress", "done", "blocked", "failed"]),
    summary: text(8_000),
    /** Percent. */
    progress: z.number().min(0).max(100).optional(),
    blockers: texts.optional(),
    urgent: z.boolean().optional(),
  }),
  question: z.strictObject({
    kind: z.literal("question"),
    question: text(4_000),
    options: texts.optional(),
    context: text(8_000).optional(),
  }),
  answer: z.strictObject({
    kind: z.literal("answer"),
    question: text(4_000).optional(),
    answer: text(8_000),
    /** 0 to 1. */
    confidence: z.number().min(0).max(1).optional(),
  }),
} as const;

const jobPayload = z.discriminatedUnion("kind", [
  PAYLOADS.task_delegation,
  PAYLOADS.status_report,
  PAYLOADS.question,
  PAYLOADS.answer,
]);

/** What an agent sends along, by its kind. */
export type JobPayload = z.infer<typeof jobPayload>;

/** Throws `PAYLOAD_INVALID` that names the members. */
export function parsePayload(value: unknown): JobPayload {
  const parsed = jobPayload.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.join(".") || "payload"}: ${issue.message}`);
  throw new DureError("PAYLOAD_INVALID", `The payload does not fit: ${issues.join("; ")}.`, {
    class: "input",
    hint: `Its kind is one of ${Object.keys(PAYLOADS).join(", ")}; each has members of its own.`,
  });
}

/** The payload as lines that a model reads: `task: …`, lists with dashes. Pure. */
export function payloadText(payload: JobPayload): string {
  const { kind, ...members } = payload;
  const lines = Object.entries<string | number | boolean | readonly string[] | undefined>(members)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) =>
      typeof value === "object"
        ? [`${name}:`, ...value.map((item) => `- ${item}`)].join("\n")
        : `${name}: ${value}`,
    );
  return [`kind: ${kind}`, ...lines].join("\n");
}
