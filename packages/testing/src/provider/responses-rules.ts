import type { OpenAiAbilities } from "./openai-rules.ts";
import { formatKindProblem, functionProblem, MAX_TOOLS } from "./openai-rules.ts";
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

/** Why OpenAI's responses would refuse a request; undefined: it is taken. */
export function responsesRefusal(body: Wire, abilities: OpenAiAbilities = {}): Refusal | undefined {
  const items = itemsOf(body);
  const message = firstOf([
    () => halfProblem(body),
    () => unknownParameter(body),
    () => firstOf(items.map((item, index) => () => itemProblem(item, `input[${index}]`))),
    () => pairsProblem(items),
    () => reasoningProblem(body, items),
    () => toolsProblem(body),
    () => numbersProblem(body, abilities),
    () => textProblem(body, abilities),
  ]);

  if (message === undefined) return lengthRefusal(body, abilities);

  const error = { message, type: "invalid_request_error", param: null, code: codeOf(message) };

  return { status: 400, body: { error } };
}

function codeOf(message: string): string | null {
  return message.startsWith("The encrypted content") ? "invalid_encrypted_content" : null;
}

/** A text as input is one message of the user. */
export function itemsOf({ input }: Wire): readonly Wire[] {
  if (typeof input === "string") return [{ role: "user", content: input }];

  return listOf(input).map((item) => (isWire(item) ? item : {}));
}

/** Source: OpenAI, "Error codes" (`context_length_exceeded`), as the Responses API words it. */
function lengthRefusal(
  body: Wire,
  { contextTokens = Infinity }: OpenAiAbilities,
): Refusal | undefined {
  const tokens = requestTokens({ tools: body["tools"], messages: body["input"] });
  if (tokens <= contextTokens) return undefined;
  const message =
    "Your input exceeds the context window of this model. Please adjust your input and try again.";
  const error = { message, type: "invalid_request_error", code: "context_length_exceeded" };

  return { status: 400, body: { error: { ...error, param: "input" } } };
}

/** Source: OpenAI, API reference, "Create a model response", request body. */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...["background", "context_management", "conversation", "include", "input", "instructions"],
  ...["max_output_tokens", "max_tool_calls", "metadata", "model", "parallel_tool_calls"],
  ...["previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_options"],
  ...["prompt_cache_retention", "reasoning", "safety_identifier", "service_tier", "store"],
  ...["stream", "stream_options", "temperature", "text", "tool_choice", "tools"],
  ...["top_logprobs", "top_p", "truncation", "user"],
]);

function unknownParameter(body: Wire): string | undefined {
  const unknown = Object.keys(body).find((key) => !PARAMETERS.has(key));
  if (unknown) return `Unknown parameter: '${unknown}'.`;
  if (body["model"] === undefined) return "Missing required parameter: 'model'.";
  const isGiven = body["input"] !== undefined || body["previous_response_id"] !== undefined;

  return isGiven ? undefined : "Missing required parameter: 'input'.";
}

/** Members of items that a caller sends. Source: the same page, `input`, "Input item list". */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  message: ["id", "role", "content", "status", "phase"],
  function_call: ["id", "call_id", "name", "arguments", "status", "namespace", "caller", "async"],
  function_call_output: ["id", "call_id", "output", "status", "caller"],
  reasoning: ["id", "summary", "content", "encrypted_content", "status"],
  item_reference: ["id"],
};

/** How an id of each kind begins. Source: the 400 `Expected an ID that begins with 'fc'`. */
const ID_PREFIX: Readonly<Record<string, string>> = {
  message: "msg",
  function_call: "fc",
  reasoning: "rs",
};

/** Letters of an id. Source: the 400 `string too long. Expected a string with maximum length 64`. */
const MAX_ID = 64;

function typeOf(item: Wire): string {
  return wordOf(item["type"] ?? ("role" in item ? "message" : ""));
}

function itemProblem(item: Wire, at: string): string | undefined {
  const type = typeOf(item);
  const known = MEMBERS[type];
  if (!known) {
    return `Invalid value: '${type}'. Supported values are: ${Object.keys(MEMBERS).join(", ")}.`;
  }

  const unknown = Object.keys(item).find((key) => key !== "type" && !known.includes(key));
  if (unknown) return `Unknown parameter: '${at}.${unknown}'.`;

  return firstOf([
    () => idProblem(item, type, at),
    () => (type === "message" ? messageProblem(item, at) : undefined),
    () => (type.startsWith("function_call") ? callProblem(item, type, at) : undefined),
    () =>
      type === "reasoning" && !Array.isArray(item["summary"])
        ? `Missing required parameter: '${at}.summary'.`
        : undefined,
  ]);
}

function idProblem({ id }: Wire, type: string, at: string): string | undefined {
  if (id === undefined) {
    return type === "item_reference" ? `Missing required parameter: '${at}.id'.` : undefined;
  }
  if (typeof id !== "string") return `Invalid type for '${at}.id': expected a string.`;
  if (id.length > MAX_ID) return tooLong(`${at}.id`, id);
  const prefix = ID_PREFIX[type] ?? "";

  return id.startsWith(prefix)
    ? undefined
    : `Invalid '${at}.id': '${id}'. Expected an ID that begins with '${prefix}'.`;
}

function tooLong(at: string, text: string): string {
  return `Invalid '${at}': string too long. Expected a string with maximum length ${MAX_ID}, but got a string with length ${text.length} instead.`;
}

/** Source: OpenAI, guide "Function calling", "Handling function calls". */
function callProblem(item: Wire, type: string, at: string): string | undefined {
  const { call_id: id } = item;
  if (typeof id !== "string") return `Missing required parameter: '${at}.call_id'.`;
  if (id === "") return `Invalid '${at}.call_id': empty string.`;
  if (id.length > MAX_ID) return tooLong(`${at}.call_id`, id);
  const [key, value] =
    type === "function_call"
      ? (["arguments", item["arguments"]] as const)
      : (["output", item["output"]] as const);
  const isText = typeof value === "string" || (key === "output" && Array.isArray(value));
  if (!isText) return `Invalid type for '${at}.${key}': expected a string.`;

  return type === "function_call" && !NAME.test(wordOf(item["name"] ?? ""))
    ? `Invalid '${at}.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`
    : undefined;
}

const NAME = /^[a-zA-Z0-9_-]{1,128}$/;

/** Kinds of content by role. Source: API reference, `input`, "Input message". */
const CONTENT: Readonly<Record<string, readonly string[]>> = {
  assistant: ["output_text", "refusal"],
  user: ["input_text", "input_image", "input_file"],
  system: ["input_text", "input_image", "input_file"],
  developer: ["input_text", "input_image", "input_file"],
};

function messageProblem({ role, content }: Wire, at: string): string | undefined {
  const kinds = CONTENT[wordOf(role)];
  if (!kinds) {
    return `Invalid value: '${wordOf(role)}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.`;
  }

  if (typeof content === "string") return undefined;
  if (!Array.isArray(content)) return `Missing required parameter: '${at}.content'.`;
  const wrong = content.findIndex(
    (part) => !isWire(part) || !kinds.includes(wordOf(part["type"] ?? "")),
  );

  return wrong < 0
    ? undefined
    : `Invalid value: '${wordOf((content[wrong] as Wire)["type"])}'. Supported values are: ${kinds.map((kind) => `'${kind}'`).join(" and ")}. ('${at}.content[${wrong}].type')`;
}

/**
 * Each call has one output behind it, and each output a call before it. Source: OpenAI, guide
 * "Function calling"; the 400s `No tool output found for function call`, `No tool call found for
 * function call output with call_id`, `Duplicate item found with id`.
 */
function pairsProblem(items: readonly Wire[]): string | undefined {
  const open = new Set<string>();
  const ids = new Set<string>();
  for (const item of items) {
    const { id, call_id: call } = item;
    if (typeof id === "string") {
      if (ids.has(id)) return `Duplicate item found with id ${id}. Remove duplicate items.`;
      ids.add(id);
    }
    if (item["type"] === "function_call") open.add(wordOf(call));
    if (item["type"] === "function_call_output" && !open.delete(wordOf(call))) {
      return `No tool call found for function call output with call_id ${wordOf(call)}.`;
    }
  }

  const [missing] = open;

  return missing === undefined ? undefined : `No tool output found for function call ${missing}.`;
}

/** How a model of this name hides what it has thought. */
export function encryptedBy(model: unknown): string {
  return `encrypted by ${wordOf(model)}`;
}

/**
 * Reasoning stands directly before what came of it, and is whole. Sources: OpenAI, guide "Reasoning
 * models", "Keeping reasoning items in context" and "Encrypted reasoning items"; the 400s `was
 * provided without its required following item`, `Items are not persisted when store is set to
 * false`, `could not be verified`.
 */
function reasoningProblem(body: Wire, items: readonly Wire[]): string | undefined {
  const isKept = body["store"] !== false;
  for (const [index, item] of items.entries()) {
    const type = typeOf(item);
    const id = wordOf(item["id"] ?? "");
    const hidden = item["encrypted_content"] ?? undefined;
    const isMissing =
      type === "item_reference" || (type === "reasoning" && hidden === undefined && !isKept);
    if (isMissing && !isKept) {
      return `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
    }
    if (type !== "reasoning") continue;
    if (hidden !== undefined && hidden !== encryptedBy(body["model"])) {
      return `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
    }
    if (!isOfModel(items[index + 1])) {
      return `Item '${id}' of type 'reasoning' was provided without its required following item.`;
    }
  }

  return undefined;
}

/** Whether an item is what a model says or calls. */
function isOfModel(item: Wire | undefined): boolean {
  if (!item) return false;
  const type = typeOf(item);

  return (
    type === "function_call" ||
    type === "item_reference" ||
    (type === "message" && item["role"] === "assistant")
  );
}

/** Source: API reference, `tools`, "Function"; at most 128. */
function toolsProblem(body: Wire): string | undefined {
  const tools = listOf(body["tools"]);
  const choice = body["tool_choice"];
  if (tools.length === 0) {
    return choice === undefined || choice === "none" || choice === "auto"
      ? undefined
      : "Tool choice 'required' must be specified with 'tools' parameter.";
  }

  if (tools.length > MAX_TOOLS) {
    return `Invalid 'tools': array too long. Expected an array with maximum length ${MAX_TOOLS}.`;
  }

  const names = tools.map((tool) => (isWire(tool) ? wordOf(tool["name"] ?? "") : ""));
  if (isWire(choice) && choice["type"] === "function" && !names.includes(wordOf(choice["name"]))) {
    return `Tool choice '${wordOf(choice["name"])}' not found in 'tools' parameter.`;
  }

  return firstOf(tools.map((tool, index) => () => toolProblem(tool, `tools[${index}]`)));
}

const TOOL_MEMBERS = ["type", "name", "description", "parameters", "strict", "defer_loading"];

function toolProblem(tool: unknown, at: string): string | undefined {
  if (!isWire(tool) || tool["type"] !== "function") return undefined;
  if ("function" in tool || tool["name"] === undefined) {
    return `Missing required parameter: '${at}.name'.`;
  }
  const unknown = Object.keys(tool).find((key) => !TOOL_MEMBERS.includes(key));
  if (unknown) return `Unknown parameter: '${at}.${unknown}'.`;
  // Source: guide "Function calling", "Strict mode": a tool that does not say is strict.
  const strict = tool["strict"] ?? true;

  return functionProblem({ ...tool, strict }, `${at}.name`);
}

/** Source: API reference: `max_output_tokens` from 16 on, `temperature` 0–2 where it is taken. */
function numbersProblem(body: Wire, { temperature: takes }: OpenAiAbilities): string | undefined {
  const { max_output_tokens: most, temperature } = body;
  if (most !== undefined && (typeof most !== "number" || most < 16)) {
    return `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got ${wordOf(most)} instead.`;
  }

  if (temperature === undefined) return undefined;
  if (takes === false) {
    return "Unsupported parameter: 'temperature' is not supported with this model.";
  }

  return typeof temperature === "number" && temperature >= 0 && temperature <= 2
    ? undefined
    : "Invalid 'temperature': expected a value between 0 and 2.";
}

/** Source: API reference, `text.format`; guide "Structured model outputs". */
function textProblem(body: Wire, { formats }: OpenAiAbilities): string | undefined {
  const text = isWire(body["text"]) ? body["text"] : {};
  const format = isWire(text["format"]) ? text["format"] : undefined;
  if (!format) return undefined;
  const saysJson = /json/i.test(JSON.stringify([body["input"], body["instructions"]]));

  return formatKindProblem(
    { kind: wordOf(format["type"]), asked: format, at: "text.format", saysJson },
    formats,
  );
}
