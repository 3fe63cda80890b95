import path from "node:path";
import type { MountEntry } from "./mount-plan.ts";
import { allowedSecretsOf } from "./secrets.ts";
import { planBaseMounts, type BaseMounts } from "./base-mounts.ts";
import { usersInside } from "./users-inside.ts";
import { copyFor, giveTo } from "./worker-user.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";

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
