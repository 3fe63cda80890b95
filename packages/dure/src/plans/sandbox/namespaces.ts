import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { GATE, quote } from "./gate.ts";
import { isWithin } from "./mount-plan.ts";
import { mountOf, ownMounts, tableLine, type Mount } from "./mount-table.ts";
import { countsPerNamespace } from "./process-counter.ts";
import { findTool } from "./tools.ts";
import { readyFor } from "./ready-for.ts";
import {
  DEVICE_LINKS,
  DEVICES,
  machineControls,
  TEMPORARY,
  temporaryEntries,
  type Surroundings,
} from "./surroundings.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { SandboxSetting } from "./sandbox.ts";

/**
 * Isolation by util-linux alone. A first process may mount: it builds a root of its own, in which
 * everything is read-only but what the confinement says, and runs the command without that power.
 * An ordinary user has it in a user namespace; the command runs in a second one inside it, to which
 * those mounts belong to somebody else. Root has it anyway; the command becomes a user that owns
 * nothing, and a namespace which that user makes cannot undo the mounts either: to the kernel they
 * are locked.
 *
 *     dure → setpriv (dies with dure) → unshare (mount, pid, net) → sh, the first process: mounts → setpriv → gate → command
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
      const surroundings = await readyFor(setting, confinement, folder, door);
      const table = mountTables({
        surroundings,
        devices,
        folder,
        mounts: ownMounts(),
        user: setting.user,
      });
      const before = path.join(folder, "before.tab");
      const after = path.join(folder, "after.tab");
      writeFileSync(before, table.before.join("\n") + "\n");
      writeFileSync(after, table.after.join("\n") + "\n");
      const script = path.join(folder, "enter.sh");
      const mountAll = (file: string): string => `${tools.mount} --all --fstab ${quote(file)}`;
      writeFileSync(
        script,
        [
          "set -e",
          "umask 022",
          `${tools.ip} link set lo up`,
          mountAll(before),
          `mkdir -p -m 1777 ${table.folders.map(quote).join(" ")}`,
          ...table.files.map((file) => `: >${quote(file)}`),
          mountAll(after),
          `cd ${quote(table.root)}`,
          `${tools.pivot} . .`,
          `${tools.umount} -l .`,
          "cd /",
          "umask 022",
          "set +e",
          inner.map(quote).join(" "),
          "exit $?", // without it this shell would become the command and be the first process no more
        ].join("\n"),
      );
      return {
        argv: [
          tools.setpriv,
          "--pdeathsig=KILL",
          "--",
          tools.unshare,
          ...power,
          ...own,
          "--",
          "/bin/sh",
          script,
        ],
        hasInit: true,
        countsOwnProcesses: countsPerNamespace(process.getuid?.()),
      };
    },
  };
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
 * Where parts lie until they are mounted: a memory file system over the old /sys, which has a plain
 * name (overlayfs takes no comma or colon), is no source of anything, and is gone with the old
 * root.
 */
const STAGE = "/sys";
/** Of everything that is written to /tmp, /dev/shm or a skeleton, each. */
const MEMORY = "size=1g";
/**
 * The source of what comes from no disk: `mount --all` leaves out what seems to be mounted already,
 * by source and target.
 */
const OURS = "dure";
const QUIET = ["nosuid", "nodev"] as const;

/**
 * What /dev looks like inside, without the devices themselves: they are mounted over the empty
 * files.
 */
function makeDeviceFolder(parent: string): string {
  const folder = path.join(parent, "dev");
  for (const name of ["pts", "shm"]) mkdirSync(path.join(folder, name), { recursive: true });
  for (const device of DEVICES) writeFileSync(path.join(folder, device), "");
  for (const [name, to] of Object.entries(DEVICE_LINKS)) {
    if (!lstatSync(path.join(folder, name), { throwIfNoEntry: false })) {
      symlinkSync(to, path.join(folder, name));
    }
  }
  return folder;
}

interface MountTables {
  readonly root: string;
  /** The new root, all read-only, and the stage. */
  readonly before: readonly string[];
  /** To be made in the stage after that. */
  readonly folders: readonly string[];
  readonly files: readonly string[];
  readonly after: readonly string[];
}

interface TableParts {
  readonly surroundings: Surroundings;
  readonly devices: string;
  /** Of the process; parts that belong on a disk are made in it. */
  readonly folder: string;
  readonly mounts: readonly Mount[];
  /** As whom the command runs, where it is not as ourselves. */
  readonly user: number | undefined;
}

/**
 * What to mount, in tables for `mount --all`: one process mounts hundreds of places in some
 * milliseconds.
 */
function mountTables({ surroundings, devices, folder, mounts, user }: TableParts): MountTables {
  const root = path.join(folder, "root");
  mkdirSync(root);
  const at = (place: string): string => path.join(root, place);
  const flagsAt = (place: string): readonly string[] => mountOf(place, mounts)?.flags ?? [];
  const covers = surroundings.places
    .filter(({ look }) => look === "hidden")
    .map((place) => place.path);
  const stays = (mount: Mount): boolean =>
    !covers.some((cover) => mount.at !== "/" && isWithin(mount.at, cover));

  const before = [
    tableLine("/", root, "none", ["rbind"]),
    ...mounts
      .filter(stays)
      .map((mount) =>
        tableLine("none", at(mount.at), "none", [
          "remount",
          "bind",
          "ro",
          ...QUIET,
          ...mount.flags,
        ]),
      ),
    tableLine(OURS, STAGE, "tmpfs", ["mode=755", MEMORY]),
  ];

  const folders: string[] = [];
  const files = [`${STAGE}/nothing`];
  const after = [
    tableLine(OURS, at("/proc"), "proc", [...QUIET, "noexec"]),
    ...machineControls().map((control) =>
      tableLine(at(control), at(control), "none", ["bind", "ro", ...QUIET, "noexec"]),
    ),
    tableLine(devices, at("/dev"), "none", ["bind", "ro", "nosuid", "noexec"]),
    ...DEVICES.map((device) =>
      tableLine(`/dev/${device}`, at(`/dev/${device}`), "none", [
        "bind",
        "nosuid",
        "noexec",
        ...flagsAt("/dev"),
      ]),
    ),
    tableLine(OURS, at("/dev/pts"), "devpts", [
      "newinstance",
      "ptmxmode=0666",
      "mode=620",
      "nosuid",
      "noexec",
    ]),
    tableLine(OURS, at("/dev/shm"), "tmpfs", ["mode=1777", MEMORY, ...QUIET]),
  ];

  /** As outside, with all that is mounted in it. */
  const bind = (
    place: string,
    access: readonly string[],
    { more = [], source }: { more?: readonly string[]; source?: string | undefined } = {},
  ): void => {
    after.push(
      tableLine(source ?? place, at(place), "none", [
        "rbind",
        ...access,
        ...QUIET,
        ...flagsAt(source ?? place),
        ...more,
      ]),
    );
    if (source !== undefined) return; // a folder of ours, in which nothing is mounted
    for (const mount of mounts.filter((mount) => isWithin(mount.at, place))) {
      after.push(
        tableLine("none", at(mount.at), "none", [
          "remount",
          "bind",
          ...access,
          ...QUIET,
          ...mount.flags,
        ]),
      );
    }
  };

  const isMountedIn = mounts.some(
    (mount) => mount.at !== TEMPORARY && isWithin(mount.at, TEMPORARY),
  );
  if (surroundings.newTemporary && isMountedIn) {
    // Overlayfs takes no folder in which something is mounted that a user namespace has inherited;
    // so its entries are shown one by one, read-only.
    const entries = new Map(
      [
        ...temporaryEntries(),
        ...surroundings.places.filter((place) => path.dirname(place.path) === TEMPORARY),
      ].map((entry) => [entry.path, entry]),
    );
    folders.push(`${STAGE}/tmp`);
    after.push(tableLine(`${STAGE}/tmp`, at(TEMPORARY), "none", ["bind", ...QUIET]));
    for (const entry of entries.values()) {
      (entry.isFolder ? folders : files).push(`${STAGE}${entry.path}`);
      bind(entry.path, ["ro"], { more: ["nofail"] }); // what is gone by then is not shown
    }
  } else if (surroundings.newTemporary) {
    folders.push(`${STAGE}/old-tmp`, `${STAGE}/tmp/upper`, `${STAGE}/tmp/work`);
    after.push(tableLine(TEMPORARY, `${STAGE}/old-tmp`, "none", ["rbind"]));
    after.push(overlayLine(at(TEMPORARY), `${STAGE}/old-tmp`, `${STAGE}/tmp`));
  }

  for (const [index, place] of surroundings.places.entries()) {
    const target = at(place.path);
    const part = `${STAGE}/${index}`;
    switch (place.look) {
      case "hidden":
        if (!place.isFolder) {
          after.push(tableLine(`${STAGE}/nothing`, target, "none", ["bind", "ro", ...QUIET]));
          break;
        }
        folders.push(part);
        for (const entry of place.skeleton) {
          const made = path.join(part, entry.path);
          folders.push(entry.isFolder ? made : path.dirname(made));
          if (!entry.isFolder) files.push(made);
        }
        after.push(tableLine(part, target, "none", ["bind", "ro", ...QUIET]));
        break;
      case "readOnly":
      case "shown":
        bind(place.path, ["ro"], { source: place.source });
        break;
      case "writable":
        bind(place.path, ["rw"]);
        break;
      case "pinned":
        after.push(tableLine(target, target, "none", ["rbind", ...QUIET, ...flagsAt(place.path)]));
        break;
      case "disposable": {
        const layer = path.join(folder, `layer-${index}`); // on disk: what a test run writes may be larger than the memory
        mkdirSync(path.join(layer, "upper"), { recursive: true });
        mkdirSync(path.join(layer, "work"));
        if (user !== undefined) likeOriginal(place.path, path.join(layer, "upper"));
        folders.push(`${part}/lower`, `${part}/layer`);
        after.push(tableLine(place.path, `${part}/lower`, "none", ["rbind"]));
        after.push(tableLine(layer, `${part}/layer`, "none", ["rbind"]));
        after.push(overlayLine(target, `${part}/lower`, `${part}/layer`));
        break;
      }
      default:
        place.look satisfies never;
    }
  }
  return { root, before, folders, files, after };
}

/** The root of an overlay is that of its upper folder: it belongs to whom the original belongs. */
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
