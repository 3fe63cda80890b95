import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { GATE } from "./gate.ts";
import { isWithin } from "./mount-plan.ts";
import { countsPerNamespace } from "./process-counter.ts";
import { readyFor } from "./ready-for.ts";
import { machineControls, TEMPORARY, temporaryEntries } from "./surroundings.ts";
import { findTool } from "./tools.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { SandboxSetting } from "./sandbox.ts";

/**
 * Isolation by bubblewrap: the same places as `namespaces`, mounted by a program that may do so
 * where a system keeps namespaces from everybody else. Disposable folders are copied, since
 * bubblewrap 0.8 (Debian 12) has no overlays.
 *
 * An ordinary user gets a user namespace; root needs none to mount, and the command then becomes a
 * user that owns nothing.
 */
export function openBubblewrap(setting: SandboxSetting): Confiner {
  const bwrap = findTool("bwrap");
  const { user } = setting;
  const namespaces = [
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-net",
    ...(user === undefined ? ["--unshare-user"] : []),
  ];
  const power = [
    "--cap-drop",
    "ALL",
    ...(user === undefined
      ? []
      : ["CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP"].flatMap((name) => ["--cap-add", name])),
  ];
  const gate = [...(user === undefined ? [] : becoming(user)), "/bin/sh", "-c", GATE];

  return {
    kind: "bubblewrap",
    async enclose(confinement, folder, door): Promise<Enclosure> {
      const { places, newTemporary } = await readyFor(setting, confinement, folder, door);
      const nothing = path.join(folder, "nothing");
      writeFileSync(nothing, "");
      const copies = await copyAll(
        places.filter(({ look }) => look === "disposable").map((place) => place.path),
        folder,
      );
      const named = places.filter(({ look }) => look === "writable" || look === "disposable");
      /** The copy if the nearest place that may be written is a disposable one. */
      const source = (at: string): string => {
        const around = named.findLast((place) => isWithin(at, place.path));
        const copy = around && copies.get(around.path);
        return copy === undefined ? at : path.join(copy, path.relative(around!.path, at));
      };

      const args = [
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--perms",
        "1777",
        "--tmpfs",
        "/dev/shm",
        "--proc",
        "/proc",
      ];
      for (const control of machineControls()) args.push("--ro-bind-try", control, control);
      if (newTemporary) {
        args.push("--perms", "1777", "--tmpfs", TEMPORARY);
        for (const { path: at } of temporaryEntries()) args.push("--ro-bind-try", at, at); // what is gone by then is not shown
      }
      const seals: string[] = []; // after all that is mounted in them
      for (const place of places) {
        switch (place.look) {
          case "hidden":
            if (place.isFolder) {
              args.push("--tmpfs", place.path);
              seals.push("--remount-ro", place.path);
            } else args.push("--ro-bind", nothing, place.path);
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
      return {
        argv: [
          bwrap,
          ...namespaces,
          ...power,
          "--die-with-parent",
          ...args,
          ...seals,
          "--",
          ...gate,
        ],
        hasInit: true,
        countsOwnProcesses: countsPerNamespace(process.getuid?.()),
      };
    },
  };
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
