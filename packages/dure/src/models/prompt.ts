import type {
  JSONValue,
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import { isObject, type Json, type JsonObject } from "../kernel/json.ts";
import type { ModelMessage, ModelRequest, ToolCall, ToolChoice } from "./model.ts";

/**
 * Our request in the words of the AI SDK. `requestOf` is the way back; the two are tested as a
 * round trip.
 */
export function callOptions(
  request: ModelRequest,
  limits: { temperature: number | undefined; maxOutputTokens: number },
): LanguageModelV4CallOptions {
  return {
    prompt: [
      ...(request.system === undefined
        ? []
        : [{ role: "system", content: request.system } as const]),
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
    ...(request.output
      ? {
          responseFormat: { type: "json" as const, name: "answer", ...request.output },
          providerOptions: { openai: { strictJsonSchema: isStrictSchema(request.output.schema) } },
        }
      : {}),
  };
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

/**
 * Whether OpenAI takes a schema in its strict mode: in every object all members are required and no
 * others allowed. One optional member would otherwise turn each call into a 400; the answer is
 * checked by us in any case.
 */
export function isStrictSchema(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictSchema);
  if (!isObject(schema)) return true;
  if (schema["type"] === "object" || isObject(schema["properties"])) {
    const members = Object.keys(isObject(schema["properties"]) ? schema["properties"] : {});
    const required: readonly unknown[] = Array.isArray(schema["required"])
      ? schema["required"]
      : [];
    if (
      schema["additionalProperties"] !== false ||
      !members.every((member) => required.includes(member))
    ) {
      return false;
    }
  }
  return Object.entries(schema).every(([key, member]) => {
    if (key === "enum" || key === "const" || key === "default" || key === "examples") return true;
    return key === "properties" || key === "$defs"
      ? Object.values(isObject(member) ? member : {}).every(isStrictSchema)
      : isStrictSchema(member);
  });
}
