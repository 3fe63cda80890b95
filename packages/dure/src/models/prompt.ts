import type {
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import { isObject, type Json, type JsonObject } from "../kernel/json.ts";
import { strictSchema } from "./json-schema.ts";
import type { ModelMessage, ModelRequest, OutputSpec, ToolCall, ToolChoice } from "./model.ts";
import { type OutputFormat, schemaText } from "./output-format.ts";

/**
 * Our request in the words of the AI SDK. `requestOf` is the way back; the two are tested as a
 * round trip.
 * @param format how the provider is asked for JSON, where the request asks for it.
 */
export function callOptions(
  request: ModelRequest,
  limits: { temperature: number | undefined; maxOutputTokens: number },
  format: OutputFormat = "json_schema",
): LanguageModelV4CallOptions {
  const system = systemOf(request, format);

  return {
    prompt: [
      ...(system === undefined ? [] : [{ role: "system", content: system } as const]),
      ...request.messages.filter(saysSomething).map(promptMessage),
    ],
    maxOutputTokens: limits.maxOutputTokens,
    ...(limits.temperature === undefined ? {} : { temperature: limits.temperature }),
    ...(request.tools?.length
      ? {
          tools: request.tools.map((tool) => ({ type: "function" as const, ...tool })),
          toolChoice: promptToolChoice(request.toolChoice ?? "auto"),
        }
      : {}),
    ...outputOptions(request.output, format),
  };
}

function systemOf({ system, output }: ModelRequest, format: OutputFormat): string | undefined {
  if (!output || (format !== "json_object" && format !== "text")) return system;
  return [system, schemaText(output)].filter(Boolean).join("\n\n");
}

type OutputOptions = Pick<LanguageModelV4CallOptions, "responseFormat" | "providerOptions">;

function outputOptions(output: OutputSpec | undefined, format: OutputFormat): OutputOptions {
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
    ...(first?.role === "system" ? { system: first.content } : {}),
    messages: options.prompt.flatMap(ourMessages),
    ...(tools
      ? {
          tools: tools.flatMap((tool) =>
            tool.type === "function"
              ? [
                  {
                    name: tool.name,
                    ...(tool.description === undefined ? {} : { description: tool.description }),
                    inputSchema: tool.inputSchema as JsonObject,
                  },
                ]
              : [],
          ),
        }
      : {}),
    ...(toolChoice
      ? { toolChoice: toolChoice.type === "tool" ? { tool: toolChoice.toolName } : toolChoice.type }
      : {}),
    ...(responseFormat?.type === "json"
      ? {
          output: {
            schema: (responseFormat.schema ?? {}) as JsonObject,
            ...(responseFormat.name === undefined ? {} : { name: responseFormat.name }),
            ...(responseFormat.description === undefined
              ? {}
              : { description: responseFormat.description }),
          },
        }
      : {}),
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
  };
}

/**
 * An answer that was stopped before its first token may stand in the history; providers refuse
 * messages without content.
 */
function saysSomething(message: ModelMessage): boolean {
  return (
    message.role !== "assistant" || message.text.trim() !== "" || Boolean(message.toolCalls?.length)
  );
}

function promptMessage(message: ModelMessage): LanguageModelV4Message {
  switch (message.role) {
    case "user":
      return { role: "user", content: [{ type: "text", text: message.text }] };
    case "assistant":
      return {
        role: "assistant",
        content: [
          ...(message.text.trim() === "" ? [] : [{ type: "text", text: message.text } as const]),
          ...(message.toolCalls ?? []).map((call) => ({
            type: "tool-call" as const,
            toolCallId: call.id,
            toolName: call.name,
            // Providers refuse a history whose arguments are no object; the tool's error said what
            // was wrong with them.
            input: isObject(call.args) ? call.args : {},
          })),
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
            output: toolOutput(message.result, message.isError),
          },
        ],
      };
    default:
      return message satisfies never;
  }
}

function toolOutput(
  result: Json,
  isError: boolean | undefined,
): LanguageModelV4ToolResultPart["output"] {
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
          text: message.content.map((part) => (part.type === "text" ? part.text : "")).join(""),
        },
      ];
    case "assistant": {
      const toolCalls = message.content.flatMap((part): ToolCall[] =>
        part.type === "tool-call"
          ? [{ id: part.toolCallId, name: part.toolName, args: part.input as Json }]
          : [],
      );
      const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");

      return [{ role: "assistant", text, ...(toolCalls.length > 0 ? { toolCalls } : {}) }];
    }
    case "tool":
      return message.content.flatMap((part): ModelMessage[] => {
        if (part.type !== "tool-result") return [];
        const { output } = part;
        const isError = output.type === "error-text" || output.type === "error-json";
        const result = "value" in output ? (output.value as Json) : "";

        return [
          {
            role: "tool",
            callId: part.toolCallId,
            name: part.toolName,
            result,
            ...(isError ? { isError } : {}),
          },
        ];
      });
    default:
      return message satisfies never;
  }
}

function promptToolChoice(
  choice: ToolChoice,
): NonNullable<LanguageModelV4CallOptions["toolChoice"]> {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}
