import { lstatSync, readdirSync, realpathSync } from "node:fs";
import path from "node:path";
import { isWithin, planPlaces, type Place } from "./mount-plan.ts";
import { secretsOf } from "./secrets.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";

/** What both kinds that work by mounts put around a confinement, whatever it says. */
export interface Surroundings {
  readonly places: readonly Place[];
  /** Whether `/tmp` is made anew: nobody has said how it looks. */
  readonly newTemporary: boolean;
}

/**
 * Sockets of services live here, and a service that takes orders from its user (systemd, Docker) would work for a confined
 * process as for us: a read-only mount does not keep anybody from connecting.
 */
const SERVICES = "/run";
/** A new one, in which everything of the old one is seen. */
export const TEMPORARY = "/tmp";

/** Devices that every program may have. */
export const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"] as const;

/** Names in the new /dev that lead elsewhere. Source: kernel docs, admin-guide/devices, "compulsory links". */
export const DEVICE_LINKS = { fd: "/proc/self/fd", stdin: "/proc/self/fd/0", stdout: "/proc/self/fd/1", stderr: "/proc/self/fd/2", ptmx: "pts/ptmx" } as const;

export function planSurroundings(confinement: Confinement, setting: SandboxSetting): Surroundings {
  const readOnly = [...confinement.readOnly, ...resolverFiles(confinement)];
  const hidden = [...secretsOf(setting.home, setting.allowSecrets), setting.folder];
  if (kindOf(SERVICES) === "folder") hidden.push(SERVICES);
  const named = [...confinement.writable, ...confinement.disposable];
  const alwaysHidden = hidden.filter((at) => !named.includes(at));
  const newTemporary = ![...named, ...confinement.hidden, ...confinement.readOnly].includes(TEMPORARY);
  const mentioned = [confinement.cwd, ...named, ...readOnly, ...confinement.hidden, ...alwaysHidden];
  const shown = newTemporary ? mentioned.flatMap(entryOfTemporary) : [];
  return { places: planPlaces({ ...confinement, readOnly }, { hidden: alwaysHidden, shown }, kindOf), newTemporary };
}

/** What is there, without following a link at the end; nothing but folders and files can be mounted over. */
function kindOf(at: string): "folder" | "file" | undefined {
  const entry = lstatSync(at, { throwIfNoEntry: false });
  if (entry?.isDirectory()) return "folder";
  return entry === undefined || entry.isSymbolicLink() ? undefined : "file";
}

/**
 * Everything in the first level of /proc by which a process changes the machine (`sys`, `sysrq-trigger`, …): for these
 * files the kernel asks who the user is, not which privileges it has, and ours may be root.
 */
export function machineControls(): readonly string[] {
  // By name first: a process may end between the list and a look at its folder.
  return readdirSync("/proc").flatMap((name) => {
    if (/^\d+$/.test(name)) return [];
    const at = path.join("/proc", name);
    const entry = lstatSync(at, { throwIfNoEntry: false });
    if (entry === undefined || entry.isSymbolicLink()) return [];
    return entry.isDirectory() || (entry.mode & 0o222) !== 0 ? [at] : [];
  });
}

/** Where /etc/resolv.conf leads when that is in /run: without it no name is found. */
function resolverFiles(confinement: Confinement): readonly string[] {
  if ((confinement.network ?? "host") === "none") return [];
  try {
    const real = realpathSync("/etc/resolv.conf");
    return isWithin(real, SERVICES) ? [real] : [];
  } catch {
    return [];
  }
}

/** Of many the first; a mount each. Source: our choice. */
const ENTRIES_MOST = 1_000;

/** What lies in /tmp, for a kind that cannot lay a layer over all of it. Nothing but folders and files can be mounted over. */
export function temporaryEntries(): readonly { readonly path: string; readonly isFolder: boolean }[] {
  const entries = readdirSync(TEMPORARY).flatMap((name) => {
    const at = path.join(TEMPORARY, name);
    const entry = lstatSync(at, { throwIfNoEntry: false }); // who made it may have taken it away
    return entry?.isDirectory() || entry?.isFile() ? [{ path: at, isFolder: entry.isDirectory() }] : [];
  });
  return entries.slice(0, ENTRIES_MOST);
}

/** The entry of /tmp that holds the path: it is no place for temporary files, so it does not get new ones. */
function entryOfTemporary(at: string): readonly string[] {
  return at !== TEMPORARY && isWithin(at, TEMPORARY) ? [path.join(TEMPORARY, at.split("/")[2]!)] : [];
}
