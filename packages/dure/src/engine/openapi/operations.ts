import { createHash } from "node:crypto";
import { isObject } from "../../kernel/json.ts";
import { atPointer } from "../../models/json-schema.ts";
import type { Node, OpenApiDocument } from "./document.ts";
import { listOf, textOf } from "./text-of.ts";

const METHODS = ["get", "head", "post", "put", "patch", "delete"] as const;
export type Method = (typeof METHODS)[number];

/** One operation, its references followed. */
export interface Operation {
  /** Under which a model calls it. */
  readonly name: string;
  /** As the document has it; else method and path. */
  readonly id: string;
  readonly method: Method;
  /** With `{names}` in it. */
  readonly path: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly body: Body | undefined;
  /** The nearest address that it names: of itself, its path, or the document. */
  readonly server: Node | undefined;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly description: string | undefined;
  readonly schema: unknown;
  readonly style: string;
  readonly explode: boolean;
  /** It is sent as JSON. */
  readonly isJson: boolean;
}

export interface Body {
  readonly type: string;
  readonly required: boolean;
  readonly schema: unknown;
}

/** An operation that cannot be a tool, and why. */
export interface LeftOutOperation {
  readonly operation: string;
  readonly because: string;
}

export interface FoundOperations {
  readonly operations: readonly Operation[];
  readonly leftOut: readonly LeftOutOperation[];
}

/** Source: OpenAPI 3.1.1, "Parameter Object": these names of headers are ignored. */
const IGNORED_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "authorization"]);
/** What a model must not set. */
const OWN_HEADERS = /^(?:host|cookie|connection|content-length|transfer-encoding|proxy-.*)$/i;
/** References from one to the next. */
const MAX_HOPS = 20;
const MAX_DESCRIPTION = 1_000;

/** All operations of a document whose id `isWanted`, in its order. Pure. */
export function operationsOf(
  { root }: OpenApiDocument,
  isWanted: (id: string) => boolean,
): FoundOperations {
  const names = new Names();
  const operations: Operation[] = [];
  const leftOut: LeftOutOperation[] = [];

  for (const { method, path, item, operation } of entriesOf(root)) {
    const id = textOf(operation["operationId"]) ?? `${method} ${path}`;
    if (!isWanted(id)) continue;
    try {
      operations.push({
        id,
        method,
        path,
        description: descriptionOf(operation, id),
        parameters: parametersOf(root, item, operation),
        body: bodyOf(root, operation),
        server: [operation, item, root].map(firstServer).find((server) => server !== undefined),
        name: names.of(id),
      });
    } catch (error) {
      if (!(error instanceof Unfit)) throw error;
      leftOut.push({ operation: id, because: error.message });
    }
  }

  return { operations, leftOut };
}

/** Why an operation cannot be a tool. */
export class Unfit extends Error {}

function* entriesOf(root: Node) {
  for (const [path, given] of Object.entries(isObject(root["paths"]) ? root["paths"] : {})) {
    const item = isObject(given) ? resolvedOrSelf(root, given) : undefined;
    for (const method of METHODS) {
      const operation = item?.[method];
      if (item && isObject(operation)) yield { method, path, item, operation };
    }
  }
}

function resolvedOrSelf(root: Node, node: Node): Node {
  try {
    return resolved(root, node, "its path");
  } catch {
    return node;
  }
}

/** What a reference names, through others. Throws {@link Unfit}. */
function resolved(root: Node, node: unknown, what: string): Node {
  let current = node;
  for (let hops = 0; hops <= MAX_HOPS; hops++) {
    if (!isObject(current)) break;
    const { $ref } = current;
    if (typeof $ref !== "string") return current;
    if (!$ref.startsWith("#")) throw new Unfit(`${what} refers to another document`);
    current = atPointer(root, $ref);
  }
  throw new Unfit(`${what} has a reference that leads nowhere`);
}

function firstServer(node: Node): Node | undefined {
  const [server] = listOf(node["servers"]);
  return isObject(server) ? server : undefined;
}

function parametersOf(root: Node, item: Node, operation: Node): readonly Parameter[] {
  const all = [...listOf(item["parameters"]), ...listOf(operation["parameters"])];
  // One of the operation takes the place of the path's.
  const found = new Map<string, Parameter>();
  for (const given of all) {
    const node = resolved(root, given, "a parameter");
    const parameter = parameterOf(node);
    if (parameter) found.set(`${parameter.in} ${parameter.name}`, parameter);
  }
  return [...found.values()];
}

function parameterOf(node: Node): Parameter | undefined {
  const name = textOf(node["name"]) ?? "";
  const place = placeOf(node, name);
  if (place === undefined) return undefined;
  const [content] = Object.entries(isObject(node["content"]) ? node["content"] : {});
  const media = content?.[1];
  const style = textOf(node["style"]) ?? (place === "query" ? "form" : "simple");
  return {
    name,
    in: place,
    required: isRequired(node),
    description: textOf(node["description"]),
    schema: isObject(media) ? media["schema"] : node["schema"],
    style,
    explode: typeof node["explode"] === "boolean" ? node["explode"] : style === "form",
    isJson: content !== undefined,
  };
}

/** Where it goes; undefined: it is left away. */
function placeOf(node: Node, name: string): Parameter["in"] | undefined {
  const place = node["in"];
  if (place === "path" || place === "query") return place;
  if (place === "header" && IGNORED_HEADERS.has(name.toLowerCase())) return undefined;
  if (place === "header" && OWN_HEADERS.test(name)) {
    throw new Unfit(`the header ${name} is not a caller's to set`);
  }
  if (place === "header") return place;
  if (isRequired(node)) throw new Unfit(`the parameter ${name} is no part of path, query, header`);
  return undefined;
}

function isRequired(node: Node): boolean {
  return node["required"] === true || node["in"] === "path";
}

/** Ways in which a body can be sent, the best first. */
const BODY_TYPES = [/^application\/(?:[^;]*\+)?json\b/i, /^application\/x-www-form-urlencoded\b/i];

function bodyOf(root: Node, { requestBody }: Node): Body | undefined {
  if (requestBody === undefined) return undefined;
  const node = resolved(root, requestBody, "its body");
  const types = Object.entries(isObject(node["content"]) ? node["content"] : {});
  const found = BODY_TYPES.map((known) => types.find(([type]) => known.test(type))).find(Boolean);
  const required = node["required"] === true;
  if (found) {
    const [type, media] = found;
    return { type, required, schema: isObject(media) ? media["schema"] : undefined };
  }
  if (!required && types.length === 0) return undefined;
  throw new Unfit(`its body is ${types.map(([type]) => type).join(" or ") || "of no type"}`);
}

function descriptionOf(operation: Node, id: string): string {
  const parts = [operation["summary"], operation["description"]].map(textOf);
  const text = [...new Set(parts.filter(Boolean))].join("\n\n") || id;
  if (text.length <= MAX_DESCRIPTION) return text;
  return `${text.slice(0, MAX_DESCRIPTION).toWellFormed()} …`;
}

/** Names that every provider takes, each once. Source: `assertToolNames`. */
class Names {
  readonly #taken = new Set<string>();

  of(id: string): string {
    const safe = id.replaceAll(/[^a-zA-Z0-9_-]+/g, "_").replaceAll(/^_+|_+$/g, "") || "call";
    const wanted = safe.length <= MAX_NAME && !this.#taken.has(safe) ? safe : marked(safe, id);
    let name = wanted;
    for (let copy = 2; this.#taken.has(name); copy++) name = marked(safe, `${id} ${copy}`);
    this.#taken.add(name);
    return name;
  }
}

const MAX_NAME = 64;

function marked(safe: string, id: string): string {
  const mark = createHash("sha256").update(id).digest("hex").slice(0, 8);
  return `${safe.slice(0, MAX_NAME - 9)}_${mark}`;
}
