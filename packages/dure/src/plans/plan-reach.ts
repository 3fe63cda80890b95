import { DureError } from "../kernel/errors.ts";
import type { Plan } from "./plan.ts";

/** Keys by which a plan gets at more of the machine than the tree that it works in: what the team's own files may say, and who only sends a text may not. Pure. */
function reachOf({ isolation, workers }: Plan): readonly string[] {
  const all = Object.entries({ ...(workers.default && { default: workers.default }), ...(workers.orchestrator && { orchestrator: workers.orchestrator }), ...workers.byRole });
  return [
    ...(isolation === "audit" ? ["isolation: audit"] : []),
    ...all.flatMap(([role, { env, writable, allowHome }]) => Object.entries({ env, writable, allow_home: allowHome }).flatMap(([key, names]) => (names !== undefined && names.length > 0 ? [`workers.${role}.${key}`] : []))),
  ];
}

/** Throws `PLAN_REACHES_OUT` where a plan is more than work in its own tree. */
export function assertStaysInside(plan: Plan): void {
  const reach = reachOf(plan);
  if (reach.length === 0) return;
  throw new DureError("PLAN_REACHES_OUT", `The plan ${plan.name} asks for more of this machine than its own tree: ${reach.join(", ")}.`, {
    class: "forbidden",
    hint: "Leave it out, let somebody put the plan into the team's folder plans, or use a token with the scope admin.",
    details: { reach },
  });
}
