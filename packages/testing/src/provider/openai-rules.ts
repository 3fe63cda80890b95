import { openAiFileProblem } from "./file-rules.ts";
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
import { strictProblem } from "./strict-rules.ts";

/** What an endpoint of this format knows. Servers other than OpenAI's know less. */
export interface OpenAiAbilities {
  /** Kinds of `response_format`, besides text. Default all. */
  readonly formats?: readonly ("strict" | "json_schema" | "json_object")[] | undefined;
  /** Whether `temperature` is taken. Reasoning models take none. Default true. */
  readonly temperature?: boolean | undefined;
  /** Tokens that a request may have, about. Default any. */
  readonly contextTokens?: number | undefined;
}

/** Why OpenAI's chat completions would refuse a request; undefined: it is taken. */
export function openAiRefusal(body: Wire, abilities: OpenAiAbilities = {}): Refusal | undefined {
  const message = firstOf([
    () => halfProblem(body),
    () => unknownParameter(body),
    () => messagesProblem(listOf(body["messages"])),
    () => openAiFileProblem(listOf(body["messages"])),
    () => toolsProblem(body),
    () => numbersProblem(body, abilities),
    () => formatProblem(body, abilities),
  ]);

  if (message === undefined) return lengthRefusal(body, abilities);

  const error = { message, type: "invalid_request_error", param: null, code: null };

  return { status: 400, body: { error } };
}

/** Source: OpenAI, "Error codes" (`context_length_exceeded`). */
function lengthRefusal(
  body: Wire,
  { contextTokens = Infinity }: OpenAiAbilities,
): Refusal | undefined {
  const tokens = requestTokens(body);
  if (tokens <= contextTokens) return undefined;
  const message =
    `This model's maximum context length is ${contextTokens} tokens. However, your messages ` +
    `resulted in ${tokens} tokens. Please reduce the length of the messages.`;
  const error = { message, type: "invalid_request_error", code: "context_length_exceeded" };

  return { status: 400, body: { error: { ...error, param: "messages" } } };
}

/** Source: OpenAI, API reference, "Create chat completion", request body. */
const PARAMETERS: ReadonlySet<string> = new Set([
  ...["messages", "model", "audio", "frequency_penalty", "function_call", "functions"],
  ...["logit_bias", "logprobs", "max_completion_tokens", "max_tokens", "metadata", "modalities"],
  ...["n", "parallel_tool_calls", "prediction", "presence_penalty", "prompt_cache_key"],
  ...["prompt_cache_retention", "reasoning_effort", "response_format", "safety_identifier", "seed"],
  ...["service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice"],
  ...["tools", "top_logprobs", "top_p", "user", "verbosity", "web_search_options"],
]);

function unknownParameter(body: Wire): string | undefined {
  const unknown = Object.keys(body).find((key) => !PARAMETERS.has(key));

  return unknown && `Unrecognized request argument supplied: ${unknown}`;
}

/**
 * Source: OpenAI, guide "Function calling": each call is answered by one message of the role tool,
 * directly after the message that asked.
 */
function messagesProblem(messages: readonly unknown[]): string | undefined {
  if (messages.length === 0) {
    return "Invalid 'messages': empty array. Expected an array with minimum length 1.";
  }

  let open: readonly string[] = [];

  for (const [index, message] of messages.entries()) {
    const problem = messageProblem(message, index, open);

    if (problem) return problem;
    open = stillOpen(message as Wire, open);
  }

  return unanswered(open);
}

function messageProblem(
  message: unknown,
  index: number,
  open: readonly string[],
): string | undefined {
  if (!isWire(message)) return `Invalid type for 'messages[${index}]': expected an object.`;

  const role = wordOf(message["role"]);

  if (!["system", "developer", "user", "assistant", "tool"].includes(role)) {
    return `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'tool'.`;
  }

  if (role === "tool") {
    return open.includes(wordOf(message["tool_call_id"]))
      ? undefined
      : "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.";
  }

  if (open.length > 0) return unanswered(open);

  const isCall = listOf(message["tool_calls"]).length > 0;
  const hasContent = typeof message["content"] === "string" || Array.isArray(message["content"]);

  if (hasContent || (role === "assistant" && isCall)) return undefined;

  return `Invalid value for 'content': expected a string, got null. ('messages[${index}].content')`;
}

function stillOpen(message: Wire, open: readonly string[]): readonly string[] {
  if (message["role"] === "tool") return open.filter((id) => id !== message["tool_call_id"]);
  return listOf(message["tool_calls"]).map((call) => (isWire(call) ? wordOf(call["id"]) : ""));
}

function unanswered(open: readonly string[]): string | undefined {
  if (open.length === 0) return undefined;
  return (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each " +
    `'tool_call_id'. The following tool_call_ids did not have response messages: ${open.join(", ")}`
  );
}

/** Source: OpenAI, API reference: names of functions have 1–64 letters, digits, `_`, `-`; 128 tools. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;
const MAX_TOOLS = 128;

function toolsProblem(body: Wire): string | undefined {
  const tools = listOf(body["tools"]);

  if (tools.length === 0) {
    if ("tools" in body && body["tools"] !== undefined) {
      return "Invalid 'tools': empty array. Expected an array with minimum length 1.";
    }

    return "tool_choice" in body
      ? "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified."
      : undefined;
  }

  if (tools.length > MAX_TOOLS) {
    return `Invalid 'tools': array too long. Expected an array with maximum length ${MAX_TOOLS}.`;
  }

  return firstOf(tools.map((tool, index) => () => toolProblem(tool, index)));
}

function toolProblem(tool: unknown, index: number): string | undefined {
  const made = isWire(tool) && isWire(tool["function"]) ? tool["function"] : {};
  const name = wordOf(made["name"] ?? "");

  if (!NAME.test(name)) {
    return (
      `Invalid 'tools[${index}].function.name': string does not match pattern. Expected a string ` +
      "that matches the pattern '^[a-zA-Z0-9_-]+$' with maximum length 64."
    );
  }

  const { parameters, strict } = made;
  if (isWire(parameters) && parameters["type"] !== "object") {
    return `Invalid schema for function '${name}': schema must be a JSON Schema of 'type: "object"'.`;
  }

  const problem =
    parametersProblem(parameters) ?? (strict === true ? strictProblem(parameters) : undefined);

  return problem && `Invalid schema for function '${name}': ${problem}`;
}

/**
 * Source: the 400s of `invalid_function_parameters` as users quote them: no variants at the top
 * (langchain-ai/langchainjs#9804), a list says what it holds (mark3labs/mcphost#35).
 */
function parametersProblem(parameters: unknown): string | undefined {
  if (!isWire(parameters)) return undefined;
  if (["oneOf", "anyOf", "allOf", "enum", "not"].some((key) => key in parameters)) {
    return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.";
  }
  if (!isWire(parameters["properties"])) return "In context=(), object schema missing properties.";

  return listProblem(parameters, []);
}

function listProblem(node: Wire, path: readonly string[]): string | undefined {
  if (node["type"] === "array" && !("items" in node)) {
    return `In context=(${path.map((step) => `'${step}'`).join(", ")}), array schema missing items.`;
  }

  const members = Object.entries(isWire(node["properties"]) ? node["properties"] : {});
  const inner = [
    ...members.map(([key, value]) => [["properties", key], value] as const),
    [["items"], node["items"]] as const,
  ];

  return firstOf(
    inner.map(
      ([steps, value]) =>
        () =>
          isWire(value) ? listProblem(value, [...path, ...steps]) : undefined,
    ),
  );
}

/** Source: OpenAI, API reference: `temperature` is 0–2; guide "Reasoning models": none at all. */
function numbersProblem(body: Wire, { temperature: takes }: OpenAiAbilities): string | undefined {
  const { temperature, max_tokens: most, max_completion_tokens: mostToo } = body;
  if (temperature !== undefined && takes === false) {
    return `Unsupported value: 'temperature' does not support ${wordOf(temperature)} with this model. Only the default (1) value is supported.`;
  }

  if (temperature !== undefined && !isBetween(temperature, 0, 2)) {
    return `Invalid 'temperature': decimal out of range. Got ${wordOf(temperature)}.`;
  }

  const tokens = most ?? mostToo;

  if (tokens !== undefined && !isBetween(tokens, 1, 1_000_000)) {
    return "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1.";
  }

  return undefined;
}

function isBetween(value: unknown, from: number, to: number): boolean {
  return typeof value === "number" && value >= from && value <= to;
}

/** Source: OpenAI, guide "Structured model outputs", also its section "JSON mode". */
function formatProblem(body: Wire, { formats }: OpenAiAbilities): string | undefined {
  const format = body["response_format"];

  if (!isWire(format)) return undefined;

  const asked = isWire(format["json_schema"]) ? format["json_schema"] : {};
  const isStrict = format["type"] === "json_schema" && asked["strict"] === true;
  const kind = isStrict ? "strict" : format["type"];

  if (kind !== "text" && formats && !(formats as readonly unknown[]).includes(kind)) {
    return `Invalid parameter: 'response_format' of type '${wordOf(kind)}' is not supported with this model.`;
  }

  if (kind === "json_object") return saysJson(body);
  if (format["type"] !== "json_schema") return undefined;

  const name = wordOf(asked["name"] ?? "");

  if (!NAME.test(name)) {
    return "Invalid 'response_format.json_schema.name': string does not match pattern.";
  }

  const problem = isStrict ? strictProblem(asked["schema"]) : undefined;

  return problem && `Invalid schema for response_format '${name}': ${problem}`;
}

function saysJson(body: Wire): string | undefined {
  if (/json/i.test(JSON.stringify(body["messages"]))) return undefined;
  return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
}
