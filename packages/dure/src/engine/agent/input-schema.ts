import { z } from "zod";
import { DureError } from "../../kernel/errors.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { schemaOfJson, shownAs } from "../../models/json-schema.ts";
import { readToolSchema } from "../../models/tool-schema.ts";

/**
 * A schema of any library that speaks Standard Schema, such as zod, valibot and arktype. Source:
 * standardschema.dev, "The interface".
 */
export interface InputSchema<Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => CheckedInput<Input> | Promise<CheckedInput<Input>>;
    readonly types?: { readonly input: unknown; readonly output: Input } | undefined;
    /** Of libraries that write JSON Schema too. Source: standardschema.dev, "Standard JSON Schema". */
    readonly jsonSchema?:
      | { readonly input: (options: { target: "draft-2020-12" }) => Record<string, unknown> }
      | undefined;
  };
}

type CheckedInput<Input> =
  | { readonly value: Input; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] };

interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** What a tool says of its arguments. At least one is there. */
export interface GivenSchemas<Input> {
  /** Checks the arguments. Absent: `jsonSchema` does. */
  readonly inputSchema?: InputSchema<Input>;
  /** As the model reads it. Absent: the library of `inputSchema` writes it. */
  readonly jsonSchema?: JsonObject | undefined;
}

/** The one schema that a tool has: it checks, and `jsonSchemaOf` gives what the model reads. */
export function schemaOfInput<Input>(
  description: string,
  { inputSchema, jsonSchema }: GivenSchemas<Input>,
): z.ZodType<Input> {
  if (inputSchema === undefined) return schemaOfJson(read(description, jsonSchema)) as never;
  if (inputSchema instanceof z.ZodType && jsonSchema === undefined) return inputSchema as never;

  const shown = jsonSchema ?? written(description, inputSchema);
  return shownAs(checkedBy(description, inputSchema), read(description, shown));
}

/** By its library; what a schema cannot say there, it says in an error. */
function written(description: string, { "~standard": standard }: InputSchema<unknown>): unknown {
  const { vendor, jsonSchema } = standard;
  if (!jsonSchema) {
    throw new DureError(
      "TOOL_INVALID",
      `Tool "${description}": its inputSchema, by ${vendor}, writes no JSON Schema.`,
      { class: "input", hint: "Give the tool jsonSchema beside it, for the model to read." },
    );
  }
  try {
    return jsonSchema.input({ target: "draft-2020-12" });
  } catch (cause) {
    throw new DureError(
      "TOOL_INVALID",
      `Tool "${description}": ${vendor} could not write its inputSchema as JSON Schema.`,
      { class: "input", cause, hint: "Give the tool jsonSchema beside it, for the model to read." },
    );
  }
}

function read(description: string, given: unknown): JsonObject {
  const found = readToolSchema(given);
  if (found.ok) return found.schema;
  const because = found.because.replace("inputSchema", "JSON Schema");
  throw new DureError("TOOL_INVALID", `Tool "${description}": ${because}.`, {
    class: "input",
    hint: "Arguments of a tool are one object: give a schema of an object.",
  });
}

function checkedBy<Input>(
  description: string,
  { "~standard": standard }: InputSchema<Input>,
): z.ZodType<Input> {
  return z.unknown().transform((value, context): Input => {
    const checked = standard.validate(value);
    if (checked instanceof Promise) throw checksLater(description, checked);
    if (!checked.issues) return checked.value;
    for (const { message, path = [] } of checked.issues) {
      const keys = path.map((step) => (typeof step === "object" ? step.key : step));
      context.addIssue({ code: "custom", message, path: keys });
    }

    return z.NEVER;
  });
}

/** Arguments are checked again when a turn is played back, in one go. */
function checksLater(description: string, checked: Promise<unknown>): DureError {
  checked.catch(() => {}); // nothing waits for it
  return new DureError("TOOL_INVALID", `Tool "${description}": its inputSchema is asynchronous.`, {
    class: "input",
    hint: "Look up in execute what needs time, and check in the schema what does not.",
  });
}
