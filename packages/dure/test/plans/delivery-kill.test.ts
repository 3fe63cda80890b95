import { access, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { FULL } from "../../src/kernel/test-tiers.ts";
import { openKilledTeam } from "./killed-team.ts";

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

/** A team with the plan, its repository, a remote, and a server that can be killed. */
async function openWorld() {
  const remoteIn = (folder: string): string => path.join(folder, "remote.git");
  const team = await openKilledTeam({ "src/a/a.txt": "base\n" }, (repository, folder) =>
    PLAN(repository, remoteIn(folder)),
  );
  const remote = remoteIn(team.folder);
  await team.repository.git("init", "--quiet", "--bare", remote);
  await writeFile(path.join(team.folder, "bin", "gh"), GH, { mode: 0o755 });

  return { ...team, remote };
}

test(
  "review, gate, merge and publication are there once after kill -9 of the server in each of them",
  { ...FULL, timeout: 300_000 },
  async () => {
    const team = await openWorld();
    const { repository, remote, folder } = team;
    const git = (...args: string[]): Promise<string> => repository.git(...args);
    let dure = await team.restart();
    const { id } = await dure.plans.start({ plan: "kept" });
    const standing = async (): Promise<string> => {
      const { status, ports } = await dure.plans.run(id);
      return `${status} ${ports[0]!.status} ${ports[0]!.triesMade}`;
    };
    await team.until(standing).toMatch(/^running held 1/);
    await dure.plans.comment(id, "a", { path: "src/a/prompt.txt", line: 1, text: "Be brief." });

    dure = await team.restart();
    expect(await standing()).toMatch(/^running held 1/);
    expect(await dure.plans.comments(id, "a")).toMatchObject([
      { text: "Be brief.", sentTry: null },
    ]);
    await dure.plans.review(id, "a");
    dure = await team.restart();
    await team.until(standing).toMatch(/^running held 2/);
    expect(await dure.plans.comments(id, "a")).toMatchObject([{ text: "Be brief." }]);

    await dure.plans.approve(id, "a");
    dure = await team.restart();
    await team.until(standing).toMatch(/^success succeeded 2/);
    const prompts = await git("show", "dure/kept:src/a/prompt.txt");
    expect(prompts.match(/Be brief\./g)).toHaveLength(1);

    await repository.write({ "slow.txt": "Take your time.\n" });
    await git("add", "--all");
    await git("commit", "--quiet", "-m", "Be slow");
    const theirs = await git("rev-parse", "main");
    dure.plans.merge(id).catch(() => undefined);
    await team
      .until(() => git("for-each-ref", "--format=%(refname)", `refs/dure/${id}/tried`))
      .toMatch(/tried/);
    dure = await team.restart();
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
    await team.until(made).toBe(true);
    dure = await team.restart();
    const url = "https://git.example/pr/1";
    expect(await dure.plans.publish(id)).toMatchObject({ isNew: false, pullRequest: url });
    const calls = await readFile(path.join(folder, "calls"), "utf8");
    expect(calls.match(/pr create/g)).toHaveLength(1);
    expect(await git("-C", remote, "for-each-ref", "--format=%(refname)")).toBe(
      "refs/heads/dure/kept",
    );
  },
);
