import { isObject, type JsonObject, onlyDefined } from "../kernel/json.ts";
import { atPointer, mapSchemas } from "./json-schema.ts";

type ReferenceNode = Readonly<Record<string, unknown>>;

/** Schemas that take the place of references; a schema may hold one reference a thousand times. */
const MAX_EXPANDED = 200;

/**
 * The schema as Gemini reads it: in the place of a reference stands what it names. One that leads to
 * itself stays, alone and into `$defs`. Sources: ai.google.dev, API reference, "GenerationConfig",
 * `responseJsonSchema` (what is read of JSON Schema); Gemini's 400 `can only contain properties
 * starting with '$' when $ref is present`. Pure.
 */
export function plainReferences(schema: JsonObject): JsonObject {
  return new Expansion(schema).whole() as JsonObject;
}

class Expansion {
  readonly #root: JsonObject;
  /** Names of what is still referred to, by the pointer to it. */
  readonly #names = new Map<string, string>();
  #expanded = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  whole(): ReferenceNode {
    const { $defs: _, definitions: __, ...root } = this.#root;
    const plain = this.#plain(root, new Set(["#"])) as ReferenceNode;
    const defs: Record<string, unknown> = {};
    // What is defined may refer to more: a map is read on while it grows.
    for (const [pointer, name] of this.#names) {
      defs[name] = this.#plain(atPointer(this.#root, pointer), new Set(["#", pointer]));
    }

    return onlyDefined({ ...plain, $defs: this.#names.size > 0 ? defs : undefined });
  }

  /** @param path pointers whose schema this one is a part of */
  #plain(node: unknown, path: ReadonlySet<string>): unknown {
    if (Array.isArray(node)) return node.map((one) => this.#plain(one, path));
    if (!isObject(node)) return node;
    const { $ref, allOf, ...rest } = node;
    const own = mapSchemas(rest, (inner) => this.#plain(inner, path));
    const single = Array.isArray(allOf) && allOf.length === 1 ? allOf[0] : undefined;
    if (typeof $ref === "string") return this.#named($ref, own, path);
    // Other lists of what holds together are not read, and not refused.
    if (single !== undefined) return { ...this.#objectOf(single, path), ...own };

    return allOf === undefined ? own : { ...own, allOf };
  }

  #objectOf(node: unknown, path: ReadonlySet<string>): ReferenceNode {
    const plain = this.#plain(node, path);
    return isObject(plain) ? plain : {};
  }

  #named(pointer: string, own: ReferenceNode, path: ReadonlySet<string>): ReferenceNode {
    if (pointer === "#") return { $ref: pointer };
    if (path.has(pointer) || this.#expanded >= MAX_EXPANDED) {
      return { $ref: `#/$defs/${this.#nameOf(pointer)}` };
    }
    this.#expanded += 1;

    return {
      ...this.#objectOf(atPointer(this.#root, pointer), new Set([...path, pointer])),
      ...own,
    };
  }

  #nameOf(pointer: string): string {
    const known = this.#names.get(pointer);
    if (known !== undefined) return known;
    const name = `d${this.#names.size + 1}`;
    this.#names.set(pointer, name);

    return name;
  }
}
