import { Alerts } from "../alerts/alerts.ts";
import type { Outbox } from "../durable/outbox.ts";
import type { Database } from "../durable/database.ts";
import type { Directory } from "../rooms/directory.ts";
import type { Starting } from "./core.ts";

/** Tells people of what waits for them. Undefined: the team has no agents, and so no rooms. */
export function openAlerts(
  { team, environment, settings, clock }: Starting,
  parts: { database: Database; outbox: Outbox; directory: Directory | undefined },
): Alerts | undefined {
  const { database, outbox, directory } = parts;
  if (!directory) return undefined;
  const { webhook, pushTo } = team.config.notify ?? {};
  const secret = environment.webhookSecret;

  return new Alerts({
    ...{ database, outbox, directory, clock },
    receivers: { allowed: new Set(pushTo), setting: "notify.pushTo", isSecure: true },
    webhook: webhook === undefined ? undefined : { url: webhook, secret },
    contact: settings.notifyContact,
    showsText: settings.notifyText,
    perHour: settings.notifyPerHour,
    locale: settings.locale,
    vapidKeys: environment.vapidKey,
  });
}
