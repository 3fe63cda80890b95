import { BOT_TOKENS } from "../kernel/bot-tokens.ts";
import { DureError } from "../kernel/errors.ts";
import { variablesOfServers } from "./agents/mcp-servers.ts";
import { rolesOf } from "./network-needs.ts";
import type { Plan } from "./plan.ts";

/**
 * Variables with which dure opens its own doors: its database, its server, its webhook, the bots of
 * its agents on its platforms and on those of the team's own (`<PLATFORM>_BOT_TOKEN_<AGENT>`).
 */
const OWN = new RegExp(
  `^(?:DURE_.*|DATABASE_URL|(?:${Object.values(BOT_TOKENS).flat().join("|")})_.*|` +
    "[A-Z0-9]+_(?:BOT|APP)_TOKEN.*)$",
  "iu",
);

export const OWN_SECRET_HINT =
  "Take it out of env; a worker that needs such a value gets it by a variable of another name.";

/** Whether a variable of dure's environment is kept from every worker. Pure. */
export function isOwnSecret(name: string): boolean {
  return OWN.test(name);
}

/** Throws `PLAN_TAKES_SECRET` where a plan, stored before it was checked, names such a variable. */
export function assertLeavesSecrets(plan: Plan): void {
  const taken = rolesOf(plan).flatMap(([role, spec]) =>
    [...(spec.env ?? []), ...variablesOfServers(spec)]
      .filter(isOwnSecret)
      .map((name) => ({ role, name })),
  );
  if (taken.length === 0) return;
  const words = taken.map(({ role, name }) => `${name} (workers.${role}.env)`);
  throw new DureError(
    "PLAN_TAKES_SECRET",
    `The plan ${plan.name} gives workers what is dure's own: ${words.join(", ")}.`,
    { class: "forbidden", hint: OWN_SECRET_HINT, details: { taken } },
  );
}
