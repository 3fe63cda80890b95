/** The sandbox of a worker: how it is chosen, started and looked at. */

import { mkdirSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import type { Readable, Writable } from "node:stream";
import type { Clock } from "../../kernel/clock.ts";
import { DureError, messageOf } from "../../kernel/errors.ts";
import { silentLogger, type Logger } from "../../kernel/logger.ts";
import { openBubblewrap } from "./bubblewrap.ts";
import { openConfiner, type Confiner, type Enclosure } from "./confiner.ts";
import { cpusOfWorkers } from "./control-groups.ts";
import { diskOfWorkers } from "./disk-watch.ts";
import { memoryOfWorkers } from "./memory-watch.ts";
import { openNamespaces } from "./namespaces.ts";
import { openOtherUser } from "./other-user.ts";
import { bootId, endTree } from "./processes.ts";
import type { ModelDesk } from "./model-way.ts";
import type { NetworkPolicy, NetworkTarget } from "./network.ts";
import { proveConfinement, UNPROVEN, type Promises } from "./proof.ts";
import { softwareOf, type Software } from "./software.ts";
import { workerUserOf } from "./worker-user.ts";
import { GATE } from "./launch-script.ts";
import { findTool } from "./tools.ts";

/**
 * How a process is kept where it belongs: `bubblewrap` and `namespaces`, by mounts that it cannot
 * change; `other-user`, as another user on a copy; `audit`, not at all.
 */
export type IsolationKind = "bubblewrap" | "namespaces" | "other-user" | "audit";

/**
 * What a process may touch. Absolute real paths (no symbolic link on the way). What is not named is
 * absent: a process sees its working folder, these places, the software of the machine, and a
 * private `/tmp`. Where rules meet, the deeper path wins; on the same path hidden, then readOnly,
 * then disposable, then writable, then shown. `other-user` has no mounts: it sees what modes allow.
 */
export interface Confinement {
  readonly cwd: string;
  /** Existing folders or files. */
  readonly writable: readonly string[];
  /**
   * Lie inside writable ones and are not. A symbolic link among them stays unprotected: no mount
   * can cover it.
   */
  readonly readOnly: readonly string[];
  /** Covered by something empty. What does not exist needs no cover. */
  readonly hidden: readonly string[];
  /** Folders that may be written, and whose changes vanish with the process. */
  readonly disposable: readonly string[];
  /** What else is seen, read-only. Secrets of the home folder in it stay covered. */
  readonly shown?: readonly string[] | undefined;
  /**
   * Default: none. In each case the process has a network of its own, with only loopback and dure's
   * door.
   */
  readonly network?: NetworkPolicy | undefined;
}

export interface SandboxCommand {
  /** A string is run by `/bin/sh -c`. */
  readonly command: readonly string[] | string;
  /**
   * Complete: nothing is inherited. `DURE_SANDBOX` and `PWD` are added, and what a process needs to
   * find dure's egress proxy and the toolchains of the home folder. The hooks of its step (`DURE_HOOK_URL`, `DURE_HOOK_TOKEN`) are reached
   * through that door.
   */
  readonly env: Readonly<Record<string, string>>;
  /** Written to stdin, which is then closed. */
  readonly input?: string;
  readonly limits: SandboxLimits;
}

export interface SandboxLimits {
  /** Milliseconds until the whole tree is ended. */
  readonly timeMs: number;
  /** Bytes of stdout and stderr together; one more ends the tree. */
  readonly outputBytes: number;
  /** Bytes of one file; a write beyond raises SIGXFSZ. */
  readonly fileBytes: number;
  /**
   * Processes and threads at one time. Not enforced by `audit`, and for root only with a pids
   * cgroup.
   */
  readonly processes: number;
}

/**
 * Who a process is, so that another process of dure can end it after a crash and never another one
 * with the same number.
 */
export interface WorkerIdentity {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  readonly groupId: number;
  /** Clock ticks after the boot; source: proc_pid_stat(5), field 22. */
  readonly startedTicks: string;
}

export interface SandboxEnd {
  /** As a shell tells it: 128 + number when a signal ended it. Null when we ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly because: "exited" | "time" | "output" | "memory" | "disk" | "refused" | "aborted";
  /** What it might have, where it took more memory or disk than that. */
  readonly mostBytes?: number | undefined;
  /** Where it failed: paths of the command that are on this machine, and that it does not see. */
  readonly absent?: readonly string[] | undefined;
  /** Hosts that it asked for and that its policy refuses, the first ones. */
  readonly refused?: readonly string[] | undefined;
  readonly outputTruncated: boolean;
}

export interface SandboxProcess {
  readonly identity: WorkerIdentity;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * Resolves after the whole process tree is gone, children in sessions of their own included.
   * Rejects when what it made could not be brought back.
   */
  readonly ended: Promise<SandboxEnd>;
  /** SIGTERM to its group, 1 s, then SIGKILL to all; resolves when they are gone. */
  kill(): Promise<void>;
}

export interface SpawnOptions {
  /**
   * Told before the command does anything; the command waits for it. A rejection ends the process.
   */
  readonly onStart?: (identity: WorkerIdentity) => Promise<void>;
  /** Ends the tree with because `aborted`, within 2 s. */
  readonly signal?: AbortSignal | undefined;
  /** What follows from a host that its policy refuses. Default: it is told so, and goes on. */
  readonly onRefusal?: OnRefusal | undefined;
  /** Who sees to its calls of models that come by dure's door. Default: there is no such door. */
  readonly models?: ModelDesk | undefined;
}

/**
 * `end`: the tree has 3 s to end by itself, and is ended then with because `refused`, for programs
 * that fetch try for minutes. `end-silent`: so is one that has printed nothing meanwhile. A
 * function is told each host once.
 */
export type OnRefusal = "end" | "end-silent" | ((host: string) => void);

export interface Sandbox {
  readonly kind: IsolationKind;
  /** What a trial process has shown to hold here. */
  readonly promises: Promises;
  spawn(
    confinement: Confinement,
    command: SandboxCommand,
    options?: SpawnOptions,
  ): Promise<SandboxProcess>;
  /**
   * Spawns, collects stdout and stderr as text in the order written, waits. Beyond the limit head
   * and tail are kept.
   */
  run(
    confinement: Confinement,
    command: SandboxCommand,
    options?: SpawnOptions & { onOutput?: (chunk: string) => void },
  ): Promise<SandboxEnd & { readonly output: string }>;
}

export interface OpenSandboxOptions {
  /** `audit` protects nothing and must be asked for. */
  readonly wanted: "enforced" | "audit";
  /** Tried first. */
  readonly prefer?: Exclude<IsolationKind, "audit">;
  /** Kinds that are tried at all. Default: all that protect; `other-user` only with `filesByModes`. */
  readonly kinds?: readonly Exclude<IsolationKind, "audit">[];
  /**
   * A folder of the sandbox's own, made when missing: mount tables, copies, writable layers. No
   * process sees into it.
   */
  readonly folder: string;
  /** Whose secrets are covered. Absent: none. */
  readonly home?: string | undefined;
  /** Secrets that stay visible, as in `HOME_SECRETS`: `.config/gh`. */
  readonly allowSecrets?: readonly string[];
  /**
   * Files and folders that are covered whatever a confinement says, unless it names them as
   * writable.
   */
  readonly hidden?: readonly string[];
  /** Folders with programs, as in PATH: they are shown, with what lies beside a `bin`. */
  readonly programs?: readonly string[];
  readonly network?: Partial<NetworkSetting>;
  /**
   * Memory that a process tree may have. Default: half of the machine's, and 4 GiB at most. What it
   * writes to `/tmp` and `/dev/shm` counts only where a control group does the counting.
   */
  readonly memoryBytes?: number | undefined;
  /** CPUs whose time a process tree may take. Default: all of the machine's but half of one. */
  readonly cpus?: number | undefined;
  /** Bytes that a process tree may add to the disk. Default: half of what is free, at most 10 GiB. */
  readonly diskBytes?: number | undefined;
  /** Whether a process may read, beside its copies, what every user of the machine may. */
  readonly filesByModes?: boolean | undefined;
  /** Says what a trial process has shown to hold. Default: `proveConfinement`. */
  readonly prove?: typeof proveConfinement;
  readonly clock: Clock;
  readonly logger?: Logger;
  readonly signal?: AbortSignal | undefined;
}

export interface NetworkSetting {
  /** What no policy opens: dure's own servers and its database. Asked at each request. */
  readonly never: () => readonly NetworkTarget[];
  /** Addresses of a name. Default: as the system resolves it. */
  readonly resolve?: ((name: string) => Promise<readonly string[]>) | undefined;
}

/** What a kind gets to open itself. */
export interface SandboxSetting {
  readonly folder: string;
  readonly home: string | undefined;
  readonly allowSecrets: readonly string[];
  readonly hidden: readonly string[];
  /** What is shown to each process. */
  readonly software: Software;
  readonly network: NetworkSetting;
  readonly memoryBytes: number;
  readonly cpus: number;
  readonly diskBytes: number;
  /** The user as which processes run where dure is root and they may not be. Absent: dure's own. */
  readonly user: number | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** In the order in which they are tried. Source: docs/spec/plans §5. */
const KINDS = {
  bubblewrap: openBubblewrap,
  namespaces: openNamespaces,
  "other-user": openOtherUser,
} as const satisfies Record<Exclude<IsolationKind, "audit">, (setting: SandboxSetting) => Confiner>;

/**
 * The first kind that works here: each one must prove it on a real process that tries to write
 * where it may not, and to see a network that is not its own. Throws ISOLATION_UNAVAILABLE with
 * what was tried and why it failed.
 */
export async function openSandbox(options: OpenSandboxOptions): Promise<Sandbox> {
  mkdirSync(options.folder, { recursive: true, mode: 0o711 });
  const setting = settingOf(options);
  if (options.wanted === "audit") return openConfiner(openAudit(setting), setting, UNPROVEN);

  const prove = options.prove ?? proveConfinement;
  const tried: string[] = [];
  const kinds = options.kinds ?? (Object.keys(KINDS) as (keyof typeof KINDS)[]);
  for (const kind of inOrder(kinds, options.prefer)) {
    options.signal?.throwIfAborted();
    try {
      if (options.kinds === undefined) refuseOpenFiles(kind, options);
      const confiner = KINDS[kind](setting);
      const promises = await prove(openConfiner(confiner, setting, UNPROVEN), setting, {
        signal: options.signal,
      });
      refuseOpenNetwork(promises);
      return openConfiner(confiner, setting, promises);
    } catch (error) {
      options.signal?.throwIfAborted();
      tried.push(`${kind}: ${messageOf(error)}`);
    }
  }
  throw new DureError(
    "ISOLATION_UNAVAILABLE",
    `No process can be kept where it belongs on this machine. Tried ${tried.join("; ")}.`,
    {
      class: "unavailable",
      hint: [
        "Install bubblewrap, or let dure make user, mount and network namespaces;",
        "`isolation: audit` runs without protection, and needs the scope plans:unconfined.",
      ].join(" "),
      details: { tried },
    },
  );
}

function settingOf(options: OpenSandboxOptions): SandboxSetting {
  return {
    folder: realpathSync(options.folder),
    home: options.home,
    allowSecrets: options.allowSecrets ?? [],
    hidden: options.hidden ?? [],
    software: softwareOf(options.programs ?? [], options.home),
    network: { never: () => [], ...options.network },
    memoryBytes: options.memoryBytes ?? memoryOfWorkers(),
    cpus: options.cpus ?? cpusOfWorkers(),
    diskBytes: options.diskBytes ?? diskOfWorkers(options.folder),
    user: workerUserOf(options.folder),
    clock: options.clock,
    logger: options.logger ?? silentLogger,
  };
}

/** Without a network of its own a process reaches dure's server and database, whatever its policy. */
function refuseOpenNetwork({ network }: Promises): void {
  if (network === "enforced") return;
  throw new DureError(
    "SANDBOX_NETWORK",
    "a process would have the machine's own network, because no network namespace can be made",
    { class: "unavailable" },
  );
}

/** What lies open on the machine could be read: other homes, other checkouts, tokens in /tmp. */
function refuseOpenFiles(
  kind: IsolationKind,
  { filesByModes = false }: Pick<OpenSandboxOptions, "filesByModes">,
): void {
  if (kind !== "other-user" || filesByModes) return;
  throw new DureError(
    "SANDBOX_FILES",
    "a process would read what every user of the machine may; plans.filesByModes allows it",
    { class: "unavailable" },
  );
}

/**
 * Ends the tree of a process that an earlier dure has started and not seen to its end. `gone`:
 * nothing of it runs; `ended`: it ran and is gone now; `other-host`: it is not ours to look for.
 */
export async function endProcess(
  identity: WorkerIdentity,
  options: { clock: Clock },
): Promise<"gone" | "ended" | "other-host"> {
  if (identity.host !== hostname()) return "other-host";
  if (identity.bootId !== bootId()) return "gone";
  return (await endTree(identity, options.clock)) ? "ended" : "gone";
}

function inOrder<K>(kinds: readonly K[], first: K | undefined): readonly K[] {
  return first === undefined
    ? kinds
    : [...kinds.filter((kind) => kind === first), ...kinds.filter((kind) => kind !== first)];
}

/**
 * No isolation: what a process should not have done is found afterwards. Its tree is ended as
 * everywhere else; a child that left group and session is found by DURE_SANDBOX in its environment.
 * Disposable folders are written for good.
 */
export function openAudit(setting: SandboxSetting): Confiner {
  setting.logger.warn(
    { isolation: "audit" },
    "processes of workers run without isolation, because it was asked for",
  );
  return {
    kind: "audit",
    async enclose(): Promise<Enclosure> {
      return {
        argv: [...dyingWithUs(), "/bin/sh", "-c", GATE],
        hasInit: false,
        countsOwnProcesses: false,
      };
    },
  };
}

function dyingWithUs(): readonly string[] {
  return process.platform === "linux" ? [findTool("setpriv"), "--pdeathsig=KILL", "--"] : [];
}
