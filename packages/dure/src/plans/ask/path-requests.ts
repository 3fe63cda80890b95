import type { HookAccess } from "../../wire/hooks.ts";
import type { NewEscalation } from "../../kernel/escalation.ts";
import type { AccessRequest } from "../workers/worker.ts";
import type { PathGrant } from "../../wire/runs.ts";
import { escalationFor } from "./triggers.ts";
import type { Member } from "../../kernel/plans.ts";

export const NO_PATH: HookAccess = {
  granted: false,
  note: "That is no path of the repository; paths begin at its root.",
};
export const KNOWN_PATH: HookAccess = { granted: true, note: "It is yours already." };
export const ASKED_OPERATOR: HookAccess = {
  granted: false,
  note: "The operator was asked. Go on without it; what is allowed counts from the next try on.",
};

/** Characters of a worker's reason that the operator sees. */
const MAX_WHY = 2_000;

/** Whether the grants cover the request. Pure. */
export function isGranted(
  grants: readonly PathGrant[],
  { path, wants }: Pick<AccessRequest, "path" | "wants">,
): boolean {
  return grants.some(
    (grant) => grant.path === path && (grant.wants === "own" || grant.wants === wants),
  );
}

/** The question to the operator. Each path is a question of its own. Pure. */
export function pathQuestion(
  asking: {
    readonly tenant: string;
    readonly run: string;
    readonly plan: string;
    readonly port: string;
    readonly member: Member;
  },
  { path, wants, why }: AccessRequest,
): NewEscalation {
  const { tenant, run, plan, port, member } = asking;
  return escalationFor("access-asked", {
    tenant,
    run,
    plan,
    port,
    key: `${wants}=${path}`,
    title: `${port}: ${member} → ${wants} ${path}`.slice(0, 300),
    context: { path, wants, why: why.slice(0, MAX_WHY) },
  });
}
