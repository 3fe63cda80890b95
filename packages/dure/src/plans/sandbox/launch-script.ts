import type { SandboxCommand } from "./sandbox.ts";

/**
 * What runs first inside, as the confined user: it tells dure that everything is in place, waits
 * for its script on descriptor 3 and becomes the command. So the command starts only when its
 * identity is stored, no secret of its environment ever stands on a command line, and none of its
 * variables (LD_PRELOAD) reaches a program with privileges. A script that ends too early, because
 * dure has died, is not run.
 */
export const GATE = [
  "echo ready >&3",
  "script=$(cat <&3)",
  `case $script in *': end') eval "$script";; esac`,
  "exit 125",
].join("; ");

/** The environment of everything before the command. */
export const GATE_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
} as const;

/** What is asked of the gate. */
export interface LaunchOrder {
  readonly command: SandboxCommand;
  readonly cwd: string;
  /** Value of DURE_SANDBOX, by which survivors are found. */
  readonly marker: string;
  /** stderr goes where stdout goes, so that their order is kept. */
  readonly merged: boolean;
  /** RLIMIT_NPROC, where it counts no processes but those of this tree. */
  readonly processes?: number | undefined;
  /** RLIMIT_DATA of each process, where no group bounds their memory together. */
  readonly dataBytes?: number | undefined;
  /** Runs beside the command and writes `up` to descriptor 3 once the command may begin. */
  readonly bridge?: readonly string[] | undefined;
}

/**
 * The script for the gate. Pure. Says `failed cwd`, `failed network`, `failed command` or `started`
 * on descriptor 3, which it then closes.
 */
export function launchScript(order: LaunchOrder): string {
  const { command, limits } = order.command;
  const words = typeof command === "string" ? ["/bin/sh", "-c", command] : command;
  const variables = Object.entries({ ...order.command.env, DURE_SANDBOX: order.marker });
  const plain = variables.filter(([name]) => canExport(name));
  const odd = variables
    .filter(([name]) => !canExport(name))
    .map(([name, value]) => `${name}=${value}`);

  const program = odd.length > 0 ? ["/usr/bin/env", ...odd, ...words] : words;
  const errors = order.merged ? " 2>&1" : "";
  const lines = [
    `unset LC_ALL`,
    `ulimit -c 0 2>/dev/null`,
    // In blocks of 512 bytes. Source: POSIX ulimit.
    `ulimit -f ${Math.ceil(limits.fileBytes / 512)} 2>/dev/null`,
    order.processes !== undefined && limitProcesses(order.processes),
    // In KiB. Not RLIMIT_AS: V8 and the JVM reserve far more than they use.
    order.dataBytes !== undefined && `ulimit -d ${Math.ceil(order.dataBytes / 1_024)} 2>/dev/null`,
    `cd -- ${quote(order.cwd)} 2>/dev/null || ${saying("failed cwd")}`,
    `unset OLDPWD`,
    order.bridge !== undefined && `${bridgeIsUp(order.bridge)} || ${saying("failed network")}`,
    order.command.env["PATH"] === undefined && "unset PATH",
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    `command -v -- ${quote(words[0] ?? "")} >/dev/null || ${saying("failed command")}`,
    `echo started >&3`,
    `exec ${program.map(quote).join(" ")} 3>&-${errors}`,
    `: end`,
  ];
  return lines.filter((line) => line !== false).join("\n");
}

function saying(word: string): string {
  return `{ echo ${word} >&3; exit 125; }`;
}

/** bash takes the one letter, dash the other. */
function limitProcesses(most: number): string {
  return `{ ulimit -u ${most} || ulimit -p ${most}; } 2>/dev/null`;
}

/** Starts the bridge beside the command; true once it has said so. */
function bridgeIsUp(bridge: readonly string[]): string {
  const start = `/usr/bin/env -i ${bridge.map(quote).join(" ")} 2>/dev/null 3>&1 >/dev/null &`;
  return `[ "$(${start})" = up ]`;
}

/** A word of sh. Pure. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

/** Whether a shell can export a variable of that name. Pure. */
function canExport(name: string): boolean {
  return SHELL_NAME.test(name) && !READ_ONLY_NAMES.has(name);
}

const SHELL_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** bash refuses to set these, and stops at the attempt. */
const READ_ONLY_NAMES = new Set(["UID", "EUID", "PPID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO"]);
