import { readFileSync } from "node:fs";
import { isWithin } from "./mount-plan.ts";

/** One mount of this process. Source: proc_pid_mountinfo(5). */
export interface Mount {
  readonly at: string;
  /**
   * Those that a new mount must keep, because the kernel locks them for a process in a user
   * namespace.
   */
  readonly flags: readonly string[];
}

const LOCKED_FLAGS = new Set([
  "nosuid",
  "nodev",
  "noexec",
  "noatime",
  "nodiratime",
  "relatime",
  "nosymfollow",
]);

export function ownMounts(): readonly Mount[] {
  return parseMounts(readFileSync("/proc/self/mountinfo", "utf8"));
}

/**
 * Mounts in the order of the table; where several stand on one another, the one that is seen. Pure.
 */
export function parseMounts(mountinfo: string): readonly Mount[] {
  const seen = new Map<string, Mount>();
  for (const line of mountinfo.split("\n")) {
    const [, , , , at, options] = line.split(" ");
    if (at === undefined || options === undefined) continue;
    const decoded = at.replace(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    seen.set(decoded, {
      at: decoded,
      flags: options.split(",").filter((flag) => LOCKED_FLAGS.has(flag)),
    });
  }
  return [...seen.values()];
}

/** The mount that holds a path. Pure. */
export function mountOf(path: string, mounts: readonly Mount[]): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of mounts) {
    if (isWithin(path, mount.at) && mount.at.length >= (found?.at.length ?? 0)) found = mount;
  }
  return found;
}

/** One line for `mount --all --fstab`. Pure. Source: fstab(5), escapes as in getmntent(3). */
export function tableLine(
  source: string,
  target: string,
  type: string,
  options: readonly string[],
): string {
  const escape = (text: string): string =>
    text.replace(/[\\ \t\n\r#]/g, (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, "0")}`);
  return `${escape(source)} ${escape(target)} ${type} ${[...new Set(options)].join(",")} 0 0`;
}
