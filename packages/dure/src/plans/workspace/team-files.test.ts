// @module-tag slow
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { TeamGuard } from "../runs/team-guard.ts";
import { Git } from "./git.ts";
import { TeamFiles, teamPathsIn } from "./team-files.ts";

const git = new Git({ env: process.env });
const { signal } = new AbortController();

/** A folder with a repository at each of the places in it. */
async function placesWith(...repositories: readonly string[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "dure-places-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  for (const place of repositories) {
    const cwd = path.join(folder, place);
    await mkdir(cwd, { recursive: true });
    await execa("git", ["init", "--quiet", "--initial-branch=main"], { cwd });
    const commit = ["commit", "--quiet", "--allow-empty", "-m", "Begin"];
    await execa("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...commit], { cwd });
  }

  return folder;
}

const filesOf = (folder: string): TeamFiles => new TeamFiles({ folder, git });
const tree = (root: string) => ({ root, isBare: false });

test("a repository holds a team's files where its tree is the folder, or lies around it", async () => {
  const folder = await placesWith("app", "team", "other");
  await mkdir(path.join(folder, "app/teams/one"), { recursive: true });
  const within = (team: string, root: string): Promise<readonly string[]> =>
    filesOf(path.join(folder, team)).within(tree(path.join(folder, root)), signal);

  expect(await within("team", "team")).toEqual([""]);
  expect(await within("app/teams/one", "app")).toContain("teams/one");
  expect(await within("team", "other")).toEqual([]);
});

test("a linked worktree and a bare repository hold what the team's folder is checked out of", async () => {
  const folder = await placesWith("app");
  const bare = path.join(folder, "bare.git");
  const team = path.join(folder, "team");
  await execa("git", ["clone", "--quiet", "--bare", path.join(folder, "app"), bare]);
  await execa("git", ["worktree", "add", "--quiet", team, "main"], { cwd: bare });
  await execa("git", ["worktree", "add", "--quiet", "-b", "side", "../side"], { cwd: bare });

  expect(await filesOf(team).within({ root: bare, isBare: true }, signal)).toEqual([""]);
  expect(await filesOf(team).within(tree(path.join(folder, "side")), signal)).toEqual([""]);
});

test("a repository within the team's folder is the team's where it lies in one of its own folders", async () => {
  const folder = await placesWith(
    ...["team/agents", "team/plans/more", "team/skills/refunds", "team/tools"],
    ...["team/.dure/shop", "team/shop"],
  );
  const team = filesOf(path.join(folder, "team"));
  const within = (root: string): Promise<readonly string[]> =>
    team.within(tree(path.join(folder, "team", root)), signal);

  expect(await within("agents")).toEqual([""]);
  expect(await within("plans/more")).toEqual([""]);
  expect(await within("skills/refunds")).toEqual([""]);
  expect(await within("tools")).toEqual([""]);
  expect(await within(".dure/shop")).toEqual([]);
  expect(await within("shop")).toEqual([]);
});

test("what links of a team lead to is the team's too", async () => {
  const folder = await placesWith("shared", "team");
  await mkdir(path.join(folder, "shared/people/eden"), { recursive: true });
  await mkdir(path.join(folder, "team/agents"));
  await symlink(path.join(folder, "shared/people/eden"), path.join(folder, "team/agents/eden"));
  await symlink(path.join(folder, "shared"), path.join(folder, "team/shared"));

  expect(
    await filesOf(path.join(folder, "team")).within(tree(path.join(folder, "shared")), signal),
  ).toEqual(["people/eden"]);
});

test("what a team runs from elsewhere is the team's too: services, programs of MCP servers", async () => {
  const folder = await placesWith("shop", "team", "team/lib");
  const at = (name: string): string => path.join(folder, name);
  await mkdir(at("shop/services/till"), { recursive: true });
  await mkdir(at("team/lib/desk"));
  await writeFile(at("shop/stock.js"), "");
  const team = new TeamFiles({
    folder: at("team"),
    git,
    runs: {
      folders: [at("shop/services/till"), at("team/lib/desk"), at("gone")],
      files: [at("shop/stock.js"), at("shop"), at("shop/--port")],
    },
  });

  expect(await team.within(tree(at("shop")), signal)).toEqual(["services/till", "stock.js"]);
  expect(await team.within(tree(at("team/lib")), signal)).toEqual(["desk"]);
});

test("packages that the team's code finds above its folder are the team's, also such as are not there", async () => {
  const folder = await placesWith("app");
  await mkdir(path.join(folder, "app/teams/one"), { recursive: true });
  await mkdir(path.join(folder, "app/node_modules"));
  const within = await filesOf(path.join(folder, "app/teams/one")).within(
    tree(path.join(folder, "app")),
    signal,
  );

  expect(within).toEqual(["teams/one", "teams/node_modules", "node_modules"]);
});

test("changed paths below the team's folder are the team's, however their letters are written", () => {
  const own = ["my-team/dure.config.ts", "my-team", "MY-Team/agents/eden/SOUL.md"];
  const others = ["my-teams/a.txt", "src/my-team/a.txt"];

  expect(teamPathsIn([...own, ...others], ["my-team"])).toEqual(own);
});

test("a folder above the team's that becomes a link is a change of the team", () => {
  expect(teamPathsIn(["apps", "app"], ["apps/my-team"])).toEqual(["apps"]);
  expect(teamPathsIn(["a.txt"], [""])).toEqual(["a.txt"]);
});

test("only an administrator of all changes the team's files, where the configuration allows it", async () => {
  const folder = await placesWith("app");
  await mkdir(path.join(folder, "app/team"));
  const files = filesOf(path.join(folder, "app/team"));
  const app = tree(path.join(folder, "app"));
  const refused = async (ownFolder: boolean, tenant: string | null): Promise<boolean> =>
    new TeamGuard({ files, ownFolder })
      .assertMayChange(["team/agents/eden/SOUL.md"], app, { tenant, signal })
      .then(
        () => false,
        ({ code }: { code: string }) => code === "TEAM_FILES_CHANGED",
      );

  expect(await Promise.all([refused(false, ""), refused(false, null)])).toEqual([true, true]);
  expect(await Promise.all([refused(true, ""), refused(true, "acme")])).toEqual([true, true]);
  expect(await refused(true, null)).toBe(false);
  await new TeamGuard({ files, ownFolder: false }).assertMayChange(["src/a.ts"], app, {
    tenant: "",
    signal,
  });
});
