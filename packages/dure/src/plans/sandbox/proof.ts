import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { DureError } from "../../kernel/errors.ts";
import { openControlGroups, type ControlGroups } from "./control-groups.ts";
import { GATE_ENV } from "./launch-script.ts";
import type { Confinement, Sandbox, SandboxSetting } from "./sandbox.ts";

/** What holds for processes of workers on this machine. */
export interface Promises {
  /**
   * `enforced`: a network of its own, of which only dure's egress proxy leads out. `not`: the machine's.
   */
  readonly network: "enforced" | "not";
  /** The user id as which processes run. */
  readonly user: number;
  /** Whether that is another user than dure's own. */
  readonly isOtherUser: boolean;
  /**
   * `enforced`: what is not owned cannot be written, what is not named is absent. `by-modes`: so
   * in the folders that the process works in; beside them it sees and reaches what every user of the machine does, such as other homes and sockets.
   */
  readonly files: "enforced" | "by-modes" | "not";
  /**
   * How the memory of a process tree is bounded. `group`: by the kernel, together. `watched`: dure
   * looks ten times a second, and the kernel bounds each process alone. Absent in older runs.
   */
  readonly memory?: "group" | "watched" | undefined;
  /**
   * How its CPU time is bounded. `group`: by the kernel. `yields`: not, but every other process of
   * the machine goes first (nice 10). Absent in older runs.
   */
  readonly cpu?: "group" | "yields" | undefined;
}

/** What holds where nothing was asked to hold. */
export const UNPROVEN: Promises = {
  network: "not",
  user: process.getuid?.() ?? -1,
  isOtherUser: false,
  files: "not",
};

/** Runs under the confinement: tries everything once, says what worked. */
const TRIAL = `
echo x > owned/new && echo wrote-owned
echo x > outside && echo wrote-outside
echo x > owned/kept && echo wrote-kept
read -r secret < secret && echo read-secret
echo x > disposable/new && echo wrote-disposable
echo x > "$1" && echo wrote-folder
read -r shadow < /etc/shadow && echo read-shadow
read -r word < "$2" && echo saw-elsewhere
while read -r key value rest; do case $key in Uid:) echo "runs-as $value";; esac; done < /proc/self/status
while read -r name rest; do case $name in lo:|face|Inter-*) ;; *) echo has-network;; esac; done < /proc/net/dev
exit 7
`;

/** What a confined process must come back with: its own writes, and no others. */
const EXPECTED = "wrote-owned wrote-disposable";

/**
 * Lets a real process try to leave its confinement, and says what held. Throws when it does, or
 * cannot work in it.
 */
export async function proveConfinement(
  sandbox: Sandbox,
  setting: SandboxSetting,
  options: { signal?: AbortSignal | undefined },
): Promise<Promises> {
  const folder = mkdtempSync(path.join(setting.folder, "trial-"));
  const trial: ProofTrial = { folder, elsewhere: `${folder}-elsewhere` };
  try {
    makeTrial(trial);
    const end = await sandbox.run(
      confinementOf(trial),
      {
        command: [
          ...["/bin/sh", "-c", TRIAL, "sh"],
          ...[path.join(setting.folder, "from-inside"), trial.elsewhere],
        ],
        env: { PATH: GATE_ENV.PATH, LC_ALL: "C" },
        limits: { timeMs: 10_000, outputBytes: 10_000, fileBytes: 1_000_000, processes: 100 },
      },
      options,
    );
    if (end.exitCode !== 7) {
      throw failed(
        `a trial process ended with ${end.exitCode ?? end.signal}: ${end.output.trim().slice(-500)}`,
      );
    }
    const lines = end.output.split("\n");
    refuseWrites(lines, trial);
    return promisesOf(sandbox, lines, trial);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    rmSync(trial.elsewhere, { force: true });
  }
}

interface ProofTrial {
  readonly folder: string;
  /** A file beside it, which no rule shows. */
  readonly elsewhere: string;
}

function makeTrial({ folder, elsewhere }: ProofTrial): void {
  chmodSync(folder, 0o755);
  writeFileSync(elsewhere, "of another\n");
  for (const name of ["owned", "disposable"]) mkdirSync(path.join(folder, name));
  for (const file of ["owned/kept", "outside", "secret"]) {
    writeFileSync(path.join(folder, file), "before\n");
  }
}

function confinementOf({ folder }: ProofTrial): Confinement {
  return {
    cwd: folder,
    writable: [path.join(folder, "owned")],
    readOnly: [path.join(folder, "owned/kept")],
    hidden: [path.join(folder, "secret")],
    disposable: [path.join(folder, "disposable")],
  };
}

function refuseWrites(lines: readonly string[], { folder }: ProofTrial): void {
  const done = lines.filter((line) => /^(wrote|read)-\w+$/.test(line));
  const landed = ["owned", "disposable"].flatMap((name) => readdirSync(path.join(folder, name)));
  if (done.join(" ") === EXPECTED && landed.toSorted().join(" ") === "kept new") return;
  const did = `a trial process did ${done.join(", ") || "nothing"}`;
  const allowed = `where ${EXPECTED.replace(" ", ", ")} was allowed`;
  throw failed(`${did} ${allowed}, and left ${landed.join(", ")}`);
}

function promisesOf(
  { kind }: Sandbox,
  lines: readonly string[],
  { folder, elsewhere }: ProofTrial,
): Promises {
  // What a copy brings back is ours again; there the process itself says who it was, in our own
  // user namespace.
  const isByModes = kind === "other-user";
  const said = lines.find((line) => line.startsWith("runs-as "))?.slice("runs-as ".length);
  const user = isByModes ? Number(said) : statSync(path.join(folder, "owned/new")).uid;
  if (user === 0) throw failed("a trial process was root to the kernel");
  if (!isByModes && lines.includes("saw-elsewhere")) {
    throw failed(`a trial process read ${elsewhere}, which no rule shows it`);
  }
  return {
    network: lines.includes("has-network") ? "not" : "enforced",
    user,
    isOtherUser: user !== process.getuid?.(),
    files: isByModes ? "by-modes" : "enforced",
    ...boundsBy(openControlGroups()),
  };
}

/** Who bounds what a tree takes of the machine. Pure. */
function boundsBy({ boundsMemory, boundsCpu }: ControlGroups): Pick<Promises, "memory" | "cpu"> {
  return { memory: boundsMemory ? "group" : "watched", cpu: boundsCpu ? "group" : "yields" };
}

function failed(message: string): DureError {
  return new DureError("SANDBOX_UNPROVEN", message, { class: "unavailable" });
}
