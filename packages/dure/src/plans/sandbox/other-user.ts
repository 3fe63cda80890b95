/** Workers that run as another user, and how their files come back. */

import path from "node:path";
import {
  chmodSync,
  lchownSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  readSync,
  symlinkSync,
  unlinkSync,
  writeSync,
  type Stats,
} from "node:fs";
import { execFile, execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { DureError } from "../../kernel/errors.ts";
import { DOOR_INSIDE, SOCKET_NAME } from "./egress-proxy.ts";
import { GATE } from "./launch-script.ts";
import { isWithin } from "./mount-plan.ts";
import { hasProcesses, userOf } from "./processes.ts";
import { secretsOf } from "./secrets.ts";
import { findTool } from "./tools.ts";
import type { Confiner, Enclosure } from "./confiner.ts";
import type { Confinement, SandboxSetting } from "./sandbox.ts";

/**
 * Isolation where there are no namespaces but dure runs as root: the command runs as a user of its
 * own, on copies of the folders it works in, which hold only what it may see; what it owns is
 * brought back after its end. Outside of the copies the file modes decide, so nothing hidden there
 * may be open to all users. It has a network of its own; where root may make none this kind is not
 * taken. Sockets of the file system stay as open as their modes are.
 */
export function openOtherUser(setting: SandboxSetting): Confiner {
  if (process.platform !== "linux" || process.getuid?.() !== 0) {
    throw new DureError("SANDBOX_NOT_ROOT", "only root on Linux may become another user", {
      class: "unavailable",
    });
  }
  const become = becomeUser(findTool("setpriv"));
  const ownNetwork = mayHaveNetworks() ? [findTool("unshare"), "--net", "--"] : [];
  const lo = ownNetwork.length > 0 ? `${findTool("ip")} link set lo up; ` : "";
  const reachesDoor = isOpenToAll(setting.folder);
  const copiesAt = reachesDoor ? setting.folder : realpathSync(tmpdir());

  return {
    kind: "other-user",
    reachesDoor,
    async enclose(confinement, _folder, door): Promise<Enclosure> {
      const secrets = secretsOf(setting.home, setting.allowSecrets);
      const closed = [...confinement.hidden, ...setting.hidden, ...secrets];
      refuseOpenSecrets(closed, rootsOf(confinement));
      const copies = await Copies.make(confinement, copiesAt);
      return {
        argv: [...ownNetwork, "/bin/sh", "-c", `${lo}${become}`, GATE],
        hasInit: false,
        countsOwnProcesses: true,
        writes: [copies.folder],
        inside: (text) =>
          copies.renamed(door === undefined ? text : replacePath(text, DOOR_INSIDE, door)),
        async admit(pid) {
          const user = userOf(pid);
          refuseTaken(user);
          await copies.giveTo(user);
          if (door !== undefined) openDoorTo(user, door);
          return `${user}\n`;
        },
        settle: () => copies.bringBack(),
        discard: () => copies.remove(),
      };
    },
  };
}

/** Reads the user from the gate's channel and becomes it, without any power. */
function becomeUser(setpriv: string): string {
  const powerless = "--clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all";
  return [
    "read -r user <&3 &&",
    `exec ${setpriv} --reuid="$user" --regid="$user" ${powerless} --pdeathsig=KILL --`,
    '/bin/sh -c "$0"',
  ].join(" ");
}

function refuseTaken(user: number): void {
  if (!hasProcesses(user)) return;
  throw new DureError("SANDBOX_USER_TAKEN", `User ${user} has processes already.`, {
    class: "conflict",
    hint: "Start again: the next process gets another one.",
  });
}

/** Copies of the folders that one command works in. */
class Copies {
  readonly #confinement: Confinement;
  readonly folder: string;
  /** Each folder and its copy. */
  readonly #copyOf: ReadonlyMap<string, string>;

  /** @param parent a folder that every user may pass through. */
  static async make(confinement: Confinement, parent: string): Promise<Copies> {
    // Mode 0700: no other user gets in before all is in order.
    const folder = mkdtempSync(path.join(parent, "dure-copy-"));
    const copies = new Copies(confinement, folder);
    await copies.#copy();
    return copies;
  }

  private constructor(confinement: Confinement, folder: string) {
    this.#confinement = confinement;
    this.folder = folder;
    const roots = rootsOf(confinement);
    this.#copyOf = new Map(roots.map((root, index) => [root, path.join(folder, String(index))]));
  }

  async #copy(): Promise<void> {
    for (const [root, copy] of this.#copyOf) {
      await run("cp", ["--archive", "--reflink=auto", "--", root, copy]);
    }
    for (const hidden of this.#confinement.hidden) {
      const at = this.#inCopy(hidden);
      if (at !== hidden) rmSync(at, { recursive: true, force: true });
    }
  }

  /** A text with the paths of the copies. */
  renamed(text: string): string {
    return [...this.#copyOf].reduce(
      (changed, [root, copy]) => replacePath(changed, root, copy),
      text,
    );
  }

  /** Lets the user in, and makes it the owner of what it may write. */
  async giveTo(user: number): Promise<void> {
    const { readOnly, writable, disposable } = this.#confinement;
    for (const copy of this.#copyOf.values()) {
      await run("chmod", ["-R", "go+rX,go-w", "--", copy]);
    }
    const kept = readOnly.map((at) => this.#inCopy(at));
    for (const at of [...writable, ...disposable]) give(this.#inCopy(at), user, kept);
    chmodSync(this.folder, 0o711);
  }

  /** Makes the originals that may be written what the copies have become. */
  async bringBack(): Promise<void> {
    const { writable, readOnly, hidden, disposable } = this.#confinement;
    const kept = [...readOnly, ...hidden, ...disposable];
    for (const at of writable) {
      const keptHere = kept.filter((other) => other !== at && isWithin(other, at));
      bringBack(this.#inCopy(at), at, keptHere);
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  #inCopy(at: string): string {
    const root = [...this.#copyOf.keys()].find((root) => isWithin(at, root));
    if (root === undefined) return at;
    return path.join(this.#copyOf.get(root)!, path.relative(root, at));
  }
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

/** Lets the user through to the socket, and no other user speak through it. */
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

/**
 * Calls `enter` for a file, link or folder, then, when it says so, for all that a folder holds.
 * Follows no link.
 */
function visit(at: string, enter: (at: string, isFolder: boolean) => boolean): void {
  const isFolder = lstatSync(at).isDirectory();
  if (!enter(at, isFolder) || !isFolder) return;
  for (const name of readdirSync(at)) visit(path.join(at, name), enter);
}

/**
 * Makes `to` what a process has made of `from`: regular files, folders and links; nothing else
 * comes over, and no mode beyond 0777. `kept` and what lies in it stays as it is in `to`. No other
 * process may work in either.
 */
function bringBack(from: string, to: string, kept: readonly string[]): void {
  if (kept.some((other) => isWithin(to, other))) return;
  const source = lstatSync(from, { throwIfNoEntry: false });
  const target = lstatSync(to, { throwIfNoEntry: false });
  const holdsKept = kept.some((other) => isWithin(other, to));

  if (source?.isDirectory()) {
    bringFolder(from, to, kept);
    if (!holdsKept) chmodSync(to, (source.mode & 0o777) | 0o700);
  } else if (holdsKept) {
    // A file cannot stand where something must stay.
    if (target?.isDirectory()) bringEach(readdirSync(to), { from, to, kept });
  } else if (source?.isSymbolicLink()) bringLink(from, to, target);
  else if (source?.isFile()) copyContent(from, to, target);
  else if (target) rmSync(to, { recursive: true });
}

function bringEach(
  names: Iterable<string>,
  { from, to, kept }: { from: string; to: string; kept: readonly string[] },
): void {
  for (const name of names) bringBack(path.join(from, name), path.join(to, name), kept);
}

function bringFolder(from: string, to: string, kept: readonly string[]): void {
  const target = lstatSync(to, { throwIfNoEntry: false });
  if (target && !target.isDirectory()) unlinkSync(to);
  if (!target?.isDirectory()) mkdirSync(to);
  const names = new Set(readdirSync(from));
  const gone = readdirSync(to).filter((name) => !names.has(name));
  bringEach(gone, { from, to, kept });
  bringEach(names, { from, to, kept });
}

function bringLink(from: string, to: string, target: Stats | undefined): void {
  if (target?.isSymbolicLink() && readlinkSync(from) === readlinkSync(to)) return;
  if (target) rmSync(to, { recursive: true });
  symlinkSync(readlinkSync(from), to);
}

function copyContent(from: string, to: string, target: Stats | undefined): void {
  const input = openSync(from, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { mode, isFile } = {
      mode: fstatSync(input).mode & 0o777,
      isFile: fstatSync(input).isFile(),
    };
    if (!isFile) return;
    if (target) rmSync(to, { recursive: true });
    const output = openSync(
      to,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
      mode,
    );
    try {
      const buffer = Buffer.alloc(1 << 16);
      for (let read = readSync(input, buffer); read > 0; read = readSync(input, buffer)) {
        writeSync(output, buffer, 0, read);
      }
    } finally {
      closeSync(output);
    }
    chmodSync(to, mode);
  } finally {
    closeSync(input);
  }
}
