import { anthropicFileProblem } from "./file-rules.ts";
import {
  firstOf,
  halfProblem,
  isWire,
  listOf,
  requestTokens,
  type Refusal,
  type Wire,
  wordOf,
} from "./refusal.ts";

export interface AnthropicAbilities {
  /** Whether `output_config.format` is taken. Older models take none. Default true. */
  readonly outputFormat?: boolean | undefined;
  /** Whether `temperature` is taken. Default true. */
  readonly temperature?: boolean | undefined;
  /** Tokens that a request may have, about. Default any. */
  readonly contextTokens?: number | undefined;
}

/** Why Anthropic's messages would refuse a request; undefined: it is taken. */
export function anthropicRefusal(
  body: Wire,
  abilities: AnthropicAbilities = {},
): Refusal | undefined {
  const message = firstOf([
    () => halfProblem(body),
    () => unknownParameter(body),
    () => numbersProblem(body, abilities),
    () => messagesProblem(listOf(body["messages"])),
    () => anthropicFileProblem(listOf(body["messages"])),
    () => thinkingProblem(body),
    () => toolsProblem(listOf(body["tools"])),
    () => calledProblem(body),
    () => marksProblem(body),
    () => formatProblem(body, abilities),
    () => lengthProblem(body, abilities),
  ]);

  if (message === undefined) return undefined;

  const error = { type: "invalid_request_error", message };

  return { status: 400, body: { type: "error", error } };
}

/** Source: Anthropic, API reference, "Create a Message", body parameters. */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...["model", "messages", "max_tokens", "cache_control", "container", "context_management"],
  ...["inference_geo", "mcp_servers", "metadata", "output_config", "output_format"],
  ...["service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking"],
  ...["tool_choice", "tools", "top_k", "top_p"],
]);

function unknownParameter(body: Wire): string | undefined {
  const unknown = Object.keys(body).find((key) => !PARAMETERS.has(key));

  return unknown && `${unknown}: Extra inputs are not permitted`;
}

/** Source: the same page: `max_tokens` is required, `temperature` is 0–1. */
/** Source: docs.claude.com, "Context windows" (400 `prompt is too long`). */
function lengthProblem(body: Wire, { contextTokens = Infinity }: AnthropicAbilities) {
  const tokens = requestTokens(body);
  return tokens > contextTokens
    ? `prompt is too long: ${tokens} tokens > ${contextTokens} maximum`
    : undefined;
}

function numbersProblem(body: Wire, { temperature: takes }: AnthropicAbilities) {
  const { max_tokens: most, temperature } = body;
  if (most === undefined) return "max_tokens: Field required";
  if (typeof most !== "number" || most < 1) {
    return "max_tokens: Input should be greater than or equal to 1";
  }

  if (temperature === undefined) return undefined;
  if (takes === false) return "`temperature` is not supported on this model";

  const isInRange = typeof temperature === "number" && temperature >= 0 && temperature <= 1;

  return isInRange ? undefined : "temperature: range: 0..1";
}

/**
 * Source: Anthropic, guide "Tool use", "Handling results": the results of all calls stand in the
 * next message of the user, before any text of it.
 */
function messagesProblem(messages: readonly unknown[]): string | undefined {
  if (messages.length === 0) return "messages: at least one message is required";

  let asked: readonly string[] = [];

  for (const [index, message] of messages.entries()) {
    if (!isWire(message)) return `messages.${index}: Input should be an object`;
    const blocks = blocksOf(message);
    const problem =
      contentProblem(message, blocks, index, index === messages.length - 1) ??
      resultsProblem(blocks, asked, index);
    if (problem) return problem;
    asked = idsOf(blocks, "tool_use", "id");
    if (new Set(asked).size < asked.length) {
      return `messages.${index}: \`tool_use\` ids must be unique`;
    }
    const odd = asked.findIndex((id) => !CALL_ID.test(id));
    if (odd >= 0) {
      return `messages.${index}.content.${odd}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`;
    }
  }

  return asked.length > 0 ? withoutResults(messages.length - 1, asked) : undefined;
}

/** Whether a request asks for thinking. */
export function asksForThinking({ thinking }: Wire): boolean {
  return isWire(thinking) && thinking["type"] !== "disabled";
}

/** How a model of this name signs what it has thought. */
export function signatureOf(model: unknown): string {
  return `signed by ${wordOf(model)}`;
}

/**
 * Source: Anthropic, guide "Extended thinking": calls whose results are sent have their thinking in
 * front of them, where thinking is on; signatures are checked, and thinking without one is refused.
 */
function thinkingProblem(body: Wire): string | undefined {
  const messages = listOf(body["messages"]).filter(isWire);
  const isThinking = ({ type }: Wire): boolean =>
    type === "thinking" || type === "redacted_thinking";
  for (const [index, message] of messages.entries()) {
    const at = blocksOf(message).findIndex(
      (block) => block["type"] === "thinking" && block["signature"] !== signatureOf(body["model"]),
    );
    if (at >= 0) {
      return `messages.${index}.content.${at}: Invalid \`signature\` in \`thinking\` block`;
    }
  }
  if (!asksForThinking(body)) return undefined;
  const said = messages.findLastIndex(
    (message) =>
      message["role"] === "user" && blocksOf(message).some(({ type }) => type !== "tool_result"),
  );
  const bare = messages.findIndex(
    (message, index) =>
      index > said &&
      message["role"] === "assistant" &&
      idsOf(blocksOf(message), "tool_use", "id").length > 0 &&
      !blocksOf(message).slice(0, 1).some(isThinking),
  );
  return bare < 0
    ? undefined
    : `messages.${bare}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`tool_use\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block (preceding the lastmost set of \`tool_use\` and \`tool_result\` blocks).`;
}

/** Source: Anthropic, API reference, "Create a Message", `tool_use.id`. */
const CALL_ID = /^[a-zA-Z0-9_-]+$/;

/** What the API answers to a history with calls and a request without tools. */
function calledProblem(body: Wire): string | undefined {
  const blocks = listOf(body["messages"]).filter(isWire).flatMap(blocksOf);
  const isCalled = blocks.some(({ type }) => type === "tool_use" || type === "tool_result");
  if (!isCalled || listOf(body["tools"]).length > 0) return undefined;
  return "Requests which include `tool_use` or `tool_result` blocks must define tools";
}

/** Blocks of a request in the order in which they are kept: tools, system, messages. */
export function promptBlocks(body: Wire): readonly Wire[] {
  const system = blocksOf({ content: body["system"] ?? [] });
  const messages = listOf(body["messages"]).filter(isWire).flatMap(blocksOf);
  return [...listOf(body["tools"]).filter(isWire), ...system, ...messages];
}

/** Source: Anthropic, guide "Prompt caching", "What can be cached": four marks, on no empty text. */
function marksProblem(body: Wire): string | undefined {
  const marked = promptBlocks(body).filter((block) => block["cache_control"] !== undefined);
  if (marked.length > 4) {
    return `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`;
  }
  const isEmpty = marked.some(({ type, text }) => type === "text" && wordOf(text) === "");
  return isEmpty ? "cache_control cannot be set for empty text blocks" : undefined;
}

function blocksOf(message: Wire): readonly Wire[] {
  const { content } = message;
  return typeof content === "string"
    ? [{ type: "text", text: content }]
    : listOf(content).filter(isWire);
}

function contentProblem(
  message: Wire,
  blocks: readonly Wire[],
  index: number,
  isLast: boolean,
): string | undefined {
  const role = message["role"];

  if (role !== "user" && role !== "assistant") {
    return `messages.${index}.role: Input should be 'user' or 'assistant'`;
  }

  if (blocks.length === 0 && !(isLast && role === "assistant")) {
    return `messages.${index}: all messages must have non-empty content except for the optional final assistant message`;
  }

  const texts = blocks.filter(({ type }) => type === "text").map(({ text }) => wordOf(text));

  if (texts.includes("")) return "messages: text content blocks must be non-empty";
  if (texts.some((text) => text.trim() === "")) {
    return "messages: text content blocks must contain non-whitespace text";
  }

  return isLast && role === "assistant" && /\s$/.test(texts.at(-1) ?? "")
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined;
}

function resultsProblem(
  blocks: readonly Wire[],
  asked: readonly string[],
  index: number,
): string | undefined {
  const results = idsOf(blocks, "tool_result", "tool_use_id");
  const unexpected = results.find((id) => !asked.includes(id));

  if (unexpected !== undefined) {
    const at = blocks.findIndex((block) => block["tool_use_id"] === unexpected);

    return `messages.${index}.content.${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unexpected}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
  }

  const leading = blocks.findIndex(({ type }) => type !== "tool_result");
  const inFront = leading < 0 ? blocks : blocks.slice(0, leading);
  const answered = idsOf(inFront, "tool_result", "tool_use_id");
  const missing = asked.filter((id) => !answered.includes(id));

  return missing.length > 0 ? withoutResults(index - 1, missing) : undefined;
}

function idsOf(blocks: readonly Wire[], type: string, key: string): readonly string[] {
  return blocks.filter((block) => block["type"] === type).map((block) => wordOf(block[key]));
}

function withoutResults(index: number, ids: readonly string[]): string {
  return `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
}

/** Source: Anthropic, guide "Tool use", "Define tools": names match `^[a-zA-Z0-9_-]{1,64}$`. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

function toolsProblem(tools: readonly unknown[]): string | undefined {
  const names = tools.map((tool) => (isWire(tool) ? wordOf(tool["name"]) : ""));
  const wrong = names.findIndex((name) => !NAME.test(name));

  if (wrong >= 0) {
    return `tools.${wrong}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`;
  }

  if (new Set(names).size < names.length) return "tools: Tool names must be unique.";

  return firstOf(tools.map((tool, index) => () => schemaProblem(tool, `tools.${index}.custom`)));
}

const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

/**
 * Source: the 400s of the Messages API as users quote them: `input_schema does not support oneOf,
 * allOf, or anyOf at the top level` (anthropics/claude-code#5973), `Property keys should match
 * pattern` of the first level alone (decocms/studio#6874).
 */
function schemaProblem(tool: unknown, at: string): string | undefined {
  if (!isWire(tool) || wordOf(tool["type"] ?? "custom") !== "custom") return undefined;
  const schema = tool["input_schema"];
  if (!isWire(schema)) return `${at}.input_schema: Field required`;
  if (schema["type"] === undefined) return `${at}.input_schema.type: Field required`;
  if (schema["type"] !== "object") return `${at}.input_schema.type: Input should be 'object'`;
  if (["oneOf", "allOf", "anyOf"].some((key) => key in schema)) {
    return `${at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level`;
  }

  const keys = Object.keys(isWire(schema["properties"]) ? schema["properties"] : {});

  return keys.every((key) => KEY.test(key))
    ? undefined
    : `${at}.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'`;
}

/**
 * Source: Anthropic, "Structured outputs", "JSON Schema limitations": objects are closed, no bounds
 * of numbers and texts, at most 24 optional members, and no schema that holds itself.
 */
function formatProblem(body: Wire, { outputFormat }: AnthropicAbilities): string | undefined {
  const config = body["output_config"];
  const format = isWire(config) ? config["format"] : undefined;

  if (!isWire(format)) return undefined;
  if (outputFormat === false) return "output_config.format: Extra inputs are not permitted";

  const size = { optional: 0 };
  const problem = nodeProblem(format["schema"], size);

  if (problem) return `output_config.format.schema: ${problem}`;

  return size.optional > 24
    ? "output_config.format.schema: Schemas contains too many optional parameters, the limit is 24."
    : undefined;
}

const REFUSED = [
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
  ...["minLength", "maxLength", "maxItems", "uniqueItems", "not", "if", "oneOf"],
];

function nodeProblem(node: unknown, size: { optional: number }): string | undefined {
  if (!isWire(node)) return "Input should be an object";

  const refused = REFUSED.find((key) => key in node);
  const type = wordOf(node["type"] ?? "any");

  if (refused) return `For '${type}' type, property '${refused}' is not supported`;

  const members = isWire(node["properties"]) ? node["properties"] : {};

  if (node["type"] === "object") {
    if (node["additionalProperties"] !== false) {
      return "For 'object' type, 'additionalProperties' must be explicitly set to false";
    }
    const required = listOf(node["required"]);
    size.optional += Object.keys(members).filter((name) => !required.includes(name)).length;
  }

  const inner = [
    ...Object.values(members),
    ...Object.values(isWire(node["$defs"]) ? node["$defs"] : {}),
    ...listOf(node["anyOf"]),
    ...("items" in node ? [node["items"]] : []),
  ];

  return firstOf(inner.map((one) => () => nodeProblem(one, size)));
}
