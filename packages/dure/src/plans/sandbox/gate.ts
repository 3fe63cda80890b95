import type { SandboxCommand } from "./sandbox.ts";

/**
 * What runs first inside, as the confined user: it tells dure that everything is in place, waits
 * for its script on descriptor 3 and becomes the command. So the command starts only when its
 * identity is stored, no secret of its environment ever stands on a command line, and none of its
 * variables (LD_PRELOAD) reaches a program with privileges. A script that ends too early, because
 * dure has died, is not run.
 */
export const GATE = `echo ready >&3; script=$(cat <&3); case $script in *': end') eval "$script";; esac; exit 125`;

/** The environment of everything before the command. */
export const GATE_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  LC_ALL: "C",
} as const;

/** What is asked of the gate. */
export interface GateOrder {
  readonly command: SandboxCommand;
  readonly cwd: string;
  /** Value of DURE_SANDBOX, by which survivors are found. */
  readonly marker: string;
  /** stderr goes where stdout goes, so that their order is kept. */
  readonly merged: boolean;
  /** RLIMIT_NPROC, where it counts no processes but those of this tree. */
  readonly processes?: number;
  /** Runs beside the command and writes `up` to descriptor 3 once the command may begin. */
  readonly bridge?: readonly string[] | undefined;
}

/**
 * The script for the gate. Pure. Says `failed cwd`, `failed network`, `failed command` or `started`
 * on descriptor 3, which it then closes.
 */
export function gateScript(order: GateOrder): string {
  const { command, limits } = order.command;
  const words = typeof command === "string" ? ["/bin/sh", "-c", command] : command;
  const variables = Object.entries({ ...order.command.env, DURE_SANDBOX: order.marker });
  const plain = variables.filter(([name]) => canExport(name));
  const odd = variables
    .filter(([name]) => !canExport(name))
    .map(([name, value]) => `${name}=${value}`);

  return [
    `unset LC_ALL`,
    `ulimit -c 0 2>/dev/null`,
    `ulimit -f ${Math.ceil(limits.fileBytes / 512)} 2>/dev/null`, // in blocks of 512 bytes; source: POSIX ulimit
    ...(order.processes === undefined
      ? []
      : [`{ ulimit -u ${order.processes} || ulimit -p ${order.processes}; } 2>/dev/null`]), // bash, dash
    `cd -- ${quote(order.cwd)} 2>/dev/null || { echo failed cwd >&3; exit 125; }`,
    `unset OLDPWD`,
    ...(order.bridge === undefined
      ? []
      : [
          `[ "$(/usr/bin/env -i ${order.bridge.map(quote).join(" ")} 2>/dev/null 3>&1 >/dev/null &)" = up ] || { echo failed network >&3; exit 125; }`,
        ]),
    ...(order.command.env["PATH"] === undefined ? ["unset PATH"] : []),
    ...plain.map(([name, value]) => `export ${name}=${quote(value)}`),
    `command -v -- ${quote(words[0] ?? "")} >/dev/null || { echo failed command >&3; exit 125; }`,
    `echo started >&3`,
    `exec ${[...(odd.length > 0 ? ["/usr/bin/env", ...odd] : []), ...words].map(quote).join(" ")} 3>&-${order.merged ? " 2>&1" : ""}`,
    `: end`,
  ].join("\n");
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
