import { z } from "zod";
import { parseModelNames } from "../../models/card.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { durationMs } from "../../kernel/duration.ts";
import { isObject } from "../../kernel/json.ts";
import { camelCase } from "../../kernel/wire.ts";
import { closest } from "../../kernel/closest.ts";

// What the files of services and of the team have in common. A message that begins with "must be"
// says what is allowed.

/**
 * A group of keys in either spelling, typed like `z.object`. Unknown keys, keys that are written
 * twice and wrong values are all reported together (`fileObject` stops at the first kind).
 */
export function settings<Shape extends z.ZodRawShape>(
  shape: Shape,
): z.ZodType<z.output<z.ZodObject<Shape>>, z.input<z.ZodObject<Shape>>> {
  const values = z.object(shape);
  const known = Object.keys(shape);
  const group = z.unknown().transform((value, context) => {
    const report = (issue: object): void =>
      context.addIssue(issue as Parameters<typeof context.addIssue>[0]);
    if (!isObject(value)) {
      report({ code: "invalid_type", expected: "object", input: value });
      return z.NEVER;
    }
    const read: Record<string, unknown> = {};
    const spelledAs = new Map<string, string>();
    for (const [written, member] of Object.entries(value)) {
      const key = camelCase(written);
      const earlier = spelledAs.get(key);
      if (!known.includes(key)) {
        report({ code: "custom", path: [written], message: unknownKey(written, known) });
      } else if (earlier !== undefined) {
        report({
          code: "custom",
          path: [written],
          message: `"${earlier}" and "${written}" are one setting; keep one of them`,
        });
      } else if (member !== undefined) read[key] = member;
      if (earlier === undefined) spelledAs.set(key, written);
    }
    const result = values.safeParse(read);
    if (result.success) return result.data;
    for (const issue of result.error.issues) report(issue);

    return z.NEVER;
  });

  return group as unknown as z.ZodType<z.output<z.ZodObject<Shape>>, z.input<z.ZodObject<Shape>>>;
}

function unknownKey(written: string, known: readonly string[]): string {
  const meant = closest(camelCase(written), known);
  return `unknown key "${written}"; ${meant ? `did you mean "${meant}"?` : `known are ${known.join(", ")}`}`;
}

export const wholeNumber = (from: number, to: number) => {
  const error = `must be a whole number from ${from} to ${to}`;
  return z.int({ error }).min(from, { error }).max(to, { error });
};

export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words, { error: `must be ${words.join(", ")}` });

export const yesOrNo = z.boolean({ error: "must be true or false" });

/** Milliseconds, given as such or as a text like `10s`. */
export const duration = (from: string, to: string) =>
  z.union([z.number(), z.string()]).transform((value, context) => {
    const ms = durationOrNaN(value);
    if (ms >= durationMs(from) && ms <= durationMs(to)) return ms;

    context.addIssue({
      code: "custom",
      message: `must be a duration from ${from} to ${to}, such as "${from}", or milliseconds`,
    });

    return z.NEVER;
  });

function durationOrNaN(value: string | number): number {
  try {
    return durationMs(value);
  } catch {
    return Number.NaN;
  }
}

export const text = z
  .string({ error: "must be a text" })
  .trim()
  .min(1, { error: "must be a text that is not empty" });

export const id = z
  .string({ error: "must be 1 to 64 letters, digits, _ or -" })
  .regex(/^[\p{L}\p{N}_-]{1,64}$/u, { error: "must be 1 to 64 letters, digits, _ or -" });

const modelText = z
  .string({
    error: "must be offline, or provider:model; an object stands in the memory of a service",
  })
  .superRefine((name, context) => {
    try {
      parseModelNames(name);
    } catch (error) {
      context.addIssue({ code: "custom", message: sentence(error) });
    }
  });

const summaryPrompt = z.string().includes("{dialog}", { error: "must be a text with {dialog}" });

/** Source: docs/spec/conversation §5. */
export const memorySettings = settings({
  summarizeThreshold: wholeNumber(2, 1_000).optional(),
  keepRecentTurns: wholeNumber(1, 999).optional(),
  maxRawTurns: wholeNumber(1, 1_000).optional(),
  enableSummary: yesOrNo.optional(),
  summaryModel: modelText.optional(),
  summaryPrompt: z
    .union([summaryPrompt, settings({ first: summaryPrompt, fold: summaryPrompt })], {
      error:
        "must be a text with {dialog}, and {memory_block} for the summary so far, or two: first and fold",
    })
    .optional(),
});

/** Source: docs/spec/conversation §3. */
export const sessionSettings = settings({
  busy: oneOf(["queue", "reject", "interrupt", "merge"]).optional(),
});

/** An error as one part of a sentence: message and hint, without the last full stop. */
export function sentence(error: unknown): string {
  const hint = error instanceof DureError && error.hint !== undefined ? ` ${error.hint}` : "";
  return `${messageOf(error)}${hint}`.replace(/\.$/, "");
}
