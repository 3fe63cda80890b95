import { z } from "zod";
import type { Json } from "../kernel/json.ts";

/** Shapes that several kinds of answers have. */

export const time = z.number().meta({ description: "Milliseconds since the epoch." });

/** Any JSON; in `/openapi.json` it is anything. */
export const json = z.unknown() as z.ZodType<Json | undefined>;

export const NOTHING = z.null().meta({ description: "Nothing." });

/** A page of a list. */
export const pageOf = <Item extends z.ZodType>(
  item: Item,
): z.ZodObject<{ items: z.ZodArray<Item>; next_cursor: z.ZodNullable<z.ZodString> }> =>
  z.object({
    items: z.array(item),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: "Give it back as `cursor`; null on the last page." }),
  });

/** A name under which a call is carried out once. */
export const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{1,255}$/, "must be 1–255 visible ASCII characters");

/** Code and facts of a sentence, for clients with words of their own. */
export const CodedJson = z.object({ code: z.string(), facts: z.record(z.string(), json) });

/**
 * Of a session that is looked at. Who sees all tenants names another's session as it is listed:
 * `acme/ceo`.
 */
export const seenSession = z
  .string()
  .max(400)
  .regex(
    /^(?:[^\0]+\/)?[A-Za-z0-9._:@-]{1,200}$/,
    "must be 1–200 characters of A-Z a-z 0-9 . _ : @ -",
  )
  .meta({
    description:
      "Names the conversation; for an administrator without a tenant `<tenant>/<id>` that of a tenant.",
  });
