import { chmodSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { MountEntry } from "./mount-plan.ts";

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
export function usersInside(user: number, folder: string): readonly MountEntry[] {
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
