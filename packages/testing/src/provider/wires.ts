import { asksForThinking, signatureOf } from "./anthropic-rules.ts";
import type { ProviderAsked, SpokenAnswer } from "./moods.ts";
import { isWire, listOf, type Wire, wordOf } from "./refusal.ts";

/** A request and an answer in the words of one wire format. */
export interface WireFormat {
  readonly asked: (body: Wire) => ProviderAsked;
  /** Server-sent events, in order, as they stand on the wire. */
  readonly frames: (answer: SpokenAnswer, asked: ProviderAsked) => readonly string[];
  /** The whole answer, where no stream was asked for. */
  readonly whole: (answer: SpokenAnswer, asked: ProviderAsked) => object;
  readonly error: (status: number, message: string) => object;
}

/** Texts leave in pieces of so many characters. */
const PIECE = 12;
const TOKENS = { in: 100, out: 20 } as const;

function piecesOf(text: string): readonly string[] {
  return text.match(new RegExp(`[^]{1,${PIECE}}`, "gu")) ?? [];
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .filter(isWire)
    .map((part) =>
      typeof part["content"] === "string" ? part["content"] : wordOf(part["text"] ?? ""),
    )
    .join("");
}

/** A schema that stands in the prompt: a model reads it there. */
function schemaIn(system: string): Wire | undefined {
  for (const line of system.split("\n").filter((one) => one.startsWith("{"))) {
    const schema = parsed(line);

    if (isWire(schema) && isWire(schema["properties"])) return schema;
  }

  return undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" ? value : undefined;
}

export const openAiWire: WireFormat = {
  asked(body) {
    const messages = listOf(body["messages"]).filter(isWire);
    const isSystem = (one: Wire): boolean =>
      one["role"] === "system" || one["role"] === "developer";
    const format = isWire(body["response_format"]) ? body["response_format"] : {};
    const asked = isWire(format["json_schema"]) ? format["json_schema"] : {};

    const system = messages
      .filter(isSystem)
      .map((one) => textOf(one["content"]))
      .join("\n");

    return {
      wire: "openai",
      model: wordOf(body["model"]),
      system,
      lastText: textOf(messages.findLast((one) => !isSystem(one))?.["content"]),
      messages,
      tools: listOf(body["tools"]).map((tool) =>
        isWire(tool) && isWire(tool["function"]) ? wordOf(tool["function"]["name"]) : "",
      ),
      schema: isWire(asked["schema"]) ? asked["schema"] : schemaIn(system),
      isStrict: asked["strict"] === true,
      temperature: numberOf(body["temperature"]),
    };
  },

  frames(answer, { model }) {
    const frame = (delta: object, finish: string | null = null): string =>
      dataFrame({
        id: "chatcmpl-1",
        object: "chat.completion.chunk",
        created: 1,
        model,
        choices: [{ index: 0, delta, finish_reason: finish }],
      });

    const usage = {
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      created: 1,
      model,
      choices: [],
      usage: openAiUsage,
    };

    return [
      frame({ role: "assistant", content: "" }),
      ...piecesOf(answer.text).map((content) => frame({ content })),
      ...openAiCalls(answer).map((call, index) => frame({ tool_calls: [{ index, ...call }] })),
      frame({}, openAiFinish(answer)),
      dataFrame(usage),
      "data: [DONE]\n\n",
    ];
  },

  whole(answer, { model }) {
    const tool_calls = answer.toolCalls.length > 0 ? openAiCalls(answer) : undefined;
    const message = { role: "assistant", content: answer.text, tool_calls };
    const choice = { index: 0, message, finish_reason: openAiFinish(answer) };
    const about = { id: "chatcmpl-1", object: "chat.completion", created: 1, model };

    return { ...about, choices: [choice], usage: openAiUsage };
  },

  error: (_status, message) => ({ error: { message, type: "server_error", code: null } }),
};

const openAiUsage = {
  prompt_tokens: TOKENS.in,
  completion_tokens: TOKENS.out,
  total_tokens: TOKENS.in + TOKENS.out,
};

function openAiCalls({ toolCalls }: SpokenAnswer): readonly object[] {
  return toolCalls.map(({ name, args }, index) => ({
    id: `call_${index + 1}`,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
}

function openAiFinish({ toolCalls, isCut }: SpokenAnswer): string {
  if (isCut) return "length";
  return toolCalls.length > 0 ? "tool_calls" : "stop";
}

function dataFrame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

export const anthropicWire: WireFormat = {
  asked(body) {
    const messages = listOf(body["messages"]).filter(isWire);
    const config = isWire(body["output_config"]) ? body["output_config"] : {};
    const format = isWire(config["format"]) ? config["format"] : {};
    const tools = listOf(body["tools"]).filter(isWire);
    const json = tools.find((tool) => tool["name"] === "json");
    const schema = format["schema"] ?? json?.["input_schema"];
    const system = textOf(body["system"]);

    return {
      wire: "anthropic",
      model: wordOf(body["model"]),
      system,
      lastText: textOf(messages.at(-1)?.["content"]),
      messages,
      tools: tools.map((tool) => wordOf(tool["name"])),
      schema: isWire(schema) ? schema : schemaIn(system),
      isStrict: "schema" in format,
      temperature: numberOf(body["temperature"]),
      thinks: asksForThinking(body),
    };
  },

  frames(answer, asked) {
    const blocks = anthropicBlocks(answer, asked);
    const message = { ...aboutMessage(asked), content: [], stop_reason: null };

    return [
      eventFrame("message_start", { message }),
      ...blocks.flatMap((block, index) => blockFrames(block, index)),
      eventFrame("message_delta", {
        delta: { stop_reason: anthropicStop(answer, blocks), stop_sequence: null },
        usage: { output_tokens: TOKENS.out },
      }),
      eventFrame("message_stop", {}),
    ];
  },

  whole(answer, asked) {
    const blocks = anthropicBlocks(answer, asked);

    return { ...aboutMessage(asked), content: blocks, stop_reason: anthropicStop(answer, blocks) };
  },

  error(status, message) {
    const type = status === 429 ? "rate_limit_error" : "overloaded_error";

    return { type: "error", error: { type, message } };
  },
};

function aboutMessage({ model, cached }: ProviderAsked): object {
  const usage = {
    input_tokens: TOKENS.in,
    output_tokens: TOKENS.out,
    cache_read_input_tokens: cached?.read ?? 0,
    cache_creation_input_tokens: cached?.written ?? 0,
  };

  return { id: "msg_1", type: "message", role: "assistant", model, stop_sequence: null, usage };
}

/** Where a tool named `json` is the way of the answer, its input is the JSON. */
function anthropicBlocks(
  answer: SpokenAnswer,
  { tools, thinks, model }: ProviderAsked,
): readonly Wire[] {
  const input =
    tools.includes("json") && answer.toolCalls.length === 0 ? parsed(answer.text) : undefined;
  const calls = input === undefined ? answer.toolCalls : [{ name: "json", args: input }];
  const text =
    input === undefined && answer.text !== "" ? [{ type: "text", text: answer.text }] : [];

  const signature = signatureOf(model);
  const thought = thinks ? [{ type: "thinking", thinking: THOUGHT, signature }] : [];

  return [
    ...thought,
    ...text,
    ...calls.map(({ name, args }, index) => ({
      type: "tool_use",
      id: `toolu_${index + 1}`,
      name,
      input: args,
    })),
  ];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function anthropicStop({ isCut }: SpokenAnswer, blocks: readonly Wire[]): string {
  if (isCut) return "max_tokens";
  return blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
}

/** What a model that is asked to think has thought. */
const THOUGHT = "They want this, so I look first.";

function blockFrames(block: Wire, index: number): readonly string[] {
  if (block["type"] === "thinking") return thinkingFrames(block, index);
  const isText = block["type"] === "text";
  const text = isText ? wordOf(block["text"]) : JSON.stringify(block["input"]);

  const deltas = piecesOf(text).map((piece) =>
    isText
      ? { type: "text_delta", text: piece }
      : { type: "input_json_delta", partial_json: piece },
  );

  const content_block = isText ? { type: "text", text: "" } : { ...block, input: {} };

  return [
    eventFrame("content_block_start", { index, content_block }),
    ...deltas.map((delta) => eventFrame("content_block_delta", { index, delta })),
    eventFrame("content_block_stop", { index }),
  ];
}

function thinkingFrames({ thinking, signature }: Wire, index: number): readonly string[] {
  const content_block = { type: "thinking", thinking: "", signature: "" };
  const deltas = [
    ...piecesOf(wordOf(thinking)).map((piece) => ({ type: "thinking_delta", thinking: piece })),
    { type: "signature_delta", signature },
  ];
  return [
    eventFrame("content_block_start", { index, content_block }),
    ...deltas.map((delta) => eventFrame("content_block_delta", { index, delta })),
    eventFrame("content_block_stop", { index }),
  ];
}

function eventFrame(type: string, data: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
}
