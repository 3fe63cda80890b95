import { z } from "zod";

/** Where a delivery goes. Source: docs/spec/interop §4. */
export const WebhookParams = z.object({ name: z.string().min(1).max(64) });
