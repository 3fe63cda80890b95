import { realpathSync } from "node:fs";
import { DureError } from "../kernel/errors.ts";
import { belowHome, homeHint, refuseHomePlace } from "./agents/agent-homes.ts";
import { rolesOf } from "./network-needs.ts";
import type { Plan, WorkerSpec } from "./plan.ts";

/** Places beside its tree that a worker may write, as they are on this machine. Pure. */
export function placesOf(
  { writable = [] }: Pick<WorkerSpec, "writable">,
  home: string | undefined,
): readonly string[] {
  return writable.map((place) => place.replace(/^~(?=\/|$)/, home ?? "~"));
}

/**
 * Throws `WRITABLE_OF_PERSON` where a worker could write what runs for the person afterwards: the
 * plan names it by its whole path, by a link, or was stored before it was checked.
 */
export function assertSafeWritable(plan: Plan, home: string | undefined): void {
  for (const [role, spec] of rolesOf(plan)) {
    for (const place of placesOf(spec, home)) {
      const names = [place, realOf(place)];
      const homes = home === undefined ? [undefined] : [home, realOf(home)];
      const below = names.flatMap((name) => homes.flatMap((one) => belowHome(name, one) ?? []));
      const refused = below.map(refuseHomePlace).find((one) => one !== undefined);
      if (refused === undefined) continue;
      throw new DureError(
        "WRITABLE_OF_PERSON",
        `workers.${role} may not write ${place}: ~/${refused.meets} runs for you afterwards.`,
        { class: "forbidden", hint: homeHint(refused), details: { role, place } },
      );
    }
  }
}

function realOf(place: string): string {
  try {
    return realpathSync(place);
  } catch {
    return place; // it is not there yet
  }
}
