import { z } from "zod";
import { TOLD_CHOICES } from "../kernel/alerts.ts";
import { LOCALES } from "../kernel/locales.ts";
import type { FromWire } from "../kernel/wire.ts";
import { AsPerson } from "./rooms.ts";

/** What `/v1/notifications` takes and gives. Source: docs/spec/collaboration §12. */

export const NotificationsJson = z.object({
  told: z.enum(TOLD_CHOICES),
  muted: z.array(z.string()).meta({ description: "Ids of rooms and threads." }),
  browsers: z.number().int().meta({ description: "Web Push subscriptions of this person." }),
  public_key: z.string().meta({ description: "`applicationServerKey` of a new subscription." }),
});
/** What a person is told outside of the page, and where. */
export type NotificationChoices = FromWire<z.output<typeof NotificationsJson>>;

export const NotificationsBody = AsPerson.extend({ told: z.enum(TOLD_CHOICES) });

export const SubscriptionBody = AsPerson.extend({
  endpoint: z.string().min(1).max(2_000).meta({
    description: "Address of the push service: https, and public.",
  }),
  keys: z.object({
    p256dh: z.string().regex(/^[A-Za-z0-9_-]{87}=?$/, "must be 65 bytes in base64url"),
    auth: z.string().regex(/^[A-Za-z0-9_-]{22}={0,2}$/, "must be 16 bytes in base64url"),
  }),
  locale: z.enum(LOCALES).optional().meta({ description: "Default: that of the team." }),
});

export const SubscriptionJson = z.object({ id: z.string() });
export const SubscriptionParams = z.object({ id: z.string().min(1).max(100) });
