import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { Git } from "../workspace/git.ts";
import { NamedRepositories } from "./named-repositories.ts";

/** Remembers what it was asked for. */
class WatchedGit extends Git {
  readonly calls: unknown[] = [];

  override run(...call: Parameters<Git["run"]>): ReturnType<Git["run"]> {
    this.calls.push([call[0], call[1].at]);
    return super.run(...call);
  }
}

test("a folder of others is refused with the same work as one that is not there", async () => {
  const home = await mkdtemp(path.join(tmpdir(), "dure-named-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  for (const name of ["shop", "site", "other"]) {
    await mkdir(path.join(home, name));
    await execa("git", ["init", "--quiet"], { cwd: path.join(home, name) });
  }
  const git = new WatchedGit({ env: process.env });
  const own = (name: string) => ({ path: path.join(home, name), tenants: ["acme"] });
  const repositories = new NamedRepositories({
    repository: home,
    folder: home,
    repositories: { shop: own("shop"), site: own("site") },
    git,
    readPlan: async () => ({ problems: [], problemCount: 1 }),
    team: { isTarget: async () => false },
  });
  const asked = { tenant: "acme", signal: new AbortController().signal };
  const workFor = async (name: string): Promise<readonly unknown[]> => {
    git.calls.length = 0;
    const refused = repositories.allowed(path.join(home, name), "It", asked);
    await expect(refused, name).rejects.toMatchObject({ code: "REPOSITORY_UNKNOWN" });
    return [...git.calls];
  };

  const forNone = await workFor("none");

  expect(forNone).toHaveLength(2);
  expect(await workFor("other")).toEqual(forNone);
  expect(await workFor(".")).toEqual(forNone);
});

test("a tenant is shown a repository by its name, an operator by its folder", () => {
  const repositories = new NamedRepositories({
    repository: "/srv/team",
    folder: "/srv/team/plans",
    repositories: {
      shop: { path: "/srv/acme-7", tenants: ["acme"] },
      other: { path: "/srv/beta-8", tenants: ["beta"] },
    },
    git: new Git({ env: {} }),
    readPlan: async () => ({ problems: [], problemCount: 1 }),
    team: { isTarget: async () => false },
  });
  const shown = (tenant: string | null, repository: string): string =>
    repositories.shownTo(tenant, { repository });

  expect(shown("acme", "/srv/acme-7")).toBe("shop");
  expect(shown("acme", "/srv/beta-8")).toBe("beta-8");
  expect(shown("acme", "/srv/acme-7/vendor")).toBe("vendor");
  expect(shown(null, "/srv/acme-7")).toBe("/srv/acme-7");
  expect(shown("", "/srv/team")).toBe("/srv/team");
});
