import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { mkdtemp, rm, statfs } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { systemClock } from "../../kernel/clock.ts";
import { codeOf, DureError, messageOf } from "../../kernel/errors.ts";
import {
  cpusOfWorkers,
  openControlGroups,
  type ControlGroups,
} from "../../plans/sandbox/control-groups.ts";
import { diskOfWorkers } from "../../plans/sandbox/disk-watch.ts";
import { bytesWords, memoryOfWorkers } from "../../plans/sandbox/memory-watch.ts";
import { openSandbox, type IsolationKind } from "../../plans/sandbox/sandbox.ts";
import type { Environment } from "../../team/environment.ts";
import { SETTINGS } from "../../team/limits.ts";
import type { WorkerBounds } from "../../team/plan-sandboxes.ts";
import type { Finding } from "./finding.ts";

/**
 * Free disk space below which doctor warns, bytes. A busy day of a small team writes some 100 MB.
 */
const LITTLE_SPACE = 1_073_741_824;
/** Below it a new PostgreSQL cannot be made, bytes: its first files take some 60 MB. */
const NO_SPACE = 104_857_600;

/** Which kind of isolation workers of plans would get here. */
export async function checkIsolation({ filesByModes }: WorkerBounds): Promise<Finding> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-doctor-"));
  try {
    const { kind, promises } = await openSandbox({
      wanted: "enforced",
      prefer: "namespaces",
      folder,
      home: homedir(),
      filesByModes,
      clock: systemClock,
    });
    const { user, isOtherUser, files } = promises;
    const holds = [
      "a network of their own",
      isOtherUser ? `user ${user}` : "dure's own user",
      files === "enforced"
        ? "nothing seen but their tree and programs"
        : "beside their copies what the modes of files allow",
    ];
    const isWhole = files === "enforced" && (isOtherUser || process.getuid?.() !== 0);
    const found = {
      name: "isolation",
      detail: `workers of plans run in ${ISOLATION[kind]}: ${holds.join(", ")}`,
    };
    return isWhole
      ? { ...found, status: "ok" }
      : {
          ...found,
          status: "warn",
          hint:
            "Let dure make namespaces (util-linux, iproute2 or bubblewrap), so that secrets " +
            "are kept from workers.",
        };
  } catch (error) {
    return {
      name: "isolation",
      status: "warn",
      detail: messageOf(error),
      hint:
        error instanceof DureError && error.hint !== undefined ? error.hint : "Only plans need it.",
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What the processes of one worker may take of the machine, and who sees to it. */
export function checkBounds(
  { memoryBytes, cpus = cpusOfWorkers(), diskBytes }: WorkerBounds,
  folder: string,
  {
    boundsMemory,
    boundsCpu,
  }: Pick<ControlGroups, "boundsMemory" | "boundsCpu"> = openControlGroups(),
): readonly Finding[] {
  const memory = bytesWords({ mostBytes: memoryBytes ?? memoryOfWorkers() });
  const disk = bytesWords({ mostBytes: diskBytes ?? diskOfWorkers(folder) });
  return [
    {
      name: "worker memory",
      status: "ok",
      detail: boundsMemory
        ? `${memory} for each worker, bounded by a control group`
        : `${memory} for each worker, watched by dure: it may make no control groups here`,
    },
    {
      name: "worker CPU",
      status: "ok",
      detail: boundsCpu
        ? `CPU time of ${cpus} for each worker, bounded by a control group`
        : "not bounded, workers yield to all others: dure may make no control groups here",
    },
    {
      name: "worker disk",
      status: "ok",
      detail: `${disk} more for each worker, watched by dure`,
    },
  ];
}

const ISOLATION = {
  bubblewrap: "bubblewrap",
  namespaces: "namespaces of their own",
  "other-user": "the name of another user, on a copy",
  audit: "audit, without protection",
} as const satisfies Record<IsolationKind, string>;

export async function checkGit(): Promise<Finding> {
  try {
    const { stdout } = await promisify(execFile)("git", ["--version"]);
    return { name: "git", status: "ok", detail: stdout.trim() };
  } catch {
    return { name: "git", status: "warn", detail: "not found", hint: "Only plans need it." };
  }
}

/** The data folder, and whether this user may write there; a start makes it when it is missing. */
export function checkHome(
  folder: string,
  environment: Environment,
): { readonly folder: string; readonly findings: readonly Finding[] } {
  const home = homeOf(folder, environment);
  const nearest = nearestExisting(home);
  const trouble = troubleOf(nearest, home);
  if (trouble === undefined) return { folder: nearest, findings: [] };
  const hint = "Let this user write there, or set DURE_HOME to a folder that it may write to.";
  const finding: Finding = { name: "data folder", status: "fail", detail: trouble, hint };
  return { folder: nearest, findings: [finding] };
}

export function homeOf(folder: string, { home }: Environment): string {
  return path.resolve(folder, home ?? SETTINGS.home.fallback);
}

function nearestExisting(folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest)) nearest = path.dirname(nearest);
  return nearest;
}

function troubleOf(nearest: string, home: string): string | undefined {
  if (!statSync(nearest).isDirectory()) {
    return `${home} cannot be a folder: ${nearest} is a file`;
  }
  // Root may write by the modes of files, and not to the kernel's own trees.
  if (/^\/(proc|sys)(\/|$)/.test(nearest)) return `${home} is in the kernel's own tree ${nearest}`;
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `${home} cannot be written to (${codeOf(error) ?? messageOf(error)})`;
  }
}

/** @param folder of the disk that is looked at */
export async function checkDisk(folder: string): Promise<Finding> {
  const { bavail, bsize } = await statfs(folder);
  return diskFinding(bavail * bsize, folder);
}

/** Pure. @param free bytes */
export function diskFinding(free: number, folder: string): Finding {
  const detail = `${bytesWords({ mostBytes: free })} free at ${folder}`;
  if (free >= LITTLE_SPACE) return { name: "disk", status: "ok", detail };
  const status = free < NO_SPACE ? "fail" : "warn";
  return { name: "disk", status, detail, hint: "Make room, or set DURE_HOME to another disk." };
}
