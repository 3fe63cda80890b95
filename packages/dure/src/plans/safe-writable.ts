import { existsSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { DureError } from "../kernel/errors.ts";
import { belowHome, homeHint, refuseHomePlace } from "./agents/agent-homes.ts";
import { rolesOf } from "./network-needs.ts";
import type { Plan, WorkerSpec } from "./plan.ts";
import type { Confinement } from "./sandbox/sandbox.ts";
import { isHomeSecret } from "./sandbox/secrets.ts";

/** Places beside its tree that a worker may write, and those of the home folder that it sees. */
export function placesOf(
  spec: Pick<WorkerSpec, "writable" | "readsHome">,
  home: string | undefined,
): Pick<Confinement, "writable" | "shown"> {
  return { writable: writableOf(spec, home), shown: seenOf(spec, home) };
}

function writableOf(
  { writable = [] }: Pick<WorkerSpec, "writable">,
  home: string | undefined,
): readonly string[] {
  return writable.map((place) => place.replace(/^~(?=\/|$)/, home ?? "~"));
}

/** What is not there, or may hold secrets, is not shown. */
function seenOf(
  { readsHome = [] }: Pick<WorkerSpec, "readsHome">,
  home: string | undefined,
): readonly string[] {
  if (home === undefined) return [];
  return readsHome
    .filter((place) => !isHomeSecret(place))
    .map((place) => realOf(join(home, place)))
    .filter((place) => existsSync(place));
}

/**
 * Throws `WRITABLE_OF_PERSON` where a worker could write what runs for the person afterwards: the
 * plan names it by its whole path, by a link, or was stored before it was checked.
 */
export function assertSafeWritable(plan: Plan, home: string | undefined): void {
  for (const [role, spec] of rolesOf(plan)) {
    for (const place of writableOf(spec, home)) {
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
