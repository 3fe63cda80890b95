import { chmodSync, lchownSync, mkdtempSync, realpathSync, rmSync, statSync } from "node:fs";
import { execFile, execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { DureError } from "../../kernel/errors.ts";
import { bringBack, visit } from "./bring-back.ts";
import { DOOR_INSIDE, SOCKET_NAME } from "./door.ts";
import { GATE } from "./gate.ts";
import { isWithin } from "./mount-plan.ts";
import { hasProcesses, userOf } from "./processes.ts";
import { secretsOf } from "./secrets.ts";
import { findTool } from "./tools.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";

/**
 * Isolation where there are no namespaces but we are root: the command runs as a user that nobody
 * else is, on copies of the folders it works in, which hold only what it may see; what it owns is
 * brought back after its end. Outside of the copies the file modes decide, so nothing hidden there
 * may be open to everybody. It has a network of its own; where root may make none this kind is not
 * taken. Sockets of the file system stay as open as their modes are.
 */
export function openOtherUser(setting: SandboxSetting): Confiner {
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    throw new DureError("SANDBOX_NOT_ROOT", "only root on Linux may become another user", {
      class: "unavailable",
    });
  }
  const setpriv = findTool("setpriv");
  const ownNetwork = mayHaveNetworks() ? [findTool("unshare"), "--net", "--"] : [];
  const lo = ownNetwork.length > 0 ? `${findTool("ip")} link set lo up; ` : "";
  const copiesAt = isOpenToAll(setting.folder) ? setting.folder : realpathSync(tmpdir());

  return {
    kind: "other-user",
    async enclose(confinement, _folder, door): Promise<Enclosure> {
      const roots = rootsOf(confinement);
      refuseOpenSecrets(
        [
          ...confinement.hidden,
          ...setting.hidden,
          ...secretsOf(setting.home, setting.allowSecrets),
        ],
        roots,
      );
      const copies = mkdtempSync(path.join(copiesAt, "dure-copy-")); // 0700: nobody gets in before all is in order
      const copyOf = new Map(roots.map((root, index) => [root, path.join(copies, String(index))]));
      const inCopy = (at: string): string => {
        const root = roots.find((root) => isWithin(at, root));
        return root === undefined ? at : path.join(copyOf.get(root)!, path.relative(root, at));
      };
      for (const [root, copy] of copyOf) {
        await run("cp", ["--archive", "--reflink=auto", "--", root, copy]);
      }
      for (const hidden of confinement.hidden) {
        const at = inCopy(hidden);
        if (at !== hidden) rmSync(at, { recursive: true, force: true });
      }

      return {
        argv: [
          ...ownNetwork,
          "/bin/sh",
          "-c",
          `${lo}read -r user <&3 && exec ${setpriv} --reuid="$user" --regid="$user" --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all --pdeathsig=KILL -- /bin/sh -c "$0"`,
          GATE,
        ],
        hasInit: false,
        countsOwnProcesses: true,
        inside: (text) =>
          roots.reduce(
            (changed, root) => replacePath(changed, root, copyOf.get(root)!),
            door === undefined ? text : replacePath(text, DOOR_INSIDE, door),
          ),
        async admit(pid) {
          const user = userOf(pid);
          if (hasProcesses(user)) {
            throw new DureError("SANDBOX_USER_TAKEN", `User ${user} has processes already.`, {
              class: "conflict",
              hint: "Start again: the next process gets another one.",
            });
          }
          for (const copy of copyOf.values()) await run("chmod", ["-R", "go+rX,go-w", "--", copy]);
          const kept = confinement.readOnly.map(inCopy);
          for (const at of [...confinement.writable, ...confinement.disposable].map(inCopy)) {
            give(at, user, kept);
          }
          chmodSync(copies, 0o711);
          if (door !== undefined) openDoorTo(user, door);
          return `${user}\n`;
        },
        async settle() {
          const kept = [...confinement.readOnly, ...confinement.hidden, ...confinement.disposable];
          for (const at of confinement.writable) {
            bringBack(
              inCopy(at),
              at,
              kept.filter((other) => other !== at && isWithin(other, at)),
            );
          }
        },
        discard: () => rmSync(copies, { recursive: true, force: true, maxRetries: 3 }),
      };
    },
  };
}

/** Root in a container may lack the power to make a network. */
function mayHaveNetworks(): boolean {
  try {
    execFileSync(findTool("unshare"), ["--net", "--", findTool("ip"), "link", "set", "lo", "up"], {
      env: { LC_ALL: "C" },
      stdio: "ignore",
      timeout: 5_000,
    });
    return true;
  } catch {
    return false;
  }
}

/** Lets the user through to the socket, and nobody else to speak through it. */
function openDoorTo(user: number, door: string): void {
  const socket = path.join(door, SOCKET_NAME);
  chmodSync(path.dirname(door), 0o711);
  lchownSync(socket, user, user);
  if (!isOpenToAll(door)) {
    throw new DureError(
      "SANDBOX_NETWORK",
      `Other users cannot enter ${door}, so there is no way out for them.`,
      { class: "unavailable", hint: "Keep DURE_HOME where every user may pass through." },
    );
  }
}

/** The largest folders that the command works in: those, and what they hold, are copied. */
function rootsOf(confinement: Confinement): readonly string[] {
  const named = [...confinement.writable, ...confinement.disposable];
  const worksAround = [...named, ...confinement.hidden].some((at) => isWithin(at, confinement.cwd));
  const all = [...new Set(worksAround ? [confinement.cwd, ...named] : named)];
  return all.filter((at) => !all.some((other) => other !== at && isWithin(at, other)));
}

/**
 * Makes the user the owner, but for what is kept. Where something is kept the folder stays root's,
 * with the sticky bit: the user may add to it, and can neither remove nor rename what is not its
 * own.
 */
function give(at: string, user: number, kept: readonly string[]): void {
  visit(at, (entry, isFolder) => {
    if (kept.includes(entry)) return false;
    if (isFolder && kept.some((other) => isWithin(other, entry))) {
      lchownSync(entry, 0, user);
      chmodSync(entry, 0o1775);
    } else lchownSync(entry, user, user);
    return true;
  });
}

function refuseOpenSecrets(secrets: readonly string[], roots: readonly string[]): void {
  for (const secret of secrets) {
    if (roots.some((root) => isWithin(secret, root)) || !isOpenToAll(secret)) continue;
    throw new DureError("SANDBOX_SECRET_OPEN", `every user of the machine can read ${secret}`, {
      class: "unavailable",
      hint: `chmod go-rwx ${secret}`,
    });
  }
}

/** Whether another user can get to it and read or enter it. */
function isOpenToAll(at: string): boolean {
  const entry = statSync(at, { throwIfNoEntry: false });
  if (entry === undefined || (entry.mode & (entry.isDirectory() ? 0o001 : 0o004)) === 0) {
    return false;
  }
  for (let folder = path.dirname(at); ; folder = path.dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
    if (folder === path.dirname(folder)) return true;
  }
}

/** Replaces a path where it is one, and not the beginning of a longer name. Pure. */
function replacePath(text: string, from: string, to: string): string {
  return text
    .split(from)
    .reduce((before, after) => before + (/^[\w.-]/.test(after) ? from : to) + after);
}

async function run(tool: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(findTool(tool), args, { env: { LC_ALL: "C" } });
}
