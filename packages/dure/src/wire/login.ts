import { z } from "zod";
import type { FromWire } from "../kernel/wire.ts";

/** What `/v1/login` takes and gives. Source: docs/spec/platform §6. */

// --- requests

const secret = z.string().min(1).max(512);

export const LoginParams = z.object({ id: z.string().min(1).max(100) });

export const LoginBody = z
  .object({
    token: secret.optional().meta({ description: "A token. Either this or `once`." }),
    once: secret.optional().meta({
      description:
        "What stands behind `once=` in a link of `dure login` or of the start. It holds once, for 10 " +
        "minutes.",
    }),
  })
  .refine(
    ({ token, once }) => (token === undefined) !== (once === undefined),
    "either `token` or `once` is needed, and not both",
  );

// --- answers

export const LoginLinkAnswer = z.object({
  path: z
    .string()
    .meta({ description: "Opened in a browser it logs in, once, within 10 minutes." }),
});

const LoginJson = z
  .object({
    id: z.string(),
    token_id: z.string(),
    user_agent: z.string(),
    created_at: z
      .number()
      .meta({ description: "Milliseconds since the epoch, as all times here." }),
    used_at: z.number(),
    expires_at: z.number(),
    current: z.boolean().meta({ description: "The one that asks." }),
  })
  .meta({ id: "Login", description: "A browser that is logged in." });

export const LoginsAnswer = z.object({ items: z.array(LoginJson) });
export type LoginsAnswer = z.output<typeof LoginsAnswer>;

// --- in TypeScript's spelling

/** A browser that is logged in. */
export type Login = FromWire<z.output<typeof LoginJson>>;
export type LoginLink = FromWire<z.output<typeof LoginLinkAnswer>>;
