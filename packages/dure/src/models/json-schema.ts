import { z } from "zod";
import { isObject, type Json, type JsonObject } from "../kernel/json.ts";
import { argumentsFault } from "./tool-arguments.ts";
import { isOverTime, MAX_CHECK_MS, withinTime } from "./within-time.ts";

type SchemaNode = Readonly<Record<string, unknown>>;

const written = new WeakMap<z.ZodType, JsonObject>();

/**
 * A zod schema as the JSON Schema of what may come in. An object that says nothing about other
 * members takes none, so that a provider can bind its answer to it.
 */
export function jsonSchemaOf(schema: z.ZodType): JsonObject {
  const known = written.get(schema);

  if (known) return known;

  const made = closed(
    z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }),
  ) as JsonObject;
  written.set(schema, made);

  return made;
}

/**
 * A JSON Schema that others wrote, as zod. Providers are given the schema in the form that they take
 * (`tool-schema.ts`); a value is checked by this one. Of one that cannot be used is checked only
 * that the value is an object. A check that takes longer than 250 ms is a refusal: a schema may hold
 * a `pattern` or references without end.
 */
export function schemaOfJson(schema: JsonObject): z.ZodType<JsonObject> {
  return shownAs(zodOf(schema) as z.ZodType<JsonObject>, schema);
}

/** The zod schema, of which `jsonSchemaOf` gives this one. */
export function shownAs<Value>(made: z.ZodType<Value>, schema: JsonObject): z.ZodType<Value> {
  written.set(made, schema);

  return made;
}

function zodOf(schema: JsonObject): z.ZodType {
  const inner = bounded(() => innerOf(schema)) ?? z.looseObject({});

  return z.unknown().transform((value, context) => {
    const read = bounded(() => inner.safeParse(value));
    // zod does not know all of JSON Schema, such as members that one of several variants requires.
    const fault = read?.success ? argumentsFault(schema, read.data as Json) : undefined;
    if (read?.success && fault === undefined) return read.data;
    if (fault !== undefined) context.addIssue(fault);
    if (read === undefined) context.addIssue(TOO_LONG);
    for (const { message, path } of read?.error?.issues ?? []) {
      context.addIssue({ code: "custom", message, path: [...path] });
    }

    return z.NEVER;
  });
}

function innerOf(schema: JsonObject): z.ZodType {
  try {
    const { $schema: _, ...rest } = schema;

    return z.fromJSONSchema(rest);
  } catch {
    return z.looseObject({});
  }
}

/** Undefined: it was ended after its time. */
function bounded<Value>(work: () => Value): Value | undefined {
  try {
    return withinTime(work);
  } catch (error) {
    if (isOverTime(error)) return undefined;
    throw error;
  }
}

const TOO_LONG = `It could not be checked within ${MAX_CHECK_MS} ms.`;

/** Keys whose values are data, not schemas. */
const DATA_KEYS: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/** Keys whose values are schemas by name. */
const MAP_KEYS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);

function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (!isObject(node)) return node;

  const inner = mapSchemas(node, closed);
  const isOpen = "additionalProperties" in node || !isObject(node["properties"]);

  return isOpen ? inner : { ...inner, additionalProperties: false };
}

/** The node with every schema inside of it changed. */
export function mapSchemas(
  node: SchemaNode,
  change: (inner: unknown) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => {
      if (DATA_KEYS.has(key)) return [key, value];
      if (!MAP_KEYS.has(key) || !isObject(value)) return [key, change(value)];
      return [key, Object.fromEntries(Object.entries(value).map(([k, v]) => [k, change(v)]))];
    }),
  );
}

// --- null for "not there"

/**
 * The value without each `null` that stands where the schema allows a member to be absent and no
 * null: models write it for what was not said. At every depth, in lists, in unions; a `null` in a
 * list whose elements take none is left out too. A null that the schema allows stays, and so does
 * one where a value is required: that is a fault of the answer. Pure.
 */
export function withoutAbsentNulls(value: Json, schema: JsonObject): Json {
  return cleaned(value, schema, schema, MAX_DEPTH);
}

/** Levels of a value that are looked at. */
const MAX_DEPTH = 64;

function cleaned(value: Json, node: unknown, root: SchemaNode, depth: number): Json {
  if (typeof value !== "object" || value === null || depth === 0) return value;

  const schema = resolved(node, root);

  if (schema === undefined) return value;

  const variants = variantsOf(schema);

  if (variants) {
    const cleanedVariants = variants.map((variant) => ({
      variant,
      value: cleaned(value, variant, root, depth - 1),
    }));

    return (
      cleanedVariants.find((one) => seemsToFit(one.value, one.variant, root, depth - 1))?.value ??
      value
    );
  }

  if (Array.isArray(value)) return cleanedList(value, schema, root, depth);

  return cleanedObject(value as JsonObject, schema, root, depth);
}

function cleanedList(
  value: readonly Json[],
  schema: SchemaNode,
  root: SchemaNode,
  depth: number,
): Json {
  const { items, prefixItems } = schema;
  if (Array.isArray(prefixItems)) {
    return value.map((one, index) => cleaned(one, prefixItems[index] ?? items, root, depth - 1));
  }

  const kept = value.filter((one) => one !== null || takesNull(items, root));

  return kept.map((one) => cleaned(one, items, root, depth - 1));
}

function cleanedObject(
  value: JsonObject,
  schema: SchemaNode,
  root: SchemaNode,
  depth: number,
): Json {
  const { properties, additionalProperties } = schema;
  const known = isObject(properties) ? properties : {};
  const required = requiredOf(schema);

  const members = Object.entries(value).flatMap(([key, member]) => {
    if (member === undefined) return [];

    const inner = Object.hasOwn(known, key) ? known[key] : additionalProperties;
    const isAbsent = member === null && !required.has(key) && !takesNull(inner, root);

    return isAbsent ? [] : [[key, cleaned(member, inner, root, depth - 1)] as const];
  });

  return Object.fromEntries(members);
}

function requiredOf(schema: SchemaNode): ReadonlySet<unknown> {
  return new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
}

function variantsOf(schema: SchemaNode): readonly unknown[] | undefined {
  const variants = schema["anyOf"] ?? schema["oneOf"];

  return Array.isArray(variants) ? variants : undefined;
}

/** What a reference names; undefined where the schema says nothing about the value. */
function resolved(node: unknown, root: SchemaNode): SchemaNode | undefined {
  let current: unknown = node;

  for (
    let hops = 0;
    hops < 16 && isObject(current) && typeof current["$ref"] === "string";
    hops++
  ) {
    current = atPointer(root, current["$ref"]);
  }

  return isObject(current) ? current : undefined;
}

/** What a reference into its own document names; undefined: nothing. */
export function atPointer(root: SchemaNode, pointer: string): unknown {
  if (pointer === "#") return root;

  let current: unknown = root;

  for (const step of pointer.slice(2).split("/")) {
    const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
    const isNode = typeof current === "object" && current !== null && Object.hasOwn(current, key);
    current = isNode ? (current as SchemaNode)[key] : undefined;
  }

  return current;
}

function takesNull(node: unknown, root: SchemaNode): boolean {
  if (node === true || node === undefined) return true;

  const schema = resolved(node, root);

  if (schema === undefined) return false;

  const variants = variantsOf(schema);

  if (variants) return variants.some((variant) => takesNull(variant, root));
  if ("const" in schema) return schema["const"] === null;
  if (Array.isArray(schema["enum"])) return schema["enum"].includes(null);

  const { type } = schema;

  return type === undefined ? !("allOf" in schema) : [type].flat().includes("null");
}

/** Whether a value has the kind, the fixed members and the required members of a variant. */
function seemsToFit(value: Json, node: unknown, root: SchemaNode, depth: number): boolean {
  const schema = resolved(node, root);

  if (schema === undefined || depth <= 0) return true;

  const variants = variantsOf(schema);

  if (variants) return variants.some((variant) => seemsToFit(value, variant, root, depth - 1));
  if ("const" in schema) return value === schema["const"];
  if (Array.isArray(schema["enum"])) return schema["enum"].includes(value);
  if (!hasType(value, schema["type"])) return false;
  if (!isObject(value)) return true;

  const { properties } = schema;
  const known = isObject(properties) ? properties : {};

  return (
    [...requiredOf(schema)].every((key) => Object.hasOwn(value, String(key))) &&
    Object.entries(value).every(([key, member]) =>
      Object.hasOwn(known, key) ? seemsToFit(member ?? null, known[key], root, depth - 1) : true,
    )
  );
}

function hasType(value: Json, type: unknown): boolean {
  if (type === undefined) return true;
  const kind = Array.isArray(value) ? "array" : value === null ? "null" : typeof value;

  return [type].flat().some((one) => one === kind || (one === "integer" && kind === "number"));
}

// --- what OpenAI's strict mode takes

/** A schema that strict mode takes, or why there is none. */
export type StrictSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly because: string };

/**
 * The schema in the subset of strict mode. Source: OpenAI, "Structured model outputs", section
 * "Supported schemas": each object closed, each member required (an optional one takes null
 * instead), the root an object, no `allOf`, `not`, `if`, at most 5,000 members, 10 levels, 1,000
 * enum values and 120,000 characters of names and values. Bounds that the subset lacks are left
 * out: the answer is checked by us in any case. Pure.
 */
export function strictSchema(schema: JsonObject): StrictSchema {
  const made = strictVersions.get(schema);

  if (made) return made;

  const result = makeStrict(schema);
  strictVersions.set(schema, result);

  return result;
}

const strictVersions = new WeakMap<JsonObject, StrictSchema>();

function makeStrict(schema: JsonObject): StrictSchema {
  if (schema["type"] !== "object" || variantsOf(schema)) {
    return { ok: false, because: "its root is no object" };
  }
  try {
    const size: StrictSize = { members: 0, values: 0, characters: 0 };
    const strict = strictNode(schema, { path: "", depth: 0, size }) as JsonObject;

    return { ok: true, schema: strict };
  } catch (error) {
    if (error instanceof NotStrict) return { ok: false, because: error.message };
    throw error;
  }
}

/** Leaves the walk; never leaves this file. */
class NotStrict extends Error {}

interface StrictSize {
  members: number;
  values: number;
  characters: number;
}

interface SchemaPosition {
  readonly path: string;
  readonly depth: number;
  readonly size: StrictSize;
}

const MAX_MEMBERS = 5_000;
const MAX_LEVELS = 10;
const MAX_ENUM_VALUES = 1_000;
const MAX_CHARACTERS = 120_000;

/** Only widens what is allowed, so it may be left out. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  "$schema",
  "$id",
  "default",
  "examples",
  "minLength",
  "maxLength",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "contains",
  "minContains",
  "maxContains",
  "propertyNames",
  "contentEncoding",
]);

/** Cannot be said in the subset. */
const UNSUPPORTED = [
  "allOf",
  "not",
  "if",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "unevaluatedProperties",
  "prefixItems",
];

/** Formats of strings that the subset knows. */
const FORMATS: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uuid",
]);

function strictNode(node: unknown, at: SchemaPosition): Record<string, unknown> {
  if (!isObject(node)) throw new NotStrict(`${nameOf(at)} may be anything`);

  const unsupported = UNSUPPORTED.find((key) => key in node);

  if (unsupported) throw new NotStrict(`${nameOf(at)} has "${unsupported}"`);
  if (typeof node["$ref"] === "string") return { $ref: node["$ref"], ...strictDefs(node, at) };

  countValues(node, at.size);
  const variants = variantsOf(node);

  if (variants) {
    const { oneOf: _, anyOf: __, ...rest } = keptOf(node);
    const anyOf = variants.map((one, index) => strictNode(one, inside(at, `${index}`, 0)));

    return { ...rest, ...strictDefs(node, at), anyOf };
  }

  if (node["type"] === undefined && !("enum" in node) && !("const" in node)) {
    throw new NotStrict(`${nameOf(at)} may be anything`);
  }

  return {
    ...keptOf(node),
    ...strictDefs(node, at),
    ...strictObject(node, at),
    ...strictItems(node, at),
  };
}

function strictObject(node: SchemaNode, at: SchemaPosition): Record<string, unknown> {
  if (![node["type"]].flat().includes("object")) return {};

  const { properties, additionalProperties } = node;
  if (!isObject(properties) || (additionalProperties ?? false) !== false) {
    throw new NotStrict(`${nameOf(at)} takes members of any name`);
  }

  if (at.depth >= MAX_LEVELS) throw new NotStrict(`it has more than ${MAX_LEVELS} levels`);

  const names = Object.keys(properties);
  at.size.members += names.length;
  at.size.characters += names.join("").length;
  assertSize(at.size);
  const required = requiredOf(node);

  const members = names.map((name) => {
    const member = strictNode(properties[name], inside(at, name, 1));

    return [name, required.has(name) ? member : nullable(member)];
  });

  return {
    properties: Object.fromEntries(members) as Json,
    required: names,
    additionalProperties: false,
  };
}

function strictItems({ items }: SchemaNode, at: SchemaPosition): Record<string, unknown> {
  return isObject(items) ? { items: strictNode(items, inside(at, "[]", 0)) } : {};
}

function strictDefs(node: SchemaNode, at: SchemaPosition): Record<string, unknown> {
  const { $defs } = node;
  if (!isObject($defs)) return {};

  const defs = Object.entries($defs).map(([name, inner]) => [
    name,
    strictNode(inner, { ...at, path: `${at.path}$${name}` }),
  ]);

  return { $defs: Object.fromEntries(defs) as Json };
}

/** Largest whole numbers, which zod writes for `z.int()`: they say nothing. */
const SAFE_BOUNDS: ReadonlySet<unknown> = new Set([
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
]);

function keptOf(node: SchemaNode): Record<string, unknown> {
  const kept = Object.entries(node).filter(([key, value]) => {
    if (LEFT_OUT.has(key) || key === "$defs") return false;
    if (key === "format") return FORMATS.has(value);
    if (key === "minimum" || key === "maximum") return !SAFE_BOUNDS.has(value);
    // The provider's expressions know no look-around; a format says the same.
    if (key === "pattern") return !("format" in node) && !String(value).includes("(?");

    return true;
  });

  return Object.fromEntries(kept);
}

function countValues(node: SchemaNode, size: StrictSize): void {
  const values = Array.isArray(node["enum"])
    ? node["enum"]
    : "const" in node
      ? [node["const"]]
      : [];

  size.values += Array.isArray(node["enum"]) ? values.length : 0;
  size.characters += values.map(String).join("").length;
  assertSize(size);
}

function assertSize({ members, values, characters }: StrictSize): void {
  if (members > MAX_MEMBERS) throw new NotStrict(`it has more than ${MAX_MEMBERS} members`);
  if (values > MAX_ENUM_VALUES) throw new NotStrict(`it has more than ${MAX_ENUM_VALUES} values`);
  if (characters > MAX_CHARACTERS) throw new NotStrict("its names and values are too long");
}

/** The same, or null. */
function nullable(node: Record<string, unknown>): Record<string, unknown> {
  const { type, enum: values, anyOf } = node;
  if (Array.isArray(anyOf)) {
    const takes = anyOf.some((one) => isObject(one) && one["type"] === "null");

    return takes ? node : { ...node, anyOf: [...(anyOf as readonly unknown[]), { type: "null" }] };
  }

  if (type === undefined || "const" in node) return { anyOf: [node, { type: "null" }] };

  const types = [type].flat() as readonly unknown[];

  if (types.includes("null")) return node;

  const withNull = { ...node, type: [...types, "null"] };

  return Array.isArray(values) ? { ...withNull, enum: [...(values as unknown[]), null] } : withNull;
}

function inside(at: SchemaPosition, step: string, levels: number): SchemaPosition {
  return {
    ...at,
    path: at.path === "" ? step : `${at.path}.${step}`,
    depth: at.depth + levels,
  };
}

function nameOf({ path }: SchemaPosition): string {
  return path === "" ? "it" : `"${path}"`;
}
