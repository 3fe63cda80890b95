import {
  anthropicRefusal,
  asksForThinking,
  promptBlocks,
  signatureOf,
  type AnthropicAbilities,
} from "./anthropic-rules.ts";
import type { ProviderAsked, SpokenAnswer } from "./moods.ts";
import { isWire, listOf, type Refusal, type Wire, wordOf } from "./refusal.ts";
import {
  eventFrame,
  numberOf,
  parsed,
  piecesOf,
  schemaIn,
  textOf,
  THOUGHT,
  TOKENS,
  type WireFormat,
} from "./wire-format.ts";

/** Anthropic's messages. */
export const anthropicWire: WireFormat<AnthropicAbilities> = {
  path: /\/messages$/,
  // Source: Anthropic, "Versioning": each request names the version of the API.
  refusal: (body, { header }, abilities) =>
    header("anthropic-version") === undefined ? WITHOUT_VERSION : anthropicRefusal(body, abilities),
  statuses: { rate_limited: 429, unavailable: 529 },
  isStream: ({ stream }) => stream === true,
  kept: (body) =>
    promptBlocks(body).map(({ cache_control: mark, ...block }) => ({
      block,
      isMarked: mark !== undefined,
    })),

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

    const headers = status === 429 ? { "retry-after": "0" } : undefined;

    return { status, body: { type: "error", error: { type, message } }, headers };
  },
};

const WITHOUT_VERSION: Refusal = {
  status: 400,
  body: {
    type: "error",
    error: { type: "invalid_request_error", message: "anthropic-version: header is required" },
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

function anthropicStop({ isCut }: SpokenAnswer, blocks: readonly Wire[]): string {
  if (isCut) return "max_tokens";
  return blocks.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
}

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
