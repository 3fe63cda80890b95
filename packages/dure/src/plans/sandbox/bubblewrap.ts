import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { GATE } from "./launch-script.ts";
import { isWithin, type MountEntry } from "./mount-plan.ts";
import { countsPerNamespace } from "./control-groups.ts";
import { prepareProcess } from "./prepare-process.ts";
import { machineControls } from "./base-mounts.ts";
import { findTool } from "./tools.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { Link } from "./software.ts";
import type { SandboxSetting } from "./sandbox.ts";

/**
 * Isolation by bubblewrap: the same places as `namespaces`, mounted by a program that may do so
 * where a system keeps namespaces from all others. Disposable folders are copied, since
 * bubblewrap 0.8 (Debian 12) has no overlays.
 *
 * An ordinary user gets a user namespace; root needs none to mount, and the command then becomes a
 * user that owns nothing.
 */
export function openBubblewrap(setting: SandboxSetting): Confiner {
  const bwrap = findTool("bwrap");
  const { user } = setting;
  const enter = [bwrap, ...namespacesFor(user), ...powersFor(user), "--die-with-parent"];
  const gate = [...(user === undefined ? [] : becoming(user)), "/bin/sh", "-c", GATE];

  return {
    kind: "bubblewrap",
    async enclose(confinement, folder, door): Promise<Enclosure> {
      const { places, links } = await prepareProcess(setting, confinement, folder, door);
      const nothing = path.join(folder, "nothing");
      writeFileSync(nothing, "");
      const disposable = places.filter(({ look }) => look === "disposable");
      const copies = await copyAll(
        disposable.map((place) => place.path),
        folder,
      );
      const root = [...ROOT, ...controls(), ...links.flatMap(linkArguments)];
      const mounts = mountArguments(places, { nothing, copies });
      return {
        argv: [...enter, ...root, ...mounts, "--", ...gate],
        hasInit: true,
        countsOwnProcesses: countsPerNamespace(process.getuid?.()),
        places: places,
      };
    },
  };
}

function namespacesFor(user: number | undefined): readonly string[] {
  const ofUser = user === undefined ? ["--unshare-user"] : [];
  return ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", ...ofUser];
}

/** Powers of root that the command needs to become a user; it gives them up then. */
function powersFor(user: number | undefined): readonly string[] {
  const needed = user === undefined ? [] : ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"];
  return ["--cap-drop", "ALL", ...needed.flatMap((name) => ["--cap-add", name])];
}

/** Bytes of everything that is written to /tmp, and of what is written to /dev/shm. */
const MEMORY = "1073741824";
/** Devices and processes of its own; bubblewrap begins with an empty root. */
const ROOT = [
  ...["--dev", "/dev"],
  ...["--perms", "1777", "--size", MEMORY, "--tmpfs", "/dev/shm"],
  ...["--proc", "/proc"],
];

function controls(): readonly string[] {
  return machineControls().flatMap((control) => ["--ro-bind-try", control, control]);
}

function linkArguments({ at, to }: Link): readonly string[] {
  return [...folderArguments(foldersTo(at)), "--symlink", to, at];
}

/** Made here, since bubblewrap would let only root enter those that it makes by itself. */
function folderArguments(folders: readonly string[]): readonly string[] {
  return folders.flatMap((folder) => ["--perms", "0755", "--dir", folder]);
}

/** Folders on the way to a path, outermost first. */
function foldersTo(at: string): readonly string[] {
  const folder = path.dirname(at);
  return folder === "/" ? [] : [...foldersTo(folder), folder];
}

/** What places in an empty one stand on. */
function skeletonArguments({ path: around, skeleton }: MountEntry): readonly string[] {
  const folders = skeleton.flatMap((entry) => foldersTo(path.join(around, entry.path)));
  return folderArguments([...new Set(folders)].filter((folder) => !isWithin(around, folder)));
}

/** @param options.nothing an empty file. */
function mountArguments(
  places: readonly MountEntry[],
  { nothing, copies }: { nothing: string; copies: ReadonlyMap<string, string> },
): readonly string[] {
  const named = places.filter(({ look }) => look === "writable" || look === "disposable");
  /** The copy if the nearest place that may be written is a disposable one. */
  const source = (at: string): string => {
    const around = named.findLast((place) => isWithin(at, place.path));
    const copy = around && copies.get(around.path);
    return copy === undefined ? at : path.join(copy, path.relative(around!.path, at));
  };

  const args: string[] = [];
  // After all that is mounted in them.
  const seals: string[] = [];
  for (const place of places) {
    switch (place.look) {
      case "hidden":
        if (place.isFolder) {
          if (place.path !== "/") args.push("--tmpfs", place.path);
          args.push(...skeletonArguments(place));
          seals.push("--remount-ro", place.path);
        } else args.push("--ro-bind", nothing, place.path);
        break;
      case "temporary":
        args.push(
          "--perms",
          "1777",
          "--size",
          MEMORY,
          "--tmpfs",
          place.path,
          ...skeletonArguments(place),
        );
        break;
      case "readOnly":
      case "shown":
        args.push("--ro-bind", place.source ?? place.path, place.path);
        break;
      case "writable":
        args.push("--bind", place.path, place.path);
        break;
      case "pinned":
      case "disposable":
        args.push("--bind", source(place.path), place.path);
        break;
      default:
        place.look satisfies never;
    }
  }
  return [...args, ...seals];
}

/** Takes the last powers from what follows. */
function becoming(user: number): readonly string[] {
  return [
    findTool("setpriv"),
    "--no-new-privs",
    "--inh-caps=-all",
    "--bounding-set=-all",
    `--reuid=${user}`,
    `--regid=${user}`,
    "--clear-groups",
    "--",
  ];
}

async function copyAll(
  originals: readonly string[],
  folder: string,
): Promise<ReadonlyMap<string, string>> {
  const copies = new Map<string, string>();
  for (const [index, original] of originals.entries()) {
    const copy = path.join(folder, `copy-${index}`);
    await promisify(execFile)(
      findTool("cp"),
      ["--archive", "--reflink=auto", "--", original, copy],
      { env: { LC_ALL: "C" } },
    );
    copies.set(original, copy);
  }
  return copies;
}
