import { DureError } from "../kernel/errors.ts";
import type { TenantView } from "../kernel/tenant.ts";
import { isAgentsOwn } from "./agents/agent-homes.ts";
import { addressesOfServers, variablesOfServers } from "./agents/mcp-servers.ts";
import { rolesOf, type NetworkPolicies } from "./network-needs.ts";
import type { Plan } from "./plan.ts";
import type { NetworkPolicy } from "./sandbox/network.ts";

/**
 * Whose plans these are. An administrator without a tenant (`null`) may do at this machine what the
 * team may: name what lies outside of a text's tree, and repositories that the team does not name.
 */
export interface Reach {
  readonly tenant: TenantView;
}

/**
 * Keys by which a plan gets at more of the machine than the tree that it works in: what the team's
 * own files may say, and who only sends a text may not. Pure.
 */
function reachOf(plan: Plan): readonly string[] {
  const all = rolesOf(plan);
  return [
    ...(plan.isolation === "audit" ? ["isolation: audit"] : []),
    ...(plan.publish === undefined ? [] : ["publish"]),
    ...(plan.mayLeave === undefined ? [] : ["may_leave"]),
    ...networkKeys(plan),
    ...all.flatMap(([role, spec]) => {
      const { agent, env, set, writable, allowHome, readsHome, copyHome } = spec;
      return Object.entries({
        // It gets a login by itself.
        agent: agent === undefined ? [] : [agent],
        env: agent === undefined ? [...(env ?? []), ...Object.keys(set ?? {})] : [],
        writable,
        allow_home: allowHome,
        reads_home: readsHome,
        copy_home: agent === undefined ? copyHome : [],
        mcp: [...variablesOfServers(spec), ...addressesOfServers(spec)],
      }).flatMap(([key, names]) =>
        names !== undefined && names.length > 0 ? [`workers.${role}.${key}`] : [],
      );
    }),
  ];
}

/** Where a plan opens a network further than by default: to every host, or to hosts of its own. */
function networkKeys(plan: Plan): readonly string[] {
  const isWide = (policy: NetworkPolicy | undefined): boolean =>
    policy?.kind === "open" || (policy?.hosts.length ?? 0) > 0;
  const wide = (policies: NetworkPolicies | undefined): readonly string[] =>
    Object.entries(policies ?? {}).flatMap(([user, policy]) => (isWide(policy) ? [user] : []));
  return [
    ...wide(plan.network).map((user) => `network.${user}`),
    ...rolesOf(plan).flatMap(([role, spec]) =>
      isWide(spec.network) ? [`workers.${role}.network`] : [],
    ),
    ...plan.ports.flatMap((port) =>
      wide(port.network).map((user) => `ports.${port.id}.network.${user}`),
    ),
  ];
}

/** What takes protection away: it needs a scope of its own, also in the team's files. Pure. */
function weakeningsOf(plan: Plan): readonly string[] {
  const secrets = rolesOf(plan).flatMap(([role, { allowHome = [], copyHome = [] }]) => [
    ...(allowHome.length > 0 ? [`workers.${role}.allow_home`] : []),
    // An agent's own login is what it works with; anything else may be any secret.
    ...(copyHome.some((place) => !isAgentsOwn(place)) ? [`workers.${role}.copy_home`] : []),
  ]);

  return [...(plan.isolation === "audit" ? ["isolation: audit"] : []), ...secrets];
}

/** Throws `PLAN_UNCONFINED` where a plan lets workers do or see what they are else kept from. */
export function assertConfined(plan: Plan): void {
  const weakenings = weakeningsOf(plan);
  if (weakenings.length === 0) return;
  throw new DureError(
    "PLAN_UNCONFINED",
    [
      `The plan ${plan.name} takes protection away (${weakenings.join(", ")}),`,
      "and only a token with the scope plans:unconfined may start it.",
    ].join(" "),
    {
      class: "forbidden",
      hint: [
        "Make one: dure token create NAME --scope plans:unconfined --scope plans:run.",
        "The scope admin does not hold it, and a caller without a token has no scope.",
      ].join(" "),
      details: { weakenings },
    },
  );
}

/** Throws `PLAN_REACHES_OUT` where a plan is more than work in its own tree. */
export function assertStaysInside(plan: Plan): void {
  const reach = reachOf(plan);
  if (reach.length === 0) return;
  throw new DureError(
    "PLAN_REACHES_OUT",
    `The plan ${plan.name} asks for more of this machine than its own tree: ${reach.join(", ")}.`,
    {
      class: "forbidden",
      hint: [
        "Leave it out, or ask an operator to put the plan into the team's folder plans; it may say so",
        "for the repository and the base that it names. Or use a token with the scope admin and",
        "without a tenant.",
      ].join(" "),
      details: { reach },
    },
  );
}
