import { z } from "zod";

/** What `/ai-sdk/v1` takes of `useChat`. Source: docs/spec/interop §5. */

const part = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  url: z.string().optional(),
  filename: z.string().nullish(),
});

export const UiChatParams = z.object({ service: z.string().min(1).max(100) });
export const UiStreamParams = UiChatParams.extend({ id: z.string().min(1).max(200) });
export const UiChatBody = z.looseObject({
  id: z.string(),
  messages: z
    .array(z.looseObject({ id: z.string(), role: z.string(), parts: z.array(part).max(1_000) }))
    .min(1)
    .max(2_000),
  trigger: z.string().optional(),
  confirm_id: z.string().min(1).max(200).optional(),
});
export type UiChatBody = z.output<typeof UiChatBody>;
