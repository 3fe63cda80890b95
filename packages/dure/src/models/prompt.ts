import type { FileRef } from "../kernel/files.ts";
import type {
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { isObject, type Json, type JsonObject, onlyDefined } from "../kernel/json.ts";
import { merged, settingOptions } from "./asking.ts";
import { strictSchema } from "./json-schema.ts";
import { type Dialect, dialectOf } from "./model-object.ts";
import { plainReferences } from "./plain-references.ts";
import { fileParts, filesIn, type ShownFiles, takesParts } from "./file-parts.ts";
import { callOptionsOf, mayThink, reasoningParts, WITHOUT_THINKING } from "./reasoning.ts";
import type {
  LlmRef,
  ModelMessage,
  ModelRequest,
  OutputSpec,
  ToolCall,
  ToolChoice,
  ToolSpec,
  ToolMessage,
} from "./model.ts";
import { type OutputFormat, schemaText } from "./output-format.ts";
import { soundMessages } from "./sound-messages.ts";

/**
 * Our request in the words of the AI SDK. `requestOf` is the way back; the two are tested as a
 * round trip.
 * @param format how the provider is asked for JSON, where the request asks for it.
 * @param llm who is asked: gets its own reasoning again, and is asked as its settings say.
 * @param files what it gets of the files of the messages.
 */
export function callOptions(
  request: ModelRequest,
  limits: { temperature: number | undefined; maxOutputTokens: number },
  format: OutputFormat = "json_schema",
  { llm, files = NO_FILES }: { llm?: LlmRef | undefined; files?: ShownFiles | undefined } = {},
): LanguageModelV4CallOptions {
  const system = systemOf(request, format)?.toWellFormed() ?? "";
  const dialect = llm ? dialectOf(llm) : undefined;
  const sound = soundMessages(request.messages, dialect);
  const messages = promptMessages(sound, llm, files);
  const last = messages.length - 1;
  const settings = llm ? settingOptions(llm) : {};
  const thinking = llm === undefined || mayThink(sound, llm);
  const output = outputOptions(outputFor(dialect, request.output), format);
  const options = merged(output.providerOptions, settings.providerOptions);
  const providerOptions = thinking ? options : merged(options, WITHOUT_THINKING);

  return {
    prompt: [
      ...(system.trim() === "" ? [] : [{ role: "system", content: system, ...KEPT } as const]),
      ...messages.map((message, index) => (index === last ? { ...message, ...KEPT } : message)),
    ],
    maxOutputTokens: limits.maxOutputTokens,
    ...onlyDefined({ temperature: limits.temperature }),
    ...toolOptions({ ...request, messages: sound }),
    ...output,
    ...settings,
    ...onlyDefined({ providerOptions, reasoning: thinking ? settings.reasoning : "none" }),
  };
}

const NO_FILES: ShownFiles = new Map();

/**
 * The request up to here is kept by Anthropic for five minutes, where it is long enough; the next
 * round, or the next message, reads it for a tenth of the price. Marked are the last tool, the
 * system's text, and the last message: where a tool was found, those before it are still read.
 * Others keep by themselves, and look at no such mark. Source: docs.claude.com, "Prompt caching"
 * (four marks at most).
 */
const KEPT = { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } } as const;

function systemOf({ system, output }: ModelRequest, format: OutputFormat): string | undefined {
  if (!output || (format !== "json_object" && format !== "text")) return system;
  return [system, schemaText(output)].filter(Boolean).join("\n\n");
}

/**
 * A history with calls wants tools, also where the agent has none any more: then those that were
 * called, and the model may call none. Source: docs.claude.com, "Messages" (400 `Requests which
 * include tool_use or tool_result blocks must define tools`).
 */
function toolOptions({
  messages,
  tools = [],
  toolChoice = "auto",
}: ModelRequest): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice"> {
  if (tools.length === 0) {
    const called = calledTools(messages).map(promptTool);
    return called.length === 0 ? {} : { tools: called, toolChoice: { type: "none" } };
  }
  const last = tools.length - 1;
  return {
    tools: tools.map(promptTool).map((tool, at) => (at === last ? { ...tool, ...KEPT } : tool)),
    toolChoice: promptToolChoice(toolChoice),
  };
}

function calledTools(messages: readonly ModelMessage[]): readonly ToolSpec[] {
  const names = messages.flatMap((message) =>
    message.role === "assistant" ? (message.toolCalls ?? []).map(({ name }) => name) : [],
  );
  return [...new Set(names)].map((name) => ({
    name,
    inputSchema: { type: "object", properties: {} },
  }));
}

/** `strict` is kept here: providers take strict schemas in dialects of their own. */
function promptTool(tool: ToolSpec): LanguageModelV4FunctionTool {
  const { strict: _, ...told } = tool;
  return { type: "function", ...told };
}

/** Of a schema whose references the provider does not read. */
function outputFor(dialect: Dialect | undefined, output: OutputSpec | undefined) {
  if (!output || dialect !== "google") return output;
  return { ...output, schema: plainReferences(output.schema) };
}

type ResponseFormatOptions = Pick<LanguageModelV4CallOptions, "responseFormat" | "providerOptions">;

function outputOptions(
  output: OutputSpec | undefined,
  format: OutputFormat,
): ResponseFormatOptions {
  if (!output) return {};

  const asked = { type: "json" as const, name: "answer", ...output };

  switch (format) {
    case "strict": {
      const strict = strictSchema(output.schema);
      const schema = strict.ok ? strict.schema : output.schema;

      return { responseFormat: { ...asked, schema }, providerOptions: strictness(strict.ok) };
    }
    case "json_schema":
      return { responseFormat: asked, providerOptions: strictness(false) };
    case "tool":
      return {
        responseFormat: asked,
        providerOptions: { anthropic: { structuredOutputMode: "jsonTool" } },
      };
    case "json_object":
      return { responseFormat: { type: "json" } };
    case "text":
      return {};
  }

  return format satisfies never;
}

/** In the words of each package: a missing value means true to both. */
function strictness(
  strictJsonSchema: boolean,
): NonNullable<LanguageModelV4CallOptions["providerOptions"]> {
  return { openai: { strictJsonSchema }, openaiCompatible: { strictJsonSchema } };
}

/** For models that are functions of ours (offline.ts): the request as it was asked. */
export function requestOf(options: LanguageModelV4CallOptions): ModelRequest {
  const [first] = options.prompt;
  const { tools, toolChoice, responseFormat, temperature, maxOutputTokens } = options;

  return {
    system: first?.role === "system" ? first.content : undefined,
    messages: options.prompt.flatMap(ourMessages),
    tools: tools?.flatMap(ourTool),
    toolChoice: toolChoice && ourToolChoice(toolChoice),
    output: responseFormat?.type === "json" ? ourOutput(responseFormat) : undefined,
    temperature,
    maxOutputTokens,
  };
}

type PromptTool = NonNullable<LanguageModelV4CallOptions["tools"]>[number];
type PromptToolChoice = NonNullable<LanguageModelV4CallOptions["toolChoice"]>;
type JsonFormat = NonNullable<LanguageModelV4CallOptions["responseFormat"]> & { type: "json" };

/** Tools that a provider runs itself are none of ours. */
function ourTool(tool: PromptTool): ToolSpec[] {
  if (tool.type !== "function") return [];
  const { name, description, inputSchema } = tool;
  return [{ name, ...onlyDefined({ description }), inputSchema: inputSchema as JsonObject }];
}

function ourToolChoice(choice: PromptToolChoice): ToolChoice {
  return choice.type === "tool" ? { tool: choice.toolName } : choice.type;
}

function ourOutput({ schema, name, description }: JsonFormat): OutputSpec {
  return { schema: (schema ?? {}) as JsonObject, ...onlyDefined({ name, description }) };
}

/**
 * Results of calls side by side are one message. Source: Gemini's 400 `the number of function response
 * parts is equal to the number of function call parts of the function call turn`.
 */
function promptMessages(
  sound: readonly ModelMessage[],
  llm: LlmRef | undefined,
  files: ShownFiles,
): readonly LanguageModelV4Message[] {
  const messages: LanguageModelV4Message[] = [];
  for (const message of sound) {
    const next = promptMessage(message, llm, files);
    const last = messages.at(-1);
    const isBeside = last?.role === "tool" && next.role === "tool";
    if (!isBeside) messages.push(next);
    else messages.splice(-1, 1, { ...last, content: [...last.content, ...next.content] });
  }
  return messages;
}

function promptMessage(
  message: ModelMessage,
  llm: LlmRef | undefined,
  files: ShownFiles,
): LanguageModelV4Message {
  switch (message.role) {
    case "user":
      return {
        role: "user",
        // Source: docs.claude.com, "Vision" (images are read best before the words about them)
        content: [...fileParts(message.files ?? [], files), ...textPart(message.text)],
      };
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...reasoningParts(message, llm, 0),
          ...textPart(message.text),
          ...(message.toolCalls ?? []).flatMap((call, at) => [
            callPart(call, callOptionsOf(message, at, llm)),
            ...reasoningParts(message, llm, at + 1),
          ]),
        ],
      };
    case "tool":
      return {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: message.callId,
            toolName: message.name,
            output: toolOutput(message, llm, files),
          },
        ],
      };
    default:
      return message satisfies never;
  }
}

function callPart(
  { id, name, args }: ToolCall,
  providerOptions: SharedV4ProviderOptions | undefined,
): LanguageModelV4ToolCallPart {
  return {
    ...onlyDefined({ providerOptions }),
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    // Providers refuse a history whose arguments are no object; the tool's error said what was
    // wrong with them.
    input: isObject(args) ? args : {},
  };
}

function textPart(text: string): readonly { readonly type: "text"; readonly text: string }[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

type ToolOutput = LanguageModelV4ToolResultPart["output"];

/** Of parts, Gemini's SDK makes an answer each, and the API refuses more answers than calls. */
function toolOutput(message: ToolMessage, llm: LlmRef | undefined, shown: ShownFiles): ToolOutput {
  const { result, isError, files = [] } = message;
  if (files.length > 0) {
    const text = typeof result === "string" ? result : JSON.stringify(result);
    const value = [...textPart(text), ...fileParts(files, shown)];
    if (llm === undefined || takesParts(llm)) return { type: "content", value };
    return { type: "text", value: textsOf(value).join("\n") };
  }
  if (typeof result === "string") return { type: isError ? "error-text" : "text", value: result };
  return { type: isError ? "error-json" : "json", value: result as JSONValue };
}

function ourMessages(message: LanguageModelV4Message): ModelMessage[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return [
        {
          role: "user",
          text: ourText(message.content),
          ...onlyDefined({ files: ourFiles(message.content) }),
        },
      ];
    case "assistant": {
      const toolCalls = message.content.flatMap((part): ToolCall[] =>
        part.type === "tool-call"
          ? [{ id: part.toolCallId, name: part.toolName, args: part.input as Json }]
          : [],
      );
      const text = ourText(message.content);
      const called = toolCalls.length > 0 ? toolCalls : undefined;
      return [{ role: "assistant", text, ...onlyDefined({ toolCalls: called }) }];
    }
    case "tool":
      return message.content.flatMap((part): ModelMessage[] => {
        if (part.type !== "tool-result") return [];

        const { output } = part;
        const isError = output.type === "error-text" || output.type === "error-json";
        const { result, files } = ourResult(output);

        return [
          {
            role: "tool",
            callId: part.toolCallId,
            name: part.toolName,
            result,
            ...onlyDefined({ isError: isError || undefined, files }),
          },
        ];
      });
    default:
      return message satisfies never;
  }
}

function promptToolChoice(choice: ToolChoice): PromptToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}

/** A part of a prompt, as far as it is read here. */
interface AnyPart {
  readonly type: string;
  readonly text?: string;
  readonly providerOptions?: object;
}

function textsOf(parts: readonly AnyPart[]): readonly string[] {
  return parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
}

/** Without what stands for files. */
function ourText(parts: readonly AnyPart[]): string {
  const texts = parts.filter((part) => part.type === "text" && filesIn([part]).length === 0);
  return texts.map(({ text }) => text).join("");
}

function ourFiles(parts: readonly AnyPart[]): readonly FileRef[] | undefined {
  const files = filesIn(parts);
  return files.length > 0 ? files : undefined;
}

function ourResult(output: ToolOutput): Pick<ToolMessage, "result" | "files"> {
  if (output.type !== "content") return { result: "value" in output ? output.value : "" };
  const parts = output.value as readonly AnyPart[];
  return { result: ourText(parts), files: ourFiles(parts) };
}
