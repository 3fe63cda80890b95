import { openAiRefusal, type OpenAiAbilities } from "./openai-rules.ts";
import type { ProviderAsked, SpokenAnswer } from "./moods.ts";
import { isWire, listOf, wordOf } from "./refusal.ts";
import {
  allMarked,
  dataFrame,
  isOfSystem,
  numberOf,
  piecesOf,
  schemaIn,
  systemIn,
  textOf,
  TOKENS,
  type WireFormat,
} from "./wire-format.ts";

/** OpenAI's chat completions. */
export const openAiWire: WireFormat<OpenAiAbilities> = {
  path: /\/chat\/completions$/,
  refusal: (body, _call, abilities) => openAiRefusal(body, abilities),
  statuses: { rate_limited: 429, unavailable: 503 },
  isStream: ({ stream }) => stream === true,
  kept: ({ tools, messages }) => allMarked([...listOf(tools), ...listOf(messages)]),
  error: openAiError,

  asked(body) {
    const messages = listOf(body["messages"]).filter(isWire);
    const format = isWire(body["response_format"]) ? body["response_format"] : {};
    const asked = isWire(format["json_schema"]) ? format["json_schema"] : {};

    const system = systemIn(messages);

    return {
      wire: "openai",
      model: wordOf(body["model"]),
      system,
      lastText: textOf(messages.findLast((one) => !isOfSystem(one))?.["content"]),
      messages,
      tools: listOf(body["tools"]).map((tool) =>
        isWire(tool) && isWire(tool["function"]) ? wordOf(tool["function"]["name"]) : "",
      ),
      schema: isWire(asked["schema"]) ? asked["schema"] : schemaIn(system),
      isStrict: asked["strict"] === true,
      temperature: numberOf(body["temperature"]),
    };
  },

  frames(answer, asked) {
    const { model } = asked;
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
      usage: usageOf(asked),
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

  whole(answer, asked) {
    const { model } = asked;
    const tool_calls = answer.toolCalls.length > 0 ? openAiCalls(answer) : undefined;
    const message = { role: "assistant", content: answer.text, tool_calls };
    const choice = { index: 0, message, finish_reason: openAiFinish(answer) };
    const about = { id: "chatcmpl-1", object: "chat.completion", created: 1, model };

    return { ...about, choices: [choice], usage: usageOf(asked) };
  },
};

/** Source: OpenAI, guide "Prompt caching": tokens of the prompt hold those that were kept. */
function usageOf({ cached }: ProviderAsked): object {
  const prompt_tokens = TOKENS.in + (cached?.read ?? 0);

  return {
    prompt_tokens,
    completion_tokens: TOKENS.out,
    total_tokens: prompt_tokens + TOKENS.out,
    prompt_tokens_details: { cached_tokens: cached?.read ?? 0 },
  };
}

/** Source: OpenAI, "Error codes". */
export function openAiError(status: number, message: string) {
  const type = status === 429 ? "requests" : "server_error";
  const code = status === 429 ? "rate_limit_exceeded" : null;
  const headers = status === 429 ? { "retry-after": "0" } : undefined;

  return { status, body: { error: { message, type, param: null, code } }, headers };
}

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
