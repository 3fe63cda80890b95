import { z } from "zod";

/**
 * What `/openai/v1` takes. Members that are not named are left to the service. Source:
 * docs/spec/interop §3.
 */

const fileFacts = {
  file_data: z.string().optional(),
  filename: z.string().nullish(),
};
const part = z.looseObject({
  ...fileFacts,
  type: z.string(),
  text: z.string().optional(),
  image_url: z.union([z.string(), z.looseObject({ url: z.string() })]).nullish(),
  file: z.looseObject(fileFacts).optional(),
  input_audio: z.looseObject({ data: z.string() }).optional(),
});
const content = z.union([z.string(), z.array(part).max(1_000)]);

const called = z.looseObject({ name: z.string(), arguments: z.string().default("{}") });
const schema = z.record(z.string(), z.unknown());
const described = z.looseObject({
  name: z.string().optional(),
  description: z.string().nullish(),
  parameters: schema.nullish(),
  strict: z.boolean().nullish(),
});
/** `/responses` names the function itself. */
const tool = described.extend({ type: z.string(), function: described.optional() });
const named = z.looseObject({ name: z.string().optional() });
const toolChoice = z.union([
  z.string(),
  named.extend({ type: z.string(), function: named.optional() }),
]);

const common = {
  model: z.string().min(1).max(100),
  stream: z.boolean().nullish(),
  user: z.string().nullish(),
  tools: z.array(tool).max(1_000).nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
};

export const OpenAiChatBody = z.looseObject({
  ...common,
  messages: z
    .array(
      z.looseObject({
        role: z.string(),
        content: content.nullish(),
        tool_calls: z
          .array(z.looseObject({ id: z.string().optional(), function: called }))
          .max(1_000)
          .nullish(),
        tool_call_id: z.string().nullish(),
      }),
    )
    .min(1)
    .max(2_000),
  stream_options: z.looseObject({ include_usage: z.boolean().optional() }).nullish(),
});
export type OpenAiChatBody = z.output<typeof OpenAiChatBody>;

export const OpenAiResponseBody = z.looseObject({
  ...common,
  input: z.union([
    z.string(),
    z
      .array(
        z.looseObject({
          type: z.string().optional(),
          role: z.string().optional(),
          content: content.optional(),
          id: z.string().optional(),
          call_id: z.string().optional(),
          name: z.string().optional(),
          arguments: z.string().optional(),
          output: content.optional(),
        }),
      )
      .min(1)
      .max(2_000),
  ]),
  instructions: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  previous_response_id: z.string().max(100).nullish(),
  store: z.boolean().nullish(),
});
export type OpenAiResponseBody = z.output<typeof OpenAiResponseBody>;

export const OpenAiResponseParams = z.object({ response_id: z.string().max(100) });
export type OpenAiResponseParams = z.output<typeof OpenAiResponseParams>;

export const OpenAiReadQuery = z.looseObject({ stream: z.string().optional() });

export const OpenAiItemsQuery = z.looseObject({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  order: z.enum(["asc", "desc"]).default("desc"),
  after: z.string().max(100).optional(),
});
export type OpenAiItemsQuery = z.output<typeof OpenAiItemsQuery>;

export const OpenAiModelParams = z.object({ model: z.string().max(100) });
