import type { FastifyRequest } from "fastify";
import type { Answerer, KnownPerson } from "../escalations/inbox.ts";
import { APPROVING } from "../kernel/escalation.ts";
import type { Escalation } from "../wire/escalations.ts";
import type { Principal } from "./access.ts";
import { LOCAL_TOKEN_ID } from "./local-token.ts";
import { viewerOf } from "./tenants.ts";

/** Who answers with a request. */
export function answererOf(request: FastifyRequest): Answerer {
  return { ...viewerOf(request), person: personOf(request.principal!) };
}

/**
 * Whose yes it is. All tokens of one name are one person, whatever their tenant; a token without a
 * name is one of its own. The person at the machine is one, whatever a page says that they are
 * called. Pure.
 */
function personOf(principal: Principal): KnownPerson {
  const { caller, person, roles = [] } = principal;
  if (person !== undefined) return { key: `person:${folded(person)}`, name: person, roles };
  return { key: isAtMachine(principal) ? "machine" : `token:${caller.name}`, roles };
}

/** Whether a token was made with the role that is asked for. Pure. */
export function isAskedByRole({ approval }: Escalation, { roles = [] }: Principal): boolean {
  return typeof approval?.role === "string" && roles.includes(approval.role);
}

/** The escalation with the answers alone that this caller's person may give. Pure. */
export function asAnsweredBy(escalation: Escalation, principal: Principal): Escalation {
  const { approval, suggestedActions, status } = escalation;
  if (!approval) return escalation;
  const refused = status === "open" ? refusalOf(escalation, principal) : null;
  const actions = suggestedActions.filter(({ value }) => refused === null || !APPROVING.has(value));
  return { ...escalation, approval: { ...approval, refused }, suggestedActions: actions };
}

type EscalationApproval = NonNullable<Escalation["approval"]>;

function refusalOf(escalation: Escalation, principal: Principal): EscalationApproval["refused"] {
  const { role, first } = escalation.approval!;
  if (role !== null && !isAskedByRole(escalation, principal)) return "role";
  return first !== null && isOwnYes(first, principal) ? "given" : null;
}

function isOwnYes(
  { by, person }: NonNullable<EscalationApproval["first"]>,
  principal: Principal,
): boolean {
  const { caller, person: own } = principal;
  if (person !== null) return own !== undefined && folded(own) === folded(person);
  if (own !== undefined) return false;
  return isAtMachine(principal) ? by === LOCAL_TOKEN_ID || !isToken(by) : by === caller.name;
}

function isAtMachine({ caller, proof }: Principal): boolean {
  return proof === "none" || caller.name === LOCAL_TOKEN_ID;
}

/** Without a token the caller is an address, or `machine:` with a name. */
function isToken(name: string): boolean {
  return name.startsWith("token_");
}

function folded(name: string): string {
  return name.normalize("NFKC").toLowerCase().replaceAll(/\s+/gu, " ").trim();
}
