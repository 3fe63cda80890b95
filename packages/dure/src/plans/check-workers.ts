import {
  type Problem,
  problemAt,
  type SettingsDocument,
} from "../engine/files/load-service-document.ts";
import { belowHome, homeHint, refuseHomePlace } from "./agents/agent-homes.ts";
import { variablesIn } from "./agents/mcp-servers.ts";
import { isOwnSecret, OWN_SECRET_HINT } from "./own-secrets.ts";
import { HEXAGONAL_ROLES } from "./plan.ts";
import type { PlanDraft } from "./plan-schema.ts";
import { isHomeSecret } from "./sandbox/secrets.ts";
import { namesIn, Suggestions } from "./suggestions.ts";

export function checkWorkers(
  { workers, roles, ports, contracts = [] }: PlanDraft,
  document: SettingsDocument,
): Problem[] {
  const used = [...new Set(ports.map(({ role }) => role))];
  const known = [
    "default",
    "orchestrator",
    "implementer",
    "tester",
    ...(roles === "hexagonal" ? HEXAGONAL_ROLES : roles === "modules" ? used : Object.keys(roles)),
  ];
  const isKnown = new Set(known);
  const meant = new Suggestions(known);
  const others = `Known are ${namesIn(known)}.`;
  const unknown = Object.keys(workers)
    .filter((name) => !isKnown.has(name))
    .map((name) =>
      problemAt(document, ["workers", name], `"${name}" is no role of this plan`, {
        hint: meant.nameFor(name) ?? others,
      }),
    );
  const forAll = ["default", "implementer"];
  if (forAll.some((name) => Object.hasOwn(workers, name))) return unknown;
  const missing = used
    .filter((role) => !Object.hasOwn(workers, role))
    .map((role) =>
      problemAt(document, ["workers"], `no worker for the role ${role}`, {
        hint: `Add workers.default or workers.${role}.`,
      }),
    );
  if (contracts.length > 0 && !Object.hasOwn(workers, "orchestrator")) {
    missing.push(
      problemAt(document, ["workers"], "no worker writes the contracts", {
        hint: "Add workers.orchestrator.",
      }),
    );
  }

  return [...unknown, ...missing];
}

export function checkSecrets({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { env = [], mcp = {} }]) => {
    const ofServers = Object.entries(mcp).flatMap(([name, { env: given, headers }]) =>
      variablesIn([...Object.values(given ?? {}), ...Object.values(headers ?? {})]).map(
        (variable) => ({ variable, path: ["workers", role, "mcp", name] }),
      ),
    );
    const own = env.map((entry, index) => ({
      variable: entry.split("=")[0]!,
      path: ["workers", role, "env", index],
    }));

    return [...own, ...ofServers]
      .filter(({ variable }) => isOwnSecret(variable))
      .map(({ variable, path }) =>
        problemAt(document, path, `${variable} is dure's own, and no worker gets it`, {
          hint: OWN_SECRET_HINT,
        }),
      );
  });
}

/** What may hold secrets is lent by `allow_home`, which needs a scope of its own. */
export function checkReadsHome({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { readsHome = [] }]) =>
    readsHome.flatMap((place, index) => {
      if (!isHomeSecret(place)) return [];
      const path = ["workers", role, "readsHome", index];
      const hint = "Leave it out; allow_home lends what may hold secrets, with the scope for it.";

      return [problemAt(document, path, `~/${place} may hold secrets`, { hint })];
    }),
  );
}

/** No worker writes what runs for the person afterwards, outside of the sandbox. */
export function checkWritable({ workers }: PlanDraft, document: SettingsDocument): Problem[] {
  return Object.entries(workers).flatMap(([role, { writable = [] }]) =>
    writable.flatMap((place, index) => {
      const below = belowHome(place, undefined);
      const refused = below === undefined ? undefined : refuseHomePlace(below);
      if (!refused) return [];
      const path = ["workers", role, "writable", index];
      const holds = refused.isAgents ? "logins and settings of an agent" : "settings of programs";
      const message = `${place} holds ${holds} (~/${refused.meets}), which run for you afterwards`;

      return [problemAt(document, path, message, { hint: homeHint(refused) })];
    }),
  );
}
