import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { DureError } from "../../kernel/errors.ts";
import { onlyDefined } from "../../kernel/json.ts";

/**
 * The user as which PostgreSQL runs; it refuses root. `direct`: this process's user. `namespace`:
 * root, mapped to an unprivileged user in a user namespace. `drop`: another user of the machine.
 */
export type Runner =
  | { readonly kind: "direct" }
  | { readonly kind: "namespace" }
  | { readonly kind: "drop"; readonly uid: number; readonly gid: number };

/** Id of Linux's unprivileged user; used on other systems too. */
const UNPRIVILEGED = 65534;
const NAMESPACE = ["--user", `--map-user=${UNPRIVILEGED}`, `--map-group=${UNPRIVILEGED}`];

/** Nothing of our environment reaches the server; Windows cannot start a program without it. */
const ENVIRONMENT =
  process.platform === "win32"
    ? {}
    : { env: { PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" } };

/** Who a folder belongs to, or undefined when there is none yet. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Runners to try, in order. Pure. The owner of existing data decides; for a new folder root prefers
 * the namespace (all files stay its own), then the owner of the surrounding folder, then the
 * unprivileged user.
 */
export function decideRunners(
  self: number | undefined,
  data: Owner | undefined,
  surrounding: Owner,
): readonly Runner[] {
  if (self === undefined) return [{ kind: "direct" }];
  if (self !== 0) return data && data.uid !== self ? [] : [{ kind: "direct" }];

  if (data) {
    return data.uid === 0
      ? [{ kind: "namespace" }]
      : [{ kind: "drop", uid: data.uid, gid: data.gid }];
  }

  const unprivileged: Runner = { kind: "drop", uid: UNPRIVILEGED, gid: UNPRIVILEGED };
  if (surrounding.uid === 0) return [{ kind: "namespace" }, unprivileged];

  return [
    { kind: "namespace" },
    { kind: "drop", uid: surrounding.uid, gid: surrounding.gid },
    unprivileged,
  ];
}

/**
 * Whether `test` (a condition of sh, with `$1`, `$2` … for `values`) holds for the user of
 * `runner`.
 */
export function holds(runner: Runner, test: string, ...values: string[]): boolean {
  if (process.platform === "win32") return true;
  const [file, args] = commandLine(runner, "/bin/sh", ["-c", test, "sh", ...values]);

  return (
    spawnSync(file, args, { ...ENVIRONMENT, ...identity(runner), cwd: "/", stdio: "ignore" })
      .status === 0
  );
}

/** Runs a program to its end. Throws `DISK_FULL`, or with what it wrote when it fails. */
export async function run(
  runner: Runner,
  program: string,
  args: readonly string[],
  options: { input?: string; cwd?: string; signal?: AbortSignal | undefined } = {},
): Promise<string> {
  const [file, all] = commandLine(runner, program, args);
  const child = spawn(file, all, {
    ...ENVIRONMENT,
    ...identity(runner),
    cwd: options.cwd ?? "/",
    stdio: ["pipe", "pipe", "pipe"],
    ...onlyDefined({ signal: options.signal }),
  });

  let output = "";
  const collect = (chunk: Buffer): void =>
    void (output = (output + chunk.toString()).slice(-20_000));
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  child.stdin.on("error", () => {}); // a program that is gone says so through its exit code
  child.stdin.end(options.input ?? "");
  const code = await new Promise<number | null>((resolve, reject) =>
    child.once("error", reject).once("close", resolve),
  );
  options.signal?.throwIfAborted();
  if (code === 0) return output;

  if (/No space left on device/.test(output)) {
    throw new DureError("DISK_FULL", "The disk is full, so PostgreSQL cannot write its files.", {
      class: "unavailable",
      hint: "Make room, or set DURE_HOME to another disk.",
    });
  }
  throw new DureError(
    "EMBEDDED_FAILED",
    `${program} ended with code ${code}: ${output.trim().slice(-2_000)}`,
  );
}

/**
 * Starts a program that outlives us, in its own process group: Ctrl+C in our terminal does not
 * reach it.
 */
export function launch(
  runner: Runner,
  program: string,
  args: readonly string[],
  log: number,
): ChildProcess {
  const [file, all] = commandLine(runner, program, args);
  const child = spawn(file, all, {
    ...ENVIRONMENT,
    ...identity(runner),
    cwd: "/",
    detached: true,
    stdio: ["ignore", log, log],
    windowsHide: true,
  });

  child.unref();

  return child;
}

function commandLine(runner: Runner, program: string, args: readonly string[]): [string, string[]] {
  return runner.kind === "namespace"
    ? ["unshare", [...NAMESPACE, program, ...args]]
    : [program, [...args]];
}

function identity(runner: Runner): { uid?: number; gid?: number } {
  return runner.kind === "drop" ? { uid: runner.uid, gid: runner.gid } : {};
}
