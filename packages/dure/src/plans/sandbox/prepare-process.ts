import path from "node:path";
import type { MountEntry } from "./mount-plan.ts";
import { allowedSecretsOf } from "./secrets.ts";
import { planBaseMounts, type BaseMounts } from "./base-mounts.ts";
import { copyFor, giveTo } from "./worker-user.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";
import { chmodSync, lstatSync, readFileSync, writeFileSync } from "node:fs";

/**
 * What both kinds that work by mounts do before one process: where it runs as another user, what it
 * may write is given to that user, which has a name inside, and secrets that a plan allows it are
 * shown as copies, since only root could read the originals.
 */
export async function prepareProcess(
  setting: SandboxSetting,
  confinement: Confinement,
  folder: string,
  door: string | undefined,
): Promise<BaseMounts> {
  const { user } = setting;
  if (user === undefined) return planBaseMounts(confinement, setting, door);
  await giveTo(user, confinement);
  const surroundings = planBaseMounts(confinement, setting, door);
  const named = new Set([...confinement.writable, ...confinement.disposable]);
  const lent: MountEntry[] = [];
  for (const [index, original] of allowedSecretsOf(setting.home, setting.allowSecrets).entries()) {
    const place = surroundings.places.find((one) => one.path === original);
    if (named.has(original) || place?.look !== "shown") continue;
    const copy = path.join(folder, `lent-${index}`);
    await copyFor(user, original, copy);
    lent.push({ ...place, source: copy });
  }
  const places = surroundings.places.map(
    (place) => lent.find((one) => one.path === place.path) ?? place,
  );
  return { ...surroundings, places: [...places, ...usersInside(user, folder)] };
}

// --- users inside

/** What the worker's user is called inside. */
const NAME = "dure-worker";

const LISTS = [
  {
    at: "/etc/passwd",
    entryOf: (user: number) => `${NAME}:x:${user}:${user}::/nonexistent:/bin/sh`,
  },
  { at: "/etc/group", entryOf: (user: number) => `${NAME}:x:${user}:` },
] as const;

/**
 * The system's lists of users and groups with the worker's user in them. Programs that ask for
 * their own name end otherwise: `os.userInfo()` of Node throws.
 */
function usersInside(user: number, folder: string): readonly MountEntry[] {
  return LISTS.flatMap(({ at, entryOf }): readonly MountEntry[] => {
    if (lstatSync(at, { throwIfNoEntry: false })?.isFile() !== true) return [];
    const list = readFileSync(at, "utf8");
    const source = path.join(folder, path.basename(at));
    writeFileSync(source, withEntry(list, entryOf(user), user));
    chmodSync(source, 0o644); // whatever the umask

    return [{ path: at, source, look: "shown", isFolder: false, skeleton: [] }];
  });
}

/** The list with the entry at its end, unless it has one of that number. Pure. */
function withEntry(list: string, entry: string, user: number): string {
  if (new RegExp(`^[^:\n]*:[^:\n]*:${user}:`, "m").test(list)) return list;
  const between = list === "" || list.endsWith("\n") ? "" : "\n";
  return `${list}${between}${entry}\n`;
}
