import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished } from "vitest";
import { DureClient } from "../../src/client/index.ts";
import { stopTestServer, testDatabaseUrl } from "../../src/durable/test-database.ts";
import { testRepository, type TestRepository } from "./real-runs.ts";
import { StartedTeam } from "./started-team.ts";

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

/** A git that ends the process that called it, once, where `kill-at` says so. */
const killingGit = (git: string, folder: string): string => `#!/bin/sh
at="${folder}/kill-at"
if [ -f "$at" ] && echo "$*" | grep -qE -e "$(tail -n 1 "$at")"; then
  when=$(head -n 1 "$at")
  mv "$at" "${folder}/killed"
  [ "$when" = after ] && ${git} "$@"
  kill -9 $PPID
  exit 137
fi
exec ${git} "$@"
`;

export interface KilledTeam {
  readonly repository: TestRepository;
  /** Of the test; `bin` in it is on the PATH of the servers. */
  readonly folder: string;
  /** The server, killed if it runs, begun anew. */
  restart(): Promise<DureClient>;
  /** One more process of the team. */
  another(): Promise<DureClient>;
  kill(): Promise<void>;
  /** The process that next calls git with such arguments ends before it does, or after. */
  killAt(when: "before" | "after", args: string): Promise<void>;
  until(what: () => Promise<unknown>): ReturnType<typeof expect.poll>;
}

/** A team with a plan, its repository, and servers that can be killed. */
export async function openKilledTeam(
  files: Readonly<Record<string, string>>,
  planOf: (repository: string, folder: string) => string,
): Promise<KilledTeam> {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  stack.defer(() => stopTestServer());
  const database = stack.use(await testDatabaseUrl());
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-killed-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const repository = stack.use(await testRepository(files));
  const { stdout } = await promisify(execFile)("which", ["git"]);
  await mkdir(path.join(folder, "bin"));
  const git = killingGit(stdout.trim(), folder);
  await writeFile(path.join(folder, "bin", "git"), git, { mode: 0o755 });
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  const made = ["--conditions=dure-source", PROGRAM, "init", "demo"];
  await once(spawn(process.execPath, made, { cwd: folder, stdio: "ignore" }), "exit");
  const team = path.join(folder, "demo");
  await mkdir(path.join(team, "plans"), { recursive: true });
  const plan = planOf(repository.folder, folder);
  await writeFile(path.join(team, "plans", "kept.yaml"), plan);
  const PATH = `${path.join(folder, "bin")}:${process.env["PATH"]}`;
  const served: { server?: StartedTeam } = {};
  const start = (): StartedTeam =>
    stack.use(new StartedTeam(team, database.url, { PATH, GH_STATE: folder }));
  const clientOf = async (server: StartedTeam): Promise<DureClient> =>
    new DureClient({ baseUrl: await server.url });

  return {
    repository,
    folder,
    restart: async () => {
      await served.server?.kill();
      served.server = start();
      return clientOf(served.server);
    },
    another: () => clientOf(start()),
    kill: async () => served.server?.kill(),
    killAt: (when, args) => writeFile(path.join(folder, "kill-at"), `${when}\n${args}\n`),
    until: (what) =>
      expect.poll(what, { timeout: 90_000, interval: 250, message: served.server?.output ?? "" }),
  };
}
