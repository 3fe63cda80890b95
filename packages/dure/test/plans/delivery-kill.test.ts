import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  access,
  mkdir,
  mkdtemp,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { DureClient } from "../../src/client/index.ts";
import { stopTestServer, testDatabaseUrl } from "../../src/durable/test-database.ts";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { testRepository } from "./real-runs.ts";
import { StartedTeam } from "./started-team.ts";

const PROGRAM = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const PACKAGES = fileURLToPath(new URL("../../../../node_modules", import.meta.url));

/** Its worker keeps its prompts; on a branch with `slow.txt` the tests of the merge take time. */
const PLAN = (repository: string, remote: string): string => `
plan: kept
repository: ${repository}
base: main
roles: modules
integration: test ! -f slow.txt || sleep 8
publish: { remote: "${remote}", pull_request: gh }
workers: { default: { kind: command, command: [sh, -c, "cat >> src/a/prompt.txt"] } }
ports:
  - { id: a, role: a, goal: Make a., owns: [src/a/**], acceptance: "true", gate: person }
`;
/** Makes its pull request, says so, and takes its time. */
const GH = `#!/bin/sh
echo "$1 $2" >> "$GH_STATE/calls"
case "$2" in
  list) cat "$GH_STATE/prs" 2>/dev/null || echo "[]" ;;
  create)
    echo '[{ "url": "https://git.example/pr/1" }]' > "$GH_STATE/prs"
    touch "$GH_STATE/made"
    sleep 4
    ;;
esac
`;

async function cli(cwd: string, ...args: string[]): Promise<void> {
  const child = spawn(process.execPath, ["--conditions=dure-source", PROGRAM, ...args], {
    cwd,
    stdio: "ignore",
  });
  await once(child, "exit");
}

/** A team with the plan, its repository, a remote, and a server that can be killed. */
async function openWorld() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  stack.defer(() => stopTestServer());
  const database = stack.use(await testDatabaseUrl());
  const folder = await mkdtemp(path.join(await realpath(tmpdir()), "dure-delivery-"));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const repository = stack.use(await testRepository({ "src/a/a.txt": "base\n" }));
  const remote = path.join(folder, "remote.git");
  await repository.git("init", "--quiet", "--bare", remote);
  await mkdir(path.join(folder, "bin"));
  await writeFile(path.join(folder, "bin", "gh"), GH, { mode: 0o755 });
  await symlink(PACKAGES, path.join(folder, "node_modules"));
  await cli(folder, "init", "demo");
  const team = path.join(folder, "demo");
  await mkdir(path.join(team, "plans"), { recursive: true });
  await writeFile(path.join(team, "plans", "kept.yaml"), PLAN(repository.folder, remote));
  const PATH = `${path.join(folder, "bin")}:${process.env["PATH"]}`;
  const served: { server?: StartedTeam } = {};
  /** The server, killed if it runs, begun anew. */
  const restart = async (): Promise<DureClient> => {
    await served.server?.kill();
    served.server = stack.use(new StartedTeam(team, database.url, { PATH, GH_STATE: folder }));
    return new DureClient({ baseUrl: await served.server.url });
  };
  const until = (what: () => Promise<unknown>) =>
    expect.poll(what, { timeout: 90_000, interval: 250, message: served.server?.output ?? "" });

  return { repository, remote, folder, restart, until };
}

test(
  "review, gate, merge and publication are there once after kill -9 of the server in each of them",
  { ...FULL, timeout: 300_000 },
  async () => {
    const { repository, remote, folder, restart, until } = await openWorld();
    const git = (...args: string[]): Promise<string> => repository.git(...args);
    let dure = await restart();
    const { id } = await dure.plans.start({ plan: "kept" });
    const standing = async (): Promise<string> => {
      const { status, ports } = await dure.plans.run(id);
      return `${status} ${ports[0]!.status} ${ports[0]!.triesMade}`;
    };
    await until(standing).toMatch(/^running held 1/);
    await dure.plans.comment(id, "a", { path: "src/a/prompt.txt", line: 1, text: "Be brief." });

    dure = await restart();
    expect(await standing()).toMatch(/^running held 1/);
    expect(await dure.plans.comments(id, "a")).toMatchObject([
      { text: "Be brief.", sentTry: null },
    ]);
    await dure.plans.review(id, "a");
    dure = await restart();
    await until(standing).toMatch(/^running held 2/);
    expect(await dure.plans.comments(id, "a")).toMatchObject([{ text: "Be brief." }]);

    await dure.plans.approve(id, "a");
    dure = await restart();
    await until(standing).toMatch(/^success succeeded 2/);
    const prompts = await git("show", "dure/kept:src/a/prompt.txt");
    expect(prompts.match(/Be brief\./g)).toHaveLength(1);

    await repository.write({ "slow.txt": "Take your time.\n" });
    await git("add", "--all");
    await git("commit", "--quiet", "-m", "Be slow");
    const theirs = await git("rev-parse", "main");
    dure.plans.merge(id).catch(() => undefined);
    await until(() => git("for-each-ref", "--format=%(refname)", `refs/dure/${id}/tried`)).toMatch(
      /tried/,
    );
    dure = await restart();
    expect(await git("rev-parse", "main")).toBe(theirs);
    expect(await dure.plans.merge(id)).toMatchObject({ kind: "merged", target: "main" });
    expect(await git("rev-parse", "main^1")).toBe(theirs);
    expect(await git("status", "--porcelain")).toBe("");
    expect((await dure.plans.merge(id)).kind).toBe("already");

    dure.plans.publish(id).catch(() => undefined);
    const made = (): Promise<boolean> =>
      access(path.join(folder, "made")).then(
        () => true,
        () => false,
      );
    await until(made).toBe(true);
    dure = await restart();
    const url = "https://git.example/pr/1";
    expect(await dure.plans.publish(id)).toMatchObject({ isNew: false, pullRequest: url });
    const calls = await readFile(path.join(folder, "calls"), "utf8");
    expect(calls.match(/pr create/g)).toHaveLength(1);
    expect(await git("-C", remote, "for-each-ref", "--format=%(refname)")).toBe(
      "refs/heads/dure/kept",
    );
  },
);
