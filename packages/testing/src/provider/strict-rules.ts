import { isWire, listOf, type Wire, wordOf } from "./refusal.ts";

/**
 * What is wrong with a schema for OpenAI's strict mode, in the provider's words. Source: OpenAI
 * documentation, "Structured model outputs", section "Supported schemas": the root is an object and
 * no `anyOf`; each object says `additionalProperties: false` and requires all of its members; no
 * `allOf`, `not`, `if` and the like; at most 5,000 members, 10 levels, 1,000 enum values.
 */
export function strictProblem(schema: unknown): string | undefined {
  if (!isWire(schema) || schema["type"] !== "object") {
    const type = isWire(schema) ? JSON.stringify(schema["type"] ?? null) : "null";

    return `schema must be a JSON Schema of 'type: "object"', got 'type: ${type}'.`;
  }

  if ("anyOf" in schema) return "In context=(), 'anyOf' is not permitted at the root.";

  const size = { members: 0, values: 0 };
  const problem = nodeProblem(schema, { path: [], level: 0, size });

  if (problem) return problem;
  if (size.members > 5_000) return "The schema exceeds the maximum of 5000 object properties.";

  return size.values > 1_000 ? "The schema exceeds the maximum of 1000 enum values." : undefined;
}

interface StrictPosition {
  readonly path: readonly string[];
  readonly level: number;
  readonly size: { members: number; values: number };
}

const REFUSED = [
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "patternProperties",
  "propertyNames",
  "unevaluatedProperties",
  "minProperties",
  "maxProperties",
  "minLength",
  "maxLength",
  "uniqueItems",
  "contains",
  "prefixItems",
  "default",
] as const;

const FORMATS: ReadonlySet<unknown> = new Set([
  ...["date-time", "time", "date", "duration", "email"],
  ...["hostname", "ipv4", "ipv6", "uuid"],
]);

function nodeProblem(node: unknown, at: StrictPosition): string | undefined {
  if (!isWire(node)) return `In context=${contextOf(at)}, schema must be an object.`;

  const refused = REFUSED.find((key) => key in node);

  if (refused) return `In context=${contextOf(at)}, '${refused}' is not permitted.`;
  if ("format" in node && !FORMATS.has(node["format"])) {
    return `In context=${contextOf(at)}, '${wordOf(node["format"])}' is not a valid format.`;
  }

  if (!["type", "anyOf", "$ref", "enum", "const"].some((key) => key in node)) {
    return `In context=${contextOf(at)}, schema must have a 'type' key.`;
  }

  at.size.values += listOf(node["enum"]).length;

  return objectProblem(node, at) ?? innerProblem(node, at);
}

function objectProblem(node: Wire, at: StrictPosition): string | undefined {
  if (![node["type"]].flat().includes("object")) return undefined;
  if (at.level >= 10) return "The schema exceeds the maximum of 10 levels of nesting.";
  if (node["additionalProperties"] !== false) {
    return `In context=${contextOf(at)}, 'additionalProperties' is required to be supplied and to be false.`;
  }

  const names = Object.keys(isWire(node["properties"]) ? node["properties"] : {});
  at.size.members += names.length;
  const missing = names.find((name) => !listOf(node["required"]).includes(name));

  if (missing === undefined) return undefined;

  return `In context=${contextOf(at)}, 'required' is required to be supplied and to be an array including every key in properties. Missing '${missing}'.`;
}

function innerProblem(node: Wire, at: StrictPosition): string | undefined {
  const members = Object.entries(isWire(node["properties"]) ? node["properties"] : {});
  const defs = Object.entries(isWire(node["$defs"]) ? node["$defs"] : {});

  const inner: readonly (readonly [unknown, readonly string[], number])[] = [
    ...members.map(([name, one]) => [one, ["properties", name], 1] as const),
    ...defs.map(([name, one]) => [one, ["$defs", name], 0] as const),
    ...listOf(node["anyOf"]).map((one, index) => [one, ["anyOf", `${index}`], 0] as const),
    ...("items" in node ? [[node["items"], ["items"], 0] as const] : []),
  ];

  for (const [one, steps, levels] of inner) {
    const path = [...at.path, ...steps];
    const problem = nodeProblem(one, { ...at, path, level: at.level + levels });

    if (problem) return problem;
  }

  return undefined;
}

/** As Python writes a tuple. */
function contextOf({ path }: StrictPosition): string {
  const steps = path.map((step) => `'${step}'`).join(", ");

  return path.length === 1 ? `(${steps},)` : `(${steps})`;
}
