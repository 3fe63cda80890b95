import { isObject, type JsonObject } from "../../kernel/json.ts";
import { atPointer, mapSchemas } from "../../models/json-schema.ts";
import { readToolSchema } from "../../models/tool-schema.ts";
import type { Node, OpenApiDocument } from "./document.ts";
import { Unfit, type Operation, type Parameter } from "./operations.ts";
import { listOf } from "./text-of.ts";

/** The arguments of an operation: parameters by their names, and the body as `body`. */
export interface OperationInput {
  readonly schema: JsonObject;
  /** Under which argument each parameter comes. */
  readonly parameters: readonly (Parameter & { readonly argument: string })[];
  /** Header that gets the key of the effect, as the document names it. Not an argument. */
  readonly keyHeader: string | undefined;
}

const KEY_HEADER = /^(?:x-)?idempotency-?key$/i;
const BODY = "body";
/** Schemas that one tool may refer to. */
const MAX_DEFINITIONS = 200;

/** Throws `Unfit` where no schema for a model can be made. Pure. */
export function inputOf(document: OpenApiDocument, operation: Operation): OperationInput {
  const { body } = operation;
  const isKey = (one: Parameter): boolean => one.in === "header" && KEY_HEADER.test(one.name);
  const keyHeader = operation.parameters.find(isKey)?.name;
  const parameters = withArguments(operation.parameters.filter((one) => !isKey(one)));
  const definitions = new Definitions(document);
  const members = [
    ...parameters.map((one) => [one.argument, described(definitions.read(one.schema), one)]),
    ...(body ? [[BODY, definitions.read(body.schema)]] : []),
  ] as [string, unknown][];
  const required = [
    ...parameters.filter((one) => one.required).map(({ argument }) => argument),
    ...(body?.required ? [BODY] : []),
  ];
  const read = readToolSchema({
    type: "object",
    properties: Object.fromEntries(members),
    required,
    additionalProperties: false,
    ...definitions.all(),
  });
  if (!read.ok) throw new Unfit(read.because.replace("inputSchema", "schema"));

  return { schema: read.schema, parameters, keyHeader };
}

/** Names that all providers take, each once. Source: `ANTHROPIC_KEY` in models/tool-schema.ts. */
function withArguments(parameters: readonly Parameter[]): OperationInput["parameters"] {
  const taken = new Set([BODY]);
  return parameters.map((parameter) => {
    const safe = parameter.name.replaceAll(/[^a-zA-Z0-9_.-]+/g, "_").slice(0, 48);
    let argument = taken.has(safe) || safe === "" ? `${parameter.in}_${safe}` : safe;
    for (let copy = 2; taken.has(argument); copy++) argument = `${parameter.in}_${safe}_${copy}`;
    taken.add(argument);
    return { ...parameter, argument };
  });
}

function described(schema: unknown, { description }: Parameter): unknown {
  if (!isObject(schema) || description === undefined || "description" in schema) return schema;
  return { ...schema, description };
}

/** Schemas of the document that a tool refers to, each once under `$defs`; loops stay references. */
class Definitions {
  readonly #document: OpenApiDocument;
  readonly #names = new Map<string, string>();
  readonly #schemas: [string, unknown][] = [];

  constructor(document: OpenApiDocument) {
    this.#document = document;
  }

  read(given: unknown): unknown {
    const schema = this.#read(given ?? {});
    return isObject(schema) ? schema : {};
  }

  all(): { readonly $defs?: Node } {
    return this.#schemas.length === 0 ? {} : { $defs: Object.fromEntries(this.#schemas) };
  }

  #read = (given: unknown): unknown => {
    if (Array.isArray(given)) return given.map(this.#read);
    if (!isObject(given)) return given;
    const { $ref } = given;
    if (typeof $ref === "string") return { $ref: `#/$defs/${this.#nameOf($ref)}` };
    const sent = withoutReadOnly(withoutNotes(given));
    const schema = this.#document.version === "3.0" ? fromOpenApi30(sent) : sent;
    return mapSchemas(schema, this.#read);
  };

  #nameOf($ref: string): string {
    const known = this.#names.get($ref);
    if (known !== undefined) return known;
    const target = $ref.startsWith("#") ? atPointer(this.#document.root, $ref) : undefined;
    if (target === undefined) {
      throw new Unfit(`it refers to ${$ref.slice(0, 100)}, which is not there`);
    }
    if (this.#names.size >= MAX_DEFINITIONS) {
      throw new Unfit(`it refers to more than ${MAX_DEFINITIONS} schemas`);
    }
    const last = $ref
      .split("/")
      .at(-1)!
      .replaceAll(/[^a-zA-Z0-9_-]/g, "_");
    const name = `${last}_${this.#names.size + 1}`;
    this.#names.set($ref, name);
    this.#schemas.push([name, this.#read(target)]);
    return name;
  }
}

/** For people and other programs; some of it is as long as the schema. */
const NOTES: ReadonlySet<string> = new Set([
  ...["example", "examples", "xml", "externalDocs", "discriminator", "deprecated"],
]);

function withoutNotes(node: Node): Node {
  const members = Object.entries(node);
  return Object.fromEntries(members.filter(([key]) => !NOTES.has(key) && !key.startsWith("x-")));
}

/** A member that the server alone sets is none of a request. */
function withoutReadOnly(node: Node): Node {
  const { properties, required } = node;
  if (!isObject(properties)) return node;
  const kept = Object.entries(properties).filter(([, member]) => !isReadOnly(member));
  const names = new Set<unknown>(kept.map(([name]) => name));
  const isGone = (name: unknown): boolean =>
    Object.hasOwn(properties, String(name)) && !names.has(name);
  const still = listOf(required).filter((name) => !isGone(name));
  const needed = still.length > 0 ? { required: still } : {};
  const { required: _, ...rest } = node;
  return { ...rest, properties: Object.fromEntries(kept), ...needed };
}

function isReadOnly(member: unknown): boolean {
  return isObject(member) && member["readOnly"] === true;
}

/**
 * What OpenAPI 3.0 says otherwise than JSON Schema: `nullable`, and limits that are `exclusive` by a
 * mark. Source: OpenAPI 3.0.3, "Schema Object".
 */
function fromOpenApi30({ nullable, ...node }: Node): Node {
  const bounded = exclusive(exclusive(node, "Minimum"), "Maximum");
  if (nullable !== true) return bounded;
  const { type, enum: values, ...rest } = bounded;
  if (typeof type !== "string") return { anyOf: [bounded, { type: "null" }] };
  const listed = Array.isArray(values)
    ? { enum: [...new Set([...(values as unknown[]), null])] }
    : {};
  return { ...rest, type: [type, "null"], ...listed };
}

function exclusive(node: Node, bound: "Minimum" | "Maximum"): Node {
  const { [`exclusive${bound}`]: mark, [bound.toLowerCase()]: limit, ...rest } = node;
  if (mark === true) return { ...rest, [`exclusive${bound}`]: limit };
  if (typeof mark !== "boolean") return node;
  return { ...rest, [bound.toLowerCase()]: limit };
}
