import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { codeOf } from "../../kernel/errors.ts";
import { GATE, quote } from "./launch-script.ts";
import { ownMounts } from "./mount-table.ts";
import { countsPerNamespace } from "./control-groups.ts";
import { findTool } from "./tools.ts";
import { prepareProcess } from "./prepare-process.ts";
import { DEVICE_LINKS, DEVICES } from "./base-mounts.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { Link } from "./software.ts";
import type { SandboxSetting } from "./sandbox.ts";
import { type MountTables, mountTables } from "./mount-drawing.ts";

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
