// @module-tag slow
import { spawn, type ChildProcess } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { FULL, sampled } from "../src/kernel/test-tiers.ts";
import { Database } from "../src/durable/database.ts";
import { testDatabaseUrl } from "../src/durable/test-database.ts";
import { codeOf } from "../src/kernel/errors.ts";
import { silentLogger } from "../src/kernel/logger.ts";
import { eventually } from "./until.ts";

const MAIN = new URL("../src/cli/main.ts", import.meta.url).href;
const TEAM = fileURLToPath(new URL("rooms/folder", import.meta.url));

const LAUNCHERS = [
  ["npm start", ["npm", "start"]],
  ["npx dure start", ["npx", "--no-install", "dure", "start", "--dir", TEAM]],
] as const;
/**
 * Where a signal goes: to npm alone, as from a supervisor, or to the whole group, as from a
 * terminal or a container that stops.
 */
const SIGNALS = [
  ["SIGTERM to", "SIGTERM", "npm"],
  ["SIGKILL of", "SIGKILL", "npm"],
  ["ctrl-C in", "SIGINT", "group"],
  ["SIGTERM to the group of", "SIGTERM", "group"],
] as const;
const ALL = LAUNCHERS.flatMap(([name, command]) =>
  SIGNALS.map(([what, signal, to]) => [what, name, { command, signal, to }] as const),
);
const TABLE = sampled(ALL, 1);

test.each(TABLE.rows)(
  "%s %s ends the server in good order",
  { ...TABLE.options, timeout: 120_000 },
  async (_what, _name, { command, signal, to }) => {
    const launched = await launch(command);
    const { pid } = launched.launcher;

    process.kill(to === "group" ? -pid! : pid!, signal);

    await eventually(() => expect(isRunning(launched.server)).toBe(false), {
      patienceMs: 60_000,
      also: () => launched.log(),
    });
    expect(await launched.ended()).toBe("stopped");
  },
);

test(
  "a signal that arrives again at once, directly and through a parent, is one signal: turns still end",
  { ...FULL, timeout: 120_000 },
  async () => {
    const launched = await launch(["npm", "start"]);

    for (let times = 0; times < 3; times++) process.kill(launched.server, "SIGTERM");

    await eventually(() => expect(isRunning(launched.server)).toBe(false), {
      patienceMs: 60_000,
      also: () => launched.log(),
    });
    expect(await launched.ended()).toBe("stopped");
  },
);

test(
  "a server that was given a session of its own outlives npm",
  { ...FULL, timeout: 120_000 },
  async () => {
    const launched = await launch(["npm", "run", "daemon"]);

    launched.launcher.kill("SIGTERM");
    await eventually(() => expect(isRunning(launched.launcher.pid!)).toBe(false));
    const before = await launched.renewals();

    // It looks every half second whether npm is there; its lease is renewed every two.
    await eventually(async () => expect(await launched.renewals()).toBeGreaterThan(before + 2_000));
    expect(isRunning(launched.server)).toBe(true);
    process.kill(launched.server, "SIGTERM");
    await eventually(() => expect(isRunning(launched.server)).toBe(false), { patienceMs: 60_000 });
  },
);

interface Launched {
  readonly launcher: ChildProcess;
  /** Process id of the server. */
  readonly server: number;
  log(): string;
  /** How its right to work has ended. */
  ended(): Promise<string | null>;
  /** When its lease was renewed last, milliseconds. */
  renewals(): Promise<number>;
}

/**
 * A package of its own, whose `dure` runs the sources. Nothing of it is left when the test ends.
 */
async function launch(command: readonly string[]): Promise<Launched> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const owned = stack.use(await testDatabaseUrl());
  const database = await Database.open({
    url: owned.url,
    applicationName: "launched-test",
    logger: silentLogger,
    max: 2,
  });
  stack.defer(() => database.close());
  const folder = makePackage();
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const lines: string[] = [];
  const launcher = spawn(command[0]!, command.slice(1), {
    cwd: folder,
    env: environment(owned.url),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  for (const stream of [launcher.stdout, launcher.stderr]) {
    stream.on("data", (bytes: Buffer) => void lines.push(bytes.toString()));
  }
  stack.defer(() => endGroup(launcher.pid!));
  const log = (): string => lines.join("").slice(-4_000);

  const [server] = await eventually(
    async () => {
      expect(log()).toContain("is ready at");
      return database.query<{ pid: number }>({ text: "select pid from dure.processes" });
    },
    { patienceMs: 60_000, also: log },
  );
  stack.defer(() => void (isRunning(server!.pid) && process.kill(server!.pid, "SIGKILL")));
  return {
    launcher,
    server: server!.pid,
    log,
    ended: async () =>
      (
        await database.query<{ because: string | null }>({
          text: "select ended_because as because from dure.processes",
        })
      )[0]!.because,
    renewals: async () =>
      (
        await database.query<{ at: number }>({
          text: "select (extract(epoch from renewed_at) * 1000)::float8 as at from dure.processes",
        })
      )[0]!.at,
  };
}

function makePackage(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "dure-launched-"));
  const scripts = { start: `dure start --dir ${TEAM}`, daemon: `setsid dure start --dir ${TEAM}` };
  writeFileSync(
    path.join(folder, "package.json"),
    JSON.stringify({ name: "launched", version: "1.0.0", private: true, type: "module", scripts }),
  );
  const bin = path.join(folder, "node_modules", ".bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(path.join(bin, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(
    path.join(bin, "dure"),
    `#!/usr/bin/env node\nawait import(${JSON.stringify(MAIN)});\n`,
  );
  chmodSync(path.join(bin, "dure"), 0o755);
  return folder;
}

function environment(databaseUrl: string): NodeJS.ProcessEnv {
  const node = path.dirname(process.execPath);
  return {
    ...process.env,
    PATH: [node, process.env["PATH"]].join(path.delimiter),
    NODE_OPTIONS: "--conditions=dure-source",
    DATABASE_URL: databaseUrl,
    PORT: "0",
    LOG_LEVEL: "info",
  };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, "SIGKILL");
  } catch (error) {
    if (codeOf(error) !== "ESRCH") throw error;
  }
}
