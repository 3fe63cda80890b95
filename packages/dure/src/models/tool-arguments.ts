import { Ajv, type ErrorObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { messageOf } from "../kernel/errors.ts";
import type { Json, JsonObject } from "../kernel/json.ts";
import type { ToolSpec } from "./model.ts";
import { isOverTime, MAX_CHECK_MS, withinTime } from "./within-time.ts";

/** Levels of a schema. Source: OpenAI's strict mode takes 10 levels of objects. */
const MAX_LEVELS = 64;
/** Faults that the model is told of, and the characters of each. */
const MAX_FAULTS = 5;
const MAX_FAULT = 300;

const OPTIONS: Options = {
  strict: false,
  logger: false,
  validateSchema: false,
  // What a format allows is an annotation since the draft 2019-09.
  validateFormats: false,
  unicodeRegExp: false,
  code: { regExp: readPattern },
};

// --- the schema, when it comes

/** What keeps a schema of others from being used; undefined: nothing. Pure. */
export function schemaFault(schema: JsonObject): string | undefined {
  if (isDeeper(schema, MAX_LEVELS)) return `has more than ${MAX_LEVELS} levels`;
  const isSchema = metaSchemaFor(schema);
  if (isSchema(schema)) return undefined;
  return `is no JSON Schema: ${faultsIn(isSchema.errors, "it")}`;
}

/** Walks without calling itself: a schema may have thousands of levels. */
function isDeeper(value: unknown, levels: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= levels; depth++) {
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null ? Object.values(one) : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}

const DRAFT_7 = /draft-0[467]/u;

function isOld({ $schema }: JsonObject): boolean {
  return typeof $schema === "string" && DRAFT_7.test($schema);
}

const metaSchemas = new Map<string, ValidateFunction>();

function metaSchemaFor(schema: JsonObject): ValidateFunction {
  const id = isOld(schema)
    ? "http://json-schema.org/draft-07/schema"
    : "https://json-schema.org/draft/2020-12/schema";
  const made = metaSchemas.get(id) ?? newAjv(schema).getSchema(id)!;
  metaSchemas.set(id, made as ValidateFunction);
  return made as ValidateFunction;
}

function newAjv(schema: JsonObject, more: Options = {}): Ajv | Ajv2020 {
  const options = { ...OPTIONS, ...more };
  return isOld(schema) ? new Ajv(options) : new Ajv2020(options);
}

// --- the arguments of a call

/** Arguments of a call, and the tool that they are for. */
export interface CheckedCall {
  readonly tool: ToolSpec;
  readonly args: Json;
}

/**
 * What is wrong with the arguments of each call, by their tools' schemas, in the calls' order. All
 * together take at most {@link MAX_CHECK_MS}: a schema may hold a `pattern` or references that would
 * take for ever. So the same calls may be judged differently another time; record what comes out.
 *
 * A schema that cannot be used, such as one whose reference leads nowhere, checks nothing, unless
 * its tool is strict.
 */
export function misfitsOf(calls: readonly CheckedCall[]): readonly (string | undefined)[] {
  const misfits: (string | undefined)[] = calls.map(() => TOO_LONG);
  try {
    withinTime(() => calls.forEach((call, index) => (misfits[index] = misfitOf(call))));
  } catch (error) {
    if (!isOverTime(error)) throw error;
  }
  return misfits;
}

const TOO_LONG = `The arguments could not be checked within ${MAX_CHECK_MS} ms: send shorter ones.`;

/**
 * What is wrong with arguments by a schema; undefined: nothing, or the schema cannot be used. Takes
 * at most {@link MAX_CHECK_MS}.
 */
export function argumentsFault(schema: JsonObject, args: Json): string | undefined {
  try {
    return withinTime(() => faultOfArguments(schema, args));
  } catch (error) {
    return isOverTime(error) ? TOO_LONG : undefined;
  }
}

function faultOfArguments(schema: JsonObject, args: Json): string | undefined {
  const fits = compiled(schema);
  return fits(args) ? undefined : faultsIn(fits.errors, "arguments");
}

function misfitOf({ tool, args }: CheckedCall): string | undefined {
  try {
    const fault = faultOfArguments(tool.inputSchema, args);
    return fault && `The arguments do not fit: ${fault}.`;
  } catch (error) {
    if (isOverTime(error)) throw error;
    return tool.strict ? `Its schema cannot be used: ${cut(messageOf(error))}` : undefined;
  }
}

const checks = new WeakMap<JsonObject, ValidateFunction>();

function compiled(schema: JsonObject): ValidateFunction {
  const made = checks.get(schema);
  if (made) return made;
  const named = Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id");
  const check = newAjv(schema, { allErrors: true, meta: false }).compile(Object.fromEntries(named));
  checks.set(schema, check);
  return check;
}

/** A pattern that JavaScript cannot read is not checked. */
function readPattern(pattern: string, flags: string): { test: (text: string) => boolean } {
  try {
    return new RegExp(pattern, flags);
  } catch {
    return { test: () => true };
  }
}
readPattern.code = "readPattern";

// --- faults, for a model or a person

function faultsIn(errors: readonly ErrorObject[] | null | undefined, top: string): string {
  return (errors ?? [])
    .slice(0, MAX_FAULTS)
    .map((error) => cut(faultOf(error, top)))
    .join("; ");
}

function faultOf({ instancePath, keyword, message, params }: ErrorObject, top: string): string {
  const said = `${instancePath || top} ${message}`;
  if (keyword === "additionalProperties") return `${said}: "${params["additionalProperty"]}"`;
  if (keyword === "enum") return `${said}: ${JSON.stringify(params["allowedValues"])}`;
  if (keyword === "const") return `${said}: ${JSON.stringify(params["allowedValue"])}`;
  return said;
}

function cut(text: string): string {
  return text.length > MAX_FAULT ? `${text.slice(0, MAX_FAULT).toWellFormed()} …` : text;
}
