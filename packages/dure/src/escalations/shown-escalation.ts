import { sessionIdFor, type TenantView } from "../kernel/tenant.ts";
import type { Escalation } from "../wire/escalations.ts";

/** An escalation as its reader may know it: the session by its id. Pure. */
export function shownEscalation(escalation: Escalation, view: TenantView): Escalation {
  const { source } = escalation;
  if (source.session === undefined) return escalation;

  const session = sessionIdFor(view, source.session);
  return { ...escalation, source: { ...source, session } };
}
