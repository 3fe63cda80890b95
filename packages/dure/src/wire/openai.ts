import { z } from "zod";

/**
 * What `/openai/v1` takes. Members that are not named are left to the service. Source:
 * docs/spec/interop §3.
 */

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const content = z.union([z.string(), z.array(part).max(1_000)]);

const common = {
  model: z.string().min(1).max(100),
  stream: z.boolean().nullish(),
  user: z.string().nullish(),
};

export const OpenAiChatBody = z.looseObject({
  ...common,
  messages: z
    .array(z.looseObject({ role: z.string(), content: content.nullish() }))
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
        }),
      )
      .min(1)
      .max(2_000),
  ]),
  instructions: z.string().nullish(),
  conversation: z.union([z.string(), z.looseObject({ id: z.string() })]).nullish(),
  previous_response_id: z.string().max(100).nullish(),
});
export type OpenAiResponseBody = z.output<typeof OpenAiResponseBody>;

export const OpenAiModelParams = z.object({ model: z.string().max(100) });
