import { z } from "zod";
import { parseModelName } from "../../models/card.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { TOOL_CALL_VIEWS } from "../../kernel/turn-events.ts";
import { camelCase } from "../../kernel/wire.ts";
import { closest } from "../../models/spelling.ts";

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

export const text = z
  .string({ error: "must be a text" })
  .trim()
  .min(1, { error: "must be a text that is not empty" });

export const id = z
  .string({ error: "must be 1 to 64 letters, digits, _ or -" })
  .regex(/^[\p{L}\p{N}_-]{1,64}$/u, { error: "must be 1 to 64 letters, digits, _ or -" });

const modelText = z
  .string({ error: "must be offline, or provider:model" })
  .superRefine((name, context) => {
    try {
      parseModelName(name);
    } catch (error) {
      context.addIssue({ code: "custom", message: sentence(error) });
    }
  });

/** Source: docs/spec/conversation §5. */
export const memorySettings = settings({
  summarizeThreshold: wholeNumber(2, 1_000).optional(),
  keepRecentTurns: wholeNumber(1, 999).optional(),
  maxRawTurns: wholeNumber(1, 1_000).optional(),
  enableSummary: yesOrNo.optional(),
  summaryModel: modelText.optional(),
  summaryPrompt: z
    .string({ error: "must be a text with {dialog}, and {memory_block} for the summary so far" })
    .includes("{dialog}", {
      error: "must be a text with {dialog}, and {memory_block} for the summary so far",
    })
    .optional(),
});

/** Source: docs/spec/conversation §3. */
export const sessionSettings = settings({
  busy: oneOf(["queue", "reject", "interrupt", "merge"]).optional(),
});

const exportName = z
  .string({ error: "must be the name of an export" })
  .regex(/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u, { error: "must be the name of an export" });

const language = z
  .string()
  .regex(/^[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/, { error: "must be a language such as en" });

/** The words of a service in one more language. */
const words = settings({
  title: text.optional(),
  description: text.optional(),
  examples: z.array(text, { error: "must be a list of texts" }).optional(),
});

/** service.yaml. Source: docs/spec/conversation §2. */
export const serviceSchema = settings({
  name: id,
  version: z.union([z.string(), z.number()]).transform(String).optional(),
  title: text.optional(),
  description: text.optional(),
  examples: z.array(text, { error: "must be a list of texts" }).optional(),
  translations: z.record(language, words).optional(),
  agents: z.record(
    id,
    settings({
      /** A named export of the folder, or `chat`, `conversational`. Default: by the card. */
      class: exportName.optional(),
      /**
       * A file beside service.yaml, or the card itself. Default: `agents/<key>/card.json` or
       * `card.yaml`, if it exists.
       */
      card: z
        .union([z.string(), z.looseObject({})], { error: "must be a card, or the file of one" })
        .optional(),
      /**
       * `true`: must be able to give its text as it comes; `false`: gives it whole. Default: as its
       * class is.
       */
      stream: yesOrNo.optional(),
    }),
    { error: "must be agents by their key" },
  ),
  flows: settings({
    router: exportName.optional(),
    handlers: z
      .record(z.string(), exportName, { error: "must be names of exports by their flow" })
      .refine((handlers) => Object.keys(handlers).length > 0, {
        error: "must be at least one flow; the first one is the default",
      }),
  }),
  state: settings({ model: exportName, manager: exportName.optional() }).optional(),
  memory: memorySettings.optional(),
  sessions: sessionSettings.optional(),
  toolCalls: oneOf(TOOL_CALL_VIEWS).optional(),
  /** A function that says what is kept of a finished flow. */
  completed: exportName.optional(),
});

/** An error as one part of a sentence: message and hint, without the last full stop. */
export function sentence(error: unknown): string {
  const hint = error instanceof DureError && error.hint !== undefined ? ` ${error.hint}` : "";
  return `${messageOf(error)}${hint}`.replace(/\.$/, "");
}
