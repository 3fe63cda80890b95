/** Workers behind namespaces: what is mounted for them, and how. */

import path from "node:path";
import { mkdirSync, symlinkSync, writeFileSync, chmodSync, chownSync, statSync } from "node:fs";
import { codeOf } from "../../kernel/errors.ts";
import { GATE, quote } from "./launch-script.ts";
import { ownMounts, type Mount, mountOf, tableLine } from "./mount-table.ts";
import { countsPerNamespace } from "./control-groups.ts";
import { findTool } from "./tools.ts";
import { prepareProcess } from "./prepare-process.ts";
import { DEVICE_LINKS, DEVICES, machineControls, type BaseMounts } from "./base-mounts.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { Link } from "./software.ts";
import type { SandboxSetting } from "./sandbox.ts";
import { isWithin, type MountEntry } from "./mount-plan.ts";

/**
 * Isolation by util-linux alone. A first process may mount: it builds a root of its own, in which
 * nothing is there but what the confinement and the software of the machine need, and runs the command without that power.
 * An ordinary user has it in a user namespace; the command runs in a second one inside it, to which
 * those mounts belong to another user. Root has it anyway; the command becomes a user that owns
 * nothing, and a namespace which that user makes cannot undo the mounts either: to the kernel they
 * are locked.
 *
 *     dure → setpriv (dies with dure) → unshare (mount, pid, net)
 *       → sh, the first process: mounts → setpriv → gate → command
 */
export function openNamespaces(setting: SandboxSetting): Confiner {
  const tools = {
    unshare: findTool("unshare"),
    setpriv: findTool("setpriv"),
    mount: findTool("mount"),
    umount: findTool("umount"),
    pivot: findTool("pivot_root"),
    ip: findTool("ip"),
  };
  const devices = makeDeviceFolder(setting.folder);
  const inner = [...innerCommand(setting.user, tools), "/bin/sh", "-c", GATE];
  const own = [
    "--mount",
    "--pid",
    "--ipc",
    "--uts",
    "--net",
    "--fork",
    "--kill-child",
    "--propagation=private",
  ];
  const power = setting.user === undefined ? ["--user", "--map-root-user"] : [];

  return {
    kind: "namespaces",
    async enclose(confinement, folder, door): Promise<Enclosure> {
      const surroundings = await prepareProcess(setting, confinement, folder, door);
      const { user } = setting;
      const parts = { surroundings, devices, folder, mounts: ownMounts(), user };
      const script = path.join(folder, "enter.sh");
      writeFileSync(script, enterScript(mountTables(parts), { folder, tools, inner }));
      const unshare = [tools.unshare, ...power, ...own, "--"];
      return {
        argv: [tools.setpriv, "--pdeathsig=KILL", "--", ...unshare, "/bin/sh", script],
        hasInit: true,
        countsOwnProcesses: countsPerNamespace(process.getuid?.()),
        places: surroundings.places,
      };
    },
  };
}

/** Writes the mount tables into the folder; gives what the first process does. */
function enterScript(
  table: MountTables,
  options: {
    folder: string;
    tools: Readonly<Record<"ip" | "mount" | "umount" | "pivot", string>>;
    inner: readonly string[];
  },
): string {
  const { folder, tools, inner } = options;
  const mountAll = (name: string, lines: readonly string[]): string => {
    const file = path.join(folder, name);
    writeFileSync(file, lines.join("\n") + "\n");
    return `${tools.mount} --all --fstab ${quote(file)}`;
  };
  return [
    "set -e",
    "umask 022",
    `${tools.ip} link set lo up`,
    mountAll("before.tab", table.before),
    `mkdir -p -m 1777 ${table.folders.map(quote).join(" ")}`,
    ...table.files.map((file) => `: >${quote(file)}`),
    ...table.links.map(linkLine),
    mountAll("after.tab", table.after),
    `cd ${quote(table.root)}`,
    `${tools.pivot} . .`,
    `${tools.umount} -l .`,
    "cd /",
    "umask 022",
    "set +e",
    inner.map(quote).join(" "),
    // Without it this shell would become the command and be the first process no more.
    "exit $?",
  ].join("\n");
}

/** Folders above it may be missing. */
function linkLine({ at, to }: Link): string {
  return `mkdir -p ${quote(path.dirname(at))} && ln -s -- ${quote(to)} ${quote(at)}`;
}

/** Comes before the gate: takes every power from it. */
function innerCommand(
  user: number | undefined,
  tools: { readonly unshare: string; readonly setpriv: string },
): readonly string[] {
  const powerless = [tools.setpriv, "--no-new-privs", "--inh-caps=-all"];
  if (user !== undefined) {
    return [
      ...powerless,
      "--bounding-set=-all",
      `--reuid=${user}`,
      `--regid=${user}`,
      "--clear-groups",
      "--",
    ];
  }
  return [
    tools.unshare,
    "--user",
    `--map-user=${process.getuid?.()}`,
    `--map-group=${process.getgid?.()}`,
    "--",
    ...powerless,
    "--",
  ];
}

/**
 * What /dev looks like inside, without the devices themselves: they are mounted over the empty
 * files.
 */
function makeDeviceFolder(parent: string): string {
  const folder = path.join(parent, "dev");
  for (const name of ["pts", "shm"]) mkdirSync(path.join(folder, name), { recursive: true });
  for (const device of DEVICES) writeFileSync(path.join(folder, device), "");
  for (const [name, to] of Object.entries(DEVICE_LINKS)) {
    try {
      symlinkSync(to, path.join(folder, name));
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error; // made before, or by another process just now
    }
  }
  return folder;
}

/**
 * Where parts lie until they are mounted: a memory file system over the old /sys, which has a plain
 * name (overlayfs takes no comma or colon), is no source of anything, and is gone with the old
 * root.
 */
const STAGE = "/sys";
/** Of everything that is written to /tmp, and of what is written to /dev/shm. */
const MEMORY = "size=1g";
/** Of the new root, which holds empty folders and files, and links. */
const ROOT_MEMORY = "size=16m";
/**
 * The source of what comes from no disk: `mount --all` leaves out what seems to be mounted already,
 * by source and target.
 */
const OURS = "dure";
const QUIET = ["nosuid", "nodev"] as const;

interface MountTables {
  readonly root: string;
  /** The stage and the new root, both empty. */
  readonly before: readonly string[];
  /** To be made in them after that. */
  readonly folders: readonly string[];
  readonly files: readonly string[];
  readonly links: readonly Link[];
  readonly after: readonly string[];
}

interface TableParts {
  readonly surroundings: BaseMounts;
  readonly devices: string;
  /** Of the process; parts that belong on a disk are made in it. */
  readonly folder: string;
  readonly mounts: readonly Mount[];
  /** The user as which the command runs, if not the process's own. */
  readonly user: number | undefined;
}

/**
 * What to mount, in tables for `mount --all`: one process mounts hundreds of places in some
 * milliseconds.
 */
function mountTables(parts: TableParts): MountTables {
  const drawing = new TableDrawing(parts);
  drawing.addDevices();
  for (const [index, entry] of parts.surroundings.places.entries()) drawing.add(entry, index);
  drawing.seal();
  return drawing;
}

/** The tables while they are made: a line after the other. */
class TableDrawing implements MountTables {
  readonly root: string;
  readonly before: readonly string[];
  readonly folders: string[] = [];
  readonly files = [`${STAGE}/nothing`];
  readonly links: readonly Link[];
  readonly after: string[] = [];
  readonly #parts: TableParts;

  constructor(parts: TableParts) {
    this.#parts = parts;
    this.root = path.join(parts.folder, "root");
    mkdirSync(this.root);
    this.before = [
      tableLine(OURS, STAGE, "tmpfs", ["mode=755", MEMORY]),
      tableLine(OURS, this.root, "tmpfs", ["mode=755", ROOT_MEMORY, ...QUIET]),
    ];
    this.links = parts.surroundings.links.map(({ at, to }) => ({ at: this.#at(at), to }));
  }

  /** /proc, /dev and what belongs to them. */
  addDevices(): void {
    const quiet = ["bind", "ro", ...QUIET, "noexec"];
    const device = ["bind", "nosuid", "noexec", ...this.#flagsAt("/dev")];
    this.folders.push(...["/proc", "/dev", "/sys"].map((at) => this.#at(at)));
    const terminals = ["newinstance", "ptmxmode=0666", "mode=620", "nosuid", "noexec"];
    this.after.push(
      tableLine(OURS, this.#at("/proc"), "proc", [...QUIET, "noexec"]),
      ...machineControls().map((at) => tableLine(this.#at(at), this.#at(at), "none", quiet)),
      tableLine(this.#parts.devices, this.#at("/dev"), "none", ["bind", "ro", "nosuid", "noexec"]),
      ...DEVICES.map((name) => tableLine(`/dev/${name}`, this.#at(`/dev/${name}`), "none", device)),
      tableLine(OURS, this.#at("/dev/pts"), "devpts", terminals),
      tableLine(OURS, this.#at("/dev/shm"), "tmpfs", ["mode=1777", MEMORY, ...QUIET]),
    );
  }

  /** One place of the confinement, the `index`th. */
  add(entry: MountEntry, index: number): void {
    const target = this.#at(entry.path);
    switch (entry.look) {
      case "hidden":
        if (entry.path === "/") this.#addSkeleton(this.root, entry);
        else this.#hide(entry, index);
        break;
      case "temporary":
        this.folders.push(`${STAGE}/${index}`);
        this.#addSkeleton(`${STAGE}/${index}`, entry);
        this.after.push(tableLine(`${STAGE}/${index}`, target, "none", ["bind", ...QUIET]));
        break;
      case "readOnly":
      case "shown":
        this.#bind(entry.path, ["ro"], { source: entry.source });
        break;
      case "writable":
        this.#bind(entry.path, ["rw"]);
        break;
      case "pinned":
        this.after.push(
          tableLine(target, target, "none", ["rbind", ...QUIET, ...this.#flagsAt(entry.path)]),
        );
        break;
      case "disposable":
        this.#layOver(entry, index);
        break;
      default:
        entry.look satisfies never;
    }
  }

  /** As outside, with all that is mounted in it. */
  #bind(
    place: string,
    access: readonly string[],
    { source }: { source?: string | undefined } = {},
  ): void {
    const from = source ?? place;
    const flags = [...access, ...QUIET, ...this.#flagsAt(from)];
    this.after.push(tableLine(from, this.#at(place), "none", ["rbind", ...flags]));
    // In a folder of dure's own nothing is mounted.
    if (source !== undefined) return;
    for (const mount of this.#parts.mounts.filter(({ at }) => isWithin(at, place))) {
      const again = ["remount", "bind", ...access, ...QUIET, ...mount.flags];
      this.after.push(tableLine("none", this.#at(mount.at), "none", again));
    }
  }

  /** After all that is mounted in it. */
  seal(): void {
    this.after.push(tableLine("none", this.root, "none", ["remount", "bind", "ro", ...QUIET]));
  }

  #hide(entry: MountEntry, index: number): void {
    const target = this.#at(entry.path);
    const part = `${STAGE}/${index}`;
    const source = entry.isFolder ? part : `${STAGE}/nothing`;
    if (entry.isFolder) {
      this.folders.push(part);
      this.#addSkeleton(part, entry);
    }
    this.after.push(tableLine(source, target, "none", ["bind", "ro", ...QUIET]));
  }

  /** What deeper places stand on, in an empty one that is made at `part`. */
  #addSkeleton(part: string, { skeleton }: MountEntry): void {
    for (const inner of skeleton) {
      const made = path.join(part, inner.path);
      this.folders.push(inner.isFolder ? made : path.dirname(made));
      if (!inner.isFolder) this.files.push(made);
    }
  }

  /** What is written to the place goes to a layer that is thrown away. */
  #layOver(entry: MountEntry, index: number): void {
    const { folder, user } = this.#parts;
    const part = `${STAGE}/${index}`;
    // On disk: what a test run writes may be larger than the memory.
    const layer = path.join(folder, `layer-${index}`);
    mkdirSync(path.join(layer, "upper"), { recursive: true });
    mkdirSync(path.join(layer, "work"));
    if (user !== undefined) likeOriginal(entry.path, path.join(layer, "upper"));
    this.folders.push(`${part}/lower`, `${part}/layer`);
    this.after.push(tableLine(entry.path, `${part}/lower`, "none", ["rbind"]));
    this.after.push(tableLine(layer, `${part}/layer`, "none", ["rbind"]));
    this.after.push(overlayLine(this.#at(entry.path), `${part}/lower`, `${part}/layer`));
  }

  /** A path as it is below the new root. */
  #at(place: string): string {
    return path.join(this.root, place);
  }

  #flagsAt(place: string): readonly string[] {
    return mountOf(place, this.#parts.mounts)?.flags ?? [];
  }
}

/** The root of an overlay is that of its upper folder: it gets the owner of the original. */
function likeOriginal(original: string, upper: string): void {
  const { uid, gid, mode } = statSync(original);
  chownSync(upper, uid, gid);
  chmodSync(upper, mode & 0o7777);
}

/**
 * Source: kernel docs, filesystems/overlayfs; `userxattr` is what it asks for in a user namespace.
 */
function overlayLine(target: string, lower: string, layer: string): string {
  return tableLine(OURS, target, "overlay", [
    "userxattr",
    `lowerdir=${lower},upperdir=${layer}/upper,workdir=${layer}/work`,
    ...QUIET,
  ]);
}
