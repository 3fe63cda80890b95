import type { ProviderAsked, SpokenAnswer } from "./moods.ts";
import { openAiError } from "./openai-wire.ts";
import type { OpenAiAbilities } from "./openai-rules.ts";
import { isWire, listOf, type Wire, wordOf } from "./refusal.ts";
import { encryptedBy, itemsOf, responsesRefusal } from "./responses-rules.ts";
import {
  allMarked,
  eventFrame,
  isOfSystem,
  numberOf,
  piecesOf,
  schemaIn,
  systemIn,
  textOf,
  THOUGHT,
  TOKENS,
  type WireFormat,
} from "./wire-format.ts";

/** OpenAI's responses. */
export const responsesWire: WireFormat<OpenAiAbilities> = {
  path: /\/responses$/,
  refusal: (body, _call, abilities) => responsesRefusal(body, abilities),
  statuses: { rate_limited: 429, unavailable: 503 },
  isStream: ({ stream }) => stream === true,
  kept: (body) => allMarked([...listOf(body["tools"]), ...itemsOf(body)]),
  error: openAiError,

  asked(body) {
    const items = itemsOf(body);
    const text = isWire(body["text"]) ? body["text"] : {};
    const format = isWire(text["format"]) ? text["format"] : {};
    const instructions = wordOf(body["instructions"] ?? "");
    const system = [instructions, systemIn(items)].filter(Boolean).join("\n");
    const last = items.findLast((one) => !isOfSystem(one));

    return {
      wire: "responses",
      model: wordOf(body["model"]),
      system,
      lastText: textOf(last?.["output"] ?? last?.["content"]),
      messages: items,
      tools: listOf(body["tools"]).map((tool) => (isWire(tool) ? wordOf(tool["name"]) : "")),
      schema: isWire(format["schema"]) ? format["schema"] : schemaIn(system),
      isStrict: format["strict"] === true,
      temperature: numberOf(body["temperature"]),
      thinks: asksForReasoning(body),
    };
  },

  frames(answer, asked) {
    const items = outputOf(answer, asked);
    const response = { ...aboutResponse(asked), status: "in_progress", output: [] };
    const type = answer.isCut ? "response.incomplete" : "response.completed";

    return [
      eventFrame("response.created", { response }),
      eventFrame("response.in_progress", { response }),
      ...items.flatMap((item, index) => itemFrames(item, index)),
      eventFrame(type, { response: wholeResponse(answer, asked) }),
    ];
  },

  whole: (answer, asked) => wholeResponse(answer, asked),
};

/** Reasoning is given where it can be sent back. */
function asksForReasoning(body: Wire): boolean {
  const reasoning = isWire(body["reasoning"]) ? body["reasoning"] : {};
  const isAsked = reasoning["effort"] !== undefined && reasoning["effort"] !== "none";

  return isAsked || listOf(body["include"]).includes("reasoning.encrypted_content");
}

function aboutResponse({ model }: ProviderAsked): Wire {
  return { id: "resp_1", object: "response", created_at: 1, model };
}

function wholeResponse(answer: SpokenAnswer, asked: ProviderAsked): Wire {
  return {
    ...aboutResponse(asked),
    status: answer.isCut ? "incomplete" : "completed",
    incomplete_details: answer.isCut ? { reason: "max_output_tokens" } : null,
    error: null,
    output: outputOf(answer, asked),
    usage: usageOf(asked),
  };
}

/** Source: OpenAI, guide "Prompt caching": tokens of the input hold those that were kept. */
function usageOf({ cached }: ProviderAsked): object {
  const input_tokens = TOKENS.in + (cached?.read ?? 0);

  return {
    input_tokens,
    input_tokens_details: { cached_tokens: cached?.read ?? 0 },
    output_tokens: TOKENS.out,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + TOKENS.out,
  };
}

/** Reasoning, words, calls; ids are other ones in each answer of a conversation. */
function outputOf(answer: SpokenAnswer, { messages, thinks, model }: ProviderAsked) {
  const at = messages.length;
  const summary = [{ type: "summary_text", text: THOUGHT }];
  const thought = {
    type: "reasoning",
    id: `rs_${at}`,
    summary,
    encrypted_content: encryptedBy(model),
  };
  const content = [{ type: "output_text", text: answer.text, annotations: [] }];
  const said = { type: "message", id: `msg_${at}`, role: "assistant", status: "completed" };

  return [
    ...(thinks ? [thought] : []),
    ...(answer.text === "" ? [] : [{ ...said, content }]),
    ...answer.toolCalls.map(({ name, args }, index) => ({
      type: "function_call",
      id: `fc_${at}_${index + 1}`,
      call_id: `call_${at}_${index + 1}`,
      name,
      arguments: JSON.stringify(args),
      status: "completed",
    })),
  ] as readonly Wire[];
}

function itemFrames(item: Wire, output_index: number): readonly string[] {
  const begun = { ...item, status: "in_progress", content: [], summary: [], arguments: "" };

  return [
    eventFrame("response.output_item.added", { output_index, item: begun }),
    ...deltasOf(item).map(({ type, ...delta }) =>
      eventFrame(wordOf(type), { output_index, item_id: item["id"], ...delta }),
    ),
    eventFrame("response.output_item.done", { output_index, item }),
  ];
}

function deltasOf(item: Wire): readonly Wire[] {
  switch (item["type"]) {
    case "message":
      return piecesOf(textOf(item["content"])).map((delta) => ({
        type: "response.output_text.delta",
        content_index: 0,
        delta,
      }));
    case "function_call":
      return piecesOf(wordOf(item["arguments"])).map((delta) => ({
        type: "response.function_call_arguments.delta",
        delta,
      }));
    default: {
      const about = { summary_index: 0 };
      const pieces = piecesOf(textOf(item["summary"]));

      return [
        { type: "response.reasoning_summary_part.added", ...about },
        ...pieces.map((delta) => ({
          type: "response.reasoning_summary_text.delta",
          delta,
          ...about,
        })),
        { type: "response.reasoning_summary_part.done", ...about },
      ];
    }
  }
}
