import { existsSync, realpathSync } from "node:fs";
import { isWithin, type MountEntry } from "./mount-plan.ts";
import type { SandboxCommand, SandboxEnd } from "./sandbox.ts";

/** Paths of one command that are looked for. */
const MOST = 50;

/** Why a command did not find what it names, as a sentence; empty where nothing is absent. Pure. */
export function absentWords({ absent = [] }: Pick<SandboxEnd, "absent">): string {
  if (absent.length === 0) return "";
  return [
    ` Workers do not see ${absent.join(", ")}:`,
    "put its folder on dure's PATH, or name it in reads_home.",
  ].join(" ");
}

/**
 * Absolute paths that a command names, that are on this machine, and that its process does not see.
 * Only from the command, which a person wrote: what a process says about paths is not looked up.
 */
export function absentIn(
  { command }: Pick<SandboxCommand, "command">,
  places: readonly MountEntry[],
): readonly string[] {
  const text = [command].flat().join(" ");
  const named = text.match(/(?<![\w.~$/}-])\/[\w.@+-]+(?:\/[\w.@+-]+)+/g) ?? [];
  return [...new Set(named)]
    .slice(0, MOST)
    .filter((at) => !isMadeAnew(at) && existsSync(at))
    .filter((at) => ![at, realpathSync(at)].some((one) => isSeen(one, places)));
}

function isMadeAnew(at: string): boolean {
  return ["/proc", "/sys", "/dev"].some((tree) => isWithin(at, tree));
}

function isSeen(at: string, places: readonly MountEntry[]): boolean {
  const around = places.findLast((place) => isWithin(at, place.path));
  return around !== undefined && around.look !== "hidden" && around.look !== "temporary";
}
