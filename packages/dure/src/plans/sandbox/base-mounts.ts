import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { DOOR_INSIDE } from "./egress-proxy.ts";
import { isWithin, planPlaces, type MountEntry } from "./mount-plan.ts";
import { allowedSecretsOf, secretsOf } from "./secrets.ts";
import type { Link } from "./software.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";

/** What both mount-based kinds put around every confinement. */
export interface BaseMounts {
  /** The first is the root, which is empty but for what the others open in it. */
  readonly places: readonly MountEntry[];
  /** Links that are made in empty places. */
  readonly links: readonly Link[];
}

/** Empty at first, and private to each process. */
const TEMPORARY = "/tmp";
/** Where some programs keep what is temporary instead. */
const ALSO_TEMPORARY: Link = { at: "/var/tmp", to: TEMPORARY };

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

/**
 * Nothing of the machine is there but what a rule names: the root is hidden, and opened again for
 * the working folder, the confinement's places and the software.
 *
 * @param door Folder of the socket that leads out; undefined for a process without one.
 */
export function planBaseMounts(
  confinement: Confinement,
  setting: SandboxSetting,
  door?: string,
): BaseMounts {
  const { readOnly } = confinement;
  const { software, user } = setting;
  const secrets = secretsOf(setting.home, setting.allowSecrets);
  // A deeper place would open what lies around it.
  const shown = (confinement.shown ?? []).filter(
    (at) => !secrets.some((secret) => isWithin(at, secret)),
  );
  const named = [...confinement.writable, ...confinement.disposable];
  const opened = [confinement.cwd, ...named, ...readOnly, ...shown, ...software.places];
  const lent = allowedSecretsOf(setting.home, setting.allowSecrets);
  const hidden = [
    "/",
    ...secrets,
    ...setting.hidden,
    setting.folder,
    ...listeningSockets(),
    ...opened.flatMap(entryOfTemporary).filter((at) => !opened.includes(at)),
    ...(user === undefined ? [] : closedAround(opened, user)),
  ];
  const always = {
    hidden: hidden.filter((at) => !named.includes(at)),
    shown: [...software.places, ...lent],
    temporary: TEMPORARY,
  };
  const places = planPlaces({ ...confinement, shown }, always, kindOf);
  const links = [...software.links, ALSO_TEMPORARY].filter(({ at }) => isInNothing(at, places));
  return { places: door === undefined ? places : withDoor(places, door), links };
}

/** The way out, of which the machine has nothing. */
function withDoor([root, ...places]: readonly MountEntry[], door: string): readonly MountEntry[] {
  const entry = { path: path.relative("/", DOOR_INSIDE), isFolder: true };
  return [
    { ...root!, skeleton: [...root!.skeleton, entry] },
    ...places,
    { path: DOOR_INSIDE, source: door, look: "shown", isFolder: true, skeleton: [] },
  ];
}

/** Whether a link can be made there: no place shows what is at its path outside. */
function isInNothing(at: string, places: readonly MountEntry[]): boolean {
  if (places.some((place) => isWithin(place.path, at))) return false;
  return places.findLast((place) => isWithin(at, place.path))?.path === "/";
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

/** Trees that are new for each process. */
const COVERED = ["/run", "/proc", "/sys", "/dev"];
/**
 * Sockets hidden one by one. Source: a desktop with databases, agents and editors has about 200
 * with a path.
 */
const MAX_SOCKETS = 1_000;

/**
 * Sockets of the file system that a service listens to: a read-only mount does not keep a process
 * from connecting. Source: proc_net(5), `unix`; the name is the eighth field.
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

/** The entry of /tmp that holds a place: it is no place for temporary files. */
function entryOfTemporary(at: string): readonly string[] {
  return at !== TEMPORARY && isWithin(at, TEMPORARY)
    ? [path.join(TEMPORARY, at.split("/")[2]!)]
    : [];
}
