import { chmodSync, lstatSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { StringDecoder } from "node:string_decoder";
import { codeOf, DureError } from "../../kernel/errors.ts";
import { checkConfinement } from "./check.ts";
import { HeadAndTail } from "./head-and-tail.ts";
import { openControlGroups, type ControlGroups } from "./control-groups.ts";
import { exists } from "./processes.ts";
import { NO_NETWORK } from "./network.ts";
import type { Promises } from "./proof.ts";
import { RefusedHosts } from "./refused-hosts.ts";
import type { MountEntry } from "./mount-plan.ts";
import { startTree, type Tree } from "./tree.ts";
import { within } from "./gate-process.ts";
import { openWayOut, type WayOut } from "./way-out.ts";
import type {
  Confinement,
  IsolationKind,
  Sandbox,
  SandboxCommand,
  SandboxSetting,
  SpawnOptions,
} from "./sandbox.ts";

/** What a kind of isolation adds to the common way of starting and ending a process tree. */
export interface Confiner {
  readonly kind: IsolationKind;
  /** False: a process that needs no way out has none, and which hosts it misses is not known. */
  readonly reachesDoor?: boolean | undefined;
  /**
   * Makes ready what one process needs. `folder` is its own; it is removed after the end. `door`:
   * the folder of the socket that leads out.
   */
  enclose(confinement: Confinement, folder: string, door: string | undefined): Promise<Enclosure>;
}

/** One confinement, ready to be entered. */
export interface Enclosure {
  /** Ends with the launch script (launch-script.ts), which it runs inside. */
  readonly argv: readonly string[];
  /**
   * The first child of the started process is the first of a PID namespace: with it the kernel ends
   * all.
   */
  readonly hasInit: boolean;
  /** Whether RLIMIT_NPROC counts the processes of this tree alone. */
  readonly countsOwnProcesses: boolean;
  /** What is seen inside. Absent for a kind without mounts. */
  readonly places?: readonly MountEntry[] | undefined;
  /**
   * What must be done once the number of the process is known; the text is sent before the script
   * of the gate.
   */
  readonly admit?: (pid: number) => Promise<string>;
  /** Where it writes, if that is not what the confinement names and the folder. */
  readonly writes?: readonly string[] | undefined;
  /** A path, or a text with paths, as it is called inside. */
  readonly inside?: (text: string) => string;
  /** Brings back what may stay, after the tree has ended. */
  readonly settle?: () => Promise<void>;
  /** Removes what lies outside of the folder; also after a start that failed. */
  readonly discard?: () => void;
}

/**
 * How long output may still be under way after the last process has ended, milliseconds; it is in a
 * pipe, so only a busy loop delays it.
 */
const DRAIN_MS = 5_000;

/** The sandbox around a kind. `promises`: what a trial process has shown to hold. */
export function openConfiner(
  confiner: Confiner,
  setting: SandboxSetting,
  promises: Promises,
  groups: ControlGroups = openControlGroups(),
): Sandbox {
  removeAbandoned(setting.folder);
  return new ConfinedSandbox(confiner, setting, { promises, groups });
}

class ConfinedSandbox implements Sandbox {
  readonly kind: IsolationKind;
  readonly promises: Promises;
  readonly #confiner: Confiner;
  readonly #setting: SandboxSetting;
  readonly #groups: ControlGroups;

  constructor(
    confiner: Confiner,
    setting: SandboxSetting,
    { promises, groups }: { readonly promises: Promises; readonly groups: ControlGroups },
  ) {
    this.kind = confiner.kind;
    this.promises = promises;
    this.#groups = groups;
    this.#confiner = confiner;
    this.#setting = setting;
  }

  async spawn(
    confinement: Confinement,
    command: SandboxCommand,
    options: SpawnOptions = {},
  ): Promise<Tree> {
    return this.#start({ confinement, command, options, merged: false });
  }

  async run(
    confinement: Confinement,
    command: SandboxCommand,
    options: Parameters<Sandbox["run"]>[2] = {},
  ): Promise<Awaited<ReturnType<Sandbox["run"]>>> {
    const tree = await this.#start({ confinement, command, options, merged: true });
    if (command.input === undefined) tree.stdin.end();
    const kept = new HeadAndTail(command.limits.outputBytes);
    const decoder = new StringDecoder("utf8");
    tree.stdout.on("data", (chunk: Buffer) => {
      kept.add(chunk);
      const text = decoder.write(chunk);
      if (text !== "") options.onOutput?.(text);
    });
    const drained = new Promise<void>((resolve) => tree.stdout.once("close", resolve));
    const end = await tree.ended;
    await within(this.#setting.clock, DRAIN_MS, drained);
    return {
      ...end,
      output: kept.text(),
      outputTruncated: end.outputTruncated || kept.isTruncated,
    };
  }

  async #start(call: StartCall): Promise<Tree> {
    const { confinement, command, options } = call;
    options.signal?.throwIfAborted();
    checkConfinement(confinement, command);
    try {
      return await this.#startOnce(call);
    } catch (error) {
      if (options.signal?.aborted || !wasNeverEntered(error)) throw error;
      return this.#startOnce(call);
    }
  }

  async #startOnce({ confinement, command: asked, options, merged }: StartCall): Promise<Tree> {
    const setting = this.#setting;
    const command = { ...asked, env: { ...setting.software.variables, ...asked.env } };
    const folder = mkdtempSync(path.join(setting.folder, `p-${process.pid}-`));
    let enclosure: Enclosure | undefined;
    let wayOut: WayOut | undefined;
    const refused = new RefusedHosts(options.onRefusal);
    const remove = (): void => {
      wayOut?.close();
      enclosure?.discard?.();
      removeFolder(folder);
    };
    try {
      if (this.promises.network === "enforced") {
        const policy = confinement.network ?? NO_NETWORK;
        const mayWatch = this.#confiner.reachesDoor !== false;
        const isWatched = mayWatch && typeof options.onRefusal === "string";
        const isTold = policy.kind !== "none" || isWatched;
        const onRefused = isTold ? (host: string) => refused.note(host) : undefined;
        const { models } = options;
        wayOut = await openWayOut({ folder, policy, command, setting, onRefused, models });
      }
      enclosure = await this.#confiner.enclose(confinement, folder, wayOut?.folder);
      return await startTree({
        enclosure,
        confinement,
        command: wayOut?.command ?? command,
        bridge: wayOut?.bridge,
        writes: enclosure.writes ?? [...confinement.writable, folder],
        merged,
        refused,
        groups: this.#groups,
        setting,
        options,
        remove,
      });
    } catch (error) {
      remove();
      throw error;
    }
  }
}

/** One call of the sandbox. */
interface StartCall {
  readonly confinement: Confinement;
  readonly command: SandboxCommand;
  readonly options: SpawnOptions;
  /** Standard output and error are one stream. */
  readonly merged: boolean;
}

/**
 * Nothing of the command has run. What is mounted on the machine may have changed between our look
 * at it and our own mounts, so it is worth a second look.
 */
function wasNeverEntered(error: unknown): boolean {
  return (
    error instanceof DureError &&
    error.code === "SANDBOX_FAILED" &&
    error.details?.["isReady"] === false
  );
}

/** Folders of a dure that was killed; their names begin with its number. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const maker = /^p-(\d+)-/.exec(name)?.[1];
    if (maker !== undefined && !exists(Number(maker))) removeFolder(path.join(parent, name));
  }
}

function removeFolder(folder: string): void {
  try {
    for (const layer of readdirSync(folder).filter((name) => name.startsWith("layer-"))) {
      // Overlayfs makes it so that not even its owner may look into it.
      const work = path.join(folder, layer, "work/work");
      if (lstatSync(work, { throwIfNoEntry: false })?.isDirectory()) chmodSync(work, 0o700);
    }
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}
