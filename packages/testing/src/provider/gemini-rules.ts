import { schemaProblem, valueSchemaProblem } from "./gemini-schema.ts";
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
import type { WireCall } from "./wire-format.ts";

export interface GeminiAbilities {
  /** Tokens that a request may have, about. Default any. */
  readonly contextTokens?: number | undefined;
}

/** Why Gemini's `generateContent` would refuse a request; undefined: it is taken. */
export function geminiRefusal(
  body: Wire,
  model: string,
  abilities: GeminiAbilities = {},
): Refusal | undefined {
  const contents = listOf(body["contents"]).map((one) => (isWire(one) ? one : {}));
  const message = firstOf([
    () => halfProblem(body),
    () => unknownField(body, FIELDS, ""),
    () => configProblem(body, model),
    () => firstOf(contents.map((content, index) => () => contentProblem(content, index))),
    () => turnsProblem(contents),
    () => signatureProblem(contents, model),
    () => referenceProblem(contents, model),
    () => functionsProblem(functionsOf(body)),
    () => callingProblem(body),
    () => lengthProblem(body, abilities),
  ]);

  if (message === undefined) return undefined;

  const error = { code: 400, message, status: "INVALID_ARGUMENT" };

  return { status: 400, body: { error } };
}

/** The model stands in the path. */
export function modelIn({ path }: Pick<WireCall, "path">): string {
  return /\/models\/([^/:]+):/.exec(path)?.[1] ?? "";
}

/** Source: ai.google.dev, API reference, "models.generateContent", request body. */
const FIELDS: ReadonlySet<string> = new Set([
  ...["model", "contents", "tools", "toolConfig", "safetySettings", "systemInstruction"],
  ...["generationConfig", "cachedContent", "serviceTier", "store", "continuationToken"],
]);

/** Source: the same page, "GenerationConfig". */
const CONFIG: ReadonlySet<string> = new Set([
  ...["stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema"],
  ...["responseModalities", "candidateCount", "maxOutputTokens", "temperature", "topP", "topK"],
  ...["seed", "presencePenalty", "frequencyPenalty", "responseLogprobs", "logprobs"],
  ...["speechConfig", "thinkingConfig", "imageConfig", "mediaResolution"],
]);

/** Source: google.aip.dev/127 and the 400 of each unknown field. */
function unknownField(node: Wire, known: ReadonlySet<string>, at: string): string | undefined {
  const unknown = Object.keys(node).find((key) => !known.has(key));
  const where = at === "" ? "" : ` at '${at}'`;

  return (
    unknown &&
    `Invalid JSON payload received. Unknown name "${unknown}"${where}: Cannot find field.`
  );
}

/**
 * Sources: "GenerationConfig"; ai.google.dev, "Structured output". The 400 `Function calling with a
 * response mime type: 'application/json' is unsupported` is of models before Gemini 3.
 */
function configProblem(body: Wire, model: string): string | undefined {
  const config = isWire(body["generationConfig"]) ? body["generationConfig"] : {};
  const unknown = unknownField(config, CONFIG, "generation_config");

  return unknown ?? numbersProblem(config) ?? outputProblem(body, config, model);
}

function numbersProblem({ temperature, maxOutputTokens: most }: Wire): string | undefined {
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 2)) {
    return "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].";
  }
  if (most !== undefined && !(Number(most) >= 1)) {
    return "* GenerateContentRequest.generation_config.max_output_tokens: max_output_tokens must be positive.";
  }
  return undefined;
}

function outputProblem(body: Wire, config: Wire, model: string): string | undefined {
  const type = config["responseMimeType"];
  const schema = config["responseJsonSchema"];
  const older = config["responseSchema"];
  if ((schema ?? older) !== undefined && type !== "application/json") {
    return "* GenerateContentRequest.generation_config.response_schema: only allowed when mime_type is 'application/json'.";
  }
  if (type === "application/json" && functionsOf(body).length > 0 && !isThird(model)) {
    return "Function calling with a response mime type: 'application/json' is unsupported";
  }

  return (
    (older === undefined ? undefined : schemaProblem(older, "generation_config.response_schema")) ??
    (schema === undefined ? undefined : valueSchemaProblem(schema))
  );
}

/** Whether a model is of the third or a later generation: it signs its calls. */
function isThird(model: string): boolean {
  return /^gemini-(?:[3-9]|\d\d)/.test(model);
}

export function partsOf({ parts }: Wire): readonly Wire[] {
  return listOf(parts).map((part) => (isWire(part) ? part : {}));
}

/** What a part may be; it is one of them. Source: API reference, "Part". */
const DATA = [
  ...["text", "inlineData", "functionCall", "functionResponse", "fileData", "executableCode"],
  ...["codeExecutionResult", "toolCall", "toolResponse"],
];
const PART: ReadonlySet<string> = new Set([
  ...DATA,
  ...["thought", "thoughtSignature", "partMetadata", "videoMetadata"],
]);

/** Source: API reference, "Content": a role of two, and parts that hold something. */
function contentProblem(content: Wire, index: number): string | undefined {
  const at = `contents[${index}]`;
  const unknown = unknownField(content, new Set(["role", "parts"]), at);
  if (unknown) return unknown;
  if (content["role"] !== "user" && content["role"] !== "model") {
    return "Please use a valid role: user, model.";
  }

  const parts = partsOf(content);
  if (parts.length === 0) {
    return `* GenerateContentRequest.${at}.parts: contents.parts must not be empty.`;
  }

  return firstOf(
    parts.map((part, position) => () => partProblem(part, `${at}.parts[${position}]`)),
  );
}

function partProblem(part: Wire, at: string): string | undefined {
  const unknown = unknownField(part, PART, at);
  if (unknown) return unknown;
  const said = DATA.filter((key) => part[key] !== undefined);
  if (said.length !== 1 || (part["text"] === "" && part["thoughtSignature"] === undefined)) {
    return `* GenerateContentRequest.${at}.data: required oneof field 'data' must have one initialized field`;
  }
  const call = part["functionCall"] ?? part["functionResponse"];
  if (!isWire(call)) return undefined;
  const value = call["args"] ?? call["response"];
  if (!NAME.test(wordOf(call["name"] ?? ""))) {
    return `* GenerateContentRequest.${at}.${said[0]}.name: ${BAD_NAME}`;
  }

  return value === undefined || isWire(value)
    ? undefined
    : `Invalid value at '${at}.${said[0]}' (type.googleapis.com/google.protobuf.Struct), ${wordOf(value)}`;
}

function callsIn(content: Wire | undefined): readonly Wire[] {
  return content ? partsOf(content).filter((part) => isWire(part["functionCall"])) : [];
}

function responsesIn(content: Wire | undefined): readonly Wire[] {
  return content ? partsOf(content).filter((part) => isWire(part["functionResponse"])) : [];
}

/**
 * Sources: ai.google.dev, "Function calling", "Multi-turn"; the 400s `Please ensure that …` as users
 * quote them (google-gemini/gemini-cli#16543, #26956; langchain-ai/langchain#27799;
 * crewAIInc/crewAI#6973).
 */
function turnsProblem(contents: readonly Wire[]): string | undefined {
  if (contents.length === 0) {
    return "* GenerateContentRequest.contents: contents is not specified";
  }
  if (contents[0]!["role"] !== "user") {
    return "Please ensure that multiturn requests begin with a user turn.";
  }

  for (const [index, content] of contents.entries()) {
    const before = contents[index - 1];
    const calls = callsIn(content);
    const responses = responsesIn(content);
    if (calls.length > 0 && before?.["role"] !== "user") {
      return "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
    }
    if (responses.length > 0 && callsIn(before).length === 0) {
      return "Please ensure that function response turn comes immediately after a function call turn.";
    }
    if (responses.length !== callsIn(before).length) {
      return "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
    }
    const problem = namesProblem(callsIn(before), responses);
    if (problem) return problem;
  }

  return contents.at(-1)!["role"] === "user"
    ? undefined
    : "Please ensure that multiturn requests end with a user turn or a function response.";
}

/** Source: API reference, "FunctionResponse": name, and id where the call has one, are the call's. */
function namesProblem(calls: readonly Wire[], responses: readonly Wire[]): string | undefined {
  const keyOf = (part: unknown): string => {
    const { id, name } = isWire(part) ? part : {};
    return `${wordOf(id ?? "")} ${wordOf(name)}`;
  };
  const asked = calls.map(({ functionCall }) => keyOf(functionCall));
  const wrong = responses.find(({ functionResponse }) => !asked.includes(keyOf(functionResponse)));

  return wrong && `Function response ${keyOf(wrong["functionResponse"])} matches no function call.`;
}

/** How a model of this name signs its calls; older ones do not. */
export function thoughtSignatureOf(model: string): string | undefined {
  return isThird(model) ? Buffer.from(`signed by ${model}`).toString("base64") : undefined;
}

/** What may stand where there is no signature. Source: "Thought signatures", "FAQs". */
const SKIPPED: ReadonlySet<unknown> = new Set([
  "skip_thought_signature_validator",
  "context_engineering_is_the_way_to_go",
]);

/**
 * Source: ai.google.dev, "Thought signatures": in the current turn, that is from the last words of a
 * person on, the first call of each step is signed; a signature is the model's own.
 */
function signatureProblem(contents: readonly Wire[], model: string): string | undefined {
  const own = thoughtSignatureOf(model);
  const said = contents.findLastIndex(
    (content) => content["role"] === "user" && responsesIn(content).length === 0,
  );
  for (const [index, content] of contents.entries()) {
    const signed = partsOf(content).map((part) => part["thoughtSignature"]);
    const foreign = signed.some(
      (one) => one !== undefined && !SKIPPED.has(one) && own !== undefined && one !== own,
    );
    if (foreign) return "Corrupted thought signature.";
    const [first] = callsIn(content);
    if (own === undefined || index < said || !first || first["thoughtSignature"]) continue;
    const { name } = first["functionCall"] as Wire;
    return `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:${wordOf(name)}\`, position ${index + 1}.`;
  }

  return undefined;
}

/** Source: the 400 of Gemini 3 (vercel/ai#14369): `$ref` in a result names a part of it. */
function referenceProblem(contents: readonly Wire[], model: string): string | undefined {
  const written = JSON.stringify(contents.flatMap(responsesIn));
  const [, name] = /"\$ref":"([^"]*)"/.exec(written) ?? [];

  return name === undefined || !isThird(model)
    ? undefined
    : `The referenced name \`${name}\` in function_response.response does not match to a display_name in the function_response.parts.`;
}

export function functionsOf({ tools }: Wire): readonly Wire[] {
  return listOf(tools).flatMap((tool) =>
    isWire(tool) ? listOf(tool["functionDeclarations"]).filter(isWire) : [],
  );
}

/** Source: API reference, "FunctionDeclaration". */
const NAME = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
const BAD_NAME =
  "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.";
const DECLARED: ReadonlySet<string> = new Set([
  ...["name", "description", "behavior", "parameters", "parametersJsonSchema"],
  ...["response", "responseJsonSchema"],
]);
/** Source: cloud.google.com, "Function calling", "Limitations". */
const MAX_FUNCTIONS = 512;

function functionsProblem(functions: readonly Wire[]): string | undefined {
  const names = functions.map(({ name }) => wordOf(name ?? ""));
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) return `Duplicate function declaration found: ${twice}`;
  if (functions.length > MAX_FUNCTIONS) {
    return `At most ${MAX_FUNCTIONS} function declarations are allowed, and there are ${functions.length}.`;
  }

  return firstOf(functions.map((made, index) => () => functionProblem(made, index)));
}

function functionProblem(made: Wire, index: number): string | undefined {
  const at = `tools[0].function_declarations[${index}]`;
  const unknown = unknownField(made, DECLARED, at);
  if (unknown) return unknown;
  if (!NAME.test(wordOf(made["name"] ?? ""))) {
    return `* GenerateContentRequest.${at}.name: ${BAD_NAME}`;
  }

  const { parameters, parametersJsonSchema: schema } = made;
  if (parameters !== undefined && schema !== undefined) {
    return `* GenerateContentRequest.${at}: parameters and parameters_json_schema are mutually exclusive.`;
  }
  if (parameters !== undefined) return schemaProblem(parameters, `${at}.parameters`);
  if (schema === undefined) return undefined;
  if (!isWire(schema) || schema["type"] !== "object") {
    return `* GenerateContentRequest.${at}.parameters_json_schema: the schema must describe an object.`;
  }

  return valueSchemaProblem(schema);
}

/** Source: API reference, "FunctionCallingConfig". */
const MODES: ReadonlySet<unknown> = new Set(["AUTO", "ANY", "NONE", "VALIDATED"]);

function callingProblem(body: Wire): string | undefined {
  const toolConfig = isWire(body["toolConfig"]) ? body["toolConfig"] : {};
  const config = toolConfig["functionCallingConfig"];
  if (!isWire(config)) return undefined;
  const { mode, allowedFunctionNames: allowed } = config;
  const names = functionsOf(body).map(({ name }) => name);
  if (names.length === 0) {
    return "Function calling config is set without function_declarations.";
  }
  if (!MODES.has(mode)) {
    return `Invalid value at 'tool_config.function_calling_config.mode' (type.googleapis.com/google.ai.generativelanguage.v1beta.FunctionCallingConfig.Mode), "${wordOf(mode)}"`;
  }
  if (allowed === undefined) return undefined;
  if (mode !== "ANY" && mode !== "VALIDATED") {
    return "* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: allowed_function_names should be set only when mode is ANY or VALIDATED.";
  }
  const unknown = listOf(allowed).find((name) => !names.includes(name));

  return unknown === undefined
    ? undefined
    : `* GenerateContentRequest.tool_config.function_calling_config.allowed_function_names: ${wordOf(unknown)} is not declared.`;
}

/** Source: the 400 `The input token count exceeds the maximum number of tokens allowed`. */
function lengthProblem(body: Wire, { contextTokens = Infinity }: GeminiAbilities) {
  const { tools, systemInstruction: system, contents: messages } = body;
  const tokens = requestTokens({ tools, system, messages });

  return tokens > contextTokens
    ? `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${contextTokens}).`
    : undefined;
}
