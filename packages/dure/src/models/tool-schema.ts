import { isObject, type JsonObject, onlyDefined } from "../kernel/json.ts";
import { atPointer, mapSchemas } from "./json-schema.ts";
import type { ToolSpec } from "./model.ts";
import type { Dialect } from "./model-object.ts";
import { plainReferences } from "./plain-references.ts";
import { schemaFault } from "./tool-arguments.ts";

type ToolSchemaNode = Readonly<Record<string, unknown>>;

// --- the schema of a tool, as its author wrote it

/** Bytes of a tool's schema; it is sent with every model call. Source: docs/spec/interop §1. */
const MAX_SCHEMA = 32_768;

export type ToolSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly because: string };

/**
 * The schema of a tool's arguments, or why it cannot be one. Arguments are always an object: a
 * schema that names no type, as `{}` or one with `properties` or `anyOf` alone, is read as one of
 * an object. Source: MCP 2025-11-25, "Tools", "Data Types": `inputSchema` is a JSON Schema object,
 * not null; without `$schema` of the draft 2020-12. Pure.
 */
export function readToolSchema(given: unknown): ToolSchema {
  if (given === undefined || given === null) return faulty("it has no inputSchema");
  if (!isObject(given)) return faulty("its inputSchema is no object");
  if (bytesOf(given) > MAX_SCHEMA) {
    return faulty(`its inputSchema has more than ${MAX_SCHEMA} bytes`);
  }
  if (!takesObject(given)) return faulty("its inputSchema takes no object");

  const schema = { ...given, type: "object" } as JsonObject;
  const fault = schemaFault(schema) ?? referenceFault(schema);

  return fault === undefined ? { ok: true, schema } : faulty(`its inputSchema ${fault}`);
}

function faulty(because: string): ToolSchema {
  return { ok: false, because };
}

/** A schema may have so many levels that it cannot be written down. */
function bytesOf(value: unknown): number {
  try {
    return Buffer.byteLength(JSON.stringify(value));
  } catch (error) {
    if (error instanceof RangeError) return Infinity;
    throw error;
  }
}

function takesObject(node: ToolSchemaNode): boolean {
  if ("type" in node && ![node["type"]].flat().includes("object")) return false;
  const variants = node["anyOf"] ?? node["oneOf"];

  return !Array.isArray(variants) || variants.some((one) => !isObject(one) || takesObject(one));
}

/** What is wrong with a reference: it leaves the schema, leads nowhere, or in a circle. */
function referenceFault(root: JsonObject): string | undefined {
  const sound = new Set<unknown>();
  return nodesOf(root)
    .map((node) => chainFault(node, { root, sound, path: new Set() }))
    .find((fault) => fault !== undefined);
}

/** The node and every schema inside of it. Its levels are bounded: see `schemaFault`. */
function nodesOf(node: unknown): readonly ToolSchemaNode[] {
  if (Array.isArray(node)) return node.flatMap(nodesOf);
  if (!isObject(node)) return [];
  const inner: ToolSchemaNode[] = [];
  mapSchemas(node, (value) => inner.push(...nodesOf(value)));

  return [node, ...inner];
}

interface Chain {
  readonly root: JsonObject;
  /** Nodes without a fault. */
  readonly sound: Set<unknown>;
  /** Nodes that apply to one value, from the first on. */
  readonly path: ReadonlySet<unknown>;
}

/** Follows what applies to the same value: a circle of it would say nothing, for ever. */
function chainFault(node: unknown, chain: Chain): string | undefined {
  const { root, sound, path } = chain;
  if (!isObject(node) || sound.has(node)) return undefined;
  if (path.has(node)) return "has a reference that leads to itself";

  const { $ref } = node;
  const next = ["anyOf", "oneOf", "allOf"].flatMap((key) => partsOf(node, key));
  if (typeof $ref === "string") {
    const target = $ref.startsWith("#") ? atPointer(root, $ref) : undefined;
    if (target === undefined) return `has a reference to nothing in it: ${$ref.slice(0, 100)}`;
    next.push(target);
  }
  const inside = { ...chain, path: new Set([...path, node]) };
  const fault = next.map((one) => chainFault(one, inside)).find((one) => one !== undefined);
  if (fault === undefined) sound.add(node);

  return fault;
}

// --- tools as a provider takes them

/** Tools that a provider takes, and those that it would refuse. */
export interface FittedTools {
  readonly tools: readonly ToolSpec[];
  readonly leftOut: readonly { readonly name: string; readonly because: string }[];
}

/** Tools of one request. Source: OpenAI, API reference, "Create chat completion", `tools`. */
const MAX_TOOLS: Partial<Record<Dialect, number>> = { openai: 128 };

/**
 * The tools as a provider takes them; the model's arguments are still checked by the tool's own
 * schema. Of too many the last ones stay: tools of MCP servers come first, an agent's own last.
 */
export function toolsFor(provider: Dialect, tools: readonly ToolSpec[]): FittedTools {
  const read = tools.map((tool) => ({ tool, fault: toolFault(provider, tool) }));
  const fit = read.flatMap(({ tool, fault }) => (fault === undefined ? [tool] : []));
  const beyond = Math.max(0, fit.length - (MAX_TOOLS[provider] ?? Infinity));
  const because = `${provider} takes ${MAX_TOOLS[provider]} tools at once, and there are ${fit.length}`;

  return {
    tools: fit
      .slice(beyond)
      .map((tool) => ({ ...tool, inputSchema: schemaFor(provider, tool.inputSchema) })),
    leftOut: [
      ...read.flatMap(({ tool: { name }, fault }) => (fault ? [{ name, because: fault }] : [])),
      ...fit.slice(0, beyond).map(({ name }) => ({ name, because })),
    ],
  };
}

function toolFault(provider: Dialect, { name, inputSchema }: ToolSpec): string | undefined {
  if (!takesName(provider, name)) return `${provider} takes no tool of the name "${name}"`;
  return providerFault(provider, inputSchema);
}

/** Source: ai.google.dev, API reference, "FunctionDeclaration", `name`. */
const GOOGLE_NAME = /^[a-zA-Z_]/;

/** Letters that all providers take. Sources: see `soundMessages`. */
const EVERY_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Whether a tool may have this name, also in the history. Pure. */
export function takesName(provider: Dialect, name: string): boolean {
  return EVERY_NAME.test(name) && (provider !== "google" || GOOGLE_NAME.test(name));
}

/**
 * Names of arguments. Source: Anthropic's 400 `input_schema.properties: Property keys should match
 * pattern '^[a-zA-Z0-9_.-]{1,64}$'`, of the first level alone.
 */
const ANTHROPIC_KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/** Why a provider would refuse a schema in every form that keeps its meaning. Pure. */
export function providerFault(provider: Dialect, schema: JsonObject): string | undefined {
  if (provider !== "anthropic") return undefined;
  const wrong = Object.keys(membersOf(flatSchema(schema))).find((key) => !ANTHROPIC_KEY.test(key));
  return wrong && `anthropic takes no argument of the name "${wrong.slice(0, 100)}"`;
}

const made = new Map<Dialect, WeakMap<JsonObject, JsonObject>>();

/** A schema in the form that a provider takes. Pure; each is made once. */
function schemaFor(provider: Dialect, schema: JsonObject): JsonObject {
  if (provider === "offline") return schema;
  const ofProvider = made.get(provider) ?? new WeakMap<JsonObject, JsonObject>();
  made.set(provider, ofProvider);
  const flat = ofProvider.get(schema) ?? formFor(provider, schema);
  ofProvider.set(schema, flat);

  return flat;
}

function formFor(provider: Dialect, schema: JsonObject): JsonObject {
  const flat = flatSchema(schema);
  if (provider === "anthropic") return flat as JsonObject;
  const form = withItems({ properties: {}, ...flat }) as JsonObject;

  return provider === "google" ? plainReferences(form) : form;
}

/**
 * Each list says what it holds. Source: OpenAI's 400 `In context=('properties', 'a'), array schema
 * missing items`; of an object without `properties` at the top it says `object schema missing
 * properties`.
 */
function withItems(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withItems);
  if (!isObject(node)) return node;
  const inner = mapSchemas(node, withItems);
  const isList = [node["type"]].flat().includes("array");

  return isList && !("items" in node) ? { ...inner, items: {} } : inner;
}

/** Said at the top about the arguments as a whole: no provider takes them there. */
const REFUSED_AT_TOP = ["oneOf", "anyOf", "allOf", "enum", "not", "const", "if", "then", "else"];

/**
 * The schema with one object at its top. Variants become members that are all optional but those
 * that each variant requires; which of them belong together is said in words. Source: OpenAI's 400
 * `schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top
 * level`, Anthropic's 400 `input_schema does not support oneOf, allOf, or anyOf at the top level`.
 */
function flatSchema(schema: JsonObject): ToolSchemaNode {
  const isFlat = !("$ref" in schema) && REFUSED_AT_TOP.every((key) => !(key in schema));
  if (isFlat) return withoutDialect(schema);

  const { $defs, definitions } = schema;
  const { choices, properties, required, description } = flatNode(schema, schema, MAX_HOPS);
  const words = [description, ...choices].filter(Boolean).join(" ");

  return onlyDefined({
    type: "object",
    description: words === "" ? undefined : words,
    properties,
    required: required.length > 0 ? required : undefined,
    $defs,
    definitions,
  });
}

const MAX_HOPS = 16;

interface FlatNode {
  readonly description: string | undefined;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required: readonly string[];
  /** Sentences about what belongs together. */
  readonly choices: readonly string[];
}

const NOTHING: FlatNode = {
  description: undefined,
  properties: {},
  required: [],
  choices: [],
};

/** An object schema and its parts as one list of members. `hops` bounds references. */
function flatNode(given: unknown, root: JsonObject, hops: number): FlatNode {
  if (!isObject(given) || hops === 0) return NOTHING;
  const inner = (one: unknown): FlatNode => flatNode(one, root, hops - 1);
  const { $ref, description } = given;
  const own: FlatNode = {
    ...NOTHING,
    description: typeof description === "string" ? description : undefined,
    properties: membersOf(given),
    required: namesOf(given["required"]),
  };
  const all = [
    ...(typeof $ref === "string" ? [inner(atPointer(root, $ref))] : []),
    ...partsOf(given, "allOf").map(inner),
    ...["anyOf", "oneOf"].map((key) => oneOfAll(partsOf(given, key).map(inner))),
  ];

  return all.reduce(both, own);
}

/** What holds of each of several variants. */
function oneOfAll(variants: readonly FlatNode[]): FlatNode {
  const [first, ...others] = variants;
  if (first === undefined) return NOTHING;
  const required = first.required.filter((name) =>
    others.every((one) => one.required.includes(name)),
  );
  const sets = variants.map((one) => one.required.join(" and ") || "none of them");
  const properties = variants.map((one) => one.properties).reduce(eitherMember);

  return {
    ...NOTHING,
    properties,
    required,
    choices: [`Give one of: ${sets.join("; ")}.`, ...variants.flatMap((one) => one.choices)],
  };
}

function both(left: FlatNode, right: FlatNode): FlatNode {
  return {
    description: left.description ?? right.description,
    properties: { ...right.properties, ...left.properties },
    required: [...new Set([...left.required, ...right.required])],
    choices: [...left.choices, ...right.choices],
  };
}

/** Members of two variants; one that both have takes what either takes. */
function eitherMember(left: ToolSchemaNode, right: ToolSchemaNode): ToolSchemaNode {
  const shared = Object.keys(right).filter((key) => Object.hasOwn(left, key));
  const either = shared.flatMap((key) =>
    JSON.stringify(left[key]) === JSON.stringify(right[key])
      ? []
      : [[key, { anyOf: [left[key], right[key]] }] as const],
  );

  return { ...right, ...left, ...Object.fromEntries(either) };
}

/** `$schema` and `$id` say nothing about the arguments; not all providers know each draft. */
function withoutDialect(schema: JsonObject): ToolSchemaNode {
  const said = Object.entries(schema).filter(([key]) => key !== "$schema" && key !== "$id");
  return Object.fromEntries(said);
}

function membersOf({ properties }: ToolSchemaNode): ToolSchemaNode {
  return isObject(properties) ? properties : {};
}

function partsOf(node: ToolSchemaNode, key: string): readonly unknown[] {
  const parts = node[key];
  return Array.isArray(parts) ? parts : [];
}

function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}
