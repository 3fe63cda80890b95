import { firstOf, isWire, listOf, type Wire, wordOf } from "./refusal.ts";

/** Source: ai.google.dev, API reference, "Schema": a part of OpenAPI 3.0, its fields and no others. */
const FIELDS: ReadonlySet<string> = new Set([
  ...["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems"],
  ...["properties", "required", "minProperties", "maxProperties", "minLength", "maxLength"],
  ...["pattern", "example", "anyOf", "propertyOrdering", "default", "items", "minimum", "maximum"],
]);

const TYPES: ReadonlySet<string> = new Set([
  ...["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"],
]);

/**
 * What is wrong with a schema in `parameters` or `responseSchema`. Sources: "Schema"; the 400s `Cannot
 * find field`, `enum: only allowed for STRING type`, `format: only 'enum' and 'date-time' are
 * supported for STRING type` (google-gemini/gemini-cli#3178), `items: missing field`, `properties:
 * should be non-empty for OBJECT type`, `type: must be specified` (danny-avila/LibreChat#6971),
 * `required[0]: property is not defined`.
 */
export function schemaProblem(node: unknown, at: string): string | undefined {
  if (!isWire(node)) return `Invalid value at '${at}' (Schema), ${wordOf(node)}`;
  const unknown = Object.keys(node).find((key) => !FIELDS.has(key));
  if (unknown) {
    return `Invalid JSON payload received. Unknown name "${unknown}" at '${at}': Cannot find field.`;
  }

  return (
    ofRequest(nodeProblem(node), at) ??
    firstOf(
      innerOf(node, at).map(
        ([one, where]) =>
          () =>
            schemaProblem(one, where),
      ),
    )
  );
}

function ofRequest(problem: string | undefined, at: string): string | undefined {
  return problem && `* GenerateContentRequest.${at}.${problem}`;
}

function nodeProblem(node: Wire): string | undefined {
  if (node["type"] === undefined) {
    return "anyOf" in node
      ? undefined
      : "type: must be specified when not using one_of, any_of or all_of fields";
  }
  const type = wordOf(node["type"]).toUpperCase();
  if (!TYPES.has(type)) return `type: Invalid value ${type}`;
  return valuesProblem(node, type) ?? membersProblem(node, type);
}

function valuesProblem({ enum: values, format }: Wire, type: string): string | undefined {
  if (values !== undefined && type !== "STRING") return "enum: only allowed for STRING type";
  if (listOf(values).some((value) => value === "")) return "enum[0]: cannot be empty";
  if (type === "STRING" && format !== undefined && format !== "enum" && format !== "date-time") {
    return "format: only 'enum' and 'date-time' are supported for STRING type";
  }
  return undefined;
}

function membersProblem(node: Wire, type: string): string | undefined {
  const { required, properties } = node;
  if (type === "ARRAY" && node["items"] === undefined) return "items: missing field.";
  const members = isWire(properties) ? properties : {};
  if (type === "OBJECT" && Object.keys(members).length === 0) {
    return "properties: should be non-empty for OBJECT type";
  }
  const undefinedAt = listOf(required).findIndex((name) => !Object.hasOwn(members, wordOf(name)));

  return undefinedAt < 0 ? undefined : `required[${undefinedAt}]: property is not defined`;
}

function innerOf(node: Wire, at: string): readonly (readonly [unknown, string])[] {
  const members = Object.entries(isWire(node["properties"]) ? node["properties"] : {});

  return [
    ...members.map(([name, one]) => [one, `${at}.properties[${name}]`] as const),
    ...listOf(node["anyOf"]).map((one, index) => [one, `${at}.any_of[${index}]`] as const),
    ...("items" in node ? [[node["items"], `${at}.items`] as const] : []),
  ];
}

/**
 * What is wrong with a JSON Schema in `parametersJsonSchema` or `responseJsonSchema`: what is not
 * known is not looked at, but a reference stands alone and leads to a definition. Sources:
 * ai.google.dev, API reference, "GenerationConfig", `responseJsonSchema` ("If `$ref` is set on a
 * sub-schema, no other properties, except for than those starting as a `$`, may be set"); the 400
 * `can only contain properties starting with '$' when $ref is present`
 * (google-gemini/gemini-cli#4758).
 */
export function valueSchemaProblem(schema: unknown): string | undefined {
  return valueProblem(schema, isWire(schema) ? schema : {}, "top level");
}

/** Keys whose values are schemas by name; of others a value is a schema or a list of them. */
const MAPS: ReadonlySet<string> = new Set(["properties", "$defs"]);
const SCHEMAS = [
  ...["items", "prefixItems", "additionalProperties", "anyOf", "oneOf", "properties", "$defs"],
];

function valueProblem(node: unknown, root: Wire, at: string): string | undefined {
  if (Array.isArray(node)) {
    return firstOf(node.map((one, index) => () => valueProblem(one, root, `${at}[${index}]`)));
  }
  if (!isWire(node)) return undefined;
  const { $ref } = node;
  if ($ref !== undefined) {
    const beside = Object.keys(node).find((key) => !key.startsWith("$"));
    if (beside) {
      return `schema at ${at} can only contain properties starting with '$' when $ref is present`;
    }
    // Source: ai.google.dev, "Structured output", of schemas that hold themselves.
    if ($ref === "#") return undefined;
    const [, name] = /^#\/\$defs\/([^/]+)$/.exec(wordOf($ref)) ?? [];
    const known = isWire(root["$defs"]) ? root["$defs"] : {};
    if (name === undefined || !Object.hasOwn(known, name)) {
      return `reference to undefined schema at ${at}: ${wordOf($ref)}`;
    }
  }

  const inner = SCHEMAS.filter((key) => key in node).flatMap((key) => {
    const value = node[key];
    const where = at === "top level" ? key : `${at}.${key}`;
    if (!MAPS.has(key) || !isWire(value)) return [[value, where] as const];
    return Object.entries(value).map(([name, one]) => [one, `${where}.${name}`] as const);
  });

  return firstOf(
    inner.map(
      ([one, where]) =>
        () =>
          valueProblem(one, root, where),
    ),
  );
}
