import { z } from "zod";

/** Where a delivery goes. Source: docs/spec/interop §4. */
export const WebhookParams = z.object({ name: z.string().min(1).max(64) });

/** What a platform of chat posts, and for which account where the team has several. */
export const ChannelWebhookParams = z.object({
  name: z.string().min(1).max(64),
  account: z.string().min(1).max(64).optional(),
});
