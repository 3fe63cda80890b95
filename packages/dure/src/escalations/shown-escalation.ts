import { sessionIdFor, type TenantView } from "../kernel/tenant.ts";
import type { Escalation } from "../wire/escalations.ts";

/** Of a call: who may not decide reads which tool is meant, not with what. */
const ARGUMENTS: ReadonlySet<string> = new Set(["input", "key", "failure", "effects"]);

/** An escalation as its reader may know it: the session by its id. Pure. */
export function shownEscalation(
  escalation: Escalation,
  { view, mayDecide }: { readonly view: TenantView; readonly mayDecide: boolean },
): Escalation {
  const known = mayDecide ? escalation : withoutArguments(escalation);
  const { source } = known;
  if (source.session === undefined) return known;

  const session = sessionIdFor(view, source.session);
  return { ...known, source: { ...source, session } };
}

/** A question that the service has words for stands; the usual one names all arguments. */
function withoutArguments(escalation: Escalation): Escalation {
  const { context, title } = escalation;
  const { tool } = context;
  if (typeof tool !== "string") return escalation;

  const kept = Object.entries(context).filter(([name]) => !ARGUMENTS.has(name));
  const told = { ...escalation, context: Object.fromEntries(kept) };
  return title.startsWith(`${tool}: `) ? { ...told, title: tool, description: "" } : told;
}
