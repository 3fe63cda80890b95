import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { DOOR_INSIDE } from "./door.ts";
import { isWithin, planPlaces, type MountEntry } from "./mount-plan.ts";
import { allowedSecretsOf, othersHomes, secretsOf } from "./secrets.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";

/** What both mount-based kinds put around every confinement. */
export interface Surroundings {
  readonly places: readonly MountEntry[];
  /** Whether `/tmp` is made anew: no rule says how it looks. */
  readonly newTemporary: boolean;
}

/**
 * Sockets of services live here, and a service that takes orders from its user (systemd, Docker)
 * would obey a confined process as it obeys dure: a read-only mount does not prevent connecting.
 */
const SERVICES = "/run";
/** A new one, in which everything of the old one is seen. */
export const TEMPORARY = "/tmp";

/** Devices that every program may have. */
export const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"] as const;

/**
 * Names in the new /dev that lead elsewhere. Source: kernel docs, admin-guide/devices, "compulsory
 * links".
 */
export const DEVICE_LINKS = {
  fd: "/proc/self/fd",
  stdin: "/proc/self/fd/0",
  stdout: "/proc/self/fd/1",
  stderr: "/proc/self/fd/2",
  ptmx: "pts/ptmx",
} as const;

/** @param door Folder of the socket that leads out; undefined for a process without one. */
export function planSurroundings(
  confinement: Confinement,
  setting: SandboxSetting,
  door?: string,
): Surroundings {
  const { readOnly } = confinement;
  const named = [...confinement.writable, ...confinement.disposable];
  const programs = [...setting.programs, path.dirname(process.execPath)].flatMap((folder) =>
    placeOfPrograms(folder, setting.home),
  );
  const closed =
    setting.user === undefined
      ? []
      : closedAround([confinement.cwd, ...named, ...readOnly, ...programs], setting.user);
  const hidden = [
    ...secretsOf(setting.home, setting.allowSecrets),
    ...othersHomes(setting.home),
    ...setting.hidden,
    setting.folder,
    ...listeningSockets(),
    ...closed,
  ];
  if (kindOf(SERVICES) === "folder") hidden.push(SERVICES);
  const alwaysHidden = hidden.filter((at) => !named.includes(at));
  const newTemporary = ![...named, ...confinement.hidden, ...readOnly].includes(TEMPORARY);
  const mentioned = [
    confinement.cwd,
    ...named,
    ...readOnly,
    ...confinement.hidden,
    ...alwaysHidden,
  ];
  const opened = programs.filter((at) => alwaysHidden.some((folder) => isWithin(at, folder)));
  const lent =
    setting.user === undefined ? [] : allowedSecretsOf(setting.home, setting.allowSecrets);
  const shown = [...(newTemporary ? mentioned.flatMap(entryOfTemporary) : []), ...opened, ...lent];
  const places = planPlaces(confinement, { hidden: alwaysHidden, shown }, kindOf);
  return { places: door === undefined ? places : withDoor(places, door), newTemporary };
}

/** The folder of services is empty inside, but for the way out. */
function withDoor(places: readonly MountEntry[], door: string): readonly MountEntry[] {
  const entry = { path: path.relative(SERVICES, DOOR_INSIDE), isFolder: true };
  const opened = places.map((place) =>
    place.path === SERVICES ? { ...place, skeleton: [...place.skeleton, entry] } : place,
  );
  return [
    ...opened,
    { path: DOOR_INSIDE, source: door, look: "shown", isFolder: true, skeleton: [] },
  ];
}

/**
 * What must be seen so that the programs of a folder of PATH run: of `…/bin` all that lies beside
 * it, such as libraries; but never a home folder, or what holds one.
 */
function placeOfPrograms(folder: string, home: string | undefined): readonly string[] {
  if (!path.isAbsolute(folder) || kindOf(folder) !== "folder") return [];
  const around = path.dirname(folder);
  const isWhole =
    ["bin", ".bin", "sbin"].includes(path.basename(folder)) &&
    around !== "/" &&
    !(home !== undefined && isWithin(home, around));
  return [isWhole ? around : folder];
}

/**
 * Folders on the way to these places that only their owner may enter: another user would not come
 * through. Outermost first.
 */
function closedAround(places: readonly string[], user: number): readonly string[] {
  const closed = new Set<string>();
  for (const place of places) {
    for (
      let folder = path.dirname(place);
      folder !== path.dirname(folder);
      folder = path.dirname(folder)
    ) {
      const entry = statSync(folder, { throwIfNoEntry: false });
      if (entry && entry.uid !== user && (entry.mode & 0o001) === 0) closed.add(folder);
    }
  }
  return [...closed].sort();
}

/** Trees that are new for each process, or empty. */
const COVERED = [SERVICES, "/proc", "/sys", "/dev"];
/**
 * Sockets hidden one by one. Source: a desktop with databases, agents and editors has about 200
 * with a path.
 */
const MAX_SOCKETS = 1_000;

/**
 * Sockets of the file system that a service listens to: a read-only mount does not keep a process
 * from connecting. Those in the folder of services are covered with it. Source: proc_net(5),
 * `unix`; the name is the eighth field.
 */
function listeningSockets(): readonly string[] {
  const lines = readFileSync("/proc/net/unix", "utf8").split("\n");
  const paths = lines.flatMap((line) => /^(?:\S+ +){7}(\/.*)$/.exec(line)?.[1] ?? []);
  const present = [...new Set(paths)].filter(
    (at) => !COVERED.some((folder) => isWithin(at, folder)) && isSocket(at),
  );
  return present.slice(0, MAX_SOCKETS);
}

/** Where we may not look, a process that is no more than we are does not get either. */
function isSocket(at: string): boolean {
  try {
    return lstatSync(at).isSocket();
  } catch {
    return false;
  }
}

/**
 * What is there, without following a link at the end; nothing but folders and files can be mounted
 * over.
 */
function kindOf(at: string): "folder" | "file" | undefined {
  const entry = lstatSync(at, { throwIfNoEntry: false });
  if (entry?.isDirectory()) return "folder";
  return entry === undefined || entry.isSymbolicLink() ? undefined : "file";
}

/**
 * Everything in the first level of /proc by which a process changes the machine (`sys`,
 * `sysrq-trigger`, …): for these files the kernel asks who the user is, not which privileges it
 * has, and ours may be root.
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

/** Of many the first; a mount each. */
const MAX_ENTRIES = 1_000;

/**
 * What lies in /tmp, for a kind that cannot lay a layer over all of it. Nothing but folders and
 * files can be mounted over.
 */
export function temporaryEntries(): readonly {
  readonly path: string;
  readonly isFolder: boolean;
}[] {
  const entries = readdirSync(TEMPORARY).flatMap((name) => {
    const at = path.join(TEMPORARY, name);
    // Its maker may have taken it away.
    const entry = lstatSync(at, { throwIfNoEntry: false });
    if (!entry?.isDirectory() && !entry?.isFile()) return [];
    return [{ path: at, isFolder: entry.isDirectory() }];
  });
  return entries.slice(0, MAX_ENTRIES);
}

/**
 * The entry of /tmp that holds the path: it is no place for temporary files, so it does not get new
 * ones.
 */
function entryOfTemporary(at: string): readonly string[] {
  return at !== TEMPORARY && isWithin(at, TEMPORARY)
    ? [path.join(TEMPORARY, at.split("/")[2]!)]
    : [];
}
