import { sessionIdFor, type TenantView } from "../kernel/tenant.ts";
import type { PlatformEvent } from "../wire/events.ts";

/**
 * An event as its reader may know it: the session by its id; whose it is only where all are seen.
 * Pure.
 */
export function shownEvent(event: PlatformEvent, view: TenantView): PlatformEvent {
  const { tenant, session } = event;
  return {
    ...event,
    tenant: view === null && tenant !== "" ? tenant : undefined,
    session: session === undefined ? undefined : sessionIdFor(view, session),
  };
}
